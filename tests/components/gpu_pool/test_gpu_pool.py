"""What a pool declares: every accelerated type, way of buying and fabric against the facts, then each hard-won
detail.
"""

from __future__ import annotations

import base64
import email
import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import yaml

from components import accelerators
from components import catalog as catalogs
from components.catalog import InstanceType
from components.fabrics import efa
from components.gpu_pool import GpuPool, GpuPoolArgs
from components.spec.pools import PoolSpec
from tests.components.planning.pool_stacks import FINETUNE, IDS, PREPROCESS, PRETRAIN
from tests.declared import Record, named, of_type, one, record
from tests.rows import each_row

# All rows of the facts are declared at once, so one worker takes the file.
pytestmark = pytest.mark.xdist_group("gpu-pool")
CAT = catalogs.load()
SUBNETS = {"usw2-az2": "subnet-2", "usw2-az3": "subnet-3", "usw2-az4": "subnet-4"}
KEY = "arn:aws:kms:us-west-2:111122223333:key/1a2b"
STANDING = {**PREPROCESS, "nodes": {"min": 200, "max": 200}}


def outputs(kind: str, name: str, inputs: dict[str, Any]) -> dict[str, Any]:
    if kind == "aws:eks/nodeGroup:NodeGroup":
        arn = f"arn:aws:eks:us-west-2:111122223333:nodegroup/c/{name}/1"
        return {"nodeGroupName": name, "arn": arn}
    if kind == "aws:iam/role:Role":
        return {"arn": f"arn:aws:iam::111122223333:role/{name}"}
    return {"name": name, "latestVersion": 7}


def declare(*raws: dict[str, Any], known: bool = True, **more: Any) -> list[Record]:
    specs = [PoolSpec.model_validate_json(json.dumps(raw)) for raw in raws]

    def program() -> None:
        for spec in specs:
            GpuPool(
                spec.name,
                replace(
                    GpuPoolArgs(
                        spec=spec,
                        catalog=CAT,
                        cluster_name="c",
                        cluster_version="1.35",
                        endpoint="https://c.example",
                        certificate_authority="Y2E=",
                        node_role_arn="arn:aws:iam::111122223333:role/nodes",
                        subnet_ids=SUBNETS
                        if spec.zone is None or spec.zone in SUBNETS
                        else {spec.zone: "subnet-elsewhere"},
                        security_group_ids=["sg-cluster", "sg-compute"],
                        efa_security_group_id="sg-efa",
                        key_arn=KEY,
                        tags={"team": "pretraining"},
                    ),
                    **more,
                ),
            )

    return record(program, known=known, outputs=outputs if known else None)


def user_data(template: Record) -> dict[str, Any]:
    message = email.message_from_string(base64.b64decode(template.inputs["userData"]).decode())
    (found,) = [part for part in message.walk() if part.get_content_type() == "application/node.eks.aws"]
    return yaml.safe_load(str(found.get_payload()))


# Every accelerated type that an adapter drives, each way of buying it that EC2 sells, each fabric that it has.
CAPACITIES: dict[str, dict[str, Any]] = {
    "on-demand": {"kind": "on-demand"},
    "own group": {"kind": "on-demand", "placement_group": "mine"},
    "reservation": {"kind": "reservation", "ids": [IDS[0]]},
    "resource group": {
        "kind": "reservation",
        "resource_group_arn": "arn:aws:resource-groups:us-west-2:111122223333:group/g",
    },
    "block": FINETUNE["capacity"],
}


def table() -> Iterator[tuple[str, str, str]]:
    for machine in sorted(CAT.instances.values(), key=lambda each: each.name):
        if machine.accelerator is None or accelerators.of(machine) is None or machine.ultraserver:
            continue
        for capacity in CAPACITIES:
            if capacity == "block" and not machine.capacity_block:
                continue
            for fabric in ("efa", "tcp"):
                if fabric == "tcp" or machine.efa:
                    yield machine.name, capacity, fabric


