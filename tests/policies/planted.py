"""Planted mistakes: each a small change to the good stack, the rules that must say so, and what checkov is asked about
it.

The first nine are those of which checkov caught one. `checkov` names the check that would mean the same mistake, where
checkov has one.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.policies.cases import ADMIN as ADMIN_ENTRY
from tests.policies.cases import (
    ATTACHMENT,
    BUCKET,
    CLUSTER,
    CONTAINER,
    GROUP_OUT,
    GROUP_RULE,
    JOB,
    KEY,
    KEY_TEXT,
    LOCKOUT,
    LOGS,
    LUSTRE,
    POD,
    POLICY,
    PREPROCESS,
    REMOVE,
    REPOSITORY,
    ROLE,
    SUBNET,
    TEMPLATE,
    TRAINING,
    TRIAL,
    Path,
    companion,
    pods_of,
    put,
)
from tests.policies.good import ACCOUNT, Record, document, good_stack, pod_spec, record

Change = Callable[[list[Record]], list[Record]]


@dataclass(frozen=True)
class Planted:
    """A mistake, the rules of which at least one must catch it, and checkov's checks for the same thing."""

    title: str
    change: Change
    rules: tuple[str, ...]
    checkov: tuple[str, ...] = ()

    def records(self) -> list[Record]:
        return self.change(good_stack())


def setting(urn: str, path: Path, value: Any) -> Change:
    def change(records: list[Record]) -> list[Record]:
        put(next(item for item in records if item["urn"] == urn)["inputs"], path, value)
        return records

    return change


def adding(*more: Record) -> Change:
    return lambda records: [*records, *more]


def removing(urn: str) -> Change:
    return lambda records: [item for item in records if item["urn"] != urn]


def both(*changes: Change) -> Change:
    def change(records: list[Record]) -> list[Record]:
        for each in changes:
            records = each(records)
        return records

    return change


def policy(action: str | list[str], resource: str = "*") -> str:
    return document({"Effect": "Allow", "Action": action, "Resource": resource})


def ingress(name: str, **inputs: Any) -> Record:
    return record(
        "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
        name,
        {"securityGroupId": "sg-1", "description": "d", **inputs},
    )


def privileged() -> dict[str, Any]:
    spec = pod_spec()
    spec["containers"][0]["securityContext"]["privileged"] = True
    return spec


