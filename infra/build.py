"""What a stack declares, as a table of contents in the order of data flow."""

from __future__ import annotations

import pulumi

from components.manifests.observability import prometheus
from components.spec.form import SelfHosted
from infra import in_cluster, on_aws, outputs, providers
from infra.built import Built
from infra.settings import Settings


def build(settings: Settings) -> Built:
    """Declare everything of a stack whose settings have no errors."""
    form = settings.valid.form
    built = _on_hosts(settings, form) if isinstance(form, SelfHosted) else _on_aws(settings)
    outputs.export(built)
    return built


def _on_aws(settings: Settings) -> Built:
    stack = settings.valid
    on_region = providers.for_aws(stack.region)
    aws = pulumi.ResourceOptions(providers={"aws": on_region})
    network = on_aws.network(settings, aws)
    registry = on_aws.registry(settings, network, aws)
    cluster = on_aws.cluster(settings, network, aws)
    on_aws.governance(settings, network, aws)

    both = pulumi.ResourceOptions(providers={"aws": on_region, "kubernetes": providers.for_cluster(cluster)})
    namespaces = in_cluster.namespaces(settings, cluster.ready, both)
    observability = in_cluster.observability(settings, namespaces, registry.prefix, cluster, cluster.ready, both)
    own: list[pulumi.Input[str]] = [observability.topic_arn] if observability.topic_arn else []
    alarms = [*own, *prometheus.topics(stack, stack.region)]

    store = on_aws.object_store(settings, network, alarms, aws)
    lustre = {
        each.name: on_aws.lustre(settings, each.name, network, store, alarms, aws) for each in stack.storage.lustre
    }
    pools = {pool.name: on_aws.gpu_pool(settings, pool.name, network, cluster, aws) for pool in stack.pools}

    on_aws.queue_identities(settings, cluster, store, aws)
    in_cluster.people(settings, namespaces, cluster.ready, both)
    volumes = in_cluster.volumes(settings, namespaces, registry.prefix, lustre, cluster.ready, both)
    devices = in_cluster.devices(settings, registry.prefix, cluster.ready, both)
    isolated = stack.network is not None and stack.network.egress == "isolated"
    mirror = registry.prefix if isolated else None
    karpenter = on_aws.karpenter(settings, network, cluster, pools, mirror, both)
    queueing = in_cluster.queueing(settings, namespaces, mirror, cluster.ready, both)
    in_cluster.block_clock(settings, queueing, mirror, both)
    in_cluster.node_health(settings, namespaces, registry.prefix, mirror, cluster.ready, both)
    return Built(
        network=network,
        registry=registry,
        cluster=cluster,
        namespaces=namespaces,
        observability=observability,
        store=store,
        lustre=lustre,
        pools=pools,
        karpenter=karpenter,
        volumes=volumes,
        devices=devices,
        queueing=queueing,
    )


def _on_hosts(settings: Settings, form: SelfHosted) -> Built:
    inside = pulumi.ResourceOptions(providers={"kubernetes": providers.for_hosts(form)})
    namespaces = in_cluster.namespaces(settings, [], inside)
    in_cluster.people(settings, namespaces, [], inside)
    volumes = in_cluster.volumes(settings, namespaces, form.registry or "", {}, [], inside)
    devices = in_cluster.devices(settings, form.registry or "", [], inside)
    queueing = in_cluster.queueing(settings, namespaces, form.registry, [], inside)
    in_cluster.node_health(settings, namespaces, form.registry, form.registry, [], inside)
    watched = in_cluster.observability(settings, namespaces, form.registry or "", None, [], inside)
    return Built(namespaces=namespaces, volumes=volumes, devices=devices, queueing=queueing, observability=watched)
