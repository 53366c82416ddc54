"""What the echo provider says beyond the inputs: the attributes that only AWS knows, and which changes AWS answers by
replacing.

Each entry is AWS's documented behaviour as the Terraform AWS provider's schema has it (`ForceNew`, `Computed`), for the
types that the project declares. A type that is missing here gets an arn and updates in place.
"""

from collections.abc import Callable
from typing import Any

Inputs = dict[str, Any]
Answer = Callable[[str, str, Inputs], dict[str, Any]]

ACCOUNT = "111122223333"
REGION = "us-west-2"

# Properties whose change makes a new resource.
REPLACING = {
    "aws:ec2/vpc:Vpc": {"cidrBlock", "instanceTenancy", "ipv4IpamPoolId"},
    "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation": {"vpcId", "cidrBlock"},
    "aws:ec2/subnet:Subnet": {"vpcId", "cidrBlock", "availabilityZone", "availabilityZoneId"},
    "aws:ec2/routeTable:RouteTable": {"vpcId"},
    "aws:ec2/route:Route": {"routeTableId", "destinationCidrBlock"},
    "aws:ec2/routeTableAssociation:RouteTableAssociation": {"subnetId"},
    "aws:ec2/natGateway:NatGateway": {"subnetId", "allocationId"},
    "aws:ec2/securityGroup:SecurityGroup": {"vpcId", "name", "namePrefix", "description"},
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": {"securityGroupId"},
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": {"securityGroupId"},
    "aws:ec2/vpcEndpoint:VpcEndpoint": {"vpcId", "serviceName", "vpcEndpointType"},
    "aws:ec2/flowLog:FlowLog": {"vpcId", "logDestination", "trafficType", "iamRoleArn", "logFormat"},
    "aws:ec2/placementGroup:PlacementGroup": {"name", "strategy", "partitionCount", "spreadLevel"},
    "aws:ec2/launchTemplate:LaunchTemplate": {"name", "namePrefix"},
    "aws:eks/cluster:Cluster": {"name", "roleArn", "bootstrapSelfManagedAddons", "kubernetesNetworkConfig"},
    "aws:eks/nodeGroup:NodeGroup": {
        "clusterName",
        "nodeGroupName",
        "nodeRoleArn",
        "subnetIds",
        "instanceTypes",
        "capacityType",
        "amiType",
        "diskSize",
    },
    "aws:eks/addon:Addon": {"clusterName", "addonName"},
    "aws:eks/accessEntry:AccessEntry": {"clusterName", "principalArn", "type"},
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": {
        "clusterName",
        "principalArn",
        "policyArn",
        "accessScope",
    },
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": {"clusterName", "namespace", "serviceAccount"},
    "aws:iam/role:Role": {"name", "namePrefix", "path"},
    "aws:iam/rolePolicy:RolePolicy": {"name", "role"},
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": {"role", "policyArn"},
    "aws:iam/policy:Policy": {"name", "path", "description"},
    "aws:iam/instanceProfile:InstanceProfile": {"name", "path"},
    "aws:s3/bucket:Bucket": {"bucket", "bucketPrefix", "objectLockEnabled"},
    "aws:kms/alias:Alias": {"name"},
    "aws:cloudwatch/logGroup:LogGroup": {"name", "namePrefix"},
    "aws:ecr/repository:Repository": {"name", "encryptionConfigurations"},
    "aws:fsx/lustreFileSystem:LustreFileSystem": {
        *(
            "subnetIds",
            "deploymentType",
            "storageType",
            "securityGroupIds",
            "kmsKeyId",
            "importPath",
            "exportPath",
            "driveCacheType",
            "efaEnabled",
        ),
    },
    "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation": {
        "fileSystemId",
        "dataRepositoryPath",
        "fileSystemPath",
    },
    "aws:sns/topic:Topic": {"name", "namePrefix", "fifoTopic"},
    "aws:sqs/queue:Queue": {"name", "namePrefix", "fifoQueue"},
    "aws:cloudtrail/trail:Trail": {"name"},
    "aws:budgets/budget:Budget": {"name", "namePrefix"},
}

# Types whose Pulumi id is one of their inputs or attributes, as other resources read `.id` for it.
ID_IS = {
    "aws:eks/cluster:Cluster": "name",
    "aws:iam/role:Role": "name",
    "aws:s3/bucket:Bucket": "bucket",
    "aws:cloudwatch/logGroup:LogGroup": "name",
    "aws:ecr/repository:Repository": "name",
    "aws:kms/alias:Alias": "name",
}


def attributes(kind: str, identity: str, inputs: Inputs) -> dict[str, Any]:
    """The computed outputs of one resource, from its type, id and inputs."""
    service = kind.split(":")[1].split("/")[0]
    name = inputs.get("name") or inputs.get("bucket") or identity
    known = {"arn": f"arn:aws:{service}:{REGION}:{ACCOUNT}:{identity}"}
    answer = _ANSWERS.get(kind)
    return known | (answer(identity, name, inputs) if answer else _FIXED.get(kind, {}))


