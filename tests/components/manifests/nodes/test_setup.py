"""User data of every family against a reviewed file each, and what must never be in it."""

from __future__ import annotations

import email
import ipaddress
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from components import catalog as catalogs
from components.catalog import Catalog
from components.manifests.nodes import bottlerocket, nodeadm
from components.manifests.nodes import setup as node_setup
from components.manifests.nodes.setup import ClusterDetails
from components.planning.pool import Pool
from components.spec.pools import PoolSpec
from tests.components.planning.pool_stacks import PREPROCESS, PRETRAIN

GOLDEN = Path(__file__).parent / "golden"
CLUSTER = ClusterDetails(
    name="trainshed-prod",
    endpoint="https://ABCDEF.gr7.us-west-2.eks.amazonaws.com",
    certificate_authority="Y2E=",
    service_cidr="172.20.0.0/16",
)
TAINTED = {
    "labels": {"example.com/team": "research"},
    "taints": [{"key": "example.com/hold", "value": "yes", "effect": "NO_EXECUTE"}],
}

POOLS: dict[str, dict[str, Any]] = {
    "p5": PRETRAIN,
    "g6e": {**PRETRAIN, "instance_type": "g6e.2xlarge", "fabric": "tcp"},
    "trn2": {**PRETRAIN, "instance_type": "trn2.48xlarge"},
    "m7i": PREPROCESS,
    "m7g": {**PREPROCESS, "instance_types": ["m7g.xlarge"]},
}


def setup(raw: dict[str, Any]) -> node_setup.NodeSetup:
    return node_setup.of_pool(Pool(PoolSpec.model_validate(raw), catalogs.load()))


def parts(text: str) -> list[tuple[str, str]]:
    message = email.message_from_string(text)
    assert message.is_multipart()
    return [(part.get_content_type(), str(part.get_payload())) for part in message.walk() if not part.is_multipart()]


def node_config(text: str) -> dict[str, Any]:
    (found,) = [body for kind, body in parts(text) if kind == "application/node.eks.aws"]
    return yaml.safe_load(found)


@pytest.mark.parametrize("name", sorted(POOLS))
def test_nodeadm_as_reviewed(name: str) -> None:
    assert nodeadm.render(setup(POOLS[name])) == (GOLDEN / f"nodeadm-{name}.txt").read_text()


def test_nodeadm_for_an_own_image_as_reviewed() -> None:
    assert nodeadm.render(setup({**PRETRAIN, **TAINTED}), CLUSTER) == (GOLDEN / "nodeadm-own-image.txt").read_text()


@pytest.mark.parametrize("name", ["p5", "m7i"])
def test_bottlerocket_as_reviewed(name: str) -> None:
    assert bottlerocket.render(setup(POOLS[name])) == (GOLDEN / f"bottlerocket-{name}.toml").read_text()


def test_bottlerocket_for_an_own_image_as_reviewed() -> None:
    assert (
        bottlerocket.render(setup({**PRETRAIN, **TAINTED}), CLUSTER)
        == (GOLDEN / "bottlerocket-own-image.toml").read_text()
    )


def test_an_eks_image_is_told_nothing_of_the_cluster() -> None:
    """EKS merges the coordinates in; given twice, the bootstrap would run on the wrong ones."""
    for raw in POOLS.values():
        assert "cluster" not in node_config(nodeadm.render(setup(raw)))["spec"]
        assert "api-server" not in tomllib.loads(bottlerocket.render(setup(raw)))["settings"]["kubernetes"]


def test_the_planned_pods_are_the_nodes_limit_whatever_eks_appends() -> None:
    """Of two documents nodeadm keeps the last value of a setting and the flags of both; the kubelet reads its flags
    after its files.
    """
    for name, pods in (("p5", 32), ("m7i", 110)):
        kubelet = node_config(nodeadm.render(setup(POOLS[name])))["spec"]["kubelet"]
        of_eks: dict[str, Any] = {"config": {"maxPods": 250}, "flags": ["--node-labels=eks.amazonaws.com/nodegroup=x"]}
        config, flags = {**kubelet["config"], **of_eks["config"]}, [*kubelet["flags"], *of_eks["flags"]]
        limits = [int(flag.removeprefix("--max-pods=")) for flag in flags if flag.startswith("--max-pods=")]
        assert (limits or [config["maxPods"]])[-1] == pods


