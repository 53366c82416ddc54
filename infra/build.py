"""What a stack declares, as a table of contents in the order of data flow."""

from __future__ import annotations

from dataclasses import dataclass, field

import pulumi

from components.cluster import Cluster
from components.devices import Devices
from components.gpu_pool import GpuPool
from components.namespaces import Namespaces
from components.network import Network
from components.observability import Observability
from components.queueing import Queueing
from components.spec.form import SelfHosted
from infra import in_cluster, on_aws, outputs, providers
from infra.settings import Settings


@dataclass(kw_only=True)
class Built:
    """The components of a stack by their nouns; those on AWS are None on machines of one's own."""

    network: Network | None = None
    cluster: Cluster | None = None
    pools: dict[str, GpuPool] = field(default_factory=dict[str, GpuPool])
    namespaces: Namespaces | None = None
    devices: Devices | None = None
    queueing: Queueing | None = None
    observability: Observability | None = None


def build(settings: Settings) -> Built:
    """Declare everything of a stack whose settings have no errors."""
    form = settings.valid.form
    built = _on_hosts(settings, form) if isinstance(form, SelfHosted) else _on_aws(settings)
    outputs.export(built)
    return built


def _on_aws(settings: Settings) -> Built:
    stack = settings.valid
    aws = pulumi.ResourceOptions(providers={"aws": providers.for_aws(stack.region)})
    network = on_aws.network(settings, aws)
    cluster = on_aws.cluster(settings, network, aws)
    on_aws.governance(settings, network, aws)
    pools = {pool.name: on_aws.gpu_pool(settings, pool.name, network, cluster, aws) for pool in stack.pools}

    inside = pulumi.ResourceOptions(providers={"kubernetes": providers.for_cluster(cluster)})
    both = pulumi.ResourceOptions.merge(aws, inside)
    prefix = on_aws.registry_prefix(settings, network)
    namespaces = in_cluster.namespaces(settings, cluster.ready, inside)
    devices = in_cluster.devices(settings, prefix, cluster.ready, inside)
    isolated = stack.network is not None and stack.network.egress == "isolated"
    queueing = in_cluster.queueing(settings, namespaces, prefix if isolated else None, cluster.ready, inside)
    watched = in_cluster.observability(settings, namespaces, prefix, cluster, cluster.ready, both)
    return Built(
        network=network,
        cluster=cluster,
        pools=pools,
        namespaces=namespaces,
        devices=devices,
        queueing=queueing,
        observability=watched,
    )


def _on_hosts(settings: Settings, form: SelfHosted) -> Built:
    inside = pulumi.ResourceOptions(providers={"kubernetes": providers.for_hosts(form)})
    namespaces = in_cluster.namespaces(settings, [], inside)
    devices = in_cluster.devices(settings, form.registry or "", [], inside)
    queueing = in_cluster.queueing(settings, namespaces, form.registry, [], inside)
    watched = in_cluster.observability(settings, namespaces, form.registry or "", None, [], inside)
    return Built(namespaces=namespaces, devices=devices, queueing=queueing, observability=watched)
