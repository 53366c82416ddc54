"""A line of an estimate, a thing without a price, and the declared resource that both come from.

Hides how a resource finds another one that it refers to before any id is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from components.catalog import Catalog
from components.spec.stack import StackSpec

HOURS = 730.0  # in a month, as AWS' own calculator counts


@dataclass(frozen=True, kw_only=True)
class Line:
    """US dollars a month. `commitment` tells until when it is owed whatever is used."""

    what: str
    urn: str
    low: float
    expected: float
    high: float
    basis: str
    commitment: str = ""
    unverified: bool = False

    def as_json(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "urn": self.urn,
            "low": round(self.low, 2),
            "expected": round(self.expected, 2),
            "high": round(self.high, 2),
            "basis": self.basis,
            "commitment": self.commitment,
            "unverified": self.unverified,
        }


@dataclass(frozen=True, kw_only=True)
class Unpriced:
    """Something that costs money of which no price is known here."""

    what: str
    why: str


@dataclass(frozen=True, kw_only=True)
class Declared:
    """A resource as the preview lists it."""

    urn: str
    type: str
    name: str
    custom: bool
    inputs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    depends_on: tuple[str, ...] = ()

    def one(self, by_urn: Mapping[str, Declared], kind: str) -> Declared | None:
        """The resource of a type that this one depends on."""
        return next((by_urn[urn] for urn in self.depends_on if urn in by_urn and by_urn[urn].type == kind), None)


Pricer = Callable[[Declared, Mapping[str, Declared], Catalog, str, StackSpec | None], Iterable[Line | Unpriced]]


def declared(records: Iterable[Mapping[str, Any]]) -> list[Declared]:
    return [
        Declared(
            urn=str(each["urn"]),
            type=str(each["type"]),
            name=str(each.get("name", "")),
            custom=bool(each.get("custom", True)),
            inputs=each.get("inputs") or {},
            depends_on=tuple(each.get("depends_on", ())),
        )
        for each in records
    ]


# Types that AWS does not charge for by themselves (their use is priced where it happens).
FREE = frozenset(
    {
        "aws:autoscaling/schedule:Schedule",
        "aws:autoscaling/tag:Tag",
        "aws:budgets/budget:Budget",
        "aws:costexplorer/anomalyMonitor:AnomalyMonitor",
        "aws:costexplorer/anomalySubscription:AnomalySubscription",
        "aws:costexplorer/costAllocationTag:CostAllocationTag",
        "aws:cloudwatch/eventRule:EventRule",
        "aws:cloudwatch/eventTarget:EventTarget",
        "aws:cloudwatch/logResourcePolicy:LogResourcePolicy",
        "aws:ec2/defaultNetworkAcl:DefaultNetworkAcl",
        "aws:ec2/defaultRouteTable:DefaultRouteTable",
        "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup",
        "aws:ec2/flowLog:FlowLog",
        "aws:ec2/internetGateway:InternetGateway",
        "aws:ec2/launchTemplate:LaunchTemplate",
        "aws:ec2/placementGroup:PlacementGroup",
        "aws:ec2/route:Route",
        "aws:ec2/routeTable:RouteTable",
        "aws:ec2/routeTableAssociation:RouteTableAssociation",
        "aws:ec2/securityGroup:SecurityGroup",
        "aws:ec2/subnet:Subnet",
        "aws:ec2/subnetCidrReservation:SubnetCidrReservation",
        "aws:ec2/vpc:Vpc",
        "aws:ec2/vpcEndpointRouteTableAssociation:VpcEndpointRouteTableAssociation",
        "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation",
        "aws:ecr/lifecyclePolicy:LifecyclePolicy",
        "aws:ecr/pullThroughCacheRule:PullThroughCacheRule",
        "aws:ecr/registryPolicy:RegistryPolicy",
        "aws:ecr/registryScanningConfiguration:RegistryScanningConfiguration",
        "aws:ecr/repositoryCreationTemplate:RepositoryCreationTemplate",
        "aws:ecr/repositoryPolicy:RepositoryPolicy",
        "aws:eks/accessEntry:AccessEntry",
        "aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
        "aws:eks/addon:Addon",
        "aws:eks/podIdentityAssociation:PodIdentityAssociation",
        "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation",
        "aws:iam/instanceProfile:InstanceProfile",
        "aws:iam/policy:Policy",
        "aws:iam/role:Role",
        "aws:iam/rolePolicy:RolePolicy",
        "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
        "aws:kms/alias:Alias",
        "aws:kms/grant:Grant",
        "aws:kms/keyPolicy:KeyPolicy",
        "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration",
        "aws:s3/bucketLogging:BucketLogging",
        "aws:s3/bucketMetric:BucketMetric",
        "aws:s3/bucketNotification:BucketNotification",
        "aws:s3/bucketOwnershipControls:BucketOwnershipControls",
        "aws:s3/bucketPolicy:BucketPolicy",
        "aws:s3/bucketReplicationConfig:BucketReplicationConfig",
        "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock",
        "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
        "aws:s3/bucketVersioning:BucketVersioning",
        "aws:scheduler/schedule:Schedule",
        "aws:scheduler/scheduleGroup:ScheduleGroup",
        "aws:sns/topicPolicy:TopicPolicy",
        "aws:sns/topicSubscription:TopicSubscription",
        "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule",
        "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
    }
)
