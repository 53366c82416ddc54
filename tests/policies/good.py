"""A small stack in which every rule of both packs has something to pass: the ground on which cases and planted mistakes
stand.

Values that another resource would give are known here, so that nothing is left unjudged; `depends_on` says what they
came from.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from typing import Any

Record = dict[str, Any]
ACCOUNT = "111122223333"
REGION = "us-west-2"
TAGS = {"owner": "ml-platform", "team": "pretraining", "cost-center": "4711"}
KEY_ARN = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/0a1b2c3d-0000-4000-8000-000000000001"
ROOT = f"arn:aws:iam::{ACCOUNT}:root"
ADMIN = f"arn:aws:iam::{ACCOUNT}:role/platform-admin"
IMAGE = f"{ACCOUNT}.dkr.ecr.{REGION}.amazonaws.com/trainer@sha256:{'a' * 64}"


def urn(type_: str, name: str) -> str:
    return f"urn:pulumi:good::trainshed::{type_}::{name}"


def record(
    type_: str, name: str, inputs: dict[str, Any], *, after: Iterable[str] = (), protect: bool = False
) -> Record:
    return {
        "urn": urn(type_, name),
        "type": type_,
        "name": name,
        "parent": "",
        "inputs": inputs,
        "depends_on": list(after),
        "protect": protect,
        "ignore_changes": [],
        "provider": "",
    }


def document(*statements: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def trust(service: str) -> str:
    return document({"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"})


def _network() -> list[Record]:
    vpc = urn("aws:ec2/vpc:Vpc", "net")
    subnet = urn("aws:ec2/subnet:Subnet", "net-compute-usw2-az3")
    efa = urn("aws:ec2/securityGroup:SecurityGroup", "net-efa")
    found = [
        record("aws:ec2/vpc:Vpc", "net", {"id": "vpc-1", "cidrBlock": "10.0.0.0/16", "tags": TAGS}),
        record(
            "aws:ec2/flowLog:FlowLog",
            "net-flow",
            {"vpcId": "vpc-1", "trafficType": "ALL", "logDestination": "arn:aws:s3:::acme-log"},
            after=[vpc],
        ),
        record(
            "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup",
            "net-default",
            {"vpcId": "vpc-1", "ingress": [], "egress": []},
            after=[vpc],
        ),
        record(
            "aws:ec2/subnet:Subnet",
            "net-compute-usw2-az3",
            {
                "id": "subnet-1",
                "vpcId": "vpc-1",
                "cidrBlock": "10.0.0.0/20",
                "availabilityZoneId": "usw2-az3",
                "mapPublicIpOnLaunch": False,
            },
            after=[vpc],
        ),
        record(
            "aws:ec2/subnet:Subnet",
            "net-public-usw2-az3",
            {"id": "subnet-2", "vpcId": "vpc-1", "cidrBlock": "10.0.16.0/24", "availabilityZoneId": "usw2-az3"},
            after=[vpc],
        ),
        record("aws:ec2/internetGateway:InternetGateway", "net-out", {"id": "igw-1", "vpcId": "vpc-1"}, after=[vpc]),
        record("aws:ec2/routeTable:RouteTable", "net-public", {"id": "rtb-1", "vpcId": "vpc-1"}, after=[vpc]),
        record(
            "aws:ec2/route:Route",
            "net-public-out",
            {"routeTableId": "rtb-1", "destinationCidrBlock": "0.0.0.0/0", "gatewayId": "igw-1"},
        ),
        record(
            "aws:ec2/routeTableAssociation:RouteTableAssociation",
            "net-public",
            {"routeTableId": "rtb-1", "subnetId": "subnet-2"},
        ),
        record("aws:ec2/eip:Eip", "net-nat", {"id": "eipalloc-1", "domain": "vpc", "tags": TAGS}),
        record(
            "aws:ec2/natGateway:NatGateway",
            "net-nat",
            {"allocationId": "eipalloc-1", "subnetId": "subnet-2", "tags": TAGS},
            after=[urn("aws:ec2/eip:Eip", "net-nat")],
        ),
        record(
            "aws:ec2/securityGroup:SecurityGroup",
            "net-efa",
            {"id": "sg-1", "vpcId": "vpc-1", "description": "EFA between compute nodes", "tags": TAGS},
            after=[vpc],
        ),
        record(
            "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
            "net-efa-in",
            {
                "securityGroupId": "sg-1",
                "referencedSecurityGroupId": "sg-1",
                "ipProtocol": "-1",
                "description": "EFA from the group itself",
            },
            after=[efa],
        ),
        record(
            "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule",
            "net-efa-out",
            {
                "securityGroupId": "sg-1",
                "referencedSecurityGroupId": "sg-1",
                "ipProtocol": "-1",
                "description": "EFA to the group itself",
            },
            after=[efa],
        ),
        record(
            "aws:ec2/securityGroupRule:SecurityGroupRule",
            "net-lustre",
            {
                "securityGroupId": "sg-1",
                "type": "ingress",
                "protocol": "tcp",
                "fromPort": 988,
                "toPort": 988,
                "cidrBlocks": ["10.0.0.0/16"],
                "description": "Lustre",
            },
        ),
    ]
    services = ["ec2", "ecr.api", "ecr.dkr", "sts", "logs", "eks", "eks-auth", "elasticloadbalancing", "autoscaling"]
    for service in services:
        inputs = {
            "vpcId": "vpc-1",
            "serviceName": f"com.amazonaws.{REGION}.{service}",
            "vpcEndpointType": "Interface",
            "subnetIds": ["subnet-1"],
            "tags": TAGS,
        }
        found.append(record("aws:ec2/vpcEndpoint:VpcEndpoint", f"net-{service}", inputs, after=[vpc, subnet]))
    inputs = {"vpcId": "vpc-1", "serviceName": f"com.amazonaws.{REGION}.s3", "vpcEndpointType": "Gateway", "tags": TAGS}
    found.append(record("aws:ec2/vpcEndpoint:VpcEndpoint", "net-s3", inputs, after=[vpc]))
    return found


def _cluster() -> list[Record]:
    node_role = urn("aws:iam/role:Role", "nodes")
    subnet = urn("aws:ec2/subnet:Subnet", "net-compute-usw2-az3")
    template = urn("aws:ec2/launchTemplate:LaunchTemplate", "pretrain")
    efa = urn("aws:ec2/securityGroup:SecurityGroup", "net-efa")
    block = urn("aws:eks/nodeGroup:NodeGroup", "finetune")
    return [
        record(
            "aws:eks/cluster:Cluster",
            "main",
            {
                "name": "main",
                "roleArn": f"arn:aws:iam::{ACCOUNT}:role/cluster",
                "version": "1.35",
                "deletionProtection": True,
                "enabledClusterLogTypes": ["api", "audit", "authenticator", "controllerManager", "scheduler"],
                "encryptionConfig": {"resources": ["secrets"], "provider": {"keyArn": KEY_ARN}},
                "accessConfig": {"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": False},
                "upgradePolicy": {"supportType": "STANDARD"},
                "controlPlaneScalingConfig": {"tier": "standard"},
                "vpcConfig": {
                    "endpointPublicAccess": True,
                    "endpointPrivateAccess": True,
                    "publicAccessCidrs": ["198.51.100.0/24"],
                    "subnetIds": ["subnet-1"],
                },
                "tags": TAGS,
            },
            protect=True,
        ),
        record(
            "aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
            "admin",
            {
                "clusterName": "main",
                "principalArn": f"arn:aws:iam::{ACCOUNT}:role/researchers",
                "policyArn": "arn:aws:eks::aws:cluster-access-policy/AmazonEKSEditPolicy",
                "accessScope": {"type": "namespace", "namespaces": ["training"]},
            },
        ),
        record(
            "aws:eks/accessEntry:AccessEntry",
            "admin",
            {"clusterName": "main", "principalArn": ADMIN, "kubernetesGroups": ["viewers"]},
        ),
        record(
            "aws:ec2/launchTemplate:LaunchTemplate",
            "pretrain",
            {
                "id": "lt-1",
                "metadataOptions": {"httpEndpoint": "enabled", "httpTokens": "required", "httpPutResponseHopLimit": 1},
                "blockDeviceMappings": [
                    {
                        "deviceName": "/dev/xvda",
                        "ebs": {
                            "encrypted": "true",
                            "volumeType": "gp3",
                            "volumeSize": 200,
                            "iops": 3000,
                            "throughput": 125,
                        },
                    }
                ],
                "networkInterfaces": [
                    {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface", "securityGroups": ["sg-1"]},
                    {
                        "networkCardIndex": 1,
                        "deviceIndex": 0,
                        "interfaceType": "efa-only",
                        "securityGroups": ["sg-1"],
                        "associatePublicIpAddress": "false",
                    },
                ],
                "userData": "bm90aGluZyBzZWNyZXQ=",
                "capacityReservationSpecification": {"capacityReservationTarget": {"capacityReservationId": "cr-1"}},
                "tagSpecifications": [{"resourceType": kind, "tags": TAGS} for kind in ("instance", "volume")],
                "tags": TAGS,
            },
            after=[efa],
        ),
        record(
            "aws:eks/nodeGroup:NodeGroup",
            "pretrain",
            {
                "clusterName": "main",
                "nodeRoleArn": f"arn:aws:iam::{ACCOUNT}:role/nodes",
                "subnetIds": ["subnet-1"],
                "instanceTypes": ["p5.48xlarge"],
                "capacityType": "ON_DEMAND",
                "scalingConfig": {"minSize": 2, "desiredSize": 2, "maxSize": 4},
                "launchTemplate": {"id": "lt-1", "version": "1"},
                "labels": {"trainshed.io/purpose": "training"},
                "forceUpdateVersion": False,
                "tags": TAGS,
            },
            after=[node_role, subnet, template],
        ),
        record(
            "aws:eks/nodeGroup:NodeGroup",
            "finetune",
            {
                "clusterName": "main",
                "nodeRoleArn": f"arn:aws:iam::{ACCOUNT}:role/nodes",
                "subnetIds": ["subnet-1"],
                "instanceTypes": ["p5.48xlarge"],
                "capacityType": "CAPACITY_BLOCK",
                "scalingConfig": {"minSize": 0, "desiredSize": 0, "maxSize": 2},
                "labels": {"trainshed.io/purpose": "finetuning"},
                "tags": TAGS,
            },
            after=[node_role, subnet],
        ),
        record(
            "aws:scheduler/schedule:Schedule",
            "finetune-down",
            {
                "scheduleExpression": "at(2026-12-24T10:30:00)",
                "scheduleExpressionTimezone": "UTC",
                "target": {"arn": "x", "roleArn": "y"},
            },
            after=[block],
        ),
        record(
            "aws:eks/nodeGroup:NodeGroup",
            "trial",
            {
                "clusterName": "main",
                "nodeRoleArn": f"arn:aws:iam::{ACCOUNT}:role/nodes",
                "subnetIds": ["subnet-1"],
                "instanceTypes": ["g6e.8xlarge"],
                "capacityType": "ON_DEMAND",
                "scalingConfig": {"minSize": 0, "desiredSize": 0, "maxSize": 2},
                "labels": {"trainshed.io/purpose": "evaluation"},
                "tags": TAGS,
            },
            after=[node_role, subnet],
        ),
        record(
            "aws:eks/nodeGroup:NodeGroup",
            "preprocess",
            {
                "clusterName": "main",
                "nodeRoleArn": f"arn:aws:iam::{ACCOUNT}:role/nodes",
                "subnetIds": ["subnet-1"],
                "instanceTypes": ["m7i.8xlarge", "m7a.8xlarge", "m6i.8xlarge"],
                "capacityType": "SPOT",
                "remoteAccess": {"ec2SshKey": "ops", "sourceSecurityGroupIds": ["sg-1"]},
                "scalingConfig": {"minSize": 0, "desiredSize": 0, "maxSize": 10},
                "labels": {"trainshed.io/purpose": "preprocessing"},
                "tags": TAGS,
            },
            after=[node_role, subnet],
        ),
        record(
            "aws:ec2/capacityReservation:CapacityReservation",
            "trial",
            {
                "instanceType": "p5.48xlarge",
                "instanceCount": 2,
                "instancePlatform": "Linux/UNIX",
                "availabilityZone": "us-west-2a",
                "endDateType": "limited",
                "endDate": "2026-12-24T11:30:00Z",
                "tags": TAGS,
            },
        ),
        record(
            "aws:ec2/instance:Instance",
            "bastion",
            {
                "instanceType": "m7i.xlarge",
                "ami": "ami-1",
                "subnetId": "subnet-1",
                "metadataOptions": {"httpTokens": "required", "httpPutResponseHopLimit": 1},
                "rootBlockDevice": {"encrypted": True, "volumeType": "gp3", "volumeSize": 50},
                "tags": TAGS,
            },
            after=[subnet],
        ),
        record(
            "aws:ebs/volume:Volume",
            "scratch",
            {
                "encrypted": True,
                "type": "gp3",
                "size": 100,
                "availabilityZone": "us-west-2a",
                "kmsKeyId": KEY_ARN,
                "tags": TAGS,
            },
        ),
        record("aws:ebs/encryptionByDefault:EncryptionByDefault", "default", {"enabled": True}),
    ]


def _identity() -> list[Record]:
    role = urn("aws:iam/role:Role", "nodes")
    narrow = document(
        {
            "Effect": "Allow",
            "Action": ["s3:GetObject", "s3:ListBucket"],
            "Resource": ["arn:aws:s3:::acme-data", "arn:aws:s3:::acme-data/*"],
        },
        {"Effect": "Allow", "Action": "kms:Decrypt", "Resource": KEY_ARN},
    )
    return [
        record(
            "aws:iam/role:Role",
            "nodes",
            {
                "name": "nodes",
                "arn": f"arn:aws:iam::{ACCOUNT}:role/nodes",
                "assumeRolePolicy": trust("ec2.amazonaws.com"),
            },
        ),
        record(
            "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
            "nodes-worker",
            {"role": "nodes", "policyArn": "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"},
            after=[role],
        ),
        record("aws:iam/policy:Policy", "reader", {"policy": narrow}),
        record("aws:iam/rolePolicy:RolePolicy", "reader", {"role": "pods", "policy": narrow}),
        record(
            "aws:kms/key:Key",
            "data",
            {
                "arn": KEY_ARN,
                "enableKeyRotation": True,
                "deletionWindowInDays": 30,
                "policy": document({"Effect": "Allow", "Principal": {"AWS": ROOT}, "Action": "kms:*", "Resource": "*"}),
                "tags": TAGS,
            },
            protect=True,
        ),
    ]


def _storage() -> list[Record]:
    bucket = urn("aws:s3/bucket:Bucket", "data")
    tls = document(
        {
            "Sid": "OnlyTls",
            "Effect": "Deny",
            "Principal": "*",
            "Action": "s3:*",
            "Resource": ["arn:aws:s3:::acme-data", "arn:aws:s3:::acme-data/*"],
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        }
    )
    encryption = {"sseAlgorithm": "aws:kms", "kmsMasterKeyId": KEY_ARN}
    return [
        record(
            "aws:s3/bucket:Bucket", "data", {"bucket": "acme-data", "forceDestroy": False, "tags": TAGS}, protect=True
        ),
        record(
            "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock",
            "data",
            {
                "bucket": "acme-data",
                "blockPublicAcls": True,
                "blockPublicPolicy": True,
                "ignorePublicAcls": True,
                "restrictPublicBuckets": True,
            },
            after=[bucket],
        ),
        record("aws:s3/bucketAcl:BucketAcl", "data", {"bucket": "acme-data", "acl": "private"}, after=[bucket]),
        record("aws:s3/bucketPolicy:BucketPolicy", "data", {"bucket": "acme-data", "policy": tls}, after=[bucket]),
        record(
            "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
            "data",
            {
                "bucket": "acme-data",
                "rules": [{"applyServerSideEncryptionByDefault": encryption, "bucketKeyEnabled": True}],
            },
            after=[bucket],
        ),
        record(
            "aws:s3/bucketVersioning:BucketVersioning",
            "data",
            {"bucket": "acme-data", "versioningConfiguration": {"status": "Enabled"}},
            after=[bucket],
        ),
        record(
            "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration",
            "data",
            {
                "bucket": "acme-data",
                "rules": [
                    {
                        "id": "end",
                        "status": "Enabled",
                        "abortIncompleteMultipartUpload": {"daysAfterInitiation": 7},
                        "noncurrentVersionExpiration": {"noncurrentDays": 30},
                    }
                ],
            },
            after=[bucket],
        ),
        record(
            "aws:s3/bucketLogging:BucketLogging",
            "data",
            {"bucket": "acme-data", "targetBucket": "acme-log", "targetPrefix": "data/"},
            after=[bucket],
        ),
        record(
            "aws:fsx/lustreFileSystem:LustreFileSystem",
            "train",
            {
                "id": "fs-1",
                "deploymentType": "PERSISTENT_2",
                "storageType": "SSD",
                "storageCapacity": 9600,
                "perUnitStorageThroughput": 500,
                "subnetIds": "subnet-1",
                "kmsKeyId": KEY_ARN,
                "copyTagsToBackups": True,
                "automaticBackupRetentionDays": 7,
                "metadataConfiguration": {"mode": "USER_PROVISIONED", "iops": 6000},
                "tags": TAGS,
            },
            protect=True,
        ),
        record(
            "aws:fsx/lustreFileSystem:LustreFileSystem",
            "warm",
            {
                "id": "fs-2",
                "deploymentType": "SCRATCH_2",
                "storageCapacity": 1200,
                "subnetIds": "subnet-1",
                "tags": TAGS,
            },
        ),
        record(
            "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation",
            "warm",
            {"fileSystemId": "fs-2", "dataRepositoryPath": "s3://acme-data", "fileSystemPath": "/data"},
        ),
        record(
            "aws:ecr/repository:Repository",
            "trainer",
            {
                "name": "trainer",
                "imageTagMutability": "IMMUTABLE",
                "imageScanningConfiguration": {"scanOnPush": True},
                "encryptionConfigurations": [{"encryptionType": "KMS", "kmsKey": KEY_ARN}],
                "tags": TAGS,
            },
        ),
        record(
            "aws:ecr/lifecyclePolicy:LifecyclePolicy", "trainer", {"repository": "trainer", "policy": '{"rules": []}'}
        ),
    ]


def _account() -> list[Record]:
    told = [
        {
            "comparisonOperator": "GREATER_THAN",
            "threshold": 80,
            "thresholdType": "PERCENTAGE",
            "notificationType": "ACTUAL",
            "subscriberEmailAddresses": ["oncall@example.com"],
        }
    ]
    return [
        record(
            "aws:cloudwatch/logGroup:LogGroup",
            "cluster",
            {"name": "/aws/eks/main/cluster", "retentionInDays": 90, "kmsKeyId": KEY_ARN, "tags": TAGS},
        ),
        record(
            "aws:cloudwatch/logGroup:LogGroup",
            "audit-trail",
            {"name": "/acme/audit", "retentionInDays": 365, "kmsKeyId": KEY_ARN, "tags": TAGS},
        ),
        record(
            "aws:cloudtrail/trail:Trail",
            "account",
            {
                "s3BucketName": "acme-log",
                "isMultiRegionTrail": True,
                "enableLogFileValidation": True,
                "enableLogging": True,
                "kmsKeyId": KEY_ARN,
            },
        ),
        record("aws:guardduty/detector:Detector", "account", {"enable": True}),
        record(
            "aws:guardduty/detectorFeature:DetectorFeature",
            "audit",
            {"detectorId": "d-1", "name": "EKS_AUDIT_LOGS", "status": "ENABLED"},
        ),
        record("aws:sns/topic:Topic", "alerts", {"kmsMasterKeyId": KEY_ARN}),
        record(
            "aws:budgets/budget:Budget",
            "month",
            {
                "budgetType": "COST",
                "limitAmount": "500000",
                "limitUnit": "USD",
                "timeUnit": "MONTHLY",
                "notifications": told,
            },
        ),
        record(
            "aws:costexplorer/anomalyMonitor:AnomalyMonitor",
            "month",
            {"name": "m", "monitorType": "DIMENSIONAL", "monitorDimension": "SERVICE"},
        ),
    ]


def pod_spec() -> dict[str, Any]:
    """A pod spec that holds to the restricted standard."""
    return {
        "serviceAccountName": "trainer",
        "securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [
            {
                "name": "trainer",
                "image": IMAGE,
                "securityContext": {
                    "privileged": False,
                    "allowPrivilegeEscalation": False,
                    "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]},
                },
                "resources": {
                    "limits": {"memory": "1800Gi", "nvidia.com/gpu": 8},
                    "requests": {"cpu": "96", "nvidia.com/gpu": 8},
                },
                "ports": [{"containerPort": 29500}],
                "env": [{"name": "NCCL_DEBUG", "value": "WARN"}],
            }
        ],
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
    }


def jobset(spec: dict[str, Any]) -> dict[str, Any]:
    template = {"spec": {"template": {"spec": spec}}}
    return {
        "metadata": {"name": "train", "namespace": "training"},
        "spec": {"replicatedJobs": [{"name": "worker", "replicas": 1, "template": template}]},
    }


def _kubernetes() -> list[Record]:
    namespace = urn("kubernetes:core/v1:Namespace", "training")
    return [
        record(
            "kubernetes:core/v1:Namespace",
            "training",
            {"metadata": {"name": "training", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}},
        ),
        record(
            "kubernetes:networking.k8s.io/v1:NetworkPolicy",
            "training-deny",
            {
                "metadata": {"namespace": "training", "name": "deny"},
                "spec": {"podSelector": {}, "policyTypes": ["Ingress"]},
            },
            after=[namespace],
        ),
        record(
            "kubernetes:rbac.authorization.k8s.io/v1:ClusterRole",
            "reader",
            {
                "metadata": {"name": "reader"},
                "rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list"]}],
            },
        ),
        record(
            "kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding",
            "reader",
            {
                "metadata": {"name": "reader"},
                "roleRef": {"kind": "ClusterRole", "name": "reader", "apiGroup": "rbac.authorization.k8s.io"},
                "subjects": [],
            },
        ),
        record("kubernetes:jobset.x-k8s.io/v1alpha2:JobSet", "train", jobset(pod_spec())),
        record(
            "kubernetes:apps/v1:Deployment",
            "web",
            {
                "metadata": {"name": "web", "namespace": "training"},
                "spec": {"selector": {}, "template": {"spec": pod_spec()}},
            },
        ),
        record(
            "kubernetes:storage.k8s.io/v1:StorageClass",
            "fast",
            {"provisioner": "ebs.csi.aws.com", "parameters": {"type": "gp3"}},
        ),
    ]


def good_stack() -> list[Record]:
    """The records, fresh at every call."""
    return copy.deepcopy([*_network(), *_cluster(), *_identity(), *_storage(), *_account(), *_kubernetes()])