def expected_template(machine: InstanceType, capacity: str, fabric: str) -> dict[str, Any]:
    """The facts of the catalog and of EC2's documentation, written out independently of the code under test."""
    groups = ["sg-cluster", "sg-compute", *(["sg-efa"] if fabric == "efa" else [])]
    short = machine.network.nitro == 6 or machine.network.tcp_established_timeout_seconds == 350
    primary: dict[str, Any] = {
        "networkCardIndex": 0,
        "deviceIndex": 0,
        "interfaceType": "interface",
        "associatePublicIpAddress": "false",
        "deleteOnTermination": "true",
        "securityGroups": groups,
    }
    if short:
        primary["connectionTrackingSpecification"] = {"tcpEstablishedTimeout": 432000}
    interfaces = [primary]
    if fabric == "efa":
        first = 0 if machine.network.max_efa == machine.network.cards else 1
        interfaces += [
            {
                "networkCardIndex": card,
                "deviceIndex": 1 if card == 0 else 0,
                "interfaceType": "efa-only",
                "deleteOnTermination": "true",
                "securityGroups": groups,
            }
            for card in range(first, machine.network.cards)
        ]
    found: dict[str, Any] = {"networkInterfaces": interfaces}
    if capacity == "block":
        found["instanceType"] = machine.name
        found["instanceMarketOptions"] = {"marketType": "capacity-block"}
        found["capacityReservationSpecification"] = {
            "capacityReservationTarget": {"capacityReservationId": "cr-3a1b2c3d4e5f60718"}
        }
    if capacity == "reservation":
        found["capacityReservationSpecification"] = {"capacityReservationTarget": {"capacityReservationId": IDS[0]}}
    if capacity == "resource group":
        arn = CAPACITIES[capacity]["resource_group_arn"]
        found["capacityReservationSpecification"] = {
            "capacityReservationTarget": {"capacityReservationResourceGroupArn": arn}
        }
    if capacity == "own group":
        found["placement"] = {"groupName": "mine"}
    if capacity == "on-demand" and fabric == "efa":
        found["placement"] = {"groupName": f"{pool_name(machine.name, capacity, fabric)}-placement-1"}
    return found


def pool_name(name: str, capacity: str, fabric: str) -> str:
    return f"{name}-{capacity}-{fabric}".replace(".", "-").replace(" ", "-").replace("xlarge", "")


def needs_own_image(machine: InstanceType) -> bool:
    return set(machine.image_families) <= {"CUSTOM"}


def zone_of(name: str) -> str:
    """A zone that sells the type: one of ours if any does."""
    sold = [
        *CAT.zones_offering(name, "us-west-2"),
        *(zone for zones in CAT.instance(name).zones.values() for zone in zones),
    ]
    return next((zone for zone in sold if zone in SUBNETS), sold[0])


@cache
def whole_table() -> dict[str, list[Record]]:
    """The records of every row of the table, declared in one program, by pool."""
    raws: list[dict[str, Any]] = []
    for name, capacity, fabric in table():
        raw = {
            "name": pool_name(name, capacity, fabric),
            "purpose": "evaluation",
            "instance_type": name,
            "zone": zone_of(name),
            "nodes": 4,
            "fabric": fabric,
            "capacity": CAPACITIES[capacity],
        }
        raws.append({**raw, "image_id": "ami-0a1b2c3d4e5f60718"} if needs_own_image(CAT.instance(name)) else raw)
    found: dict[str, list[Record]] = {}
    for each in declare(*raws):
        found.setdefault(each.parent.rsplit("::", 1)[-1], []).append(each)
    return found


