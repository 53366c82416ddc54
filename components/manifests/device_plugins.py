"""Daemons of the nodes with cards: device plugins and card telemetry, one for each family and one for the fabric's
devices.

A daemon runs on all nodes of its kind and on no others. It is selected by this project's own labels, never by a list of
instance types, which goes out of date; it tolerates every taint, and stays away from nodes where it has nothing to do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from components import node_labels
from components.accelerators import Accelerator, DevicePlugin, HostMount
from components.catalog import Catalog
from components.fabrics import efa
from components.manifests import quantities
from components.manifests.nodes import whole_node
from components.planning.pool import Pool
from components.spec.stack import StackSpec

NAMESPACE: Final = "kube-system"
EVERY_TAINT: Final = [{"operator": "Exists"}]

Manifest = dict[str, Any]

EFA_PLUGIN: Final = DevicePlugin(
    name="efa-device-plugin",
    image="efa-device-plugin",
    resource_name=efa.RESOURCE,
    mounts=(
        HostMount(
            name="device-plugins", path="/var/lib/kubelet/device-plugins", mount="/var/lib/kubelet/device-plugins"
        ),
        HostMount(name="infiniband", path="/dev/infiniband", mount="/dev/infiniband"),
        HostMount(name="neuron-tools", path="/opt/aws/neuron", mount="/opt/aws/neuron", kind="DirectoryOrCreate"),
    ),
    host_network=True,
    privileged=True,
    # As its chart runs version 0.5.20 on every type (aws/eks-charts, values of 0.5.30).
    why_privileged="it opens every verbs device of the node to tell which are EFA",
)


@dataclass(frozen=True, kw_only=True)
class Daemon:
    """A daemon and the labels of the nodes it runs on; `not_on` are pools whose image brings it."""

    plugin: DevicePlugin
    selector: Mapping[str, str]
    not_on: tuple[str, ...] = ()


def daemons(stack: StackSpec, cat: Catalog) -> list[Daemon]:
    """The device plugins that the stack's pools need, by name. Clusters that exist already bring their own."""
    found: dict[str, Daemon] = {}
    for family in families(stack, cat):
        plugin = family.device_plugin
        own = [pool for pool in stack.pools if _vendor(Pool(pool, cat)) == family.vendor]
        served = [pool.name for pool in own if Pool(pool, cat).image_runs_plugin]
        if len(served) < len(own):
            found[plugin.name] = Daemon(plugin=plugin, selector=dict(family.labels), not_on=tuple(sorted(served)))
    if any(_has_efa(stack, cat)):
        found[EFA_PLUGIN.name] = Daemon(plugin=EFA_PLUGIN, selector={node_labels.EFA: "true"})
    return [found[name] for name in sorted(found)]


def families(stack: StackSpec, cat: Catalog) -> list[Accelerator]:
    """Accelerator families of the stack's pools on EC2 machines, by vendor."""
    pools = [pool for pool in stack.pools if pool.hosts is None]
    found = {family.vendor: family for pool in pools if (family := Pool(pool, cat).accelerator)}
    return [found[vendor] for vendor in sorted(found)]


def _vendor(pool: Pool) -> str | None:
    found = pool.accelerator if pool.spec.hosts is None else None
    return found.vendor if found else None


def _has_efa(stack: StackSpec, cat: Catalog) -> list[bool]:
    return [
        efa.RESOURCE in machine.extended
        for pool in stack.pools
        if (machine := whole_node.machine_of(Pool(pool, cat))) is not None
    ]


def metadata(name: str) -> Manifest:
    return {"name": name, "namespace": NAMESPACE, "labels": identity(name)}


def identity(name: str) -> dict[str, str]:
    return {"app.kubernetes.io/name": name, "app.kubernetes.io/managed-by": "trainshed"}


def host_volumes(mounts: Sequence[HostMount]) -> list[Manifest]:
    return [
        {"name": each.name, "hostPath": {"path": each.path} | ({"type": each.kind} if each.kind else {})}
        for each in mounts
    ]


def volume_mounts(mounts: Sequence[HostMount]) -> list[Manifest]:
    return [
        {"name": each.name, "mountPath": each.mount} | ({"readOnly": True} if each.read_only else {}) for each in mounts
    ]


def daemon_set(daemon: Daemon, image: Any) -> Manifest:
    """The DaemonSet; `image` is its address in the account's registry, as a text or as the engine's output."""
    plugin = daemon.plugin
    name = plugin.name
    environment: list[Manifest] = [{"name": key, "value": value} for key, value in sorted(plugin.environment.items())]
    if plugin.node_name_variable:
        environment.append(
            {
                "name": plugin.node_name_variable,
                "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}},
            }
        )
    memory = quantities.mebi(plugin.memory_mib)
    container: Manifest = {
        "name": name,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "resources": {"requests": {"cpu": "50m", "memory": memory}, "limits": {"memory": memory}},
        "securityContext": _security(plugin),
        "volumeMounts": volume_mounts(plugin.mounts),
    }
    if plugin.command:
        container["command"] = list(plugin.command)
    if plugin.arguments:
        container["args"] = list(plugin.arguments)
    if environment:
        container["env"] = environment
    pod: Manifest = {
        "priorityClassName": "system-node-critical",
        "automountServiceAccountToken": bool(plugin.cluster_rules),
        "nodeSelector": dict(daemon.selector),
        "tolerations": EVERY_TAINT,
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container],
        "volumes": host_volumes(plugin.mounts),
    }
    if daemon.not_on:
        elsewhere = {"key": node_labels.POOL, "operator": "NotIn", "values": list(daemon.not_on)}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [elsewhere]}]}
        pod["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    if plugin.cluster_rules:
        pod["serviceAccountName"] = name
    if plugin.host_network:
        pod["hostNetwork"] = True
    return daemon_set_of(name, pod)


def daemon_set_of(name: str, pod: Manifest, namespace: str = NAMESPACE) -> Manifest:
    """A DaemonSet that rolls over a tenth of the nodes at a time: one by one would take a day on 1,250."""
    selected = {"app.kubernetes.io/name": name}
    return quantities.plain(
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": metadata(name) | {"namespace": namespace},
            "spec": {
                "selector": {"matchLabels": selected},
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}},
                "template": {"metadata": {"labels": identity(name)}, "spec": pod},
            },
        }
    )


def _security(plugin: DevicePlugin) -> Manifest:
    if plugin.privileged:
        return {"privileged": True, "allowPrivilegeEscalation": True, "runAsUser": 0, "runAsNonRoot": False}
    return {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def access(plugin: DevicePlugin) -> list[Manifest]:
    """The service account of a plugin that calls the API, its rights and their binding; empty for the others."""
    if not plugin.cluster_rules:
        return []
    name = plugin.name
    rules = [{key: list(words) for key, words in rule.items()} for rule in plugin.cluster_rules]
    rbac = "rbac.authorization.k8s.io"
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(name)},
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": name, "labels": identity(name)},
            "rules": rules,
        },
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name, "labels": identity(name)},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}],
        },
    ]
