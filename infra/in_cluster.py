"""What a stack declares inside its cluster, one function a component; the same for EKS and for a cluster that
exists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi

from components.cluster import Cluster
from components.in_cluster.block_clock import BlockClock, BlockClockArgs
from components.in_cluster.devices import Devices, DevicesArgs
from components.in_cluster.namespaces import Namespaces, NamespacesArgs
from components.in_cluster.node_health import NodeHealth, NodeHealthArgs
from components.in_cluster.observability import Observability, ObservabilityArgs
from components.in_cluster.people import People, PeopleArgs
from components.in_cluster.queueing import Queueing, QueueingArgs
from components.in_cluster.volumes import FileSystemWires, Volumes, VolumesArgs
from components.lustre import Lustre
from infra.settings import Settings, tags


def namespaces(settings: Settings, after: Sequence[pulumi.Resource], opts: pulumi.ResourceOptions) -> Namespaces:
    """Namespaces with their security levels, network rules, quotas and service accounts."""
    return Namespaces("namespaces", NamespacesArgs(spec=settings.valid, catalog=settings.catalog, after=after), opts)


def devices(
    settings: Settings, prefix: pulumi.Input[str], after: Sequence[pulumi.Resource], opts: pulumi.ResourceOptions
) -> Devices:
    """Device plugins that the pools' adapters ask for."""
    return Devices(
        "devices", DevicesArgs(spec=settings.valid, catalog=settings.catalog, registry_prefix=prefix, after=after), opts
    )


def observability(
    settings: Settings,
    made: Namespaces,
    prefix: pulumi.Input[str],
    cluster: Cluster | None,
    after: Sequence[pulumi.Resource],
    opts: pulumi.ResourceOptions,
) -> Observability:
    """Metrics, alerts and logs; on AWS the alerts' topic and the logs' group as well."""
    args = ObservabilityArgs(
        spec=settings.valid,
        catalog=settings.catalog,
        namespaces=made.namespaces,
        registry_prefix=prefix,
        cluster_name=cluster.name if cluster else None,
        topic_key_arn=cluster.key_arn if cluster else None,
        log_key_arn=cluster.key_arn if cluster else None,
        tags=tags(settings),
        after=after,
    )
    return Observability("observability", args, opts)


def queueing(
    settings: Settings,
    made: Namespaces,
    mirror: pulumi.Input[str] | None,
    after: Sequence[pulumi.Resource],
    opts: pulumi.ResourceOptions,
) -> Queueing:
    """Kueue, JobSet and the queues."""
    stack = settings.valid
    return Queueing(
        "queueing",
        QueueingArgs(spec=stack, catalog=settings.catalog, namespaces=made.namespaces, after=after, mirror=mirror),
        opts,
    )


def people(
    settings: Settings, made: Namespaces, after: Sequence[pulumi.Resource], opts: pulumi.ResourceOptions
) -> People:
    """What the people of the stack file may do, as roles of the cluster."""
    args = PeopleArgs(spec=settings.valid, namespaces=made.namespaces, after=after)
    return People("people", args, opts)


def volumes(
    settings: Settings,
    made: Namespaces,
    prefix: pulumi.Input[str],
    systems: Mapping[str, Lustre],
    after: Sequence[pulumi.Resource],
    opts: pulumi.ResourceOptions,
) -> Volumes:
    """Claims on the file systems in each namespace of jobs: datasets to read, checkpoints to write."""
    wires = {
        name: FileSystemWires(
            file_system_id=each.file_system_id, dns_name=each.dns_name, mount_name=each.mount_name, ready=each.ready
        )
        for name, each in systems.items()
    }
    args = VolumesArgs(
        spec=settings.valid,
        catalog=settings.catalog,
        namespaces={name: made.namespaces[name] for name in made.job_namespaces},
        registry_prefix=prefix,
        systems=wires,
        after=after,
    )
    return Volumes("volumes", args, opts)


def node_health(
    settings: Settings,
    made: Namespaces,
    prefix: pulumi.Input[str] | None,
    mirror: pulumi.Input[str] | None,
    after: Sequence[pulumi.Resource],
    opts: pulumi.ResourceOptions,
) -> NodeHealth:
    """What takes sick nodes out of service and lets them in again."""
    args = NodeHealthArgs(
        spec=settings.valid,
        catalog=settings.catalog,
        registry_prefix=prefix,
        mirror=mirror,
        after=[*after, *(made.namespaces[name] for name in made.job_namespaces)],
    )
    return NodeHealth("node-health", args, opts)


def block_clock(
    settings: Settings, queues: Queueing, mirror: pulumi.Input[str] | None, opts: pulumi.ResourceOptions
) -> BlockClock:
    """What holds the queues of Capacity Blocks and tells their jobs to leave."""
    args = BlockClockArgs(spec=settings.valid, catalog=settings.catalog, registry_prefix=mirror, after=[queues.kueue])
    return BlockClock("block-clock", args, opts)
