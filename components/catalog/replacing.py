"""Which properties make the engine replace a resource instead of updating it, by resource type.

Hides the providers' schemas: a preview without an account can't ask them, and a reviewer must know before anything is
destroyed. Sources: `ForceNew` in the schemas and `CustomizeDiff` functions of hashicorp/terraform-provider-aws,
internal/service/{ec2,ecr,efs,eks,fsx, iam,kms,logs,s3,...} (read 2026-11-30; pulumi-aws bridges this provider), and
`forceNew` in pulumi/pulumi-kubernetes, provider/pkg/provider/diff.go. Paths are in Pulumi's spelling; a list's index is
left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

REPLACING: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        # Data. perUnitStorageThroughput is changed in place since provider 5.32 (pull request 34932), larger capacity
        # since 3.24.
        "aws:fsx/lustreFileSystem:LustreFileSystem": (
            "backupId",
            "copyTagsToBackups",
            "deploymentType",
            "driveCacheType",
            "efaEnabled",
            "exportPath",
            "importPath",
            "importedFileChunkSize",
            "kmsKeyId",
            "securityGroupIds",
            "storageType",
            "subnetIds",
        ),
        "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation": (
            "batchImportMetaDataOnCreate",
            "dataRepositoryPath",
            "fileSystemId",
            "fileSystemPath",
        ),
        "aws:efs/fileSystem:FileSystem": (
            "availabilityZoneName",
            "creationToken",
            "encrypted",
            "kmsKeyId",
            "performanceMode",
        ),
        "aws:s3/bucket:Bucket": ("bucket", "bucketPrefix", "bucketNamespace", "objectLockEnabled", "region"),
        "aws:s3/bucketVersioning:BucketVersioning": ("bucket", "expectedBucketOwner"),
        "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": ("bucket", "expectedBucketOwner"),
        "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": (
            "bucket",
            "expectedBucketOwner",
        ),
        "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": ("bucket",),
        "aws:s3/bucketOwnershipControls:BucketOwnershipControls": ("bucket",),
        "aws:s3/bucketPolicy:BucketPolicy": ("bucket",),
        "aws:s3/bucketLogging:BucketLogging": ("bucket", "expectedBucketOwner"),
        "aws:s3/bucketMetric:BucketMetric": ("bucket", "name"),
        "aws:s3/bucketReplicationConfig:BucketReplicationConfig": ("bucket",),
        "aws:kms/key:Key": (
            "customKeyStoreId",
            "customerMasterKeySpec",
            "keyUsage",
            "multiRegion",
            "xksKeyId",
            "region",
        ),
        "aws:kms/replicaKey:ReplicaKey": ("primaryKeyArn", "region"),
        "aws:kms/alias:Alias": ("name", "namePrefix"),
        "aws:ebs/volume:Volume": (
            "availabilityZone",
            "encrypted",
            "kmsKeyId",
            "multiAttachEnabled",
            "outpostArn",
            "snapshotId",
            "volumeInitializationRate",
        ),
        "aws:ecr/repository:Repository": ("encryptionConfigurations", "name", "region"),
        "aws:ecr/lifecyclePolicy:LifecyclePolicy": ("policy", "repository"),
        "aws:ecr/pullThroughCacheRule:PullThroughCacheRule": (
            "ecrRepositoryPrefix",
            "upstreamRegistryUrl",
            "upstreamRepositoryPrefix",
        ),
        "aws:ecr/registryPolicy:RegistryPolicy": (),
        "aws:ecr/repositoryCreationTemplate:RepositoryCreationTemplate": ("prefix",),
        "aws:cloudwatch/logGroup:LogGroup": ("name", "namePrefix", "logGroupClass"),
        "aws:cloudtrail/trail:Trail": ("name",),
        # Cluster and nodes. vpcConfig is changed in place since provider 5.25, remoteNetworkConfig since pull request
        # 42928.
        "aws:eks/cluster:Cluster": (
            "accessConfig.bootstrapClusterCreatorAdminPermissions",
            "bootstrapSelfManagedAddons",
            "kubernetesNetworkConfig.ipFamily",
            "kubernetesNetworkConfig.serviceIpv4Cidr",
            "name",
            "outpostConfig",
            "roleArn",
        ),
        "aws:eks/nodeGroup:NodeGroup": (
            "amiType",
            "capacityType",
            "clusterName",
            "diskSize",
            "instanceTypes",
            "launchTemplate.id",
            "launchTemplate.name",
            "nodeGroupName",
            "nodeGroupNamePrefix",
            "nodeRoleArn",
            "remoteAccess",
            "subnetIds",
        ),
        "aws:eks/addon:Addon": ("addonName", "clusterName"),
        "aws:eks/accessEntry:AccessEntry": ("clusterName", "principalArn", "type"),
        "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": (
            "accessScope",
            "clusterName",
            "policyArn",
            "principalArn",
        ),
        "aws:eks/podIdentityAssociation:PodIdentityAssociation": ("clusterName", "namespace", "serviceAccount"),
        "aws:ec2/launchTemplate:LaunchTemplate": ("name", "namePrefix"),
        "aws:ec2/placementGroup:PlacementGroup": ("name", "partitionCount", "spreadLevel", "strategy"),
        "aws:ec2/capacityReservation:CapacityReservation": (
            "availabilityZone",
            "ebsOptimized",
            "ephemeralStorage",
            "instanceMatchCriteria",
            "instancePlatform",
            "instanceType",
            "outpostArn",
            "placementGroupArn",
            "tenancy",
        ),
        "aws:ec2/capacityBlockReservation:CapacityBlockReservation": ("capacityBlockOfferingId", "instancePlatform"),
        "aws:ec2/instance:Instance": ("ami", "availabilityZone", "keyName", "placementGroup", "subnetId", "tenancy"),
        # The network.
        "aws:ec2/vpc:Vpc": ("cidrBlock", "ipv4IpamPoolId", "ipv4NetmaskLength"),
        "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation": (
            "cidrBlock",
            "ipv4IpamPoolId",
            "ipv4NetmaskLength",
            "vpcId",
        ),
        "aws:ec2/subnet:Subnet": (
            "availabilityZone",
            "availabilityZoneId",
            "cidrBlock",
            "ipv6Native",
            "outpostArn",
            "vpcId",
        ),
        "aws:ec2/subnetCidrReservation:SubnetCidrReservation": (
            "cidrBlock",
            "description",
            "reservationType",
            "subnetId",
        ),
        "aws:ec2/routeTable:RouteTable": ("vpcId",),
        "aws:ec2/internetGateway:InternetGateway": (),
        "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": ("vpcId",),
        "aws:ec2/route:Route": (
            "destinationCidrBlock",
            "destinationIpv6CidrBlock",
            "destinationPrefixListId",
            "routeTableId",
        ),
        "aws:ec2/routeTableAssociation:RouteTableAssociation": ("gatewayId", "subnetId"),
        "aws:ec2/natGateway:NatGateway": ("allocationId", "connectivityType", "privateIp", "subnetId", "vpcId"),
        "aws:ec2/eip:Eip": ("address", "domain", "networkBorderGroup", "publicIpv4Pool"),
        "aws:ec2/vpcEndpoint:VpcEndpoint": ("serviceName", "serviceRegion", "vpcEndpointType", "vpcId"),
        "aws:ec2/flowLog:FlowLog": (
            "deliverCrossAccountRole",
            "destinationOptions",
            "iamRoleArn",
            "logDestination",
            "logDestinationType",
            "logFormat",
            "maxAggregationInterval",
            "subnetId",
            "trafficType",
            "vpcId",
        ),
        "aws:ec2/securityGroup:SecurityGroup": ("description", "name", "namePrefix", "vpcId"),
        "aws:ec2/securityGroupRule:SecurityGroupRule": (
            "cidrBlocks",
            "fromPort",
            "ipv6CidrBlocks",
            "prefixListIds",
            "protocol",
            "securityGroupId",
            "self",
            "sourceSecurityGroupId",
            "toPort",
            "type",
        ),
        "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": ("securityGroupId",),
        "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": ("securityGroupId",),
        # Identity and the rest.
        "aws:iam/role:Role": ("name", "namePrefix", "path"),
        "aws:iam/rolePolicy:RolePolicy": ("name", "namePrefix", "role"),
        "aws:iam/policy:Policy": ("description", "name", "namePrefix", "path"),
        "aws:iam/rolePolicyAttachment:RolePolicyAttachment": ("policyArn", "role"),
        "aws:iam/instanceProfile:InstanceProfile": ("name", "namePrefix", "path"),
        "aws:autoscaling/tag:Tag": ("autoscalingGroupName", "tag.key"),
        "aws:scheduler/schedule:Schedule": ("groupName", "name", "namePrefix"),
        "aws:sns/topic:Topic": ("fifoTopic", "name", "namePrefix"),
        "aws:sns/topicSubscription:TopicSubscription": ("endpoint", "protocol", "topicArn"),
        "aws:cloudwatch/metricAlarm:MetricAlarm": ("name",),
        "aws:budgets/budget:Budget": ("accountId", "budgetType", "name", "namePrefix"),
        "aws:costexplorer/anomalyMonitor:AnomalyMonitor": ("monitorDimension", "monitorSpecification", "monitorType"),
        "aws:costexplorer/anomalySubscription:AnomalySubscription": ("accountId", "name"),
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

# Only a smaller figure replaces; a larger one is taken in place.
SHRINKING: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "aws:fsx/lustreFileSystem:LustreFileSystem": (
            "fileSystemTypeVersion",  # a newer Lustre is an upgrade in place, as pulumi-aws 7.51 documents it
            "metadataConfiguration.iops",
            "storageCapacity",
            "throughputCapacity",
        ),
    }
)
# Only taking the value away replaces: EKS can't end a cluster's envelope encryption.
TAKEN_AWAY: Mapping[str, tuple[str, ...]] = MappingProxyType({"aws:eks/cluster:Cluster": ("encryptionConfig",)})

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