@each_row(table())
def test_template_and_group_equal_the_facts(name: str, capacity: str, fabric: str) -> None:
    machine, pool = CAT.instance(name), pool_name(name, capacity, fabric)
    own_image = needs_own_image(machine)
    records = whole_table()[pool]
    template = one(records, "LaunchTemplate")
    variable = {
        "networkInterfaces",
        "instanceType",
        "instanceMarketOptions",
        "capacityReservationSpecification",
        "placement",
    }
    assert {key: value for key, value in template.inputs.items() if key in variable} == expected_template(
        machine, capacity, fabric
    )

    group = one(records, "NodeGroup")
    assert group.inputs["capacityType"] == {"block": "CAPACITY_BLOCK"}.get(capacity, "ON_DEMAND")
    assert group.inputs.get("instanceTypes") == (None if capacity == "block" else [name])
    assert group.inputs["subnetIds"] == [SUBNETS.get(zone_of(name), "subnet-elsewhere")]
    family = accelerators.of(machine)
    assert family is not None
    assert group.inputs.get("amiType") == (None if own_image else family.image_family(machine.arch))
    assert group.inputs.get("version") == (None if own_image else "1.35")
    assert group.inputs["taints"] == [{"key": family.resource_name, "value": "present", "effect": "NO_SCHEDULE"}]
    sizes = {"minSize": 4, "maxSize": 4, "desiredSize": 4}
    assert group.inputs["scalingConfig"] == (
        sizes if capacity != "block" else {"minSize": 0, "maxSize": 4, "desiredSize": 0}
    )
    assert group.inputs["launchTemplate"] == {"id": f"{template.name}-id", "version": "7"}
    labels = group.inputs["labels"]
    assert labels["trainshed.io/accelerator"] == family.vendor
    assert labels.get("trainshed.io/efa") == ("true" if fabric == "efa" else None)
    striped = "localStorage" in user_data(template)["spec"].get("instance", {})
    assert striped == (machine.local_disks is not None)


def test_a_template_says_nothing_that_eks_refuses() -> None:
    for template in of_type(declare(PRETRAIN, FINETUNE, PREPROCESS), "LaunchTemplate"):
        assert not {"iamInstanceProfile", "hibernationOptions", "vpcSecurityGroupIds", "instanceRequirements"} & set(
            template.inputs
        )
        assert all("subnetId" not in each for each in template.inputs["networkInterfaces"])
    for group in of_type(declare(PRETRAIN, FINETUNE, PREPROCESS), "NodeGroup"):
        assert not {"diskSize", "remoteAccess"} & set(group.inputs)
        assert group.inputs["forceUpdateVersion"] is False


def test_the_root_volume_is_on_the_images_own_device_encrypted_and_large() -> None:
    template = of_type(declare({**PRETRAIN, "root_volume_gib": 500}), "LaunchTemplate")[0]
    assert template.inputs["blockDeviceMappings"] == [
        {
            "deviceName": "/dev/xvda",
            "ebs": {
                "volumeType": "gp3",
                "volumeSize": 500,
                "iops": 6000,
                "throughput": 600,
                "encrypted": "true",
                "kmsKeyId": KEY,
                "deleteOnTermination": "true",
            },
        }
    ]


def test_bottlerocket_keeps_containers_on_its_second_volume() -> None:
    template = of_type(declare({**PRETRAIN, "image_family": "BOTTLEROCKET_x86_64_NVIDIA"}), "LaunchTemplate")[0]
    found = [
        (each["deviceName"], each["ebs"]["volumeSize"], each["ebs"]["encrypted"])
        for each in template.inputs["blockDeviceMappings"]
    ]
    assert found == [("/dev/xvda", 4, "true"), ("/dev/xvdb", 200, "true")]
    assert base64.b64decode(template.inputs["userData"]).startswith(b"[settings.kubernetes]")


def test_the_metadata_service_wants_a_session_and_no_pod_reaches_it() -> None:
    template = of_type(declare(PRETRAIN), "LaunchTemplate")[0]
    assert template.inputs["metadataOptions"] == {
        "httpEndpoint": "enabled",
        "httpTokens": "required",
        "httpPutResponseHopLimit": 1,
        "instanceMetadataTags": "disabled",
    }


def test_instances_volumes_and_interfaces_carry_the_tags() -> None:
    template = of_type(declare(PRETRAIN), "LaunchTemplate")[0]
    tags = {"team": "pretraining", "Name": "pretrain"}
    found = {each["resourceType"]: each["tags"] for each in template.inputs["tagSpecifications"]}
    assert found == {"instance": tags, "network-interface": tags, "volume": tags}


def test_a_users_security_groups_come_after_the_clusters_and_efas() -> None:
    template = of_type(declare({**PRETRAIN, "security_groups": ["sg-0a1b2c3d"]}), "LaunchTemplate")[0]
    assert all(
        each["securityGroups"] == ["sg-cluster", "sg-compute", "sg-efa", "sg-0a1b2c3d"]
        for each in template.inputs["networkInterfaces"]
    )


