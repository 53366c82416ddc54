"""A cluster and everything in it without a stack file: the stack is a value, and each component is made by hand."""

from collections.abc import Mapping

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes

from components import catalog
from components.cluster import Cluster, ClusterArgs, SystemImage
from components.governance import Governance, GovernanceArgs, GovernedSpec
from components.gpu_pool import GpuPool, GpuPoolArgs
from components.identity.pod_identity import PodIdentity, PodIdentityArgs, ServiceAccount
from components.in_cluster.block_clock import BlockClock, BlockClockArgs
from components.in_cluster.devices import Devices, DevicesArgs
from components.in_cluster.namespaces import Namespaces, NamespacesArgs
from components.in_cluster.node_health import NodeHealth, NodeHealthArgs
from components.in_cluster.observability import Observability, ObservabilityArgs
from components.in_cluster.people import People, PeopleArgs
from components.in_cluster.queueing import Queueing, QueueingArgs
from components.in_cluster.training_job import TrainingJob, TrainingJobArgs
from components.in_cluster.volumes import FileSystemWires, Volumes, VolumesArgs
from components.karpenter import BoughtPool, Karpenter, KarpenterArgs
from components.lustre import Client, Lustre, LustreArgs
from components.network import Network, NetworkArgs
from components.object_store import ObjectStore, ObjectStoreArgs
from components.planning import addons, address_needs, endpoints, images
from components.planning.pool import Pool
from components.registry import Registry, RegistryArgs
from components.spec.stack import StackSpec
from components.spec.task import TaskSpec

NAME, TAGS = "lab", {"owner": "research", "project": "own-stack"}
CAT = catalog.load()
STACK = StackSpec.model_validate(
    {
        "region": "us-west-2",
        "environment": "dev",
        "network": {"zones": ["usw2-az2", "usw2-az3"], "nat_gateways": "one"},
        "cluster": {"admins": ["arn:aws:iam::111122223333:role/lab-admin"]},
        "pools": [
            {
                "name": "train",
                "purpose": "training",
                "instance_type": "p5.48xlarge",
                "zone": "usw2-az3",
                "nodes": 4,
                "fabric": "efa",
            },
            {
                "name": "prepare",
                "purpose": "preprocessing",
                "instance_types": ["m7i.8xlarge", "m6i.8xlarge", "m6a.8xlarge"],
                "nodes": {"min": 0, "max": 4},
            },
        ],
        "storage": {
            "datasets": {"size_gib": 2000},
            "lustre": [
                {
                    "name": "train",
                    "zone": "usw2-az3",
                    "capacity_gib": 4800,
                    "throughput_mbps_per_tib": 1000,
                    "efa": True,
                    "links": [
                        {"path": "/datasets", "bucket": "datasets", "import": ["new", "changed"]},
                        {"path": "/checkpoints", "bucket": "checkpoints", "export": ["new", "changed"]},
                    ],
                }
            ],
        },
        "queues": [
            {"name": "train", "pool": "train", "cards": 32},
            {"name": "prepare", "pool": "prepare", "nodes": 4},
        ],
        "access": {"researchers": [{"who": ["arn:aws:iam::111122223333:role/lab-researcher"], "queues": ["train"]}]},
        "observability": {"alerts_to": ["mailto:lab@example.com"]},
        "budget": {"monthly_usd": 500000},
    }
)
assert STACK.network is not None and STACK.cluster is not None
region = aws.Provider("aws", region=STACK.region)
own = pulumi.ResourceOptions(providers={"aws": region})

network = Network(
    NAME,
    NetworkArgs(
        spec=STACK.network,
        region=STACK.region,
        compute=address_needs.compute_needs(STACK, CAT),
        endpoints=endpoints.needed(STACK),
        tags=TAGS,
    ),
    own,
)
registry = Registry(
    "registry",
    RegistryArgs(
        spec=STACK.storage.registry,
        region=STACK.region,
        account_id=network.account_id,
        images=images.needed(STACK, CAT),
        tags=TAGS,
    ),
    own,
)
cluster = Cluster(
    "cluster",
    ClusterArgs(
        spec=STACK.cluster,
        cluster_name=NAME,
        region=STACK.region,
        account_id=network.account_id,
        control_subnet_ids={zone: network.subnet_ids("control", zone) for zone in STACK.zones},
        node_subnet_ids={zone: network.subnet_ids("nodes", zone) for zone in STACK.zones},
        management_security_group_id=network.management_security_group_id,
        compute_security_group_id=network.compute_security_group_id,
        addons=addons.needed(STACK, CAT),
        system_image=SystemImage(
            family="AL2023_x86_64_STANDARD",
            release=CAT.images.release("AL2023_x86_64_STANDARD", STACK.cluster.version),
            root_device="/dev/xvda",
        ),
        service_cidr="172.20.0.0/16",
        ready=network.ready,
        tags=TAGS,
    ),
    own,
)
Governance(
    "governance",
    GovernanceArgs(
        spec=GovernedSpec(governance=STACK.governance, budget=STACK.budget, alerts_to=STACK.observability.alerts_to),
        stack=NAME,
        region=STACK.region,
        account_id=network.account_id,
        tags=TAGS,
    ),
    own,
)
store = ObjectStore(
    "store",
    ObjectStoreArgs(spec=STACK.storage, region=STACK.region, account_id=network.account_id, tags=TAGS),
    own,
)
[spec] = STACK.storage.lustre
train = Lustre(
    "lustre-train",
    LustreArgs(
        spec=spec,
        catalog=CAT,
        region=STACK.region,
        account_id=network.account_id,
        vpc_id=network.vpc_id,
        subnet_id=network.subnet_ids("compute", spec.zone),
        clients=[
            Client(name="compute", security_group_id=network.compute_security_group_id),
            Client(name="efa", security_group_id=network.efa_security_group_id, efa=True),
        ],
        buckets=store.bucket_names,
        after=store.ready,
        tags=TAGS,
    ),
    own,
)


