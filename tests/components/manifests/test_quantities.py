"""Quantities are written as the API server keeps them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.manifests import quantities

_BINARY = {"Mi": 1, "Gi": 1024, "Ti": 1024**2, "Pi": 1024**3, "Ei": 1024**4}
_DECIMAL = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}


@pytest.mark.parametrize(
    ("written", "kept"),
    [(quantities.mebi(5120), "5Gi"), (quantities.mebi(5121), "5121Mi"), (quantities.whole(3000), "3k"), (quantities.whole(9856), "9856"),
     (quantities.millis(189000), "189"), (quantities.millis(29500), "29500m"), (quantities.whole(0), "0"), (quantities.mebi(0), "0")],
)  # fmt: skip
def test_amounts_take_the_largest_unit_that_divides_them(written: str, kept: str):
    assert written == kept


@given(st.integers(min_value=1, max_value=10**12))
def test_memory_keeps_its_value_whatever_its_unit(amount: int):
    text = quantities.mebi(amount)
    assert int(text[:-2]) * _BINARY[text[-2:]] == amount


@given(st.integers(min_value=0, max_value=10**15))
def test_counts_keep_their_value_whatever_their_unit(amount: int):
    text = quantities.whole(amount)
    unit = text.lstrip("0123456789")
    assert int(text.removesuffix(unit) if unit else text) * _DECIMAL[unit] == amount


def test_a_quantity_times_nodes():
    assert quantities.times("5120Mi", 1232) == "6160Gi"
    assert quantities.times("32", 1232) == "39424"
    assert quantities.times("500m", 3) == "1500m"
    with pytest.raises(ValueError, match=r"^'1\.5Gi' is no quantity of whole units$"):
        quantities.times("1.5Gi", 2)


def test_a_plain_copy_holds_no_part_twice():
    part = {"a": [1]}
    copy = quantities.plain({"x": part, "y": part, "z": (part,)})
    assert copy == {"x": {"a": [1]}, "y": {"a": [1]}, "z": [{"a": [1]}]}
    assert copy["x"] is not copy["y"]
