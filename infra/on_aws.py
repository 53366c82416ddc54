"""What a stack declares on AWS, one function a component: each takes its wires from those before it."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi

from components.cluster import Cluster, ClusterArgs, SystemImage
from components.file_systems.lustre import efa_clients
from components.governance import Governance, GovernanceArgs, GovernedSpec
from components.gpu_pool import GpuPool, GpuPoolArgs
from components.identity.pod_identity import PodIdentity, PodIdentityArgs, ServiceAccount
from components.karpenter import BoughtPool, Karpenter, KarpenterArgs
from components.lustre import Client, Lustre, LustreArgs
from components.manifests import access
from components.manifests.observability import prometheus
from components.manifests.queues import accounts
from components.network import Network, NetworkArgs
from components.object_store import ObjectStore, ObjectStoreArgs
from components.planning import addons, address_needs, addresses, endpoints, images, placement
from components.planning.pool import Pool
from components.registry import Registry, RegistryArgs
from components.spec.form import Hybrid
from components.spec.pools import PoolSpec
from components.spec.stack import StackSpec
from infra.settings import Settings, cluster_name, tags


def network(settings: Settings, opts: pulumi.ResourceOptions) -> Network:
    """Both address ranges, their routes, groups and endpoints."""
    stack = settings.valid
    assert stack.network is not None
    return Network(
        "network",
        NetworkArgs(
            spec=stack.network,
            region=stack.region,
            compute=address_needs.compute_needs(stack, settings.catalog),
            endpoints=endpoints.needed(stack),
            remote_cidrs=remote_cidrs(stack),
            transit_gateway_id=stack.form.transit_gateway_id if isinstance(stack.form, Hybrid) else None,
            tags=tags(settings),
        ),
        opts,
    )


def remote_cidrs(stack: StackSpec) -> tuple[str, ...]:
    """On-premises ranges of a hybrid stack, nodes' and pods'."""
    if not isinstance(stack.form, Hybrid):
        return ()
    return tuple(cidr for each in stack.form.remote_networks for cidr in (each.node_cidr, each.pod_cidr) if cidr)


def cluster(settings: Settings, net: Network, opts: pulumi.ResourceOptions) -> Cluster:
    """The control plane, its system pool and its add-ons."""
    stack, cat = settings.valid, settings.catalog
    assert stack.network is not None
    assert stack.cluster is not None
    machine = cat.instance(stack.cluster.system_pool.instance_type)
    image = cat.images.family(machine.image_families[0])
    return Cluster(
        "cluster",
        ClusterArgs(
            spec=stack.cluster,
            cluster_name=cluster_name(settings),
            region=stack.region,
            account_id=net.account_id,
            control_subnet_ids={zone: net.subnet_ids("control", zone) for zone in net.plan.zones("control")},
            node_subnet_ids={zone: net.subnet_ids("nodes", zone) for zone in placement.system_zones(stack, cat)},
            management_security_group_id=net.management_security_group_id,
            compute_security_group_id=net.compute_security_group_id,
            addons=addons.needed(stack, cat),
            system_image=SystemImage(
                family=image.name,
                release=cat.images.release(image.name, stack.cluster.version),
                root_device=image.root_device,
            ),
            service_cidr=addresses.service_cidr(stack) or addresses.SERVICE_RANGES[0],
            remote_networks=stack.form.remote_networks if isinstance(stack.form, Hybrid) else (),
            admins=tuple(who for who in stack.access.admins if who.startswith("arn:")),
            people=access.entries(stack),
            oidc=stack.access.oidc,
            groups_prefix=access.OIDC_PREFIX,
            ready=net.ready,
            delete_protection=stack.governance.delete_protection,
            tags=tags(settings),
        ),
        opts,
    )


def gpu_pool(settings: Settings, name: str, net: Network, control: Cluster, opts: pulumi.ResourceOptions) -> GpuPool:
    """One pool's node groups: in the compute network when its nodes have cards, else in the management network."""
    stack, cat = settings.valid, settings.catalog
    pool = stack.pool(name)
    with_cards = Pool(pool, cat).cards > 0
    zones = net.plan.zones("compute") if with_cards else stack.zones
    group = net.compute_security_group_id if with_cards else net.management_security_group_id
    if pool.previous_name is not None:
        # The engine finds the node groups under the name they were made with; it may go once every stack has been
        # updated.
        opts = pulumi.ResourceOptions.merge(
            opts, pulumi.ResourceOptions(aliases=[pulumi.Alias(name=pool.previous_name)])
        )
    return GpuPool(
        name,
        GpuPoolArgs(
            spec=pool,
            catalog=cat,
            cluster_name=control.name,
            cluster_version=control.version,
            endpoint=control.endpoint,
            certificate_authority=control.certificate_authority,
            service_cidr=addresses.service_cidr(stack) or addresses.SERVICE_RANGES[0],
            node_role_arn=control.node_role_arn,
            subnet_ids={zone: _node_subnet(settings, pool, net, zone) for zone in zones},
            security_group_ids=[group],
            efa_security_group_id=net.efa_security_group_id,
            key_arn=control.key_arn,
            tags=tags(settings),
            spot_preprocessing=stack.spot_preprocessing,
            lustre_efa_interfaces=efa_clients.interfaces(stack, cat).get(name, 0),
            after=control.before_nodes,
        ),
        opts,
    )


