"""The cluster of the good stack and its pools of nodes."""

from __future__ import annotations

from tests.policies.good.records import (
    ACCOUNT,
    ADMIN,
    KEY_ARN,
    TAGS,
    Record,
    record,
    urn,
)


def control_plane() -> list[Record]:
    """The cluster and who has access to it."""
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
    ]


def training() -> list[Record]:
    """The pool that trains, in a reservation, and its launch template."""
    node_role = urn("aws:iam/role:Role", "nodes")
    subnet = urn("aws:ec2/subnet:Subnet", "net-compute-usw2-az3")
    template = urn("aws:ec2/launchTemplate:LaunchTemplate", "pretrain")
    efa = urn("aws:ec2/securityGroup:SecurityGroup", "net-efa")
    return [
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
    ]


def finetuning() -> list[Record]:
    """The pool of a capacity block, and what ends it."""
    node_role = urn("aws:iam/role:Role", "nodes")
    subnet = urn("aws:ec2/subnet:Subnet", "net-compute-usw2-az3")
    block = urn("aws:eks/nodeGroup:NodeGroup", "finetune")
    return [
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
    ]


def further_pools() -> list[Record]:
    """A pool for evaluation on demand, and one for preprocessing on spot."""
    node_role = urn("aws:iam/role:Role", "nodes")
    subnet = urn("aws:ec2/subnet:Subnet", "net-compute-usw2-az3")
    return [
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
    ]


def beside_pools() -> list[Record]:
    """Machines, volumes and reservations outside node groups."""
    subnet = urn("aws:ec2/subnet:Subnet", "net-compute-usw2-az3")
    return [
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
