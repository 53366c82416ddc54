"""Every stack file of the project, built whole."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import os
import random
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from components import catalog
from components.planning import rules
from components.planning.shares import with_default_queues
from components.problems import errors, render
from components.spec.reading.reader import read_config
from infra.build import build
from infra.settings import STACKS, Settings, from_file
from tests.declared import Record, run
from tests.whole import NAMES, recording

GOLDEN = Path(__file__).parent / "golden"
ON_AWS = [name for name in NAMES if name != "onprem"]


@cache
def declared(name: str, known: bool = False, stack: str | None = None) -> tuple[Record, ...]:
    if stack is None:
        return tuple(recording(name, known=known).records)
    settings = from_file(name)
    return tuple(run(lambda: build(settings), stack=stack, known=known).records)


def shuffled(value: Any, rng: random.Random) -> Any:
    if isinstance(value, dict):
        keys = list(value)
        rng.shuffle(keys)
        return {key: shuffled(value[key], rng) for key in keys}
    if isinstance(value, list):
        items = [shuffled(item, rng) for item in value]
        rng.shuffle(items)
        return items
    return value


def settings_of(config: dict[str, Any], name: str) -> Settings:
    """The settings of a configuration, which has no error."""
    cat = catalog.load()
    reading = read_config(config)
    assert reading.stack is not None
    stack = with_default_queues(reading.stack, cat)
    problems = [*reading.problems, *rules.check(stack, cat)]
    assert not errors(problems), [render(each) for each in errors(problems)]
    return Settings(name=name, stack=stack, problems=tuple(problems), catalog=cat)


def built(config: dict[str, Any], name: str) -> list[Record]:
    """What a configuration declares, as the records of a first preview."""
    settings = settings_of(config, name)

    def program() -> None:
        build(settings)

    return run(program, stack=name).records


def facts(record: Record) -> tuple[Any, ...]:
    return (
        record.urn,
        record.type,
        record.parent,
        json.dumps(record.inputs, sort_keys=True),
        record.depends_on,
        record.protect,
        record.ignore_changes,
        record.provider,
    )


def takes_tags(token: str) -> bool:
    _, module, kind = token.split(":")
    holder = importlib.import_module(f"pulumi_aws.{module.split('/')[0]}")
    return "tags" in inspect.signature(getattr(holder, kind)._internal_init).parameters


@pytest.mark.parametrize("name", NAMES)
def test_the_first_preview_declares_exactly_what_an_update_does(name: str) -> None:
    first, known = declared(name), declared(name, known=True)
    assert [each.urn for each in first] == [each.urn for each in known]
    # What an unknown value would have led to can only be added to once it is known.
    for before, after in zip(first, known, strict=True):
        assert set(before.depends_on) <= set(after.depends_on), before.name


@pytest.mark.parametrize("name", NAMES)
def test_shuffling_every_list_and_map_changes_nothing(name: str) -> None:
    config = yaml.safe_load((STACKS / f"Pulumi.{name}.yaml").read_text())["config"]
    plain = {facts(each) for each in declared(name)}
    for seed in (1, 2):
        mixed = {facts(each) for each in built(shuffled(config, random.Random(seed)), name)}
        assert sorted(mixed - plain) == []
        assert sorted(plain - mixed) == []


@pytest.mark.parametrize("name", ON_AWS)
def test_every_leaf_that_takes_tags_carries_the_stacks_tags(name: str) -> None:
    wanted = {
        "project": "trainshed",
        "stack": name,
        "managed-by": "pulumi",
        "owner": "ml-platform",
        "team": "pretraining",
        "cost-center": "4711",
    }
    bare: list[str] = []
    for record in declared(name):
        if record.type.startswith("aws:") and takes_tags(record.type):
            tags = record.inputs.get("tags") or {}
            if not wanted.items() <= tags.items():
                bare.append(f"{record.type} {record.name}: {tags}")
    assert bare == []


def _may_publish(key: Record) -> bool:
    """Whether a key's policy lets CloudWatch alarms use it."""
    statements = json.loads(key.inputs["policy"])["Statement"]
    needed = {"kms:Decrypt", "kms:GenerateDataKey*"}
    who = [set(each["Action"]) for each in statements if each["Principal"].get("Service") == "cloudwatch.amazonaws.com"]
    return any(needed <= actions for actions in who)