def _cluster(identity: str, name: str, inputs: Inputs) -> dict[str, Any]:
    known: dict[str, Any] = {
        "endpoint": "https://0123456789ABCDEF0123456789ABCDEF.gr7.us-west-2.eks.amazonaws.com",
        "certificateAuthority": {"data": "bm90IGEgY2VydGlmaWNhdGU="},
        "certificateAuthorities": [{"data": "bm90IGEgY2VydGlmaWNhdGU="}],
        "identities": [{"oidcs": [{"issuer": "https://oidc.eks.us-west-2.amazonaws.com/id/0123456789ABCDEF"}]}],
        "status": "ACTIVE",
        "platformVersion": "eks.1",
    }
    if isinstance(inputs.get("vpcConfig"), dict):
        known["vpcConfig"] = {**inputs["vpcConfig"], "clusterSecurityGroupId": "sg-0c1u5ter", "vpcId": "vpc-0echo"}
    return known


def _node_group(identity: str, name: str, inputs: Inputs) -> dict[str, Any]:
    groups = [{"name": f"eks-{identity}"}]
    return {"resources": [{"autoscalingGroups": groups, "remoteAccessSecurityGroupId": ""}], "status": "ACTIVE"}


def _file_system(identity: str, name: str, inputs: Inputs) -> dict[str, Any]:
    return {
        "dnsName": f"{identity}.fsx.{REGION}.amazonaws.com",
        "mountName": "echo1mnt",
        "networkInterfaceIds": ["eni-0echo"],
    }


def _bucket(identity: str, name: str, inputs: Inputs) -> dict[str, Any]:
    return {
        "arn": f"arn:aws:s3:::{name}",
        "bucket": name,
        "bucketDomainName": f"{name}.s3.amazonaws.com",
        "bucketRegionalDomainName": f"{name}.s3.{REGION}.amazonaws.com",
    }


def _iam(word: str) -> Answer:
    return lambda identity, name, inputs: {
        "arn": f"arn:aws:iam::{ACCOUNT}:{word}/{name}",
        "uniqueId": f"AROA{identity[-8:].upper()}",
    }


def _key(identity: str, name: str, inputs: Inputs) -> dict[str, Any]:
    return {"arn": f"arn:aws:kms:{REGION}:{ACCOUNT}:key/{identity}", "keyId": identity}


def _alias(identity: str, name: str, inputs: Inputs) -> dict[str, Any]:
    return {"targetKeyArn": f"arn:aws:kms:{REGION}:{ACCOUNT}:key/{inputs.get('targetKeyId')}"}


def _repository(identity: str, name: str, inputs: Inputs) -> dict[str, Any]:
    return {"repositoryUrl": f"{ACCOUNT}.dkr.ecr.{REGION}.amazonaws.com/{name}", "registryId": ACCOUNT}


def _workspace(identity: str, name: str, inputs: Inputs) -> dict[str, Any]:
    return {"prometheusEndpoint": f"https://aps-workspaces.{REGION}.amazonaws.com/workspaces/{identity}/"}


_ANSWERS: dict[str, Answer] = {
    "aws:eks/cluster:Cluster": _cluster,
    "aws:eks/nodeGroup:NodeGroup": _node_group,
    "aws:fsx/lustreFileSystem:LustreFileSystem": _file_system,
    "aws:s3/bucket:Bucket": _bucket,
    "aws:iam/role:Role": _iam("role"),
    "aws:iam/policy:Policy": _iam("policy"),
    "aws:kms/key:Key": _key,
    "aws:kms/alias:Alias": _alias,
    "aws:ecr/repository:Repository": _repository,
    "aws:amp/workspace:Workspace": _workspace,
    "aws:ec2/eip:Eip": lambda identity, name, inputs: {"allocationId": identity, "publicIp": "198.51.100.7"},
    "aws:sqs/queue:Queue": lambda identity, name, inputs: {
        "url": f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/{name}"
    },
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": lambda identity, name, inputs: {"associationId": identity},
}
_FIXED: dict[str, dict[str, Any]] = {
    "aws:ec2/launchTemplate:LaunchTemplate": {"latestVersion": 1, "defaultVersion": 1},
    "aws:ec2/vpc:Vpc": {
        "ownerId": ACCOUNT,
        "defaultSecurityGroupId": "sg-0defau1t",
        "defaultNetworkAclId": "acl-0echo",
        "mainRouteTableId": "rtb-0main",
    },
    "aws:ec2/vpcEndpoint:VpcEndpoint": {
        "prefixListId": "pl-0echo",
        "cidrBlocks": ["192.0.2.0/24"],
        "state": "available",
        "dnsEntries": [],
    },
    "random:index/randomPassword:RandomPassword": {"result": "echo-password-0123456789"},
    "random:index/randomId:RandomId": {"hex": "0123456789abcdef", "b64Url": "ASNFZ4mrze8", "dec": "81985529216486895"},
    "random:index/randomString:RandomString": {"result": "echostring"},
    "random:index/randomPet:RandomPet": {"result": "echostring"},
    "random:index/randomUuid:RandomUuid": {"result": "01234567-89ab-4def-8123-456789abcdef"},
}
