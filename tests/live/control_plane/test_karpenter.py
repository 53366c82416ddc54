"""Machines that come when pods wait and leave afterwards: the shipped Karpenter buying in an account on 127.0.0.1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.live.support.elastic import POOL, Elastic, tags
from trainshed.sandbox.api import Object, wait_for
from trainshed.sandbox.cloud import account
from trainshed.sandbox.cloud.account import PROFILE, Account, Market

pytestmark = [pytest.mark.control_plane, pytest.mark.xdist_group("karpenter")]

ON_DEMAND = {"p5.48xlarge": 55.04, "m7i.8xlarge": 1.6128, "m6i.8xlarge": 1.536}
SPOT = {"m7i.8xlarge": 0.61, "m6i.8xlarge": 0.72}
WHOLE = {"nvidia.com/gpu": "8", "vpc.amazonaws.com/efa": "32", "cpu": "180", "memory": "1900Gi"}
HALF = {"cpu": "20", "memory": "60Gi"}
ZONES = ("us-west-2a", "us-west-2b")
ZONE = ZONES[1]


def node_class(name: str, cloud: Account, **more: Any) -> Object:
    return {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": name},
        "spec": {
            "amiFamily": "AL2023",
            "amiSelectorTerms": [{"alias": "al2023@v20260801"}],
            "instanceProfile": PROFILE,
            "securityGroupSelectorTerms": [{"id": cloud.security_group}],
            "subnetSelectorTerms": [{"id": each} for each in cloud.subnets.values()],
            **more,
        },
    }


def node_pool(
    name: str, *, machine_class: str, types: list[str], buys: list[str], limits: dict[str, str], zones: list[str]
) -> Object:
    wanted = {
        "node.kubernetes.io/instance-type": types,
        "karpenter.sh/capacity-type": buys,
        "topology.kubernetes.io/zone": zones,
    }
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {
            "limits": limits,
            "disruption": {
                "consolidationPolicy": "WhenEmpty",
                "consolidateAfter": "0s",
                "budgets": [{"nodes": "100%"}],
            },
            "template": {
                "metadata": {"labels": {POOL: name}},
                "spec": {
                    "expireAfter": "Never",
                    "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": machine_class},
                    "requirements": [
                        {"key": key, "operator": "In", "values": values} for key, values in wanted.items()
                    ],
                    "taints": [{"key": f"pool-{name}", "value": "only", "effect": "NoSchedule"}],
                },
            },
        },
    }


def efa_layout() -> list[Object]:
    """One interface with an address, and an EFA without one on each of the 32 network cards."""
    first: Object = {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"}
    fabric = [
        {"networkCardIndex": card, "deviceIndex": 1 if card == 0 else 0, "interfaceType": "efa-only"}
        for card in range(32)
    ]
    return [first, *fabric]


@pytest.fixture(scope="module")
def elastic() -> Iterator[Elastic]:
    if missing := account.missing():
        pytest.fail(f"{', '.join(missing)} not installed: they come with the `test` extra")
    zones = ("usw2-az1", "usw2-az2")
    with Elastic.started(region="us-west-2", zones=zones, market=Market(on_demand=ON_DEMAND, spot=SPOT)) as made:
        cpu: dict[str, Any] = {
            "machine_class": "cpu",
            "types": ["m7i.8xlarge", "m6i.8xlarge"],
            "buys": ["spot", "on-demand"],
        }
        made.declare(
            [
                node_class("cpu", made.account),
                node_class("fabric", made.account, networkInterfaces=efa_layout()),
                node_pool(
                    "gpu",
                    machine_class="fabric",
                    types=["p5.48xlarge"],
                    buys=["on-demand"],
                    limits={"nvidia.com/gpu": "16"},
                    zones=[ZONE],
                ),
                node_pool("prep", **cpu, limits={"cpu": "320"}, zones=list(ZONES)),
                node_pool("other", **cpu, limits={"cpu": "320"}, zones=list(ZONES)),
                node_pool("third", **cpu, limits={"cpu": "320"}, zones=list(ZONES)),
            ]
        )
        yield made


@pytest.fixture(autouse=True)
def cleared(elastic: Elastic) -> Iterator[None]:
    yield
    elastic.account.sell_out({})
    for job in elastic.api.all("batch/v1", "Job"):
        elastic.end(job["metadata"]["name"])


@pytest.mark.proves(
    broken="three whole-node workers wait for a pool that may hold two nodes",
    promised="two machines of the right type, zone, way of buying and interfaces come; the third waits for the limit",
)
def test_waiting_workers_get_whole_machines_up_to_the_pools_limit(elastic: Elastic) -> None:
    elastic.submit("gang", pool="gpu", pods=3, requests=WHOLE)
    elastic.wait_running("gang", 2)
    machines = elastic.machines("gpu")
    assert [each["InstanceType"] for each in machines] == ["p5.48xlarge"] * 2
    assert {each["Placement"]["AvailabilityZone"] for each in machines} == {ZONE}
    assert {each.get("InstanceLifecycle", "on-demand") for each in machines} == {"on-demand"}
    for machine in machines:
        assert Counter(each["InterfaceType"] for each in elastic.interfaces(machine)) == {
            "efa-only": 32,
            "interface": 1,
        }
    for node in elastic.nodes_of("gang"):
        assert node["metadata"]["labels"]["karpenter.sh/capacity-type"] == "on-demand"
        assert node["metadata"]["labels"][POOL] == "gpu"
        assert node["status"]["allocatable"]["nvidia.com/gpu"] == "8"
        assert node["status"]["allocatable"]["vpc.amazonaws.com/efa"] == "32"

    def reported() -> bool:
        return any("exceed limits for nodepool" in said for said in elastic.events("gang"))

    wait_for(reported, what="Karpenter says that the limit holds", seconds=60)
    assert len(elastic.machines("gpu")) == 2
    assert len(elastic.running("gang")) == 2


@pytest.mark.proves(
    broken="the last pods of a pool end", promised="its nodes and machines go, and nothing is left of them"
)
def test_empty_nodes_leave(elastic: Elastic) -> None:
    elastic.submit("short", pool="prep", pods=1, requests=HALF)
    elastic.wait_running("short", 1)
    elastic.end("short")
    for pool in ("prep", "gpu"):
        elastic.wait_left(pool)


@pytest.mark.proves(
    broken="EC2 has no spot machine of any of the pool's types, after it had some",
    promised="first the cheapest type on spot is bought, then on-demand machines in its place",
)
def test_spot_comes_first_and_on_demand_where_spot_is_sold_out(elastic: Elastic) -> None:
    elastic.submit("cheap", pool="prep", pods=2, requests=HALF)
    elastic.wait_running("cheap", 2)
    bought = elastic.machines("prep")
    assert [(each["InstanceType"], each.get("InstanceLifecycle")) for each in bought] == [("m7i.8xlarge", "spot")] * 2

    elastic.account.sell_out({"spot": ["*"]})
    elastic.submit("dear", pool="other", pods=1, requests=HALF)
    elastic.wait_running("dear", 1)
    [machine] = elastic.machines("other")
    assert (machine["InstanceType"], machine.get("InstanceLifecycle")) == ("m6i.8xlarge", None)
    [node] = elastic.nodes_of("dear")
    assert node["metadata"]["labels"]["karpenter.sh/capacity-type"] == "on-demand"


@pytest.mark.proves(
    broken="EC2 takes a spot machine back under a running pod",
    promised="its node is drained and ended, and the pod runs again on a new machine",
)
def test_an_interrupted_spot_node_is_drained_and_replaced(elastic: Elastic) -> None:
    elastic.submit("steady", pool="prep", pods=1, requests=HALF)
    elastic.wait_running("steady", 1)
    [before] = elastic.running("steady")
    [node] = elastic.nodes_of("steady")
    lost = node["spec"]["providerID"].rsplit("/", 1)[-1]
    elastic.account.interrupt(lost)

    def replaced() -> bool:
        pods = elastic.running("steady")
        return len(pods) == 1 and pods[0]["metadata"]["uid"] != before["metadata"]["uid"]

    wait_for(replaced, what="the pod again on another node", seconds=90)
    [after] = elastic.nodes_of("steady")
    assert after["metadata"]["name"] != node["metadata"]["name"]
    wait_for(
        lambda: lost not in {each["InstanceId"] for each in elastic.account.machines()},
        what="the interrupted machine ended",
        seconds=90,
    )


@pytest.mark.proves(
    broken="two pools of the same machine types, a pod for one of them waits",
    promised="only its own pool buys, and its pod never runs on the other's node",
)
def test_a_pool_never_serves_the_jobs_of_another(elastic: Elastic) -> None:
    elastic.submit("theirs", pool="other", pods=1, requests=HALF)
    elastic.wait_running("theirs", 1)
    room = {each["InstanceId"] for each in elastic.machines("other")}
    elastic.submit("ours", pool="third", pods=1, requests={"cpu": "2", "memory": "4Gi"})
    elastic.wait_running("ours", 1)
    [node] = elastic.nodes_of("ours")
    assert node["metadata"]["labels"][POOL] == "third"
    assert [tags(each)["karpenter.sh/nodepool"] for each in elastic.machines("third")] == ["third"]
    assert {each["InstanceId"] for each in elastic.machines("other")} == room