def test_a_pods_request_and_the_template_count_the_same_interfaces() -> None:
    for name in ("p5.48xlarge", "p6-b300.48xlarge", "trn1.32xlarge"):
        raw = {**FINETUNE, "instance_type": name, "zone": zone_of(name)}
        records = declare(raw)
        template = one(records, "LaunchTemplate")
        with_efa = sum(each["interfaceType"] != "interface" for each in template.inputs["networkInterfaces"])
        pod = efa.Efa().pod_resources(PoolSpec.model_validate(raw), CAT.instance(name))
        assert str(with_efa) == pod["vpc.amazonaws.com/efa"]


def test_a_reserved_pool_has_one_template_and_group_a_reservation_and_no_placement_group() -> None:
    records = declare(PRETRAIN)
    assert [each.name for each in of_type(records, "LaunchTemplate")] != []
    assert sorted(each.name for each in of_type(records, "LaunchTemplate")) == [
        f"pretrain-template-{each}" for each in IDS
    ]
    assert sorted(each.name for each in of_type(records, "NodeGroup")) == [f"pretrain-nodes-{each}" for each in IDS]
    assert of_type(records, "PlacementGroup") == []
    assert all("placement" not in each.inputs for each in of_type(records, "LaunchTemplate"))


def test_on_demand_nodes_with_efa_get_cluster_placement_groups() -> None:
    records = declare({**PRETRAIN, "nodes": 500, "capacity": {"kind": "on-demand"}})
    groups = of_type(records, "PlacementGroup")
    assert sorted((each.name, each.inputs["strategy"]) for each in groups) == [
        ("pretrain-placement-1", "cluster"),
        ("pretrain-placement-2", "cluster"),
    ]
    assert named(records, "pretrain-template-2").inputs["placement"] == {"groupName": "pretrain-placement-2"}


def test_the_users_placement_group_is_used_and_none_is_made() -> None:
    records = declare({**PRETRAIN, "nodes": 500, "capacity": {"kind": "on-demand", "placement_group": "mine"}})
    assert of_type(records, "PlacementGroup") == []
    assert one(records, "LaunchTemplate").inputs["placement"] == {"groupName": "mine"}


def test_a_block_has_market_type_target_and_capacity_type_together() -> None:
    records = declare(FINETUNE)
    template, group = one(records, "LaunchTemplate"), one(records, "NodeGroup")
    assert template.inputs["instanceMarketOptions"] == {"marketType": "capacity-block"}
    assert template.inputs["capacityReservationSpecification"] == {
        "capacityReservationTarget": {"capacityReservationId": "cr-3a1b2c3d4e5f60718"}
    }
    assert template.inputs["instanceType"] == "p5en.48xlarge"
    assert group.inputs["capacityType"] == "CAPACITY_BLOCK"
    assert "instanceTypes" not in group.inputs
    assert group.inputs["labels"]["trainshed.io/block"] == "cr-3a1b2c3d4e5f60718"


def test_a_blocks_nodes_come_after_its_start_and_are_gone_60_minutes_before_its_end() -> None:
    records = declare(FINETUNE)
    up = named(records, "finetune-calendar-up-cr-3a1b2c3d4e5f60718").inputs
    down = named(records, "finetune-calendar-down-cr-3a1b2c3d4e5f60718").inputs
    assert (up["scheduleExpression"], up["scheduleExpressionTimezone"]) == ("at(2026-12-10T11:31:00)", "UTC")
    assert (down["scheduleExpression"], down["scheduleExpressionTimezone"]) == ("at(2026-12-24T10:30:00)", "UTC")
    assert up["flexibleTimeWindow"] == down["flexibleTimeWindow"] == {"mode": "OFF"}
    assert up["target"]["arn"] == "arn:aws:scheduler:::aws-sdk:eks:updateNodegroupConfig"
    group = "finetune-nodes-cr-3a1b2c3d4e5f60718"
    assert json.loads(up["target"]["input"]) == {
        "ClusterName": "c",
        "NodegroupName": group,
        "ScalingConfig": {"MinSize": 0, "DesiredSize": 16},
    }
    assert json.loads(down["target"]["input"]) == {
        "ClusterName": "c",
        "NodegroupName": group,
        "ScalingConfig": {"MinSize": 0, "DesiredSize": 0},
    }