def test_an_own_image_which_nobody_adds_to_has_the_limit_in_its_configuration() -> None:
    kubelet = node_config(nodeadm.render(setup(PRETRAIN), CLUSTER))["spec"]["kubelet"]
    assert kubelet["config"]["maxPods"] == 32
    assert not any(flag.startswith("--max-pods") for flag in kubelet["flags"])


def test_an_own_image_is_told_all_four_coordinates() -> None:
    cluster = node_config(nodeadm.render(setup(PRETRAIN), CLUSTER))["spec"]["cluster"]
    assert cluster == {
        "name": CLUSTER.name,
        "apiServerEndpoint": CLUSTER.endpoint,
        "certificateAuthority": CLUSTER.certificate_authority,
        "cidr": CLUSTER.service_cidr,
    }


def test_an_own_images_nodes_appear_with_their_labels_and_taints() -> None:
    kubelet = node_config(nodeadm.render(setup({**PRETRAIN, **TAINTED}), CLUSTER))["spec"]["kubelet"]
    (flag,) = kubelet["flags"]
    assert flag.startswith(
        "--node-labels=example.com/team=research,trainshed.io/accelerator=nvidia,trainshed.io/efa=true,"
    )
    assert kubelet["config"]["registerWithTaints"] == [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
        {"key": "example.com/hold", "value": "yes", "effect": "NoExecute"},
    ]


def test_no_user_data_bootstraps_or_touches_the_fabric_manager() -> None:
    for raw in POOLS.values():
        for cluster in (None, CLUSTER):
            for text in (nodeadm.render(setup(raw), cluster), bottlerocket.render(setup(raw), cluster)):
                for word in ("bootstrap.sh", "nodeadm init", "fabricmanager", "fabric-manager", "systemctl"):
                    assert word not in text


@pytest.mark.parametrize(
    ("name", "striped"), [("p5", True), ("g6e", True), ("trn2", True), ("m7i", False), ("m7g", False)]
)
def test_local_disks_are_striped_where_the_type_has_them(name: str, striped: bool) -> None:
    found = node_config(nodeadm.render(setup(POOLS[name])))["spec"].get("instance")
    assert found == ({"localStorage": {"strategy": "RAID0", "mountPath": "/mnt/k8s-disks/"}} if striped else None)


def test_huge_pages_only_where_efa_is() -> None:
    assert [
        name
        for name in POOLS
        if any(kind == "text/x-shellscript" for kind, _ in parts(nodeadm.render(setup(POOLS[name]))))
    ] == [
        "p5",
        "trn2",
    ]
    sysctl = tomllib.loads(bottlerocket.render(setup(PRETRAIN)))["settings"]["kernel"]["sysctl"]
    assert sysctl == {"vm.nr_hugepages": "5128"}


def test_locked_memory_has_no_limit_that_a_machine_could_reach(cat: Catalog) -> None:
    limits = node_config(nodeadm.render(setup(PRETRAIN)))["spec"]["containerd"]["baseRuntimeSpec"]["process"]["rlimits"]
    (memlock,) = [each for each in limits if each["type"] == "RLIMIT_MEMLOCK"]
    assert memlock["soft"] == memlock["hard"] == float(memlock["hard"]), "nodeadm passes numbers through floats"
    assert memlock["hard"] > max(machine.memory_gib for machine in cat.instances.values()) * 2**30
    assert memlock["hard"] < 2**64, "the runtime reads 64 bits"


def test_the_dns_address_is_the_tenth_of_the_service_range() -> None:
    found = tomllib.loads(bottlerocket.render(setup(PRETRAIN), CLUSTER))["settings"]["kubernetes"]["cluster-dns-ip"]
    assert found == "172.20.0.10" and ipaddress.ip_address(found) in ipaddress.ip_network(CLUSTER.service_cidr)
