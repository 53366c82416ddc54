"""Text with a pattern: it fits as a whole, and what doesn't is answered in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from components.problems import in_file_order, render
from components.spec.reading.reader import read_text
from components.spec.sizing import SizingSpec
from components.spec.stack import StackSpec
from components.spec.task import TaskSpec, read_task_text

STACK = """\
config:
  aws:region: us-west-2
  trainshed:environment: dev
  trainshed:network: {zones: [usw2-az1, usw2-az2]}
  trainshed:pools:
    - {name: train, purpose: training, instance_type: g6e.48xlarge, zone: usw2-az2, nodes: {min: 0, max: 2}}
"""
TASK = "task: t\nimage: trainer:dev-1\ncommand: [python]\nresources: {pool: train, nodes: 1}\n"


def reported(more: str) -> list[str]:
    problems = in_file_order(read_text(f"{STACK}  trainshed:{more}\n", "Pulumi.t.yaml").problems)
    return [render(each).partition(" ")[2] for each in problems]


def parts_of(part: object) -> Iterator[object]:
    """A type with all that it is made of and bound by."""
    yield part
    if isinstance(part, type) and issubclass(part, BaseModel):
        for info in part.model_fields.values():
            yield from parts_of(info)
    inner: list[Any] = [*getattr(part, "__args__", ()), *getattr(part, "__metadata__", ())]
    if isinstance(part, FieldInfo):
        inner += [part.annotation, *part.metadata]
    for each in inner:
        yield from parts_of(each)


@pytest.mark.parametrize("model", [StackSpec, TaskSpec, SizingSpec])
def test_every_pattern_comes_with_words(model: type[BaseModel]) -> None:
    parts = list(parts_of(model))
    assert len(parts) > 50
    assert [each for each in parts if getattr(each, "pattern", None) is not None] == []


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (
            'cluster: {version: "1.3"}',
            'cluster.version: "1.3" is malformed; a minor version of Kubernetes such as "1.35" is wanted',
        ),
        (
            'tags: {owner: "a;b"}',
            'tags.owner: "a;b" is malformed; a tag\'s value is wanted: letters, digits, spaces and . : / = + @ _ -',
        ),
        (
            'tags: {"own?er": a}',
            'tags.own?er: "own?er" is malformed; a tag\'s key is wanted: letters, digits, spaces and . : / = + @ _ -',
        ),
        (
            "observability: {alerts_to: [oncall@example.com]}",
            (
                'observability.alerts_to[0]: "oncall@example.com" is malformed; a mailto: address, an https: URL or the'
                " ARN of an SNS topic is wanted, such as mailto:oncall@example.com"
            ),
        ),
        (
            'observability: {alerts_to: ["arn:aws:sns:x"]}',
            (
                'observability.alerts_to[0]: "arn:aws:sns:x" is malformed; a mailto: address, an https: URL or the ARN'
                " of an SNS topic is wanted, such as mailto:oncall@example.com"
            ),
        ),
        (
            "storage: {organisation: o-1}",
            'storage.organisation: "o-1" is malformed; an organisation\'s id such as o-a1b2c3d4e5 is wanted',
        ),
        (
            'storage: {lustre: [{name: "a\\n", zone: usw2-az2, capacity_gib: 2400, throughput_mbps_per_tib: 250}]}',
            (
                'storage.lustre[0].name: "a\\n" is malformed; a name is wanted: lower-case letters, digits, dashes; a'
                " letter first; 32 at most"
            ),
        ),
    ],
)
def test_text_that_does_not_fit_its_pattern_is_told_what_is_wanted(more: str, expected: str) -> None:
    assert reported(more) == [expected]


def test_an_endpoints_name_is_told_what_is_wanted() -> None:
    text = STACK.replace(
        "zones: [usw2-az1, usw2-az2]", "zones: [usw2-az1, usw2-az2], extra_endpoints: [Secrets Manager]"
    )
    assert [render(each) for each in read_text(text, "t").problems] == [
        (
            't:4:70 network.extra_endpoints[0]: "Secrets Manager" is malformed; '
            "the name of a service's endpoint is wanted, such as secretsmanager or ecr.api"
        )
    ]


def test_a_variables_name_and_a_metrics_are_told_what_is_wanted() -> None:
    text = TASK + "environment: {MY-VAR: x}\nmonitor: {metrics: [Loss]}\n"
    assert [render(each) for each in in_file_order(read_task_text(text, "t").problems)] == [
        (
            't:5:23 environment.MY-VAR: "MY-VAR" is malformed; '
            "the name of an environment variable is wanted: letters, digits and underscores, no digit first"
        ),
        (
            't:6:21 monitor.metrics[0]: "Loss" is malformed; '
            "the name of a metric is wanted: lower-case letters, digits and underscores; a letter first"
        ),
    ]


def test_a_tag_that_is_too_long_is_told_how_long_it_may_be() -> None:
    assert reported(f"tags: {{owner: {'a' * 257}}}") == [
        f'tags.owner: "{"a" * 56}... is too long; at most 256 characters are wanted'
    ]


@pytest.mark.parametrize(
    "more",
    [
        "observability: {alerts_to: [{secure: v1:abcd}]}",
        "tags: {owner: {secure: v1:abcd}}",
        "storage: {organisation: {secure: v1:abcd}}",
        'storage: {registry: {credentials: {"ghcr.io": {secure: v1:abcd}}}}',
        "cluster: {admins: [{secure: v1:abcd}]}",
    ],
)
def test_an_encrypted_value_passes_where_nothing_declared_follows_from_it(more: str) -> None:
    assert reported(more) == []


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ("cluster: {version: {secure: v1:abcd}}", "cluster.version"),
        ("cluster: {service_cidr: {secure: v1:abcd}}", "cluster.service_cidr"),
        ("budget: {monthly_usd: {secure: v1:abcd}}", "budget.monthly_usd"),
        ("governance: {audit_trail: {secure: v1:abcd}}", "governance.audit_trail"),
        ("storage: {checkpoints: {replicate_to: {secure: v1:abcd}}}", "storage.checkpoints.replicate_to"),
        ("form: {secure: v1:abcd}", "form"),
    ],
)
def test_an_encrypted_value_is_refused_where_what_is_declared_follows_from_it(more: str, path: str) -> None:
    assert reported(more) == [f"{path}: is encrypted; write it as plain text: what is declared follows from it"]


def test_a_null_character_is_refused_where_a_program_would_read_the_text() -> None:
    wanted = "text without the null character is wanted, at which programs stop reading"
    task = TASK.replace("[python]", '[python, "a\\0b"]') + 'environment: {A: "x\\0"}\n'
    assert [render(each).partition(" ")[2] for each in in_file_order(read_task_text(task, "t.yaml").problems)] == [
        f'command[1]: "a\\u0000b" is malformed; {wanted}',
        f'environment.A: "x\\u0000" is malformed; {wanted}',
    ]
