"""Components in a program of somebody else's: each refuses what a stack file with the same words is refused for, and
declares nothing then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pulumi
import pytest

from components.cluster import Cluster, ClusterArgs, SystemImage
from components.governance import Governance, GovernanceArgs, GovernedSpec
from components.gpu_pool import GpuPool, GpuPoolArgs
from components.in_cluster.block_clock import BlockClock, BlockClockArgs
from components.in_cluster.devices import Devices, DevicesArgs
from components.in_cluster.namespaces import Namespaces, NamespacesArgs
from components.in_cluster.observability import Observability, ObservabilityArgs
from components.in_cluster.people import People, PeopleArgs
from components.in_cluster.queueing import Queueing, QueueingArgs
from components.in_cluster.training_job import TrainingJob, TrainingJobArgs
from components.in_cluster.volumes import Volumes, VolumesArgs
from components.karpenter import Karpenter, KarpenterArgs
from components.lustre import Lustre, LustreArgs
from components.network import Network, NetworkArgs
from components.object_store import ObjectStore, ObjectStoreArgs
from components.planning import rules
from components.planning.address_needs import AddressNeed, nodes
from components.problems import Problem
from components.registry import Registry, RegistryArgs
from components.spec.cluster import ClusterSpec
from components.spec.network import NetworkSpec
from components.spec.pools import PoolSpec
from components.spec.storage import LustreSpec, RegistrySpec, StorageSpec
from components.spec.task import TaskSpec
from tests.components.planning.pool_stacks import FINETUNE, PREPROCESS, PRETRAIN, stack
from tests.declared import record
from tests.given import CAT, SMALL_TASK, task_of
from tests.rows import each_row

REGION, ACCOUNT = "us-west-2", "111122223333"
BUYING = {**PRETRAIN, "nodes": 4, "spares": 0, "capacity": {"kind": "on-demand"}}
BROKEN = stack({**BUYING, "instance_type": "p5.48xlarg"}, queues=[{"name": "all", "pool": "pretrain", "cards": 32}])


def refusal(program: Callable[[], None]) -> str:
    """What a program is refused with; nothing was declared by then."""
    declared: list[Any] = []

    def wanted() -> None:
        with pytest.raises(pulumi.RunError) as refused:
            program()
        declared.append(str(refused.value))

    assert record(wanted) == []
    return declared[0]


def pool(**changed: Any) -> Callable[[], None]:
    return lambda: make_pool({**BUYING, **changed})


def make_pool(raw: dict[str, Any], *, group: str | None = "sg-efa") -> None:
    args = GpuPoolArgs(
        spec=PoolSpec.model_validate(raw),
        catalog=CAT,
        cluster_name="lab",
        cluster_version="1.35",
        endpoint="https://lab.example",
        certificate_authority="Y2E=",
        node_role_arn="arn:aws:iam::111122223333:role/nodes",
        subnet_ids={"usw2-az2": "subnet-2", "usw2-az3": "subnet-3"},
        security_group_ids=["sg-1"],
        efa_security_group_id=group,
    )
    GpuPool("lab", args)


def network(
    *, compute: tuple[AddressNeed, ...] = (), remote: tuple[str, ...] = (), **changed: Any
) -> Callable[[], None]:
    spec = NetworkSpec.model_validate({"zones": ["usw2-az2", "usw2-az3"], **changed})
    return lambda: network_of(NetworkArgs(spec=spec, region=REGION, compute=compute, remote_cidrs=remote))


def network_of(args: NetworkArgs) -> None:
    Network("lab", args)


def lustre(**changed: Any) -> Callable[[], None]:
    def program() -> None:
        spec = LustreSpec.model_validate({"name": "lab", "zone": "usw2-az3", **changed})
        Lustre(
            "lab",
            LustreArgs(
                spec=spec,
                catalog=CAT,
                region=REGION,
                account_id=ACCOUNT,
                vpc_id="vpc-1",
                subnet_id="subnet-3",
                clients=[],
            ),
        )

    return program


def cluster(*, zones: tuple[str, ...] = ("usw2-az2", "usw2-az3"), **changed: Any) -> Callable[[], None]:
    subnets = {zone: f"subnet-{zone}" for zone in zones}

    def program() -> None:
        Cluster(
            "lab",
            ClusterArgs(
                spec=ClusterSpec.model_validate(changed),
                cluster_name="lab",
                region=REGION,
                account_id=ACCOUNT,
                control_subnet_ids=subnets,
                node_subnet_ids=subnets,
                management_security_group_id="sg-1",
                compute_security_group_id="sg-2",
                addons=(),
                system_image=SystemImage(family="AL2023_x86_64_STANDARD", release=None, root_device="/dev/xvda"),
                service_cidr="172.20.0.0/16",
            ),
        )

    return program


def store(**changed: Any) -> Callable[[], None]:
    spec = StorageSpec.model_validate(changed)
    return lambda: void(ObjectStore("lab", ObjectStoreArgs(spec=spec, region=REGION, account_id=ACCOUNT)))


def registry(**changed: Any) -> Callable[[], None]:
    spec = RegistrySpec.model_validate(changed)
    return lambda: void(Registry("lab", RegistryArgs(spec=spec, region=REGION, account_id=ACCOUNT)))


def governance(**changed: Any) -> Callable[[], None]:
    spec = GovernedSpec.model_validate(changed)
    return lambda: void(Governance("lab", GovernanceArgs(spec=spec, stack="lab", region=REGION, account_id=ACCOUNT)))


def void(_: object) -> None:
    """A component that is only made."""


FEW = AddressNeed(zone="usw2-az3", parts=(nodes("lab", 3000),))


@each_row(
    [
        (pool(instance_type=None, instance_types=["p4d.24xlarge", "p5.48xlarge"]), "instance_types"),
        (pool(zone=None, zones=["usw2-az2", "usw2-az3"]), "zones: EFA traffic can't leave a zone"),
        (
            lambda: make_pool({**PREPROCESS, "capacity": {"kind": "on-demand", "placement_group": "lab"}}),
            'capacity.placement_group: the placement group "lab" lies in one zone',
        ),
        (pool(capacity={"kind": "reservation"}), "capacity.ids"),
        (pool(capacity={"kind": "block"}), "capacity.id"),
        (pool(image_family="AL2023_x86_64_STANDARD"), '"AL2023_x86_64_STANDARD"'),
        (pool(instance_type="p5.48xlarg"), 'instance_type: "p5.48xlarg" is not in the catalog'),
        (pool(zone="usw2-az4"), "zone: usw2-az4"),
        (pool(labels={"kubernetes.io/role": "x"}), "labels"),
        (network(cidr="10.0.0.0/16", compute_cidrs=["10.0.128.0/17"]), "compute_cidrs[0]: 10.0.128.0/17 overlaps"),
        (network(cidr="10.0.0.0/12"), "cidr: 10.0.0.0/12 is a /12"),
        (network(zones=["usw2-az2", "use2-az1"]), "zones[1]"),
        (network(zones=["usw2-az2"]), "zones"),
        (network(remote=("8.8.8.0/24",)), "remote_cidrs[0]: 8.8.8.0/24"),
        (network(compute=(FEW,), compute_cidrs=["100.64.0.0/20"]), "compute_cidrs: usw2-az3 needs"),
        (lustre(deployment="PERSISTENT_2", capacity_gib=2400), "throughput_mbps_per_tib"),
        (lustre(deployment="PERSISTENT_2", capacity_gib=2500, throughput_mbps_per_tib=250), "capacity_gib: 2500"),
        (
            lustre(
                deployment="PERSISTENT_2",
                capacity_gib=2400,
                throughput_mbps_per_tib=250,
                links=[{"path": "/datasets", "bucket": "datasets", "import": ["new"]}],
            ),
            'links[0].bucket: "datasets" is none of the buckets given',
        ),
        (lustre(storage="INTELLIGENT_TIERING", throughput_mbps=3), "throughput_mbps"),
        (cluster(version="1.20"), "version: EKS has no Kubernetes 1.20"),
        (cluster(endpoint={"public": True}), "endpoint.allowed_cidrs: the API is public"),
        (cluster(zones=("usw2-az2",)), "control_subnet_ids"),
        (cluster(addons={"coredn": {}}), 'addons.coredn: "coredn" is no EKS add-on'),
        (cluster(system_pool={"instance_type": "p5.48xlarge"}), "system_pool.instance_type: p5.48xlarge has 8"),
        (cluster(admins=["arn:aws:iam::111122223333:group/x"]), "admins[0]"),
        (store(checkpoints={"replicate_to": "us-west-2"}), "checkpoints.replicate_to"),
        (registry(preload=["ghcr.io/lab/trainer:1"]), "preload[0]"),
        (governance(budget={"monthly_usd": 1, "alert_at_percent": [1, 2, 3, 4, 5, 6]}), "budget.alert_at_percent"),
    ]
)
def test_a_component_alone_refuses_what_a_stack_file_is_refused_for(program: Callable[[], None], said: str) -> None:
    found = refusal(program)
    assert said in found, found


def test_the_words_are_those_of_the_stack_file() -> None:
    raw = {**BUYING, "capacity": {"kind": "reservation"}}
    of_file = [each for each in rules.check(stack(raw), CAT) if each.path.startswith("pools[0].capacity")]
    assert of_file
    for each in of_file:
        assert f"{each.said}; {each.hint}" in refusal(pool(capacity={"kind": "reservation"}))


def test_efa_without_its_group_is_refused_and_tcp_needs_none() -> None:
    assert "efa_security_group_id" in refusal(lambda: make_pool(BUYING, group=None))
    assert record(lambda: make_pool({**BUYING, "fabric": "tcp"}, group=None))


@each_row([BUYING, PRETRAIN, FINETUNE, PREPROCESS])
def test_a_pool_that_fits_is_declared(raw: dict[str, Any]) -> None:
    assert record(lambda: make_pool(raw))


def test_all_reasons_come_at_once() -> None:
    found = refusal(pool(instance_type="p5.48xlarg", labels={"kubernetes.io/role": "x"}))
    assert "instance_type" in found and "labels" in found


@each_row(
    [
        (lambda: BlockClock("lab", BlockClockArgs(spec=BROKEN, catalog=CAT, registry_prefix="r")),),
        (lambda: Devices("lab", DevicesArgs(spec=BROKEN, catalog=CAT, registry_prefix="r")),),
        (lambda: Namespaces("lab", NamespacesArgs(spec=BROKEN, catalog=CAT)),),
        (lambda: People("lab", PeopleArgs(spec=BROKEN, namespaces={})),),
        (lambda: Queueing("lab", QueueingArgs(spec=BROKEN, catalog=CAT, namespaces={})),),
        (
            lambda: Observability(
                "lab", ObservabilityArgs(spec=BROKEN, catalog=CAT, namespaces={}, registry_prefix="r")
            ),
        ),
        (lambda: Volumes("lab", VolumesArgs(spec=BROKEN, catalog=CAT, namespaces={}, registry_prefix="r")),),
        (
            lambda: Karpenter(
                "lab",
                KarpenterArgs(
                    spec=BROKEN,
                    catalog=CAT,
                    account_id=ACCOUNT,
                    cluster_name="lab",
                    cluster_version="1.35",
                    endpoint="https://lab.example",
                    key_arn=None,
                    pools=[],
                ),
            ),
        ),
        (lambda: TrainingJob("lab", TrainingJobArgs(spec=small_task(), stack=BROKEN, catalog=CAT)),),
    ]
)
def test_what_is_made_from_a_whole_stack_refuses_one_with_errors(program: Callable[[], object]) -> None:
    assert 'pools[0].instance_type: "p5.48xlarg"' in refusal(lambda: void(program()))


def small_task() -> TaskSpec:
    return task_of(SMALL_TASK)


def test_a_task_that_does_not_fit_its_stack_is_refused() -> None:
    whole = stack(BUYING, queues=[{"name": "all", "pool": "pretrain", "cards": 32}])
    args = TrainingJobArgs(spec=small_task(), stack=whole, catalog=CAT)
    assert "resources.pool" in refusal(lambda: void(TrainingJob("lab", args)))


def test_a_problem_is_one_of_the_same_kind_everywhere() -> None:
    from components.planning import alone

    made = PoolSpec.model_validate({**BUYING, "instance_type": "p5.48xlarg"})
    found = alone.of_pool(made, CAT, zones=("usw2-az3",), cluster_version="1.35", has_efa_group=True)
    assert [type(each) for each in found] == [Problem]