@pytest.mark.parametrize("name", ON_AWS)
def test_every_alarm_reaches_a_topic_of_its_own_region_whose_key_lets_it_in(name: str) -> None:
    records = declared(name, known=True)
    home = from_file(name).valid.region
    topics = {each.name: each for each in records if each.type == "aws:sns/topic:Topic"}
    keys = {each.name: each for each in records if each.type == "aws:kms/key:Key"}
    alarms = [each for each in records if each.type == "aws:cloudwatch/metricAlarm:MetricAlarm"]
    assert alarms
    for alarm in alarms:
        reached = [topics[arn.rsplit(":", 1)[1]] for arn in alarm.inputs["alarmActions"]]
        assert reached, f"{alarm.name} reaches nobody"
        for topic in reached:
            assert topic.inputs.get("region", home) == alarm.inputs.get("region", home), (alarm.name, topic.name)
            assert _may_publish(keys[topic.inputs["kmsMasterKeyId"].rsplit(":", 1)[1]]), topic.name


@pytest.mark.parametrize("name", ON_AWS)
def test_nodes_volumes_and_interfaces_carry_the_tags_too(name: str) -> None:
    templates = [each for each in declared(name) if each.type == "aws:ec2/launchTemplate:LaunchTemplate"]
    assert templates
    for template in templates:
        kinds = {
            each["resourceType"]
            for each in template.inputs["tagSpecifications"]
            if each["tags"]["cost-center"] == "4711"
        }
        assert {"instance", "volume"} <= kinds, template.name


@pytest.mark.parametrize("name", NAMES)
def test_every_leaf_names_its_provider(name: str) -> None:
    for record in declared(name):
        if record.custom and not record.type.startswith("pulumi:"):
            assert record.provider, f"{record.name} would use a default provider, which may be disabled"


LIMITS = {
    # Explicit names count whole; a logical name gets eight characters more from the engine.
    "aws:iam/role:Role": ("name", 64),
    "aws:iam/policy:Policy": ("name", 128),
    "aws:iam/rolePolicy:RolePolicy": ("name", 128),
    "aws:eks/cluster:Cluster": ("name", 100),
    "aws:eks/nodeGroup:NodeGroup": ("nodeGroupName", 63),
    "aws:ec2/launchTemplate:LaunchTemplate": ("name", 128),
    "aws:ec2/securityGroup:SecurityGroup": ("name", 255),
    "aws:ec2/placementGroup:PlacementGroup": ("name", 255),
    "aws:s3/bucket:Bucket": ("bucket", 63),
    "aws:cloudwatch/logGroup:LogGroup": ("name", 512),
    "aws:sns/topic:Topic": ("name", 256),
    "aws:scheduler/schedule:Schedule": ("name", 64),
    "aws:scheduler/scheduleGroup:ScheduleGroup": ("name", 64),
    "aws:cloudwatch/metricAlarm:MetricAlarm": ("name", 255),
    "aws:cloudtrail/trail:Trail": ("name", 128),
    "aws:budgets/budget:Budget": ("name", 100),
    "aws:ecr/repository:Repository": ("name", 256),
    "aws:kms/alias:Alias": ("name", 256),
    "aws:costexplorer/anomalyMonitor:AnomalyMonitor": ("name", 128),
    "aws:costexplorer/anomalySubscription:AnomalySubscription": ("name", 128),
}