def test_a_block_of_a_fixed_size_stays_at_it_between_start_and_end() -> None:
    for nodes, least in ((16, 16), ({"min": 4, "max": 16}, 4)):
        up = named(declare({**FINETUNE, "nodes": nodes}), "finetune-calendar-up-cr-3a1b2c3d4e5f60718").inputs
        assert json.loads(up["target"]["input"])["ScalingConfig"] == {"MinSize": least, "DesiredSize": 16}


def test_the_scheduler_may_resize_just_its_node_groups() -> None:
    records = declare(FINETUNE)
    policy = json.loads(one(records, "RolePolicy").inputs["policy"])
    arn = "arn:aws:eks:us-west-2:111122223333:nodegroup/c/finetune-nodes-cr-3a1b2c3d4e5f60718/1"
    assert policy["Statement"] == [{"Effect": "Allow", "Action": "eks:UpdateNodegroupConfig", "Resource": [arn]}]
    trust = json.loads(one(records, "Role").inputs["assumeRolePolicy"])
    assert trust["Statement"] == [
        {
            "Effect": "Allow",
            "Principal": {"Service": "scheduler.amazonaws.com"},
            "Action": "sts:AssumeRole",
            "Condition": {"ArnLike": {"aws:SourceArn": "arn:aws:scheduler:us-west-2:111122223333:*"}},
        }
    ]


def test_a_block_that_runs_already_is_not_raised_a_second_time() -> None:
    records = declare({**FINETUNE, "capacity": {**FINETUNE["capacity"], "running": True}})
    assert [each.name for each in of_type(records, "Schedule")] == ["finetune-calendar-down-cr-3a1b2c3d4e5f60718"]
    assert one(records, "NodeGroup").inputs["scalingConfig"] == {"minSize": 0, "maxSize": 16, "desiredSize": 16}


def test_a_live_size_of_8_is_left_alone_where_the_calendar_rules() -> None:
    records = declare(PRETRAIN, FINETUNE, {**PREPROCESS, "nodes": {"min": 5, "max": 200}})
    ignored = {each.name: each.ignore_changes for each in of_type(records, "NodeGroup")}
    assert ignored == {
        **{f"pretrain-nodes-{each}": () for each in IDS},
        "finetune-nodes-cr-3a1b2c3d4e5f60718": ("scalingConfig.desiredSize", "scalingConfig.minSize"),
        "preprocess-nodes-1": (),
    }


def test_raising_min_raises_the_desired_size_too_as_eks_asks() -> None:
    for least in (2, 5):
        group = one(declare({**PREPROCESS, "nodes": {"min": least, "max": 200}}), "NodeGroup")
        assert group.inputs["scalingConfig"] == {"minSize": least, "maxSize": least, "desiredSize": least}
        assert group.inputs["capacityType"] == "ON_DEMAND"


def test_a_pool_that_starts_from_zero_has_no_node_group_and_no_scaling_groups_tags() -> None:
    records = declare(PREPROCESS)
    assert [each.type for each in records if each.custom] == []
    assert of_type(declare(PRETRAIN, FINETUNE), "autoscaling/tag:Tag") == []


def test_bought_nodes_with_efa_get_a_placement_group() -> None:
    raw = {**PRETRAIN, "nodes": {"min": 0, "max": 4}, "spares": 0, "capacity": {"kind": "on-demand"}}
    assert [each.name for each in of_type(declare(raw), "PlacementGroup")] == ["pretrain-placement-elastic"]


