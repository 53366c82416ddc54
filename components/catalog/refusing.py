"""Changes that a service refuses although the engine plans them as updates in place, by resource type.

A reviewer must know before the update stops half-way. `replacing` has what the engine replaces instead. Each row has
its source; `unverified` says that it was read there and not seen on AWS. Paths are in Pulumi's spelling, a list's index
left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# Read 2026-12-01.
_FSX = "FSx for Lustre User Guide, managing throughput capacity"
_FSX_SIZE = "FSx for Lustre User Guide, managing storage capacity"
_KUEUE = "validation rules of the custom resource definitions of Kueue 0.19.2"
_S3 = "S3 User Guide, replication and other configurations"
_EKS_AUTH = "EKS User Guide, access entries: change the authentication mode"
_CORE = "Kubernetes API server, validation of persistent volume claims"


@dataclass(frozen=True, kw_only=True)
class Refused:
    """One property that the service doesn't change as wished; `given` says under which other inputs it holds."""

    type: str
    path: str
    when: Literal["changes", "shrinks", "grows by less than a tenth", "becomes"]
    why: str
    instead: str
    source: str
    becomes: tuple[object, ...] = ()
    given: tuple[tuple[str, tuple[object, ...]], ...] = ()
    beside: str = ""  # a type that must be there too
    unverified: bool = True


_LUSTRE = "aws:fsx/lustreFileSystem:LustreFileSystem"
REFUSED: tuple[Refused, ...] = (
    Refused(
        type=_LUSTRE,
        path="perUnitStorageThroughput",
        when="changes",
        given=(("efaEnabled", (True, "true")),),
        why="FSx does not change the throughput of a file system with EFA",
        instead="keep it, or make a second file system and move over",
        source=_FSX,
    ),
    Refused(
        type=_LUSTRE,
        path="storageCapacity",
        when="grows by less than a tenth",
        why="FSx grows a file system by a tenth at least",
        instead="add more at once",
        source=_FSX_SIZE,
    ),
    Refused(
        type=_LUSTRE,
        path="perUnitStorageThroughput",
        when="changes",
        given=(("storageType", ("HDD",)),),
        why="FSx changes the throughput of SSD file systems only",
        instead="make a second file system and move over",
        source=_FSX,
    ),
    Refused(
        type="aws:s3/bucketVersioning:BucketVersioning",
        path="versioningConfiguration.status",
        when="becomes",
        becomes=("Suspended",),
        beside="aws:s3/bucketReplicationConfig:BucketReplicationConfig",
        why="S3 does not suspend versioning on a bucket that is replicated",
        instead="take the replication away first",
        source=_S3,
    ),
    Refused(
        type="aws:eks/cluster:Cluster",
        path="accessConfig.authenticationMode",
        when="becomes",
        becomes=("CONFIG_MAP", "API_AND_CONFIG_MAP"),
        given=(("accessConfig.authenticationMode", ("API",)),),
        why="EKS does not go back from access entries to the config map",
        instead="keep API",
        source=_EKS_AUTH,
    ),
    Refused(
        type="kubernetes:kueue.x-k8s.io/v1beta2:LocalQueue",
        path="spec.clusterQueue",
        when="changes",
        why="Kueue keeps a local queue at its cluster queue",
        instead="give the queue another name",
        source=_KUEUE,
        unverified=False,
    ),
    Refused(
        type="kubernetes:kueue.x-k8s.io/v1beta2:Topology",
        path="spec.levels",
        when="changes",
        why="Kueue does not change the levels of a topology",
        instead="give the topology another name",
        source=_KUEUE,
        unverified=False,
    ),
    *(
        Refused(
            type="kubernetes:kueue.x-k8s.io/v1beta2:ResourceFlavor",
            path=path,
            when="changes",
            given=(("spec.topologyName", ()),),
            why="Kueue does not change a flavor that has a topology",
            instead="give the pool another name, so that it gets a flavor of its own",
            source=_KUEUE,
            unverified=False,
        )
        for path in ("spec.nodeLabels", "spec.tolerations", "spec.topologyName")
    ),
    Refused(
        type="kubernetes:core/v1:PersistentVolumeClaim",
        path="spec.resources.requests.storage",
        when="changes",
        given=(("spec.volumeName", ()),),
        why="the API server resizes dynamically provisioned claims only (403)",
        instead="leave the claim's size as it is: a file system's claim need not say how large it is",
        source=_CORE,
        unverified=False,
    ),
    Refused(
        type="kubernetes:core/v1:PersistentVolumeClaim",
        path="spec.resources.requests.storage",
        when="shrinks",
        why="a claim never shrinks",
        instead="make another claim",
        source=_CORE,
        unverified=False,
    ),
)
