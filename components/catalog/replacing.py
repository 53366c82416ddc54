"""Which properties make the engine replace a resource instead of updating it, by resource type.

A preview without an account can't ask the providers for their schemas, and a reviewer must know before anything is
destroyed. Sources: `ForceNew` in the schemas and `CustomizeDiff` functions of hashicorp/terraform-provider-aws,
internal/service/{ec2,ecr,efs,eks,fsx, iam,kms,logs,s3,...} (read 2026-11-30; pulumi-aws bridges this provider), and
`forceNew` in pulumi/pulumi-kubernetes, provider/pkg/provider/diff.go. Paths are in Pulumi's spelling; a list's index is
left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from components.catalog import aws_types

_KUBERNETES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        # Kubernetes objects, beside the name and namespace that hold for every kind.
        "kubernetes:apps/v1:DaemonSet": ("spec.selector",),
        "kubernetes:apps/v1:Deployment": ("spec.selector",),
        "kubernetes:apps/v1:StatefulSet": (
            "spec.podManagementPolicy",
            "spec.revisionHistoryLimit",
            "spec.selector",
            "spec.serviceName",
            "spec.volumeClaimTemplates",
        ),
        "kubernetes:batch/v1:Job": ("spec.completions", "spec.parallelism", "spec.selector", "spec.template"),
        "kubernetes:core/v1:ConfigMap": ("binaryData", "data"),
        "kubernetes:core/v1:PersistentVolume": ("spec.csi", "spec.hostPath", "spec.local", "spec.nfs"),
        # Its size is changed in place since pull request 1705 of pulumi-kubernetes.
        "kubernetes:core/v1:PersistentVolumeClaim": (
            "spec.accessModes",
            "spec.selector",
            "spec.storageClassName",
            "spec.volumeMode",
            "spec.volumeName",
        ),
        "kubernetes:core/v1:ResourceQuota": ("spec.scopes",),
        "kubernetes:core/v1:Secret": ("data", "stringData", "type"),
        "kubernetes:core/v1:Service": ("spec.clusterIP",),
        "kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding": ("roleRef",),
        "kubernetes:rbac.authorization.k8s.io/v1:RoleBinding": ("roleRef",),
        "kubernetes:storage.k8s.io/v1:StorageClass": ("parameters", "provisioner"),
        "kubernetes:helm.sh/v3:Release": ("name", "namespace"),
    }
)
_EVERY_OBJECT = ("metadata.name", "metadata.namespace", "apiVersion", "kind")


REPLACING: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {**{token: row.replaces for token, row in aws_types.table().items()}, **_KUBERNETES}
)
# Only a smaller figure replaces; a larger one is taken in place. A newer Lustre is an upgrade in place, as pulumi-aws
# 7.51 documents it.
SHRINKING: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {token: row.replaces_when_smaller for token, row in aws_types.table().items() if row.replaces_when_smaller}
)
# Only taking the value away replaces: EKS can't end a cluster's envelope encryption.
TAKEN_AWAY: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {token: row.replaces_when_taken_away for token, row in aws_types.table().items() if row.replaces_when_taken_away}
)

# What can be changed in place, but not to another VPC: EKS takes only subnets of the VPC that the cluster was made in
# (EKS API, VpcConfigRequest), so replaced subnets replace the cluster.
LEAVES_WITH: Mapping[str, tuple[str, ...]] = MappingProxyType({"aws:eks/cluster:Cluster": ("vpcConfig.subnetIds",)})

# What an input that is only known after an update refers to: one word tells whether it came to mean another resource.
REFERS_TO: Mapping[str, str] = MappingProxyType(
    {
        "bucket": "aws:s3/bucket:Bucket",
        "fileSystemId": "aws:fsx/lustreFileSystem:LustreFileSystem",
        "kmsKeyId": "aws:kms/key:Key",
        "launchTemplate": "aws:ec2/launchTemplate:LaunchTemplate",
        "nodeRoleArn": "aws:iam/role:Role",
        "role": "aws:iam/role:Role",
        "roleArn": "aws:iam/role:Role",
        "routeTableId": "aws:ec2/routeTable:RouteTable",
        "securityGroupId": "aws:ec2/securityGroup:SecurityGroup",
        "securityGroupIds": "aws:ec2/securityGroup:SecurityGroup",
        "subnetId": "aws:ec2/subnet:Subnet",
        "subnetIds": "aws:ec2/subnet:Subnet",
        "vpcId": "aws:ec2/vpc:Vpc",
    }
)


def replacing(type_: str) -> tuple[str, ...]:
    """The paths whose change replaces a resource of the type; empty for a type that isn't in the table."""
    everywhere = _EVERY_OBJECT if type_.startswith("kubernetes:") and "/" in type_ else ()
    return (*REPLACING.get(type_, ()), *everywhere)


def known(type_: str) -> bool:
    """Whether the table says anything of the type: of another one no one can tell an update from a replacement without
    its provider.
    """
    return type_ in REPLACING or type_.startswith("kubernetes:") or not type_.startswith("aws:")