TAGS = {"owner": "ml-platform", "team": "pretraining", "cost-center": "4711"}
CLUSTER_ADMIN = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
RESERVED = {
    "instanceType": "p5.48xlarge",
    "instanceCount": 64,
    "instancePlatform": "Linux/UNIX",
    "endDateType": "unlimited",
    "tags": TAGS,
}
ON_DEMAND = {
    "instanceTypes": ["p5.48xlarge"],
    "capacityType": "ON_DEMAND",
    "scalingConfig": {"minSize": 0, "desiredSize": 0, "maxSize": 500},
}
INSTANCE = {
    "instanceType": "p5.48xlarge",
    "ami": "ami-1",
    "subnetId": "subnet-1",
    "metadataOptions": {"httpTokens": "required", "httpPutResponseHopLimit": 1},
    "rootBlockDevice": {"encrypted": True, "volumeType": "gp3"},
    "tags": TAGS,
}
MIXED = {
    "launchTemplate": {
        "launchTemplateSpecification": {"launchTemplateId": "lt-1"},
        "overrides": [{"instanceType": "p5.48xlarge"}],
    },
    "instancesDistribution": {"onDemandPercentageAboveBaseCapacity": 0},
}
GRANTED = [{"key": key, "value": value, "propagateAtLaunch": True} for key, value in TAGS.items()]
OIDC = f"arn:aws:iam::{ACCOUNT}:oidc-provider/token.actions.githubusercontent.com"
FEDERATED = document(
    {
        "Effect": "Allow",
        "Principal": {"Federated": OIDC},
        "Action": "sts:AssumeRoleWithWebIdentity",
        "Condition": {"StringEquals": {"token.actions.githubusercontent.com:aud": "sts.amazonaws.com"}},
    }
)
KARPENTER = {
    "spec": {
        "limits": {"nvidia.com/gpu": 64},
        "template": {
            "metadata": {"labels": {"trainshed.io/purpose": "training"}},
            "spec": {
                "requirements": [
                    {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["p5.48xlarge"]},
                    {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot", "on-demand"]},
                ]
            },
        },
    }
}
INTERFACES: Path = ("networkInterfaces", 1)
DISK: Path = ("blockDeviceMappings", 0, "ebs")

PLANTED: tuple[Planted, ...] = (
    Planted(
        "an unencrypted gp2 volume in a launch template",
        setting(TEMPLATE, DISK, {"encrypted": "false", "volumeType": "gp2", "volumeSize": 200}),
        ("template-volumes-encrypted", "disks-gp3"),
    ),
    Planted(
        "500 eight-card machines on demand",
        adding(
            record(
                "aws:eks/nodeGroup:NodeGroup",
                "huge",
                {**ON_DEMAND, "subnetIds": ["subnet-1"], "nodeRoleArn": "x", "tags": TAGS},
            )
        ),
        ("cards-within-the-limit",),
    ),
    Planted(
        "a scratch file system of 480,000 GiB",
        setting(LUSTRE, ("storageCapacity",), 480000),
        ("lustre-within-limits",),
    ),
    Planted(
        "64 reserved machines without an end",
        adding(record("aws:ec2/capacityReservation:CapacityReservation", "forever", RESERVED)),
        ("reservations-end", "cards-within-the-limit"),
    ),
    Planted(
        "all traffic from everywhere in a rule resource",
        adding(ingress("open", ipProtocol="-1", cidrIpv4="0.0.0.0/0")),
        ("network-no-world-ingress",),
    ),
    Planted(
        "the Ray dashboard open to the world",
        adding(ingress("ray", ipProtocol="tcp", fromPort=8265, toPort=8265, cidrIpv4="0.0.0.0/0")),
        ("network-no-world-ingress",),
    ),
    Planted(
        "a researcher as administrator of the cluster",
        setting(ADMIN_ENTRY, ("policyArn",), CLUSTER_ADMIN),
        ("cluster-admins-named",),
    ),
    Planted(
        "every action of object storage",
        setting(POLICY, ("policy",), policy("s3:*", "arn:aws:s3:::acme-data/*")),
        ("iam-no-wildcard-actions",),
    ),
    Planted(
        "passing any role",
        setting(POLICY, ("policy",), policy("iam:PassRole")),
        ("iam-no-risky-action-on-everything",),
        ("CKV_AWS_286", "CKV_AWS_289", "CKV_AWS_290", "CKV_AWS_355"),
    ),
    Planted(
        "an API server open to the world by an empty list",
        setting(CLUSTER, ("vpcConfig", "publicAccessCidrs"), []),
        ("cluster-endpoint-not-open",),
        ("CKV_AWS_38",),
    ),
    Planted(
        "an API server open to the world by IPv6",
        setting(CLUSTER, ("vpcConfig", "publicAccessCidrs"), ["::/0"]),
        ("cluster-endpoint-not-open",),
    ),
    Planted(
        "a cluster that keeps no audit log",
        setting(CLUSTER, ("enabledClusterLogTypes",), ["api"]),
        ("cluster-logs",),
        ("CKV_AWS_37",),
    ),
    Planted(
        "secrets of Kubernetes in clear",
        setting(CLUSTER, ("encryptionConfig",), REMOVE),
        ("cluster-secrets-encrypted",),
        ("CKV_AWS_58",),
    ),
    Planted(
        "a Kubernetes version out of support",
        setting(CLUSTER, ("version",), "1.28"),
        ("cluster-version-supported",),
        ("CKV_AWS_339",),
    ),
    Planted(
        "access by the old config map",
        setting(CLUSTER, ("accessConfig", "authenticationMode"), "CONFIG_MAP"),
        ("cluster-access-by-entries",),
    ),
    Planted(
        "extended support switched on", setting(CLUSTER, ("upgradePolicy",), REMOVE), ("cluster-standard-support",)
    ),
    Planted(
        "SSH to nodes from everywhere",
        setting(PREPROCESS, ("remoteAccess",), {"ec2SshKey": "ops"}),
        ("nodes-no-open-ssh",),
        ("CKV_AWS_100",),
    ),
    Planted(
        "training nodes in a public subnet",
        setting(TRAINING, ("subnetIds",), ["subnet-2"]),
        ("nodes-in-private-subnets",),
    ),
    Planted(
        "a training pool whose updates are forced",
        setting(TRAINING, ("forceUpdateVersion",), True),
        ("training-pools-never-forced",),
    ),
    Planted("training on spot", setting(TRAINING, ("capacityType",), "SPOT"), ("training-never-on-spot",)),
    Planted(
        "a raw spot instance with eight cards",
        adding(
            record("aws:ec2/instance:Instance", "mine", {**INSTANCE, "instanceMarketOptions": {"marketType": "spot"}})
        ),
        ("training-never-on-spot",),
    ),
    Planted(
        "an auto-scaling group of cards on spot",
        adding(
            record(
                "aws:autoscaling/group:Group",
                "asg",
                {"minSize": 0, "maxSize": 100, "mixedInstancesPolicy": MIXED, "tags": GRANTED},
            )
        ),
        ("training-never-on-spot", "cards-within-the-limit"),
    ),
    Planted(
        "a Karpenter pool that trains on spot",
        adding(record("kubernetes:karpenter.sh/v1:NodePool", "kp", KARPENTER)),
        ("training-never-on-spot",),
    ),
    Planted("preprocessing on demand", setting(PREPROCESS, ("capacityType",), "ON_DEMAND"), ("preprocessing-on-spot",)),
    Planted("cards kept running for nobody", setting(TRIAL, ("scalingConfig", "desiredSize"), 1), ("cards-not-idle",)),
    Planted(
        "an instance type that nobody knows",
        setting(TRIAL, ("instanceTypes",), ["p5.48xlarg"]),
        ("machines-on-the-list",),
    ),
    Planted(
        "the metadata service without tokens",
        setting(TEMPLATE, ("metadataOptions",), REMOVE),
        ("machines-require-metadata-tokens", "machines-metadata-one-hop"),
        ("CKV_AWS_79",),
    ),
    Planted(
        "pods that reach the node's credentials",
        setting(TEMPLATE, ("metadataOptions", "httpPutResponseHopLimit"), 2),
        ("machines-metadata-one-hop",),
        ("CKV_AWS_341",),
    ),
    Planted(
        "keys in user data",
        setting(TEMPLATE, ("userData",), KEY_TEXT),
        ("machines-no-secrets-in-user-data",),
        ("CKV_AWS_46",),
    ),
    Planted(
        "a public address on a node with many cards",
        setting(TEMPLATE, (*INTERFACES, "associatePublicIpAddress"), "true"),
        ("machines-no-public-address",),
    ),
    Planted("an EFA group without egress to itself", removing(GROUP_OUT), ("efa-groups-open-to-themselves",)),
    Planted(
        "machines that carry nobody's tags",
        setting(TEMPLATE, ("tagSpecifications",), [{"resourceType": "instance", "tags": TAGS}]),
        ("tags-name-a-payer",),
    ),
    Planted(
        "the file system's port open to the world",
        setting(GROUP_RULE, ("cidrBlocks",), ["0.0.0.0/0"]),
        ("network-no-world-ingress",),
    ),
    Planted(
        "SSH open to the world inside a group",
        adding(
            record(
                "aws:ec2/securityGroup:SecurityGroup",
                "legacy",
                {
                    "description": "d",
                    "vpcId": "vpc-1",
                    "ingress": [
                        {
                            "protocol": "tcp",
                            "fromPort": 22,
                            "toPort": 22,
                            "cidrBlocks": ["0.0.0.0/0"],
                            "description": "ssh",
                        }
                    ],
                },
            )
        ),
        ("network-no-world-ingress",),
        ("CKV_AWS_24",),
    ),
    Planted(
        "a subnet that hands out public addresses",
        setting(SUBNET, ("mapPublicIpOnLaunch",), True),
        ("subnets-assign-no-public-addresses",),
        ("CKV_AWS_130",),
    ),
    Planted(
        "a bucket that nothing closes",
        removing(companion("BucketPublicAccessBlock")),
        ("buckets-block-public-access",),
        ("CKV2_AWS_6",),
    ),
    Planted(
        "a bucket for everybody",
        setting(
            companion("BucketPolicy"),
            ("policy",),
            document({"Effect": "Allow", "Principal": {"AWS": ["*"]}, "Action": "s3:GetObject", "Resource": "*"}),
        ),
        ("bucket-policies-name-principals",),
        ("CKV_AWS_70",),
    ),
    Planted(
        "a bucket that accepts plain requests",
        setting(
            companion("BucketPolicy"),
            ("policy",),
            document({"Effect": "Deny", "Principal": "*", "Action": "s3:DeleteBucket", "Resource": "*"}),
        ),
        ("buckets-require-tls",),
    ),
    Planted(
        "a bucket policy that locks its owner out",
        setting(companion("BucketPolicy"), ("policy",), LOCKOUT),
        ("bucket-policies-lock-nobody-out",),
    ),
    Planted(
        "checkpoints without versions", removing(companion("BucketVersioning")), ("buckets-versioned",), ("CKV_AWS_21",)
    ),
    Planted(
        "a bucket encrypted with the service's key",
        setting(
            companion("BucketServerSideEncryptionConfiguration"),
            ("rules", 0, "applyServerSideEncryptionByDefault"),
            {"sseAlgorithm": "AES256"},
        ),
        ("buckets-encrypted-with-key",),
        ("CKV_AWS_145",),
    ),
    Planted(
        "uploads that are never ended",
        setting(companion("BucketLifecycleConfiguration"), ("rules", 0, "abortIncompleteMultipartUpload"), REMOVE),
        ("buckets-have-an-end",),
        ("CKV_AWS_300",),
    ),
    Planted("a bucket that a destroy empties", setting(BUCKET, ("forceDestroy",), True), ("buckets-kept",)),
    Planted(
        "a file system with the service's key",
        setting(LUSTRE, ("kmsKeyId",), REMOVE),
        ("lustre-encrypted-with-key",),
        ("CKV_AWS_190",),
    ),
    Planted(
        "a scratch file system that nothing backs",
        removing("urn:pulumi:good::trainshed::aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation::warm"),
        ("lustre-scratch-linked",),
    ),
    Planted(
        "tags of images that change",
        setting(REPOSITORY, ("imageTagMutability",), "MUTABLE"),
        ("registry-tags-immutable",),
        ("CKV_AWS_51",),
    ),
    Planted(
        "images that nobody scans",
        setting(REPOSITORY, ("imageScanningConfiguration",), REMOVE),
        ("registry-images-scanned",),
        ("CKV_AWS_163",),
    ),
    Planted("a key that never rotates", setting(KEY, ("enableKeyRotation",), REMOVE), ("keys-rotate",), ("CKV_AWS_7",)),
    Planted(
        "a key for everybody",
        setting(KEY, ("policy",), document({"Effect": "Allow", "Principal": "*", "Action": "kms:*", "Resource": "*"})),
        ("key-policies-name-principals",),
        ("CKV_AWS_33",),
    ),
    Planted(
        "an administrator's policy on the nodes",
        setting(ATTACHMENT, ("policyArn",), "arn:aws:iam::aws:policy/AdministratorAccess"),
        ("iam-no-administrator-policies",),
        ("CKV_AWS_274",),
    ),
    Planted(
        "nodes that may read every bucket",
        setting(ATTACHMENT, ("policyArn",), "arn:aws:iam::aws:policy/AmazonS3FullAccess"),
        ("node-role-minimal",),
    ),
    Planted(
        "a role that anybody takes",
        setting(
            ROLE,
            ("assumeRolePolicy",),
            document({"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}),
        ),
        ("iam-trust-named",),
        ("CKV_AWS_60",),
    ),
    Planted(
        "a federated role without a subject",
        setting(ROLE, ("assumeRolePolicy",), FEDERATED),
        ("iam-trust-named",),
        ("CKV_AWS_393",),
    ),
    Planted(
        "all but one action",
        setting(
            POLICY, ("policy",), json.dumps({"Statement": {"Effect": "Allow", "NotAction": "iam:*", "Resource": "*"}})
        ),
        ("iam-no-wildcard-actions",),
    ),
    Planted(
        "a long-lived key",
        adding(record("aws:iam/accessKey:AccessKey", "k", {"user": "trainer"})),
        ("iam-no-long-lived-keys",),
    ),
    Planted("logs kept for ever", setting(LOGS, ("retentionInDays",), REMOVE), ("logs-end",), ("CKV_AWS_66",)),
    Planted(
        "an address that nothing uses",
        adding(record("aws:ec2/eip:Eip", "spare", {"domain": "vpc", "tags": TAGS})),
        ("addresses-used",),
        ("CKV2_AWS_19",),
    ),
    Planted(
        "a privileged container in a JobSet",
        setting(JOB, (*CONTAINER, "securityContext", "privileged"), True),
        ("pods-not-privileged",),
    ),
    Planted(
        "a privileged container in a PyTorchJob", adding(pods_of("PyTorchJob", privileged())), ("pods-not-privileged",)
    ),
    Planted(
        "a privileged container in a RayCluster", adding(pods_of("RayCluster", privileged())), ("pods-not-privileged",)
    ),
    Planted(
        "a job that mounts all fabric devices",
        setting(JOB, (*POD, "volumes"), [{"name": "ib", "hostPath": {"path": "/dev/infiniband"}}]),
        ("pods-no-fabric-devices-by-path",),
    ),
    Planted(
        "a job on the host's network", setting(JOB, (*POD, "hostNetwork"), True), ("pods-share-nothing-with-the-host",)
    ),
    Planted(
        "an image by a tag that moves",
        setting(JOB, (*CONTAINER, "image"), "nvcr.io/nvidia/pytorch:latest"),
        ("pods-run-pinned-images",),
    ),
    Planted(
        "a program bound to cluster-admin",
        adding(
            record(
                "kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding",
                "tiller",
                {
                    "metadata": {"name": "t"},
                    "roleRef": {"kind": "ClusterRole", "name": "cluster-admin"},
                    "subjects": [],
                },
            )
        ),
        ("roles-no-cluster-admin",),
    ),
)
