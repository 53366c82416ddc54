"""A pool's EC2NodeClass: what its machines are made of, equal to the launch template of a managed node group.

Ids that only the cloud knows are passed through as they come: nothing here looks into them.
Source: aws/karpenter-provider-aws v1.13.0, pkg/apis/v1/ec2nodeclass.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from components.manifests.nodes import bottlerocket, nodeadm
from components.manifests.nodes.setup import NodeSetup
from components.planning import turnover
from components.planning.node_images import NodeImage
from components.planning.placement import Elastic
from components.planning.pool import Pool
from components.spec.pools import PoolSpec

API: Final = "karpenter.k8s.aws/v1"
# Bottlerocket's system is on the first volume and never grows; containers and images live on the second.
_BOTTLEROCKET_SYSTEM_GIB = 4
_GP3_IOPS, _GP3_MIB_PER_S = 3000, 125

Manifest = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class NodeWires:
    """What a node class takes from its neighbours; values may be outputs. `key_arn` encrypts the volumes."""

    subnet_ids: Sequence[Any]
    security_group_ids: Sequence[Any]
    instance_profile: Any
    key_arn: Any = None
    placement_group: Any = None
    tags: Mapping[str, str] = field(default_factory=dict[str, str])


def node_class(pool: Pool, elastic: Elastic, *, image: NodeImage, setup: NodeSetup, wires: NodeWires) -> Manifest:
    """The object; its name is the pool's."""
    render = bottlerocket.render if image.family == "Bottlerocket" else nodeadm.render
    spec: Manifest = {
        "amiFamily": image.family,
        "amiSelectorTerms": [image.selector()],
        "instanceProfile": wires.instance_profile,
        "subnetSelectorTerms": [{"id": each} for each in wires.subnet_ids],
        "securityGroupSelectorTerms": [{"id": each} for each in wires.security_group_ids],
        "userData": render(setup),
        # Said here as well as in the user data: Karpenter computes with the values of its own field.
        "kubelet": {
            "maxPods": setup.max_pods,
            "systemReserved": {"cpu": f"{setup.system_cpu_millis}m", "memory": f"{setup.system_memory_mib}Mi"},
        },
        "blockDeviceMappings": _disks(pool.spec, image.root_device, wires.key_arn),
        # One hop: no pod but those in the host's network reaches the node's role.
        "metadataOptions": {
            "httpEndpoint": "enabled",
            "httpProtocolIPv6": "disabled",
            "httpPutResponseHopLimit": 1,
            "httpTokens": "required",
        },
        "detailedMonitoring": True,
        "tags": {**turnover.machine_tags(wires.tags), "Name": pool.name},
    }
    if setup.local_disks:
        spec["instanceStorePolicy"] = "RAID0"
    if wires.placement_group is not None:
        spec["placementGroupSelector"] = {"name": wires.placement_group}
    if elastic.reservations:
        spec["capacityReservationSelectorTerms"] = [{"id": each} for each in elastic.reservations]
    spec |= _interfaces(pool)
    return {"apiVersion": API, "kind": "EC2NodeClass", "metadata": {"name": pool.name}, "spec": spec}


def _interfaces(pool: Pool) -> Manifest:
    """The fabric's own layout. The classic one, where every EFA takes an address, is Karpenter's default: not said."""
    found = pool.fabric.interfaces(pool.spec, pool.instance)
    out: Manifest = {}
    timeout = max((each.tcp_established_timeout or 0 for each in found), default=0)
    if timeout:
        out["connectionTracking"] = {"tcpEstablishedTimeout": timeout}
    if found and all(each.interface_type != "efa" for each in found):
        out["networkInterfaces"] = [
            {
                "networkCardIndex": each.network_card_index,
                "deviceIndex": each.device_index,
                "interfaceType": each.interface_type,
            }
            for each in found
        ]
    return out


def _disks(pool: PoolSpec, root_device: str, key_arn: Any) -> list[Manifest]:
    def volume(device: str, gib: int, iops: int, throughput: int) -> Manifest:
        ebs: Manifest = {
            "volumeType": "gp3",
            "volumeSize": f"{gib}Gi",
            "iops": iops,
            "throughput": throughput,
            "encrypted": True,
            "deleteOnTermination": True,
        }
        return {"deviceName": device, "ebs": ebs if key_arn is None else {**ebs, "kmsKeyID": key_arn}}

    large = volume(root_device, pool.root_volume_gib, pool.root_volume_iops, pool.root_volume_mib_per_s)
    if root_device == "/dev/xvda":
        return [large]
    return [volume("/dev/xvda", _BOTTLEROCKET_SYSTEM_GIB, _GP3_IOPS, _GP3_MIB_PER_S), {**large, "rootVolume": True}]