@pytest.mark.parametrize("name", ON_AWS)
def test_no_name_passes_its_services_limit_with_a_long_stack_name(name: str, tmp_path: Path) -> None:
    long = "very-long-name-of-a-stack-prod-us-west-2"
    assert len(long) == 40
    copy = tmp_path / f"Pulumi.{long}.yaml"
    copy.write_text((STACKS / f"Pulumi.{name}.yaml").read_text())
    for record in declared(str(copy), stack=long):
        if record.type not in LIMITS:
            continue
        key, limit = LIMITS[record.type]
        given = record.inputs.get(key)
        prefix = record.inputs.get(f"{key}Prefix")
        length = len(given) if given else len(prefix) + 26 if prefix else len(record.name) + 8
        assert length <= limit, f"{record.type} {given or prefix or record.name}: {length} > {limit}"
        if record.type == "aws:s3/bucket:Bucket":
            assert re.fullmatch(r"[a-z0-9.-]+", given or prefix or record.name), record.name


# Tags are tested by themselves; the programs of workload/ change often, and nothing is reviewed in their bytes.
LEFT_OUT = ("tags", "tagSpecifications", "binaryData", "trainshed.io/programs")


def golden_lines(records: tuple[Record, ...]) -> list[str]:
    """One line a resource: what a reviewer wants to see change. Long texts are told by their digest."""

    def short(value: Any) -> Any:
        if isinstance(value, str) and len(value) > 80:
            return f"sha256:{hashlib.sha256(value.encode()).hexdigest()[:12]}"
        if isinstance(value, dict):
            return {key: short(item) for key, item in value.items() if key not in LEFT_OUT}
        if isinstance(value, list):
            return [short(item) for item in value]
        return value

    lines: list[str] = []
    for record in records:
        if record.type == "pulumi:pulumi:Stack":
            continue
        inputs = json.dumps(short(record.inputs), sort_keys=True, ensure_ascii=False) if record.custom else "component"
        if len(inputs) > 600:
            inputs = f"{inputs[:540]}... sha256:{hashlib.sha256(inputs.encode()).hexdigest()[:12]}"
        lines.append(f"{record.type} {record.name}{' protected' if record.protect else ''} {inputs}")
    return sorted(lines)


@pytest.mark.parametrize("name", NAMES)
def test_a_stack_declares_what_was_reviewed(name: str) -> None:
    path = GOLDEN / f"{name}.txt"
    lines = golden_lines(declared(name))
    if os.environ.get("TRAINSHED_UPDATE_GOLDEN") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(lines) + "\n")
    reviewed = path.read_text().splitlines()
    gone, new = sorted(set(reviewed) - set(lines)), sorted(set(lines) - set(reviewed))
    assert (gone, new) == ([], []), "review the change, then run the tests with TRAINSHED_UPDATE_GOLDEN=1"
    assert len(lines) == len(reviewed)


def test_more_nodes_add_only_their_node_groups() -> None:
    config = yaml.safe_load((STACKS / "Pulumi.prod.yaml").read_text())["config"]
    many = built(config, "prod")
    pool = config["trainshed:pools"][0]
    pool.update(nodes=2, spares=0, capacity={"kind": "reservation", "ids": ["cr-0a1b2c3d4e5f60718"]})
    config["trainshed:queues"] = [{"name": "pretrain", "pool": "pretrain", "cards": 16}, config["trainshed:queues"][1]]
    few = built(config, "prod")
    more = {each.type for each in many} ^ {each.type for each in few}
    assert more == set()
    extra = [each for each in many if each.urn not in {other.urn for other in few}]
    # Two more reservations: a group and a template each. The address plan keeps room for prefixes in as many blocks as
    # it needs.
    kinds = Counter(each.type for each in extra if each.type != "aws:ec2/subnetCidrReservation:SubnetCidrReservation")
    assert kinds == {"aws:eks/nodeGroup:NodeGroup": 2, "aws:ec2/launchTemplate:LaunchTemplate": 2}
    assert abs(len(many) - len(few) - 4) <= 2


def test_a_renamed_pool_is_found_under_its_former_name() -> None:
    config = yaml.safe_load((STACKS / "Pulumi.dev.yaml").read_text())["config"]
    pool = config["trainshed:pools"][0]
    pool.update(formerly=pool["name"], name="renamed")
    found = next(
        each for each in built(config, "dev") if each.type == "trainshed:pool:GpuPool" and each.name == "renamed"
    )
    assert found.aliases == (pool["formerly"],)
