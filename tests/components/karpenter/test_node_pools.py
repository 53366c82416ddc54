"""A pool that sizes itself as Karpenter's objects: what it may buy, and when nodes go."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from components.accelerators import FAMILIES
from components.fabrics import efa
from components.gpu_pool import GpuPool, GpuPoolArgs
from components.manifests.karpenter import controller
from components.manifests.nodes import whole_node
from components.planning.pool import Pool
from components.spec.pools import PoolSpec
from tests.components.karpenter.declared_karpenter import CAT, TRAIN, parts, user_data
from tests.components.manifests.schemas import faults
from tests.components.planning.pool_stacks import IDS, PREPROCESS, reported, stack
from tests.declared import one, record

EVALUATE: dict[str, Any] = {
    "name": "evaluate",
    "purpose": "evaluation",
    "instance_type": "g6.8xlarge",
    "zone": "usw2-az3",
    "nodes": {"min": 1, "max": 4},
}
SHAPES: dict[str, dict[str, Any]] = {
    "cards with EFA": TRAIN,
    "classic EFA": {**TRAIN, "efa_layout": "efa"},
    "nitro v6": {**TRAIN, "instance_type": "p6-b200.48xlarge"},
    "trainium": {**TRAIN, "instance_type": "trn1.32xlarge"},
    "reserved": {**TRAIN, "capacity": {"kind": "reservation", "ids": list(IDS)}},
    "one card": EVALUATE,
    "processors": PREPROCESS,
    "bottlerocket": {**TRAIN, "image_family": "BOTTLEROCKET_x86_64_NVIDIA"},
    "own image": {**TRAIN, "image_id": "ami-0a1b2c3d4e5f60718"},
    "labels and taints": {
        **PREPROCESS,
        "labels": {"example.com/team": "data"},
        "taints": [{"key": "example.com/hold", "value": "y", "effect": "NO_EXECUTE"}],
    },
}


@pytest.mark.parametrize("shape", SHAPES)
def test_objects_are_what_karpenters_own_definitions_take(shape: str) -> None:
    for manifest in parts(SHAPES[shape]):
        assert faults(manifest) == []


def test_interfaces_are_those_of_the_fabric_and_of_a_node_groups_template() -> None:
    made, _ = parts(TRAIN)
    found = made["spec"]["networkInterfaces"]
    assert found[0] == {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"}
    assert sum(each["interfaceType"] == "efa-only" for each in found) == 32
    pod = efa.Efa().pod_resources(PoolSpec.model_validate(TRAIN), CAT.instance("p5.48xlarge"))
    assert pod["vpc.amazonaws.com/efa"] == "32"


def test_the_classic_layout_is_karpenters_own() -> None:
    made, _ = parts(SHAPES["classic EFA"])
    assert "networkInterfaces" not in made["spec"]
    assert (
        "pools[0].efa_interfaces: with efa_layout: efa Karpenter attaches every EFA interface of the type; "
        "fewer can't be said; use efa_layout: efa-only, or take efa_interfaces out"
    ) in reported(CAT, {**TRAIN, "efa_layout": "efa", "efa_interfaces": 8})


def test_machines_that_forget_connections_early_are_told_to_keep_them() -> None:
    made, _ = parts(SHAPES["nitro v6"])
    assert made["spec"]["connectionTracking"] == {"tcpEstablishedTimeout": 432000}
    assert "connectionTracking" not in parts(TRAIN)[0]["spec"]


@pytest.mark.parametrize("shape", ["cards with EFA", "one card", "processors", "bottlerocket"])
def test_a_bought_node_is_set_up_as_one_of_a_node_group(shape: str) -> None:
    raw = {**SHAPES[shape], "nodes": {"min": 2, "max": 16}}
    made, pool = parts(raw)

    def program() -> None:
        GpuPool(
            "pool",
            GpuPoolArgs(
                spec=PoolSpec.model_validate(raw),
                catalog=CAT,
                cluster_name="c",
                cluster_version="1.35",
                endpoint="https://c.example",
                certificate_authority="Y2E=",
                node_role_arn="arn:aws:iam::111122223333:role/nodes",
                subnet_ids={"usw2-az3": "subnet-3"},
                security_group_ids=["sg-compute"],
                efa_security_group_id="sg-efa",
            ),
        )

    records = record(program)
    template, group = one(records, "LaunchTemplate").inputs, one(records, "NodeGroup").inputs
    assert made["spec"]["userData"] == base64.b64decode(template["userData"]).decode()
    assert made["spec"]["metadataOptions"]["httpTokens"] == template["metadataOptions"]["httpTokens"]
    assert made["spec"]["metadataOptions"]["httpPutResponseHopLimit"] == 1
    sizes = [f"{each['ebs']['volumeSize']}Gi" for each in template["blockDeviceMappings"]]
    assert [each["ebs"]["volumeSize"] for each in made["spec"]["blockDeviceMappings"]] == sizes
    assert all(each["ebs"]["encrypted"] for each in made["spec"]["blockDeviceMappings"])
    labels = {key: value for key, value in group["labels"].items() if key != "trainshed.io/capacity"}
    bought = pool["spec"]["template"]
    assert {**bought["metadata"]["labels"], **labels} == bought["metadata"]["labels"]
    keys = [(each["key"], each["value"]) for each in group.get("taints") or []]
    assert [(each["key"], each["value"]) for each in bought["spec"].get("taints", [])] == keys


def test_the_image_is_pinned_to_the_catalogs_release() -> None:
    release = CAT.images.release("AL2023_x86_64_NVIDIA", "1.35") or ""
    assert parts(TRAIN)[0]["spec"]["amiSelectorTerms"] == [{"alias": f"al2023@v{release.partition('-')[2]}"}]
    older = parts({**TRAIN, "image_release": "1.35.2-20260401"})[0]
    assert older["spec"]["amiSelectorTerms"] == [{"alias": "al2023@v20260401"}]
    own = parts(SHAPES["own image"])[0]
    assert own["spec"]["amiSelectorTerms"] == [{"id": "ami-0a1b2c3d4e5f60718"}]
    assert (own["spec"]["amiFamily"], "cluster" in user_data(own)["spec"]) == ("AL2023", False)
    assert parts(SHAPES["bottlerocket"])[0]["spec"]["amiSelectorTerms"] == [{"alias": "bottlerocket@v1.58.0"}]
    fips = parts({**TRAIN, "image_family": "BOTTLEROCKET_x86_64_NVIDIA_FIPS"})[0]
    assert fips["spec"]["amiSelectorTerms"] == [
        {"ssmParameter": "/aws/service/bottlerocket/aws-k8s-1.35-nvidia-fips/x86_64/1.58.0-c5c37032/image_id"}
    ]


def test_a_release_that_cant_be_read_and_a_version_without_one_are_told() -> None:
    assert (
        'pools[0].image_release: "july" is not how a release of AL2023_x86_64_NVIDIA is written; such as '
        '"1.35.6-20260714"'
    ) in reported(CAT, {**TRAIN, "image_release": "july"})
    # Bottlerocket is pinned for two versions of Kubernetes alone.
    said = reported(CAT, SHAPES["bottlerocket"], cluster={"version": "1.34"})
    assert any("no release of BOTTLEROCKET_x86_64_NVIDIA is pinned for Kubernetes 1.34" in each for each in said)


def test_spot_comes_first_and_on_demand_stands_in_under_one_limit() -> None:
    _, pool = parts(PREPROCESS)
    (buys,) = [
        each["values"]
        for each in pool["spec"]["template"]["spec"]["requirements"]
        if each["key"] == "karpenter.sh/capacity-type"
    ]
    assert buys == ["spot", "on-demand"]
    assert pool["spec"]["limits"] == {"nodes": "200", "cpu": str(200 * 32)}
    assert "trainshed.io/capacity" not in pool["spec"]["template"]["metadata"]["labels"]


def test_the_toggle_flips_the_capacity_type_of_preprocessing_pools_alone() -> None:
    on, off = parts(PREPROCESS, spot=True), parts(PREPROCESS, spot=False)
    assert on[0] == off[0]
    before, after = json.dumps(on[1]), json.dumps(off[1])
    assert before.replace('"values": ["spot", "on-demand"]', '"values": ["on-demand"]') == after != before
    for shape in ("cards with EFA", "one card", "reserved"):
        assert parts(SHAPES[shape], spot=True) == parts(SHAPES[shape], spot=False)


def test_limits_are_the_pools_most_without_its_fixed_nodes() -> None:
    assert parts(TRAIN)[1]["spec"]["limits"] == {"nodes": "16", "nvidia.com/gpu": "128"}
    assert parts(EVALUATE)[1]["spec"]["limits"] == {"nodes": "3", "nvidia.com/gpu": "3"}
    trainium = parts(SHAPES["trainium"])[1]["spec"]["limits"]
    assert trainium == {"nodes": "16", FAMILIES["neuron"].resource_name: "256"}


def test_nodes_go_only_when_they_are_empty() -> None:
    for shape in SHAPES.values():
        spec = parts(shape)[1]["spec"]
        assert spec["template"]["spec"]["expireAfter"] == "Never"
        assert "terminationGracePeriod" not in spec["template"]["spec"], "nobody is forced out after a while"
        assert spec["disruption"] == {
            "consolidationPolicy": "WhenEmpty",
            "consolidateAfter": "10m",
            "budgets": [
                {"nodes": "100%", "reasons": ["Empty"]},
                {"nodes": "0", "reasons": ["Drifted", "Underutilized"]},
            ],
        }


def test_reserved_nodes_are_bought_in_their_reservations_only() -> None:
    made, pool = parts(SHAPES["reserved"])
    assert made["spec"]["capacityReservationSelectorTerms"] == [{"id": each} for each in IDS]
    assert {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["reserved"]} in pool["spec"]["template"][
        "spec"
    ]["requirements"]
    group = "arn:aws:resource-groups:us-west-2:111122223333:group/g"
    raw = {**TRAIN, "capacity": {"kind": "reservation", "resource_group_arn": group}}
    assert reported(CAT, raw) == [
        (
            "pools[0].capacity.resource_group_arn: a pool that sizes itself finds its reservations by id, not through "
            "a resource group; name them in ids, or use nodes: 16: reserved machines are paid whether they run or not"
        )
    ]


def test_karpenter_counts_with_no_less_memory_than_a_whole_node_worker_asks_for() -> None:
    """Else no machine of the pool would seem large enough, and none would ever be bought."""
    for name in ("p5.48xlarge", "p6-b200.48xlarge", "trn2.48xlarge", "g6.8xlarge", "m7i.8xlarge"):
        raw = {**TRAIN, "instance_type": name, "fabric": "efa" if name.startswith(("p", "trn")) else "tcp"}
        made, _ = parts(raw)
        machine = whole_node.machine_of(Pool(PoolSpec.model_validate(raw), CAT))
        assert machine is not None
        kubelet = made["spec"]["kubelet"]
        kept = 255 + 11 * kubelet["maxPods"] + 100 + int(kubelet["systemReserved"]["memory"].removesuffix("Mi"))
        share = controller.values(stack(raw), cluster_name="c", endpoint="e", queue="q")["settings"][
            "vmMemoryOverheadPercent"
        ]
        assert machine.memory_mib <= CAT.instance(name).memory_gib * 1024 * (1 - share) - kept


def test_keys_of_node_groups_are_told_where_there_is_no_group() -> None:
    answers = [
        {"condition": "AcceleratedHardwareReady", "reason": "NvidiaXID31Error", "wait_minutes": 1, "action": "NoAction"}
    ]
    assert reported(CAT, {**TRAIN, "repairs": answers}) == [
        (
            "pools[0].repairs: warning: repairs is for managed node groups, of which this pool has none: Karpenter "
            "buys all its nodes; take it out, or give nodes a min above 0: that many are a managed node group"
        )
    ]
    fixed = {**TRAIN, "nodes": 16, "capacity": {"kind": "reservation", "ids": [IDS[0]]}}
    assert reported(CAT, {**fixed, "repairs": answers}) == []
    assert reported(CAT, {**fixed, "repairs": answers, "node_repair": False}) == [
        (
            "pools[0].repairs: warning: node_repair is false, so nothing acts on these answers; set node_repair: true, "
            "or take repairs out"
        )
    ]


def test_a_fixed_number_of_preprocessing_nodes_is_told_to_be_the_most() -> None:
    assert reported(CAT, {**PREPROCESS, "nodes": 20}) == [
        (
            "pools[0].nodes: note: up to 20 nodes are bought when jobs wait, and leave when they are empty; "
            "write nodes: {min: 0, max: 20} to say so"
        )
    ]
