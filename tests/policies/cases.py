"""One case for each rule: what in the good stack breaks it, and what it says of the same value absent, unknown
or of the wrong type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal

from tests.policies.good import Record, document, good_stack, pod_spec, record, urn

TODAY = date(2026, 11, 30)
UNKNOWN = "<unknown>"
Verdict = Literal["fail", "pass", "doubt"]
Path = tuple[str | int, ...]

CLUSTER = urn("aws:eks/cluster:Cluster", "main")
TRAINING = urn("aws:eks/nodeGroup:NodeGroup", "pretrain")
BLOCK = urn("aws:eks/nodeGroup:NodeGroup", "finetune")
TRIAL = urn("aws:eks/nodeGroup:NodeGroup", "trial")
PREPROCESS = urn("aws:eks/nodeGroup:NodeGroup", "preprocess")
TEMPLATE = urn("aws:ec2/launchTemplate:LaunchTemplate", "pretrain")
INSTANCE = urn("aws:ec2/instance:Instance", "bastion")
VOLUME = urn("aws:ebs/volume:Volume", "scratch")
VPC = urn("aws:ec2/vpc:Vpc", "net")
SUBNET = urn("aws:ec2/subnet:Subnet", "net-compute-usw2-az3")
GROUP = urn("aws:ec2/securityGroup:SecurityGroup", "net-efa")
GROUP_IN = urn("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule", "net-efa-in")
GROUP_OUT = urn("aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule", "net-efa-out")
GROUP_RULE = urn("aws:ec2/securityGroupRule:SecurityGroupRule", "net-lustre")
FLOW_LOG = urn("aws:ec2/flowLog:FlowLog", "net-flow")
DEFAULT_GROUP = urn("aws:ec2/defaultSecurityGroup:DefaultSecurityGroup", "net-default")
ENDPOINT = urn("aws:ec2/vpcEndpoint:VpcEndpoint", "net-s3")
BUCKET = urn("aws:s3/bucket:Bucket", "data")
LUSTRE = urn("aws:fsx/lustreFileSystem:LustreFileSystem", "train")
SCRATCH = urn("aws:fsx/lustreFileSystem:LustreFileSystem", "warm")
KEY = urn("aws:kms/key:Key", "data")
REPOSITORY = urn("aws:ecr/repository:Repository", "trainer")
LOGS = urn("aws:cloudwatch/logGroup:LogGroup", "cluster")
TRAIL = urn("aws:cloudtrail/trail:Trail", "account")
POLICY = urn("aws:iam/policy:Policy", "reader")
ROLE = urn("aws:iam/role:Role", "nodes")
ATTACHMENT = urn("aws:iam/rolePolicyAttachment:RolePolicyAttachment", "nodes-worker")
ADMIN = urn("aws:eks/accessPolicyAssociation:AccessPolicyAssociation", "admin")
JOB = urn("kubernetes:jobset.x-k8s.io/v1alpha2:JobSet", "train")
NAMESPACE = urn("kubernetes:core/v1:Namespace", "training")
DENY = urn("kubernetes:networking.k8s.io/v1:NetworkPolicy", "training-deny")
BUDGET = urn("aws:budgets/budget:Budget", "month")
MONITOR = urn("aws:costexplorer/anomalyMonitor:AnomalyMonitor", "month")
ADDRESS = urn("aws:ec2/eip:Eip", "net-nat")
NAT = urn("aws:ec2/natGateway:NatGateway", "net-nat")

POD: Path = ("spec", "replicatedJobs", 0, "template", "spec", "template", "spec")
CONTAINER: Path = (*POD, "containers", 0)


def companion(kind: str, name: str = "data") -> str:
    return urn(f"aws:s3/{kind[0].lower()}{kind[1:]}:{kind}", name)


class Remove:
    """In place of a value: takes the key, or with an empty path the whole resource, away."""


REMOVE = Remove()


@dataclass(frozen=True, kw_only=True)
class Case:
    """A way to break one rule by changing one value; with an empty path the resource itself is added or taken away."""

    at: str
    path: Path = ()
    bad: Any = REMOVE
    blames: str | None = None
    absent: Verdict = "fail"
    unknown: Verdict = "doubt"
    wrong: Verdict = "fail"
    wrong_value: Any = field(default_factory=lambda: {"of": ["a", "wrong", "type"]})
    adds: tuple[Record, ...] = ()
    configuration: Mapping[str, Any] = field(default_factory=dict)
    protect: bool | None = None

    @property
    def subject(self) -> str:
        return self.at if self.blames is None else self.blames

    def records(self, value: Any) -> list[Record]:
        """The good stack with this value in place."""
        records = [*good_stack(), *self.adds]
        if not self.path:
            return [item for item in records if item["urn"] != self.at] if isinstance(value, Remove) else records
        target = next(item for item in records if item["urn"] == self.at)
        if self.protect is not None:
            target["protect"] = self.protect
        put(target["inputs"], self.path, value)
        return records


def put(holder: Any, path: Path, value: Any) -> None:
    """Sets or takes away what a path leads to, making maps on the way."""
    *way, last = path
    for key in way:
        if isinstance(key, int):
            holder = holder[key]
        else:
            if holder.get(key) is None:
                holder[key] = {}
            holder = holder[key]
    if not isinstance(value, Remove):
        holder[last] = value
    elif isinstance(holder, dict):
        holder.pop(last, None)
    else:
        del holder[last]


STAR = '{"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "*"}]}'
ALL_ACTIONS = '{"Statement": {"Effect": "Allow", "Action": "s3:*", "Resource": "arn:aws:s3:::acme-data/*"}}'
DECRYPT = '{"Statement": [{"Effect": "Allow", "Action": ["kms:Decrypt"], "Resource": "*"}]}'
WRITES = '{"Statement": [{"Effect": "Allow", "Action": ["s3:PutObject"], "Resource": "*"}]}'
LOCKOUT = document(
    {
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:*",
        "Resource": "*",
        "Condition": {"StringNotEquals": {"aws:SourceVpce": "vpce-1"}},
    }
)
KEY_STAR = '{"Statement": [{"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "kms:*", "Resource": "*"}]}'
TRUST_STAR = '{"Statement": [{"Effect": "Allow", "Principal": {"AWS": ["*"]}, "Action": "sts:AssumeRole"}]}'
KEY_TEXT = "#!/bin/sh\nexport AWS_ACCESS_KEY_ID=" + "AKIA" + "IOSFODNN7EXAMPLE\n"
ISOLATED = record("aws:ec2/vpc:Vpc", "alone", {"id": "vpc-2", "tags": {"owner": "a", "team": "b", "cost-center": "c"}})
ALONE = record("aws:ec2/subnet:Subnet", "alone", {"id": "subnet-9", "vpcId": "vpc-2"})
FLEET = record("aws:ec2/fleet:Fleet", "f", {"targetCapacitySpecification": {"totalTargetCapacity": 500}})
TEMPLATE_STACK = record("aws:cloudformation/stack:Stack", "s", {"templateBody": "{}"})
SERVICE = record(
    "kubernetes:core/v1:Service", "metrics", {"metadata": {"name": "metrics", "namespace": "training"}, "spec": {}}
)
FUNCTION_URL = record("aws:lambda/functionUrl:FunctionUrl", "f", {"functionName": "f", "authorizationType": "AWS_IAM"})
IMAGE_SHARE = record(
    "aws:ec2/amiLaunchPermission:AmiLaunchPermission", "a", {"imageId": "ami-1", "accountId": "111122223333"}
)
CONFIG_MAP = record(
    "kubernetes:core/v1:ConfigMap", "c", {"metadata": {"name": "c", "namespace": "training"}, "data": {"a": "b"}}
)

SECURITY: dict[str, Case] = {
    "cluster-endpoint-not-open": Case(
        at=CLUSTER, path=("vpcConfig", "publicAccessCidrs"), bad=["198.51.100.0/24", "0.0.0.0/0"]
    ),
    "cluster-endpoint-private": Case(at=CLUSTER, path=("vpcConfig", "endpointPrivateAccess"), bad=False),
    "cluster-logs": Case(at=CLUSTER, path=("enabledClusterLogTypes",), bad=["api"]),
    "cluster-secrets-encrypted": Case(at=CLUSTER, path=("encryptionConfig", "resources"), bad=[]),
    "cluster-version-supported": Case(at=CLUSTER, path=("version",), bad="1.29"),
    "cluster-access-by-entries": Case(
        at=CLUSTER, path=("accessConfig", "authenticationMode"), bad="API_AND_CONFIG_MAP"
    ),
    "cluster-deletion-protected": Case(at=CLUSTER, path=("deletionProtection",), bad=False),
    "cluster-admins-named": Case(
        at=ADMIN,
        path=("policyArn",),
        bad="arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy",
        absent="pass",
    ),
    "nodes-no-open-ssh": Case(at=PREPROCESS, path=("remoteAccess", "sourceSecurityGroupIds"), bad=[]),
    "nodes-in-private-subnets": Case(
        at=TRAINING, path=("subnetIds",), bad=["subnet-1", "subnet-2"], absent="pass", unknown="pass"
    ),
    "training-pools-never-forced": Case(at=TRAINING, path=("forceUpdateVersion",), bad=True, absent="pass"),
    "machines-require-metadata-tokens": Case(at=TEMPLATE, path=("metadataOptions", "httpTokens"), bad="optional"),
    "machines-metadata-one-hop": Case(at=TEMPLATE, path=("metadataOptions", "httpPutResponseHopLimit"), bad=2),
    "template-volumes-encrypted": Case(at=TEMPLATE, path=("blockDeviceMappings", 0, "ebs", "encrypted"), bad="false"),
    "instance-volumes-encrypted": Case(at=INSTANCE, path=("rootBlockDevice", "encrypted"), bad=False),
    "machines-no-public-address": Case(
        at=TEMPLATE, path=("networkInterfaces", 1, "associatePublicIpAddress"), bad="true", absent="pass"
    ),
    "machines-no-secrets-in-user-data": Case(at=TEMPLATE, path=("userData",), bad=KEY_TEXT, absent="pass"),
    "efa-groups-open-to-themselves": Case(
        at=GROUP_OUT, path=("referencedSecurityGroupId",), bad="sg-2", blames=TEMPLATE, unknown="pass"
    ),
    "network-no-world-ingress": Case(at=GROUP_RULE, path=("cidrBlocks",), bad=["0.0.0.0/0"], absent="pass"),
    "network-no-world-egress": Case(at=GROUP_OUT, path=("cidrIpv4",), bad="0.0.0.0/0", absent="pass"),
    "network-rules-described": Case(at=GROUP_IN, path=("description",), bad="Managed by Pulumi"),
    "network-flow-logs": Case(at=FLOW_LOG, path=("vpcId",), bad="vpc-9", blames=VPC, unknown="pass"),
    "network-default-group-empty": Case(
        at=DEFAULT_GROUP, path=("ingress",), bad=[{"protocol": "-1", "self": True}], absent="pass"
    ),
    "subnets-assign-no-public-addresses": Case(at=SUBNET, path=("mapPublicIpOnLaunch",), bad=True, absent="pass"),
    "one-group-owned-by-the-cluster": Case(
        at=GROUP,
        path=("tags",),
        bad={"kubernetes.io/cluster/main": "owned"},
        absent="pass",
        wrong="fail",
        wrong_value=["a"],
    ),
    "isolated-network-has-endpoints": Case(
        at=ISOLATED["urn"],
        path=("id",),
        bad="vpc-2",
        adds=(ISOLATED, ALONE),
        absent="pass",
        unknown="pass",
        wrong="pass",
    ),
    "buckets-block-public-access": Case(
        at=companion("BucketPublicAccessBlock"), path=("blockPublicPolicy",), bad=False
    ),
    "buckets-no-public-acl": Case(at=companion("BucketAcl"), path=("acl",), bad="public-read", absent="pass"),
    "bucket-policies-name-principals": Case(at=companion("BucketPolicy"), path=("policy",), bad=STAR, absent="pass"),
    "buckets-require-tls": Case(at=companion("BucketPolicy"), path=("policy",), bad=STAR, blames=BUCKET),
    "bucket-policies-lock-nobody-out": Case(at=companion("BucketPolicy"), path=("policy",), bad=LOCKOUT, absent="pass"),
    "buckets-encrypted-with-key": Case(
        at=companion("BucketServerSideEncryptionConfiguration"),
        path=("rules", 0, "applyServerSideEncryptionByDefault", "sseAlgorithm"),
        bad="AES256",
    ),
    "buckets-versioned": Case(
        at=companion("BucketVersioning"), path=("versioningConfiguration", "status"), bad="Suspended"
    ),
    "buckets-log-access": Case(
        at=companion("BucketLogging"), path=("bucket",), bad="another", blames=BUCKET, unknown="pass"
    ),
    "buckets-kept": Case(at=BUCKET, path=("forceDestroy",), bad=True, absent="pass"),
    "keys-rotate": Case(at=KEY, path=("enableKeyRotation",), bad=False),
    "keys-deleted-slowly": Case(at=KEY, path=("deletionWindowInDays",), bad=7, absent="pass"),
    "key-policies-name-principals": Case(at=KEY, path=("policy",), bad=KEY_STAR, absent="pass"),
    "logs-encrypted-with-key": Case(at=LOGS, path=("kmsKeyId",), bad=""),
    "lustre-encrypted-with-key": Case(at=LUSTRE, path=("kmsKeyId",), bad=""),
    "registry-encrypted-with-key": Case(
        at=REPOSITORY, path=("encryptionConfigurations",), bad=[{"encryptionType": "AES256"}]
    ),
    "volumes-encrypted": Case(at=VOLUME, path=("encrypted",), bad=False),
    "volumes-encrypted-by-default": Case(
        at=urn("aws:ebs/encryptionByDefault:EncryptionByDefault", "default"),
        path=("enabled",),
        bad=False,
        absent="pass",
    ),
    "messages-encrypted": Case(at=urn("aws:sns/topic:Topic", "alerts"), path=("kmsMasterKeyId",), bad=""),
    "iam-no-wildcard-actions": Case(at=POLICY, path=("policy",), bad=ALL_ACTIONS, absent="pass"),
    "iam-no-risky-action-on-everything": Case(at=POLICY, path=("policy",), bad=DECRYPT, absent="pass"),
    "iam-no-writes-on-everything": Case(at=POLICY, path=("policy",), bad=WRITES, absent="pass"),
    "iam-no-administrator-policies": Case(
        at=ATTACHMENT, path=("policyArn",), bad="arn:aws:iam::aws:policy/AdministratorAccess", absent="pass"
    ),
    "iam-trust-named": Case(at=ROLE, path=("assumeRolePolicy",), bad=TRUST_STAR),
    "iam-no-long-lived-keys": Case(
        at="new",
        bad="added",
        blames=urn("aws:iam/accessKey:AccessKey", "k"),
        adds=(record("aws:iam/accessKey:AccessKey", "k", {"user": "u"}),),
    ),
    "node-role-minimal": Case(at=ATTACHMENT, path=("policyArn",), bad="arn:aws:iam::aws:policy/AmazonS3FullAccess"),
    "registry-tags-immutable": Case(at=REPOSITORY, path=("imageTagMutability",), bad="MUTABLE"),
    "registry-images-scanned": Case(at=REPOSITORY, path=("imageScanningConfiguration", "scanOnPush"), bad=False),
    "lustre-backed-up": Case(at=LUSTRE, path=("automaticBackupRetentionDays",), bad=0),
    "lustre-scratch-linked": Case(
        at=urn("aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation", "warm"),
        path=("fileSystemId",),
        bad="fs-9",
        blames=SCRATCH,
    ),
    "lustre-copies-tags": Case(at=LUSTRE, path=("copyTagsToBackups",), bad=False),
    "trail-complete": Case(at=TRAIL, path=("isMultiRegionTrail",), bad=False),
    "guardduty-watches-the-cluster": Case(
        at=urn("aws:guardduty/detectorFeature:DetectorFeature", "audit"), path=("status",), bad="DISABLED"
    ),
    "pods-not-privileged": Case(at=JOB, path=(*CONTAINER, "securityContext", "privileged"), bad=True, absent="pass"),
    "pods-share-nothing-with-the-host": Case(at=JOB, path=(*POD, "hostNetwork"), bad=True, absent="pass"),
    "pods-no-host-paths": Case(
        at=JOB, path=(*POD, "volumes"), bad=[{"name": "x", "hostPath": {"path": "/dev/shm"}}], absent="pass"
    ),
    "pods-no-fabric-devices-by-path": Case(
        at=JOB, path=(*POD, "volumes"), bad=[{"name": "x", "hostPath": {"path": "/dev/infiniband"}}], absent="pass"
    ),
    "pods-no-privilege-escalation": Case(
        at=JOB, path=(*CONTAINER, "securityContext", "allowPrivilegeEscalation"), bad=True
    ),
    "pods-run-as-non-root": Case(at=JOB, path=(*POD, "securityContext", "runAsUser"), bad=0, absent="pass"),
    "pods-filter-system-calls": Case(
        at=JOB, path=(*POD, "securityContext", "seccompProfile", "type"), bad="Unconfined"
    ),
    "pods-drop-capabilities": Case(
        at=JOB, path=(*CONTAINER, "securityContext", "capabilities", "drop"), bad=["NET_RAW"]
    ),
    "pods-add-no-capabilities": Case(
        at=JOB, path=(*CONTAINER, "securityContext", "capabilities", "add"), bad=["SYS_ADMIN"], absent="pass"
    ),
    "pods-state-their-needs": Case(
        at=JOB, path=(*CONTAINER, "resources", "limits", "memory"), bad="", wrong="pass", wrong_value=64
    ),
    "pods-have-an-identity": Case(at=JOB, path=(*POD, "serviceAccountName"), bad="default"),
    "pods-in-own-namespaces": Case(at=JOB, path=("metadata", "namespace"), bad="default", unknown="pass"),
    "pods-run-pinned-images": Case(
        at=JOB, path=(*CONTAINER, "image"), bad="111122223333.dkr.ecr.us-west-2.amazonaws.com/trainer:latest"
    ),
    "pods-read-secrets-from-files": Case(
        at=JOB,
        path=(*CONTAINER, "env"),
        bad=[{"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}}],
        absent="pass",
    ),
    "roles-name-their-rights": Case(
        at=urn("kubernetes:rbac.authorization.k8s.io/v1:ClusterRole", "reader"),
        path=("rules", 0, "verbs"),
        bad=["*"],
        absent="pass",
    ),
    "roles-no-cluster-admin": Case(
        at=urn("kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding", "reader"),
        path=("roleRef", "name"),
        bad="cluster-admin",
        absent="pass",
    ),
    "resources-of-readable-kinds": Case(at="new", bad="added", blames=TEMPLATE_STACK["urn"], adds=(TEMPLATE_STACK,)),
    "roles-not-for-everybody": Case(
        at=urn("kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding", "reader"),
        path=("subjects",),
        bad=[{"kind": "Group", "name": "system:authenticated"}],
        absent="pass",
    ),
    "roles-give-no-more-rights": Case(
        at=urn("kubernetes:rbac.authorization.k8s.io/v1:ClusterRole", "reader"),
        path=("rules", 0, "verbs"),
        bad=["impersonate"],
        absent="pass",
    ),
    "services-inside-the-network": Case(
        at=SERVICE["urn"], path=("spec", "type"), bad="LoadBalancer", absent="pass", adds=(SERVICE,)
    ),
    "functions-not-public": Case(at=FUNCTION_URL["urn"], path=("authorizationType",), bad="NONE", adds=(FUNCTION_URL,)),
    "images-not-public": Case(at=IMAGE_SHARE["urn"], path=("group",), bad="all", absent="pass", adds=(IMAGE_SHARE,)),
    "configuration-holds-no-credentials": Case(
        at=CONFIG_MAP["urn"],
        path=("data",),
        bad={"credentials": KEY_TEXT},
        absent="pass",
        wrong_value=["a"],
        adds=(CONFIG_MAP,),
    ),
    "namespaces-enforce-a-standard": Case(
        at=NAMESPACE, path=("metadata", "labels", "pod-security.kubernetes.io/enforce"), bad="privileged"
    ),
    "namespaces-deny-by-default": Case(
        at=DENY, path=("metadata", "namespace"), bad="other", blames=NAMESPACE, unknown="pass"
    ),
}

COST: dict[str, Case] = {
    "machines-bought-by-known-kinds": Case(at="new", bad="added", blames=FLEET["urn"], adds=(FLEET,)),
    "machines-on-the-list": Case(at=TRAINING, path=("instanceTypes",), bad=["p9.metal"], absent="pass"),
    "cards-not-on-demand": Case(
        at=TRIAL,
        path=("instanceTypes",),
        bad=["p5.4xlarge"],
        absent="pass",
        configuration={"cards-not-on-demand": {"types": ["p*"]}},
    ),
    "cards-within-the-limit": Case(at=TRAINING, path=("scalingConfig", "maxSize"), bad=500, absent="pass"),
    "training-never-on-spot": Case(at=TRAINING, path=("capacityType",), bad="SPOT", absent="pass", wrong="pass"),
    "preprocessing-on-spot": Case(at=PREPROCESS, path=("capacityType",), bad="ON_DEMAND"),
    "spot-pools-mixed": Case(at=PREPROCESS, path=("instanceTypes",), bad=["m7i.8xlarge"]),
    "reservations-end": Case(
        at=urn("aws:ec2/capacityReservation:CapacityReservation", "trial"), path=("endDateType",), bad="unlimited"
    ),
    "blocks-within-their-dates": Case(at=BLOCK, path=("scalingConfig", "maxSize"), bad=65, absent="pass"),
    "cards-not-idle": Case(at=TRIAL, path=("scalingConfig", "desiredSize"), bad=1, absent="pass"),
    "disks-gp3": Case(at=TEMPLATE, path=("blockDeviceMappings", 0, "ebs", "volumeType"), bad="gp2"),
    "disks-within-limits": Case(at=TEMPLATE, path=("blockDeviceMappings", 0, "ebs", "iops"), bad=64000, absent="pass"),
    "lustre-within-limits": Case(at=LUSTRE, path=("storageCapacity",), bad=480000),
    "log-groups-declared": Case(at=LOGS, path=("name",), bad="/aws/eks/other/cluster", blames=CLUSTER),
    "logs-end": Case(at=LOGS, path=("retentionInDays",), bad=0),
    "buckets-have-an-end": Case(
        at=companion("BucketLifecycleConfiguration"),
        path=("rules", 0, "abortIncompleteMultipartUpload", "daysAfterInitiation"),
        bad=30,
    ),
    "registry-has-an-end": Case(
        at=urn("aws:ecr/lifecyclePolicy:LifecyclePolicy", "trainer"),
        path=("policy",),
        bad="",
        blames=REPOSITORY,
        unknown="pass",
    ),
    "tags-name-a-payer": Case(at=LUSTRE, path=("tags",), bad={"owner": "ml-platform"}, wrong_value=["a"]),
    "gateways-counted": Case(
        at="new",
        bad="added",
        blames=urn("aws:ec2/natGateway:NatGateway", "n3"),
        adds=tuple(
            record(
                "aws:ec2/natGateway:NatGateway",
                f"n{i}",
                {"allocationId": "x", "subnetId": "subnet-2", "tags": {"owner": "a"}},
            )
            for i in range(4)
        ),
    ),
    "storage-reached-without-gateway": Case(
        at=ENDPOINT, path=("serviceName",), bad="com.amazonaws.us-west-2.ec2", blames=VPC
    ),
    "addresses-used": Case(at=NAT, bad=REMOVE, blames=ADDRESS),
    "cluster-standard-support": Case(at=CLUSTER, path=("upgradePolicy", "supportType"), bad="EXTENDED"),
    "control-plane-tier-allowed": Case(
        at=CLUSTER, path=("controlPlaneScalingConfig", "tier"), bad="tier-8xl", absent="pass"
    ),
    "budget-watches": Case(at=BUDGET, path=("notifications",), bad=[]),
    "anomalies-watched": Case(at=MONITOR, bad=REMOVE, blames=CLUSTER),
    "monthly-cost-within-ceiling": Case(
        at=TRAINING, path=("scalingConfig", "desiredSize"), bad=40, blames="", absent="doubt", wrong="doubt"
    ),
    "cost-change-within-ceiling": Case(at="new", bad="added", blames=""),
}


def pods_of(kind: str, spec: dict[str, Any]) -> Record:
    """The same pod spec inside another kind of workload."""
    template = {"spec": spec}
    meta = {"name": "w", "namespace": "training"}
    shapes: dict[str, tuple[str, dict[str, Any]]] = {
        "PyTorchJob": (
            "kubernetes:kubeflow.org/v1:PyTorchJob",
            {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 1, "template": template}}}},
        ),
        "RayCluster": ("kubernetes:ray.io/v1:RayCluster", {"spec": {"workerGroupSpecs": [{"template": template}]}}),
        "LeaderWorkerSet": (
            "kubernetes:leaderworkerset.x-k8s.io/v1:LeaderWorkerSet",
            {"spec": {"leaderWorkerTemplate": {"workerTemplate": template}}},
        ),
        "CronJob": ("kubernetes:batch/v1:CronJob", {"spec": {"jobTemplate": {"spec": {"template": template}}}}),
        "Pod": ("kubernetes:core/v1:Pod", {"spec": spec}),
        "DaemonSet": ("kubernetes:apps/v1:DaemonSet", {"spec": {"template": template}}),
    }
    type_, inputs = shapes[kind]
    return record(type_, "w", {"metadata": meta, **inputs})


__all__ = ["COST", "SECURITY", "TODAY", "Case", "good_stack", "pod_spec", "pods_of"]
