"""Karpenter's controller: what it may do, what it hears, and the order in which all of it comes and goes."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from typing import Any

from infra.offline.recorder import Record
from tests.components.karpenter.declared_karpenter import TRAIN, declared
from tests.components.planning.pool_stacks import PREPROCESS
from tests.declared import named, of_type, one

CONTROLLER_ROLE_LIMIT = 10_240  # IAM: characters of a role's inline policies


def statements(records: list[Record]) -> dict[str, dict[str, Any]]:
    policy = named([each for each in records if each.type.endswith(":RolePolicy")], "karpenter-controller-policy")
    return {each["Sid"]: each for each in json.loads(policy.inputs["policy"])["Statement"]}


def test_the_controller_buys_and_ends_machines_of_its_own_cluster_only() -> None:
    found = statements(declared(TRAIN, PREPROCESS))
    owned = {"aws:ResourceTag/kubernetes.io/cluster/trainshed-prod": "owned"}
    for sid in ("BuyFromOwnTemplates", "NameOwnMachines", "EndOwn"):
        assert found[sid]["Condition"]["StringEquals"] == owned
    for sid in ("BuyTagged", "TagWhatIsMade"):
        asked = found[sid]["Condition"]["StringEquals"]
        assert asked["aws:RequestTag/kubernetes.io/cluster/trainshed-prod"] == "owned"
    assert found["PassNodeRole"]["Resource"] == ["arn:aws:iam:us-west-2:111122223333:karpenter-node"]
    assert len(json.dumps(list(found.values()))) < CONTROLLER_ROLE_LIMIT


def test_only_lists_that_nothing_narrows_are_open() -> None:
    found = statements(declared(TRAIN, PREPROCESS))
    open_to_all = {sid for sid, each in found.items() if each["Resource"] == ["*"]}
    assert open_to_all == {"ReadRegion", "ReadPrices"}
    read = ("ec2:Describe*", "pricing:Get*", "iam:List*")
    for sid in open_to_all:
        assert all(any(fnmatchcase(action, each) for each in read) for action in found[sid]["Action"])


def test_the_only_role_that_it_may_make_is_ec2s_own_for_spot() -> None:
    first = statements(declared(TRAIN))["FirstSpot"]
    assert first["Condition"] == {"StringEquals": {"iam:AWSServiceName": "spot.amazonaws.com"}}
    assert first["Resource"][0].endswith("/spot.amazonaws.com/AWSServiceRoleForEC2Spot")


def test_warnings_of_ec2_reach_the_queue_and_nobody_elses_do() -> None:
    records = declared(PREPROCESS)
    queue, policy = one(records, "sqs/queue:Queue"), one(records, "QueuePolicy")
    patterns = {json.loads(each.inputs["eventPattern"])["detail-type"][0] for each in of_type(records, "EventRule")}
    assert patterns == {
        "AWS Health Event",
        "EC2 Spot Instance Interruption Warning",
        "EC2 Instance Rebalance Recommendation",
        "EC2 Instance State-change Notification",
        "EC2 Capacity Reservation Instance Interruption Warning",
    }
    assert (queue.inputs["messageRetentionSeconds"], queue.inputs["sqsManagedSseEnabled"]) == (300, True)
    allow, deny = json.loads(policy.inputs["policy"])["Statement"]
    assert len(allow["Condition"]["ArnEquals"]["aws:SourceArn"]) == len(of_type(records, "EventTarget")) == 5
    assert deny["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_bought_nodes_have_a_role_of_their_own_with_an_entry_into_the_cluster() -> None:
    records = declared(TRAIN)
    entry = one(records, "AccessEntry").inputs
    assert (entry["type"], entry["principalArn"]) == ("EC2_LINUX", "arn:aws:iam:us-west-2:111122223333:karpenter-node")
    assert one(records, "InstanceProfile").inputs["role"] == "karpenter-node"
    policies = {each.inputs["policyArn"].rsplit("/", 1)[1] for each in of_type(records, "RolePolicyAttachment")}
    assert policies == {"AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly"}


def test_the_release_is_the_pinned_one_with_two_replicas_on_system_nodes() -> None:
    release = named(declared(TRAIN), "karpenter-release-karpenter").inputs
    assert (release["version"], release["chart"]) == ("1.13.0", "oci://public.ecr.aws/karpenter/karpenter")
    values = release["values"]
    assert (values["replicas"], values["priorityClassName"]) == (2, "system-cluster-critical")
    assert values["podDisruptionBudget"]["maxUnavailable"] == 1
    assert values["nodeSelector"]["trainshed.io/purpose"] == "system"
    assert values["settings"]["clusterName"] == "trainshed-prod"
    assert values["settings"]["interruptionQueue"] == "karpenter-interruptions"
    assert values["settings"]["isolatedVPC"] is False
    single = declared(TRAIN, cluster={"system_pool": {"instance_type": "m7i.2xlarge", "nodes": 1}})
    assert named(single, "karpenter-release-karpenter").inputs["values"]["replicas"] == 1


def test_without_a_way_out_the_image_is_the_mirrors_and_prices_are_those_it_carries() -> None:
    values = named(declared(TRAIN, egress="isolated"), "karpenter-release-karpenter").inputs["values"]
    assert values["settings"]["isolatedVPC"] is True
    assert values["controller"]["image"] == {
        "repository": "111122223333.dkr.ecr.us-west-2.amazonaws.com/ecr-public/karpenter/controller",
        "tag": "1.13.0",
        "digest": "",
    }


def test_a_pool_comes_after_all_that_runs_it_so_that_a_destroy_takes_it_first() -> None:
    records = {each.urn: each for each in declared(TRAIN, PREPROCESS)}

    def before(name: str, kind: str) -> set[str]:
        (start,) = [each for each in records.values() if each.name == name and each.type.endswith(kind)]
        found, todo = set[str](), list(start.depends_on)
        while todo:
            urn = todo.pop()
            if urn in records and urn not in found:
                found.add(urn)
                todo += records[urn].depends_on
        return {records[urn].name for urn in found if records[urn].custom}

    needed = before("karpenter-pool-train", ":NodePool")
    assert {
        "karpenter-class-train",
        "karpenter-release-karpenter",
        "karpenter-release-karpenter-crd",
        "karpenter-controller-association",
        "karpenter-controller-policy",
        "karpenter-interruptions",
        "karpenter-node",
    } <= needed
    assert "karpenter-spot" in before("karpenter-release-karpenter", ":Release"), "it hears of interruptions at once"


def test_the_toggle_changes_the_preprocessing_pool_and_nothing_else() -> None:
    def plain(value: bool) -> dict[str, Any]:
        return {
            each.urn: (each.inputs, each.depends_on) for each in declared(TRAIN, PREPROCESS, spot_preprocessing=value)
        }

    on, off = plain(True), plain(False)
    assert {urn.rsplit("::", 1)[1] for urn in on if on[urn] != off[urn]} == {"karpenter-pool-preprocess"}
    assert set(on) == set(off)
