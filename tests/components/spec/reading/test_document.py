"""YAML that leads nowhere: one problem, with its place, and no data."""

from __future__ import annotations

import pytest

from components.problems import render
from components.spec.reading.document import read

NESTED = "\n".join(f"x{i}: &x{i} [{', '.join([f'*x{i - 1}' if i else '1'] * 9)}]" for i in range(8))
MERGED = "\n".join(
    f"x{i}: &x{i} {{<<: [{', '.join([f'*x{i - 1}'] * 9)}]}}" if i else "x0: &x0 {a: 1}" for i in range(8)
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "config:\n  tags: &t {a: *t}\n",
            "t:2:9 this contains itself; an alias (*) inside leads back to its own anchor (&)",
        ),
        (
            "config:\n  tags: &t {<<: *t}\n",
            "t:2:9 this contains itself; an alias (*) inside leads back to its own anchor (&)",
        ),
        (
            f"a: {'[' * 500}{']' * 500}\n",
            "t:1:103 this lies more than 100 levels deep; nothing in these files nests so deep",
        ),
        (
            f"a: {'[' * 5000}{']' * 5000}\n",
            "t:1:1003 this is not YAML: exceeded maximum nesting depth; while increasing flow level",
        ),
        (NESTED, "t:4:5 aliases unfold to more than 10,000 values; write out what this anchor (&) stands for"),
        (MERGED, "t:5:5 aliases unfold to more than 10,000 values; write out what this anchor (&) stands for"),
        ("a: 1\nb: é\0\n", "t:2:5 this is not YAML: the character U+0000 is not allowed in it; take it out"),
        ("a: 1\nb: \x07\n", "t:2:4 this is not YAML: the character U+0007 is not allowed in it; take it out"),
    ],
)
def test_a_text_that_cannot_be_read_names_the_place(text: str, expected: str) -> None:
    found = read(text, "t")
    assert [render(each) for each in found.problems] == [expected]
    assert found.data is None


@pytest.mark.parametrize(
    ("text", "data", "expected"),
    [
        (
            "a: {b: 1, <<: 5}\n",
            {"a": {"b": 1}},
            't:1:15 "<<" merges mappings, and this is none; write an alias of a mapping (*name), or a list of them',
        ),
        (
            "a: {b: 1, <<: [5]}\n",
            {"a": {"b": 1}},
            't:1:16 "<<" merges mappings, and this is none; write an alias of a mapping (*name), or a list of them',
        ),
        ("? {a: b}\n: 5\nc: 6\n", {"c": 6}, "t:1:3 a key is a word here, not a mapping or a list"),
    ],
)
def test_what_can_be_left_out_is_told_and_the_rest_is_read(text: str, data: object, expected: str) -> None:
    found = read(text, "t")
    assert [render(each) for each in found.problems] == [expected]
    assert found.data == data


def test_of_several_merged_mappings_the_first_wins_and_its_own_keys_win_over_all() -> None:
    found = read("x: &x {a: 1, b: 1}\ny: &y {a: 2, b: 2, c: 2}\nz: {b: 3, <<: [*x, *y]}\n", "t")
    assert found.problems == ()
    assert found.data["z"] == {"a": 1, "b": 3, "c": 2}


def test_an_explicit_tag_says_what_a_scalar_is() -> None:
    assert read('{a: !!str 5, b: !!int "5", c: "5", d: !own 5}', "t").data == {"a": "5", "b": 5, "c": "5", "d": "5"}
