"""The registry of fabrics, and that a new family is one module and one entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from components import fabrics
from components.catalog import Catalog, InstanceType
from components.fabrics import FABRICS, Interface, Node
from components.gpu_pool import GpuPool, GpuPoolArgs
from components.planning.pool import Pool
from components.spec.pools import HostSpec, PoolSpec
from tests.components.planning.pool_stacks import PRETRAIN, told
from tests.declared import one, record


def pool(**more: Any) -> PoolSpec:
    return PoolSpec.model_validate({**PRETRAIN, **more})


HOSTS: dict[str, Any] = {"accelerator": "h100", "cards": 8, "vcpu": 192, "memory_gib": 2048, "rdma_devices": 8}


def test_the_four_families_are_registered() -> None:
    assert sorted(FABRICS) == ["efa", "infiniband", "roce", "tcp"]
    assert all(kind == fabric.kind for kind, fabric in FABRICS.items())


@pytest.mark.parametrize(
    ("name", "purpose", "expected"),
    [
        ("p5.48xlarge", "training", "efa"),
        ("p5.48xlarge", "preprocessing", "tcp"),
        ("p5.4xlarge", "training", "tcp"),  # EFA without GPUDirect
        ("g5.48xlarge", "finetuning", "tcp"),
        ("trn2.48xlarge", "training", "efa"),
        ("m7i.48xlarge", "preprocessing", "tcp"),
    ],
)
def test_without_a_word_a_pool_gets_what_its_cards_can_use(
    cat: Catalog, name: str, purpose: str, expected: str
) -> None:
    assert Pool(pool(instance_type=name, purpose=purpose, fabric=None), cat).fabric.kind == expected


@pytest.mark.parametrize(
    ("kind", "environment"),
    [
        ("infiniband", {"NCCL_IB_HCA": "mlx5", "NCCL_NET": "IB", "NCCL_SOCKET_IFNAME": "eth0"}),
        ("roce", {"NCCL_IB_HCA": "mlx5", "NCCL_NET": "IB", "NCCL_SOCKET_IFNAME": "eth0"}),
    ],
)
def test_self_hosted_rdma_asks_for_its_devices_and_refuses_to_fall_back(kind: str, environment: dict[str, str]) -> None:
    hosts = HostSpec.model_validate(HOSTS)
    own = pool(instance_type=None, hosts=HOSTS, fabric=kind)
    assert FABRICS[kind].pod_resources(own, hosts) == {"rdma/hca_shared_devices_a": "8"}
    assert FABRICS[kind].environment(own, hosts) == environment
    without = hosts.model_copy(update={"rdma_devices": 0})
    assert FABRICS[kind].refusal(own, without) == f"hosts.rdma_devices is 0, and {kind} needs at least 1"


@pytest.mark.parametrize("kind", ["infiniband", "roce"])
def test_named_adapters_are_the_only_ones_that_carry_collectives(kind: str) -> None:
    hosts = HostSpec.model_validate({**HOSTS, "rdma_adapters": ("mlx5_0", "mlx5_4:1")})
    own = pool(instance_type=None, hosts=hosts.model_dump(), fabric=kind)
    assert FABRICS[kind].environment(own, hosts)["NCCL_IB_HCA"] == "=mlx5_0,mlx5_4:1"


def test_tcp_needs_nothing_and_says_so_to_nccl(cat: Catalog) -> None:
    machine = cat.instance("g5.8xlarge")
    tcp = FABRICS["tcp"]
    assert tcp.pod_resources(pool(), machine) == {}
    assert tcp.environment(pool(), machine) == {"NCCL_NET": "Socket", "NCCL_SOCKET_IFNAME": "eth0"}
    assert tcp.interfaces(pool(), machine) == (
        Interface(network_card_index=0, device_index=0, interface_type="interface"),
    )


def test_tcp_on_nitro_v6_keeps_idle_connections(cat: Catalog) -> None:
    found = FABRICS["tcp"].interfaces(pool(), cat.instance("g7e.8xlarge"))
    assert [each.tcp_established_timeout for each in found] == [432000]


@dataclass(frozen=True, kw_only=True)
class Photon:
    """A family that nobody has: two plain interfaces, and a resource of its own."""

    kind: str = "photon"
    on_aws: bool = True
    zone_bound: bool = True
    open_group: bool = True

    def refusal(self, pool: PoolSpec, node: Node) -> str | None:
        return None if isinstance(node, InstanceType) and node.network.cards > 1 else "it needs two network cards"

    def interfaces(self, pool: PoolSpec, instance: InstanceType) -> tuple[Interface, ...]:
        return tuple(Interface(network_card_index=card, device_index=0, interface_type="interface") for card in (0, 1))

    def pod_resources(self, pool: PoolSpec, node: Node) -> Mapping[str, str]:
        return {"example.com/photon": "2"}

    def environment(self, pool: PoolSpec, node: Node) -> Mapping[str, str]:
        return {"NCCL_NET": "Photon"}


def test_a_made_up_family_needs_one_entry(cat: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FABRICS, "photon", Photon())
    raw = {
        **PRETRAIN,
        "fabric": "photon",
        "nodes": 4,
        "spares": 0,
        "capacity": {"kind": "reservation", "ids": ["cr-0a1b2c3d4e5f60718"]},
    }
    assert told(cat, raw) == []
    assert told(cat, {**raw, "instance_type": "g5.8xlarge"}) == [
        "pools[0].fabric: it needs two network cards; " + _OTHERS
    ]
    spec = PoolSpec.model_validate(raw)

    def program() -> None:
        GpuPool(
            "train",
            GpuPoolArgs(
                spec=spec,
                catalog=cat,
                cluster_name="c",
                cluster_version="1.35",
                endpoint="https://c.example",
                certificate_authority="Y2E=",
                node_role_arn="arn:aws:iam::111122223333:role/nodes",
                efa_security_group_id="sg-efa",
                subnet_ids={"usw2-az3": "subnet-3"},
                security_group_ids=["sg-1"],
            ),
        )

    records = record(program)
    interfaces = one(records, "LaunchTemplate").inputs["networkInterfaces"]
    assert [(each["networkCardIndex"], each["interfaceType"]) for each in interfaces] == [
        (0, "interface"),
        (1, "interface"),
    ]
    assert Pool(spec, cat).labels()["trainshed.io/fabric"] == "photon"
    assert "trainshed.io/efa" not in Pool(spec, cat).labels()


_OTHERS = "use fabric: tcp, or a type that does: g5.8xlarge, g5.12xlarge, g5.16xlarge, g5.24xlarge, g5.48xlarge"


def test_a_made_up_machine_runs_through_the_same_answers(cat: Catalog) -> None:
    network = replace(cat.instance("p5en.48xlarge").network, max_efa=24, cards=24, efa_cards=tuple(range(24)))
    machine = replace(cat.instance("p5en.48xlarge"), name="p9.48xlarge", family="p9", network=network)
    found = fabrics.of(pool(instance_type="p9.48xlarge", fabric=None), machine).interfaces(pool(), machine)
    assert len(found) == 25
    assert told(cat.with_instance(machine), {**PRETRAIN, "instance_type": "p9.48xlarge"}) == []
