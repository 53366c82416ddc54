"""Secrets in a stack file: whatever is wrong around them, their values are never told."""

from __future__ import annotations

import pytest

from components.problems import Problem, in_file_order, render
from components.spec.reading import secrets
from components.spec.reading.document import read
from components.spec.reading.reader import read_config, read_text
from components.spec.stack import StackSpec

HEAD = "config:\n  trainshed:environment: prod\n"
KNOWN = secrets.names(StackSpec)


def reported(text: str) -> list[str]:
    return [render(each) for each in in_file_order(read_text(text, "Pulumi.t.yaml").problems)]


def test_the_kubeconfig_is_the_stack_files_secret() -> None:
    assert frozenset({"kubeconfig"}) == KNOWN


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (
            "[{kind: self-hosted, kubeconfig: hunter2}]",
            '[{"kind": "self-hosted", "kubeconfig": "<secret>"}] is a list; a mapping of keys to values is wanted',
        ),
        ("[[{kubeconfg: hunter2}]]", '[[{"kubeconfg": "<secret>"}]] is a list; a mapping of keys to values is wanted'),
        ("[{x: {secure: abcd}}]", '[{"x": "<secret>"}] is a list; a mapping of keys to values is wanted'),
        ('"token: hunter2"', "a secret is of another type; a mapping of keys to values is wanted"),
        ("cloud", '"cloud" is text; a mapping of keys to values is wanted'),
    ],
)
def test_a_secret_inside_a_badly_shaped_value_is_not_shown(form: str, expected: str) -> None:
    found = reported(f"{HEAD}  trainshed:form: {form}\n")
    assert f"Pulumi.t.yaml:3:19 form: {expected}" in found
    assert "hunter2" not in str(found)


def test_a_kubeconfig_in_the_clear_is_told_with_the_command_that_encrypts_it() -> None:
    text = HEAD + "  trainshed:form: {kind: self-hosted, kubeconfig: hunter2}\n"
    assert reported(text) == [
        (
            "Pulumi.t.yaml:3:51 form.kubeconfig: warning: is a secret, but stands here as readable text; "
            "encrypt it: pulumi config set --secret --path trainshed:form.kubeconfig < FILE"
        )
    ]
    assert reported(text.replace("hunter2", '{secure: "v1:abcd:efgh"}')) == []


def test_an_engine_that_calls_the_form_secret_has_it_encrypted() -> None:
    config = {"trainshed:environment": "prod", "trainshed:form": {"kind": "self-hosted", "kubeconfig": "hunter2"}}
    assert [each.id for each in read_config(config).problems] == ["secret-in-the-clear"]
    assert read_config(config, secret_keys=frozenset({"trainshed:form"})).problems == ()


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("observability", {"alerts_to": ["https:/hunter2"]}, "observability.alerts_to[0]: a secret is malformed; "),
        ("form", {"kind": "hunter2"}, "form.kind: a secret is not a kind; use one of: cloud, self-hosted, hybrid"),
        ("form", {"kind": "cloud", "x": "hunter2"}, 'form.x: "x" is not a key here; use one of: kind'),
        ("environment", "hunter2", "environment: a secret is not allowed; use one of: dev, staging, prod, standby"),
        (
            "network",
            {"zones": ["usw2-az1"], "cidr": "10.9.8.7/8"},
            "network.cidr: a secret is malformed; an IPv4 range such as 10.0.0.0/16 is wanted",
        ),
        ("budget", {"monthly_usd": "hunter2"}, "budget.monthly_usd: a secret is of another type; a number is wanted"),
        ("tags", {"owner": {"a": "hunter2"}}, "tags.owner: a secret is of another type; text is wanted"),
    ],
)
def test_nothing_inside_a_secret_setting_is_shown(key: str, value: object, expected: str) -> None:
    config = {"aws:region": "us-west-2", "trainshed:environment": "prod", "trainshed:network": {"zones": ["usw2-az1"]}}
    problems = read_config({**config, f"trainshed:{key}": value}, secret_keys=frozenset({f"trainshed:{key}"})).problems
    found = [render(each) for each in problems]
    assert [line for line in found if line.startswith(expected)], found
    assert "hunter2" not in str(found)
    assert "10.0.0.0/8" not in str(found)


def test_a_problem_is_told_without_the_words_of_secret_settings() -> None:
    values = {"observability": {"alerts_to": ["https://hook.example.com/hunter2"]}, "queues": [{"cards": 8}]}
    other = Problem(
        id="x", path="pools[0]", said='"https://hook.example.com/hunter2" takes 8 cards', hint="not hunter2"
    )
    assert render(secrets.unsaid(other, values)) == 'pools[0]: "<secret>" takes 8 cards; not hunter2'
    own = Problem(id="x", path="queues[0].cards", said="8 of 128 cards")
    assert render(secrets.unsaid(own, values)) == "queues[0].cards: <secret> of 128 cards"


def test_the_lines_of_a_secret_are_known_also_when_it_spans_several() -> None:
    text = (
        "config:\n  form:\n    kubeconfig: [\n      hunter2]\n    KubeConfg: |\n      a\n      hunter2\n   "
        " context: x\n"
    )
    assert secrets.lines(read(text, "t"), KNOWN) == {3, 4, 5, 6, 7}


def test_of_a_text_that_is_no_yaml_every_line_may_carry_the_secret() -> None:
    assert secrets.lines(read("a: [\nkubeconfig: hunter2\n", "t"), KNOWN) == {1, 2}
    assert secrets.lines(read("a: [\nb: c\n", "t"), KNOWN) == frozenset()
