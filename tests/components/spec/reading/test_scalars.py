"""Unquoted scalars, as `pulumi config --json` of engine 3.274 gives them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from components.problems import render
from components.spec.reading.partial import whole
from components.spec.reading.reader import read_config, read_text
from components.spec.reading.scalars import moment, scalar

BLOCK = """\
config:
  aws:region: us-west-2
  trainshed:environment: dev
  trainshed:network: {zones: [usw2-az1, usw2-az2]}
  trainshed:pools:
    - name: train
      purpose: training
      instance_type: p5.48xlarge
      zone: usw2-az2
      nodes: 2
      capacity: {kind: block, id: cr-0a1b2c3d4e5f60718, start: START, end: 2027-12-24T11:30:00Z}
"""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *[("0471", 313), ("0489", 489), ("010", 8), ("00", 0), ("-012", -10), ("012.5", 12.5), ("012e3", 12000)],
        *[("0x10", 16), ("0XFF", 255), ("-0x10", -16), ("0x1F_F", 511), ("0b11", 3), ("0o17", 15), ("-0o17", -15)],
        *[("1_000", 1000), ("1__0", 10), ("_1", "_1"), ("1_000.5", 1000.5), ("+5", 5), ("-0", 0)],
        *[
            (".8", 0.8),
            ("8.", 8),
            ("+.5", 0.5),
            ("1e3", 1000),
            ("15.6e12", 15_600_000_000_000),
            ("1e-400", 0),
            ("1.30", 1.3),
        ],
        *[("1e999", "1e999"), ("9" * 5000, "9" * 5000), ("9223372036854775807", 2**63 - 1)],
        *[("7:04:00", "7:04:00"), ("yes", "yes"), ("on", "on"), ("TRUE", True), ("~", None), ("", None)],
        ("2027-12-10T11:30:00Z", datetime(2027, 12, 10, 11, 30, tzinfo=UTC)),
        (
            "2027-12-10t11:30:00.25+02:00",
            datetime(2027, 12, 10, 11, 30, 0, 250000, tzinfo=timezone(timedelta(hours=2))),
        ),
        ("2027-12-10 1:2:3", datetime(2027, 12, 10, 1, 2, 3)),
        *[("2026-12-10", date(2026, 12, 10)), ("2026-1-2", date(2026, 1, 2)), ("2026-13-40", "2026-13-40")],
        *[("2027-12-10T11:30:00", "2027-12-10T11:30:00"), ("2027-12-10 11:30:00 +02:00", "2027-12-10 11:30:00 +02:00")],
    ],
)
def test_a_scalar_means_what_the_engine_takes_it_for(text: str, value: object) -> None:
    found = scalar(text)
    assert (found, type(found)) == (value, type(value))


def test_a_time_in_the_engines_spelling_is_the_one_that_was_written() -> None:
    assert moment("2027-12-10 11:30:00 +0000 UTC") == scalar("2027-12-10T11:30:00Z")
    assert moment("2027-12-10 11:30:00.25 +0200 +0200") == scalar("2027-12-10T11:30:00.25+02:00")
    assert moment("2027-12-10 11:30:00 +0100 CET") == scalar("2027-12-10T11:30:00+01:00")
    assert moment("2027-12-40 11:30:00 +0000 UTC") is None


def started(text: str) -> tuple[Any, list[str]]:
    reading = read_text(BLOCK.replace("START", text), "t")
    capacity = reading.stack.pools[0].capacity if reading.stack and whole(reading.stack) else None
    return getattr(capacity, "start", None), [render(each) for each in reading.problems]


@pytest.mark.parametrize(
    "text",
    ["2027-12-10T11:30:00Z", '"2027-12-10T11:30:00Z"', '"2027-12-10 11:30:00 +0000 UTC"', "2027-12-10T13:30:00+02:00"],
)
def test_a_preview_and_the_engine_agree_on_when_a_block_starts(text: str) -> None:
    assert started(text) == (datetime(2027, 12, 10, 11, 30, tzinfo=UTC), [])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2027-12-10", "has no time zone; a time with its zone is wanted, such as 2026-12-10T11:30:00Z"),
        ("2027-12-10 11:30:00", "has no time zone; a time with its zone is wanted, such as 2026-12-10T11:30:00Z"),
        ("5", "5 is a number; a time is wanted, such as 2026-12-10T11:30:00Z"),
        ('"1828438200"', '"1828438200" is text; a time is wanted, such as 2026-12-10T11:30:00Z'),
        ("noon", '"noon" is text; a time is wanted, such as 2026-12-10T11:30:00Z'),
        ("2027-12-40T11:30:00Z", '"2027-12-40T11:30:00Z" is text; a time is wanted, such as 2026-12-10T11:30:00Z'),
    ],
)
def test_what_is_no_time_does_not_start_a_block(text: str, said: str) -> None:
    assert started(text)[1] == [f"t:11:64 pools[0].capacity.start: {said}"]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("tags: {since: 2026-12-10}", "t:12:27 tags.since: 2026-12-10 is a time; text is wanted: put it in quotes"),
        (
            "tags: {since: 2026-12-10T11:30:00Z}",
            "t:12:27 tags.since: 2026-12-10T11:30:00Z is a time; text is wanted: put it in quotes",
        ),
        ("tags: {cost: 0471}", "t:12:26 tags.cost: 313 is a number; text is wanted: put it in quotes"),
        (
            "observability: {logs_days: 1e999}",
            't:12:40 observability.logs_days: "1e999" is text; a whole number is wanted',
        ),
        (
            "cluster: {addons: {vpc-cni: {configuration: {env: [{since: 2026-12-10}]}}}}",
            (
                "t:12:57 cluster.addons.vpc-cni.configuration: holds a time; "
                "an unquoted date or time inside is spelt otherwise when it arrives: put it in quotes"
            ),
        ),
        (
            "budget: {monthly_usd: .inf}",
            "t:12:35 .inf is no number that the engine can hold; write a number, or quotes around it",
        ),
    ],
)
def test_a_scalar_that_is_not_what_it_looks_like_is_told(more: str, expected: str) -> None:
    text = BLOCK.replace("START", "2027-12-10T11:30:00Z")
    found = [render(each) for each in read_text(f"{text}  trainshed:{more}\n", "t").problems]
    assert found[0] == expected
    assert all("monthly_usd" in line for line in found[1:])


def test_whole_numbers_with_an_exponent_count_as_whole() -> None:
    reading = read_text(
        BLOCK.replace("START", "2027-12-10T11:30:00Z") + "  trainshed:budget: {monthly_usd: 5.2e7}\n", "t"
    )
    assert reading.stack is not None
    assert reading.stack.budget is not None
    assert reading.stack.budget.monthly_usd == 52_000_000


def test_the_engines_time_is_read_from_its_configuration() -> None:
    config = {
        "aws:region": "us-west-2",
        "trainshed:environment": "dev",
        "trainshed:network": {"zones": ["usw2-az1", "usw2-az2"]},
        "trainshed:pools": [
            {
                "name": "train",
                "purpose": "training",
                "nodes": 2,
                "capacity": {
                    "kind": "block",
                    "id": "cr-0a1b2c3d4e5f60718",
                    "start": "2027-12-10 11:30:00 +0000 UTC",
                    "end": "2027-12-24 13:30:00 +0200 +0200",
                },
            }
        ],
    }
    reading = read_config(config)
    assert reading.problems == ()
    assert reading.stack is not None
    assert reading.stack.model_dump(mode="json")["pools"][0]["capacity"]["start"] == "2027-12-10T11:30:00Z"
