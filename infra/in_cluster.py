"""What a stack declares inside its cluster, one function a component; the same for EKS and for a cluster that exists."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi

from components.devices import Devices, DevicesArgs
from components.namespaces import Namespaces, NamespacesArgs
from components.queueing import Queueing, QueueingArgs
from infra.settings import Settings


def namespaces(settings: Settings, after: Sequence[pulumi.Resource], opts: pulumi.ResourceOptions) -> Namespaces:
    """Namespaces with their security levels, network rules, quotas and service accounts."""
    return Namespaces("namespaces", NamespacesArgs(spec=settings.valid, catalog=settings.catalog, after=after), opts)


def devices(settings: Settings, prefix: pulumi.Input[str], after: Sequence[pulumi.Resource], opts: pulumi.ResourceOptions) -> Devices:
    """Device plugins that the pools' adapters ask for."""
    return Devices("devices", DevicesArgs(spec=settings.valid, catalog=settings.catalog, registry_prefix=prefix, after=after), opts)


def queueing(
    settings: Settings, made: Namespaces, mirror: pulumi.Input[str] | None, after: Sequence[pulumi.Resource], opts: pulumi.ResourceOptions
) -> Queueing:
    """Kueue, JobSet and the queues."""
    stack = settings.valid
    return Queueing(
        "queueing", QueueingArgs(spec=stack, catalog=settings.catalog, namespaces=made.namespaces, after=after, mirror=mirror), opts
    )