def test_eks_gets_its_own_spelling_of_an_effect_and_pods_theirs() -> None:
    for effect in ("NoExecute", "NO_EXECUTE"):
        raw = {**PRETRAIN, "taints": [{"key": "example.com/hold", "value": "y", "effect": effect}]}
        group = of_type(declare(raw), "NodeGroup")[0]
        assert group.inputs["taints"] == [
            {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"},
            {"key": "example.com/hold", "value": "y", "effect": "NO_EXECUTE"},
        ]


def test_reserved_and_training_pools_take_old_nodes_away_first() -> None:
    strategies = {
        each.name: each.inputs["updateConfig"] for each in of_type(declare(PRETRAIN, FINETUNE, STANDING), "NodeGroup")
    }
    assert strategies["pretrain-nodes-cr-0a1b2c3d4e5f60718"] == {"maxUnavailable": 42, "updateStrategy": "MINIMAL"}
    assert strategies["finetune-nodes-cr-3a1b2c3d4e5f60718"] == {"maxUnavailable": 2, "updateStrategy": "MINIMAL"}
    assert strategies["preprocess-nodes-1"] == {"maxUnavailable": 20}


def test_the_engine_waits_for_a_node_group_as_long_as_its_update_takes() -> None:
    waits = {each.name: each.timeouts for each in of_type(declare(PRETRAIN, STANDING), "NodeGroup")}
    # 417 nodes, 42 at a time: 10 turns of 51 minutes and half an hour.
    assert waits["pretrain-nodes-cr-0a1b2c3d4e5f60718"] == {"create": "3h", "update": "9h", "delete": "4h"}
    assert waits["preprocess-nodes-1"] == {"create": "1h", "update": "6h", "delete": "2h"}
    slow = of_type(declare({**PRETRAIN, "update_max_unavailable": 20}), "NodeGroup")[0]
    assert slow.inputs["updateConfig"]["maxUnavailable"] == 20
    assert slow.timeouts["update"] == "12h"


# The monitoring agent never clears it: a restarted daemon must not cost a gang its node.
DCGM = {
    "nodeMonitoringCondition": "AcceleratedHardwareReady",
    "nodeUnhealthyReason": "DCGMError",
    "minRepairWaitTimeMins": 10,
    "repairAction": "NoAction",
}


def test_a_gangs_node_is_not_replaced_for_an_error_that_never_clears_unless_the_user_says_so() -> None:
    def overrides(**more: Any) -> Any:
        group = of_type(declare({**PRETRAIN, **more}), "NodeGroup")[0]
        return group.inputs["nodeRepairConfig"].get("nodeRepairConfigOverrides")

    assert overrides() == overrides(purpose="finetuning") == [DCGM]
    assert overrides(purpose="evaluation") is None
    assert overrides(instance_type="trn1.32xlarge", zone=zone_of("trn1.32xlarge")) is None
    own = {"condition": "AcceleratedHardwareReady", "reason": "DCGMError", "wait_minutes": 30, "action": "Replace"}
    assert overrides(repairs=[own]) == [{**DCGM, "minRepairWaitTimeMins": 30, "repairAction": "Replace"}]


def test_nodes_with_cards_are_repaired_unless_the_user_says_no() -> None:
    repairs = {each.name: each.inputs["nodeRepairConfig"] for each in of_type(declare(PRETRAIN, STANDING), "NodeGroup")}
    assert repairs["pretrain-nodes-cr-0a1b2c3d4e5f60718"] == {"enabled": True, "nodeRepairConfigOverrides": [DCGM]}
    assert repairs["preprocess-nodes-1"] == {"enabled": False}
    answers = [
        {"condition": "AcceleratedHardwareReady", "reason": "NvidiaXID31Error", "wait_minutes": 1, "action": "NoAction"}
    ]
    own = of_type(declare({**PRETRAIN, "repairs": answers}), "NodeGroup")[0].inputs["nodeRepairConfig"]
    assert own == {
        "enabled": True,
        "nodeRepairConfigOverrides": [
            DCGM,
            {
                "nodeMonitoringCondition": "AcceleratedHardwareReady",
                "nodeUnhealthyReason": "NvidiaXID31Error",
                "minRepairWaitTimeMins": 1,
                "repairAction": "NoAction",
            },
        ],
    }
    assert of_type(declare({**PRETRAIN, "node_repair": False}), "NodeGroup")[0].inputs["nodeRepairConfig"] == {
        "enabled": False
    }


def test_the_release_is_the_stack_files_and_a_newer_catalog_changes_nothing() -> None:
    pinned = of_type(declare({**PRETRAIN, "image_release": "1.35.2-20260714"}), "NodeGroup")[0]
    assert pinned.inputs["releaseVersion"] == "1.35.2-20260714"
    assert "releaseVersion" not in of_type(declare(PRETRAIN), "NodeGroup")[0].inputs


def test_an_own_image_is_in_the_template_and_its_user_data_is_whole() -> None:
    records = declare({**PRETRAIN, "image_id": "ami-0a1b2c3d4e5f60718"})
    template, group = of_type(records, "LaunchTemplate")[0], of_type(records, "NodeGroup")[0]
    assert template.inputs["imageId"] == "ami-0a1b2c3d4e5f60718"
    assert not {"amiType", "version", "releaseVersion"} & set(group.inputs)
    assert user_data(template)["spec"]["cluster"] == {
        "name": "c",
        "apiServerEndpoint": "https://c.example",
        "certificateAuthority": "Y2E=",
        "cidr": "172.20.0.0/16",
    }


def plain(records: list[Record]) -> dict[str, Any]:
    return {each.urn: (each.inputs, each.depends_on, each.protect, each.ignore_changes) for each in records}


def test_the_toggle_changes_no_node_group() -> None:
    pools = (PRETRAIN, FINETUNE, PREPROCESS, {**STANDING, "name": "standing"})
    on, off = (plain(declare(*pools, spot_preprocessing=value)) for value in (True, False))
    assert on == off


def test_the_order_of_pools_changes_nothing() -> None:
    assert plain(declare(PRETRAIN, FINETUNE, PREPROCESS)) == plain(declare(PREPROCESS, PRETRAIN, FINETUNE))


def test_another_zone_of_the_network_leaves_pools_that_name_theirs_alone() -> None:
    more = {**SUBNETS, "usw2-az1": "subnet-1"}
    pools = (PRETRAIN, FINETUNE, {**PREPROCESS, "zones": ["usw2-az2", "usw2-az3"]})
    assert plain(declare(*pools)) == plain(declare(*pools, subnet_ids=more))


def test_1250_nodes_are_two_groups_more_than_two_nodes_and_nothing_else() -> None:
    small = declare({**PRETRAIN, "nodes": 2, "spares": 0, "capacity": {"kind": "reservation", "ids": [IDS[0]]}})
    assert len(declare(PRETRAIN)) - len(small) == 4


def test_names_stay_within_63_characters_with_the_longest_pool_name() -> None:
    raw = {**FINETUNE, "name": "p" + "x" * 31}
    other = {
        **PRETRAIN,
        "name": "q" + "x" * 31,
        "capacity": {"kind": "reservation", "ids": [IDS[0]], "sizes": {IDS[0]: 1250}},
    }
    for each in declare(raw, other):
        if each.custom and "tag:Tag" not in each.type:
            assert len(each.name) + 8 <= 63, each.name


def test_protection_comes_from_the_stack_file() -> None:
    assert all(each.protect for each in of_type(declare({**PRETRAIN, "protect": True}), "NodeGroup"))
    assert not any(each.protect for each in of_type(declare(PRETRAIN), "NodeGroup"))


def test_children_have_their_component_as_parent_and_carry_tags() -> None:
    records = declare(PRETRAIN, FINETUNE)
    for each in records:
        if each.custom:
            assert "trainshed:pool:" in each.parent, each.name
            taggable = each.type.rsplit(":", 1)[1] in ("LaunchTemplate", "NodeGroup", "Role", "PlacementGroup")
            assert not taggable or each.inputs["tags"]["team"] == "pretraining"


def test_the_pools_record_is_the_stack_files_words() -> None:
    pool = named([each for each in declare(PRETRAIN) if each.type == "trainshed:pool:GpuPool"], "pretrain")
    assert pool.inputs["instance_type"] == "p5.48xlarge"
    assert pool.inputs["capacity"]["ids"] == list(IDS)


@pytest.mark.parametrize("count", [0, 8])
def test_every_template_of_a_pool_sets_efa_up_for_lustre_where_a_file_system_has_it(count: int) -> None:
    templates = of_type(declare(PRETRAIN, lustre_efa_interfaces=count), "aws:ec2/launchTemplate:LaunchTemplate")
    texts = [base64.b64decode(each.inputs["userData"]).decode() for each in templates]
    assert ["wanted=8" in each for each in texts] == [count == 8] * len(IDS)
    assert ["lnetctl" in each for each in texts] == [count == 8] * len(IDS)