def pool(name: str, subnets: Mapping[str, pulumi.Input[str]], group: pulumi.Input[str]) -> GpuPool:
    """One pool of the stack, with everything of the cluster that its nodes need."""
    return GpuPool(
        name,
        GpuPoolArgs(
            spec=STACK.pool(name),
            catalog=CAT,
            cluster_name=cluster.name,
            cluster_version=cluster.version,
            endpoint=cluster.endpoint,
            certificate_authority=cluster.certificate_authority,
            node_role_arn=cluster.node_role_arn,
            subnet_ids=subnets,
            security_group_ids=[group],
            efa_security_group_id=network.efa_security_group_id,
            tags=TAGS,
            after=cluster.before_nodes,
        ),
        own,
    )


pool("train", {spec.zone: network.subnet_ids("compute", spec.zone)}, network.compute_security_group_id)
beside = {zone: network.subnet_ids("nodes", zone) for zone in STACK.zones}
prepare = pool("prepare", beside, network.management_security_group_id)

inside = pulumi.ResourceOptions(
    providers={
        "aws": region,
        "kubernetes": kubernetes.Provider(
            "kubernetes", kubeconfig=cluster.kubeconfig, cluster=cluster.name, cluster_identifier=cluster.name
        ),
    }
)
spaces = Namespaces("namespaces", NamespacesArgs(spec=STACK, catalog=CAT, after=cluster.ready), inside)
Observability(
    "observability",
    ObservabilityArgs(
        spec=STACK,
        catalog=CAT,
        namespaces=spaces.namespaces,
        registry_prefix=registry.prefix,
        cluster_name=cluster.name,
        topic_key_arn=cluster.key_arn,
        log_key_arn=cluster.key_arn,
        tags=TAGS,
        after=cluster.ready,
    ),
    inside,
)
Devices("devices", DevicesArgs(spec=STACK, catalog=CAT, registry_prefix=registry.prefix, after=cluster.ready), inside)
elastic = prepare.placement.elastic
assert elastic is not None
Karpenter(
    "karpenter",
    KarpenterArgs(
        spec=STACK,
        catalog=CAT,
        account_id=network.account_id,
        cluster_name=NAME,
        cluster_version=cluster.version,
        endpoint=cluster.endpoint,
        key_arn=cluster.key_arn,
        pools=[
            BoughtPool(
                pool=Pool(STACK.pool("prepare"), CAT),
                elastic=elastic,
                subnet_ids=list(beside.values()),
                security_group_ids=prepare.security_group_ids,
            )
        ],
        before_nodes=cluster.before_nodes,
        after=cluster.ready,
        tags=TAGS,
    ),
    inside,
)
queueing = Queueing(
    "queueing",
    QueueingArgs(spec=STACK, catalog=CAT, namespaces=spaces.namespaces, after=cluster.ready),
    inside,
)
BlockClock("block-clock", BlockClockArgs(spec=STACK, catalog=CAT, after=[queueing.kueue]), inside)
People("people", PeopleArgs(spec=STACK, namespaces=spaces.namespaces, after=cluster.ready), inside)
volumes = Volumes(
    "volumes",
    VolumesArgs(
        spec=STACK,
        catalog=CAT,
        namespaces={name: spaces.namespaces[name] for name in spaces.job_namespaces},
        registry_prefix=registry.prefix,
        systems={
            "train": FileSystemWires(
                file_system_id=train.file_system_id,
                dns_name=train.dns_name,
                mount_name=train.mount_name,
                ready=train.ready,
            )
        },
        after=cluster.ready,
    ),
    inside,
)
NodeHealth(
    "node-health",
    NodeHealthArgs(
        spec=STACK,
        catalog=CAT,
        registry_prefix=registry.prefix,
        after=[*cluster.ready, *(spaces.namespaces[name] for name in spaces.job_namespaces)],
    ),
    inside,
)
PodIdentity(
    "train-jobs",
    PodIdentityArgs(
        spec=ServiceAccount(namespace="jobs", name="queue-train", purpose="jobs of the queue train"),
        cluster_name=cluster.name,
        statements=store.of_queue(read=(), written=("train/", "outputs/train/")),
        tags=TAGS,
    ),
    own,
)
job = TrainingJob(
    "first-run",
    TrainingJobArgs(
        spec=TaskSpec.model_validate(
            {
                "task": "first-run",
                "image": "111122223333.dkr.ecr.us-west-2.amazonaws.com/trainer@sha256:" + "2c" * 32,
                "command": ["python3", "-m", "workload.launch", "--", "python3", "-m", "trainer"],
                "resources": {"pool": "train", "nodes": 4, "cards_per_node": 8},
                "storage": {"checkpoint": {"path": "/checkpoints/first-run"}},
            }
        ),
        stack=STACK,
        catalog=CAT,
        after=[*queueing.ready, *volumes.ready],
    ),
    inside,
)

pulumi.export("cluster", cluster.name)
pulumi.export("job", job.job_name)