def karpenter(
    settings: Settings,
    net: Network,
    control: Cluster,
    pools: Mapping[str, GpuPool],
    mirror: pulumi.Input[str] | None,
    opts: pulumi.ResourceOptions,
) -> Karpenter | None:
    """What buys nodes for the pools that size themselves; None where there is no such pool."""
    stack, cat = settings.valid, settings.catalog
    interfaces = efa_clients.interfaces(stack, cat)
    bought = [
        BoughtPool(
            pool=Pool(pool, cat),
            elastic=elastic,
            subnet_ids=[_node_subnet(settings, pool, net, zone) for zone in elastic.zones],
            security_group_ids=pools[pool.name].security_group_ids,
            placement_group=pools[pool.name].elastic_placement_group,
            lustre_efa_interfaces=interfaces.get(pool.name, 0),
        )
        for pool in stack.pools
        if (elastic := pools[pool.name].placement.elastic)
    ]
    if not bought:
        return None
    args = KarpenterArgs(
        spec=stack,
        catalog=cat,
        account_id=net.account_id,
        cluster_name=cluster_name(settings),
        cluster_version=control.version,
        endpoint=control.endpoint,
        key_arn=control.key_arn,
        pools=bought,
        before_nodes=control.before_nodes,
        after=control.ready,
        mirror=mirror,
        tags=tags(settings),
    )
    return Karpenter("karpenter", args, opts)


def _node_subnet(settings: Settings, pool: PoolSpec, net: Network, zone: str) -> pulumi.Input[str]:
    """Nodes with cards live in the compute network, the others in the management network."""
    return net.subnet_ids("compute" if Pool(pool, settings.catalog).cards > 0 else "nodes", zone)


def governance(settings: Settings, net: Network, opts: pulumi.ResourceOptions) -> Governance:
    """Budget, anomalies, audit trail and what else the stack file asks of the account."""
    stack = settings.valid
    return Governance(
        "governance",
        GovernanceArgs(
            spec=GovernedSpec(
                governance=stack.governance, budget=stack.budget, alerts_to=stack.observability.alerts_to
            ),
            stack=settings.name,
            region=stack.region,
            account_id=net.account_id,
            cost_filter=("stack", settings.name),
            tags=tags(settings),
        ),
        opts,
    )


def registry(settings: Settings, net: Network, opts: pulumi.ResourceOptions) -> Registry:
    """The account's own images, and the mirror of all others that run in the compute network."""
    stack, cat = settings.valid, settings.catalog
    return Registry(
        "registry",
        RegistryArgs(
            spec=stack.storage.registry,
            region=stack.region,
            account_id=net.account_id,
            images=images.needed(stack, cat),
            cached_registries=images.cached_by(stack, cat),
            protect=stack.governance.delete_protection,
            force_delete=stack.environment == "dev",
            tags=tags(settings),
        ),
        opts,
    )


def object_store(
    settings: Settings, net: Network, alarms: list[pulumi.Input[str]], opts: pulumi.ResourceOptions
) -> ObjectStore:
    """Buckets for datasets, checkpoints and logs, and the checkpoints' copy in another region."""
    stack = settings.valid
    copied_to = stack.storage.checkpoints.replicate_to
    return ObjectStore(
        "store",
        ObjectStoreArgs(
            spec=stack.storage,
            region=stack.region,
            account_id=net.account_id,
            protect=stack.governance.delete_protection,
            force_destroy=stack.environment == "dev",
            label=cluster_name(settings),
            alarm_actions=alarms,
            copy_alarm_actions=prometheus.topics(stack, copied_to) if copied_to else [],
            copy_subscriptions=prometheus.topic_subscriptions(stack),
            tags=tags(settings),
        ),
        opts,
    )


def queue_identities(
    settings: Settings, control: Cluster, store: ObjectStore, opts: pulumi.ResourceOptions
) -> dict[str, PodIdentity]:
    """What the jobs of each queue reach in AWS: their datasets to read, their checkpoints and outputs to write."""
    found: dict[str, PodIdentity] = {}
    for queue in settings.valid.queues:
        account = ServiceAccount(
            namespace=queue.namespace, name=accounts.name(queue.name), purpose=f"jobs of the queue {queue.name}"
        )
        args = PodIdentityArgs(
            spec=account,
            cluster_name=control.name,
            statements=store.of_queue(read=queue.datasets, written=accounts.written(queue)),
            tags=tags(settings),
        )
        found[queue.name] = PodIdentity(f"queue-{queue.name}", args, opts)
    return found


def lustre(
    settings: Settings,
    name: str,
    net: Network,
    store: ObjectStore,
    alarms: list[pulumi.Input[str]],
    opts: pulumi.ResourceOptions,
) -> Lustre:
    """One file system, in the compute network beside the cards that read it."""
    stack = settings.valid
    spec = next(each for each in stack.storage.lustre if each.name == name)
    # The groups that mount it: nodes with cards, which reach it over EFA too where it has that, and preprocessing
    # nodes.
    clients = [
        Client(name="compute", security_group_id=net.compute_security_group_id),
        Client(name="management", security_group_id=net.management_security_group_id),
    ]
    if spec.efa:
        clients.append(Client(name="efa", security_group_id=net.efa_security_group_id, efa=True))
    return Lustre(
        f"lustre-{name}",
        LustreArgs(
            spec=spec,
            catalog=settings.catalog,
            region=stack.region,
            account_id=net.account_id,
            vpc_id=net.vpc_id,
            subnet_id=net.subnet_ids("compute", spec.zone),
            clients=clients,
            buckets=store.bucket_names,
            dataset_gib=stack.storage.datasets.size_gib,
            logs_days=stack.observability.logs_days,
            label=cluster_name(settings),
            protect=stack.governance.delete_protection,
            alarm_actions=alarms,
            after=store.ready,
            tags=tags(settings),
        ),
        opts,
    )
