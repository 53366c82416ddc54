"""What Karpenter's controller may do: buy, tag and end machines of its own cluster, and pass them one role.

Source: aws/karpenter-provider-aws v1.13.0, the CloudFormation template of its getting-started guide. The parts on
instance profiles are left out: the only profile is declared here. What no resource can narrow is in `_reads`.
"""

from __future__ import annotations

from collections.abc import Sequence

import pulumi

from components.identity.policy_documents import Statement, partition, volumes_use_key

_MADE = ("fleet", "instance", "volume", "network-interface", "launch-template", "spot-instances-request")
_USED = ("security-group", "subnet", "capacity-reservation", "placement-group")
_SPOT_ROLE = "aws-service-role/spot.amazonaws.com/AWSServiceRoleForEC2Spot"


def statements(
    *,
    region: str,
    account: pulumi.Input[str],
    cluster_name: str,
    node_role_arn: pulumi.Input[str],
    instance_profile_arn: pulumi.Input[str],
    queue_arn: pulumi.Input[str],
    key_arn: pulumi.Input[str] | None,
) -> list[Statement]:
    """What the controller's role is given."""
    arn = f"arn:{partition(region)}"
    found = [*_buying(f"{arn}:ec2:{region}", cluster_name), *_reads(region, arn)]
    found += [
        Statement(
            sid="PassNodeRole",
            actions=("iam:PassRole",),
            resources=(node_role_arn,),
            conditions={"StringEquals": {"iam:PassedToService": ["ec2.amazonaws.com", "ec2.amazonaws.com.cn"]}},
        ),
        Statement(sid="ReadProfile", actions=("iam:GetInstanceProfile",), resources=(instance_profile_arn,)),
        Statement(
            sid="DescribeCluster",
            actions=("eks:DescribeCluster",),
            resources=(pulumi.Output.concat(f"{arn}:eks:{region}:", account, f":cluster/{cluster_name}"),),
        ),
        # EC2 makes a role of its own in an account that buys spot for the first time.
        Statement(
            sid="FirstSpot",
            actions=("iam:CreateServiceLinkedRole",),
            resources=(pulumi.Output.concat(f"{arn}:iam::", account, f":role/{_SPOT_ROLE}"),),
            conditions={"StringEquals": {"iam:AWSServiceName": "spot.amazonaws.com"}},
        ),
        Statement(
            sid="ReadInterruptions",
            actions=("sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"),
            resources=(queue_arn,),
        ),
    ]
    if key_arn is not None:
        found += volumes_use_key(key_arn)
    return found


def _buying(ec2: str, cluster: str) -> Sequence[Statement]:
    """Machines, volumes and templates are distinguished by the cluster's tag, which every request must set."""
    owned = {f"aws:ResourceTag/kubernetes.io/cluster/{cluster}": "owned"}
    asked = {
        f"aws:RequestTag/kubernetes.io/cluster/{cluster}": "owned",
        "aws:RequestTag/eks:eks-cluster-name": cluster,
    }
    made = [f"{ec2}:*:{kind}/*" for kind in _MADE]
    return (
        Statement(
            sid="BuyWith",
            actions=("ec2:RunInstances", "ec2:CreateFleet"),
            resources=[f"{ec2}::image/*", f"{ec2}::snapshot/*", *(f"{ec2}:*:{kind}/*" for kind in _USED)],
        ),
        Statement(
            sid="BuyFromOwnTemplates",
            actions=("ec2:RunInstances", "ec2:CreateFleet"),
            resources=(f"{ec2}:*:launch-template/*",),
            conditions={"StringEquals": owned, "StringLike": {"aws:ResourceTag/karpenter.sh/nodepool": "*"}},
        ),
        Statement(
            sid="BuyTagged",
            actions=("ec2:RunInstances", "ec2:CreateFleet", "ec2:CreateLaunchTemplate"),
            resources=made,
            conditions={"StringEquals": asked, "StringLike": {"aws:RequestTag/karpenter.sh/nodepool": "*"}},
        ),
        Statement(
            sid="TagWhatIsMade",
            actions=("ec2:CreateTags",),
            resources=made,
            conditions={
                "StringEquals": {
                    **asked,
                    "ec2:CreateAction": ["RunInstances", "CreateFleet", "CreateLaunchTemplate"],
                },
                "StringLike": {"aws:RequestTag/karpenter.sh/nodepool": "*"},
            },
        ),
        Statement(
            sid="NameOwnMachines",
            actions=("ec2:CreateTags",),
            resources=(f"{ec2}:*:instance/*",),
            conditions={
                "StringEquals": owned,
                "StringLike": {"aws:ResourceTag/karpenter.sh/nodepool": "*"},
                "StringEqualsIfExists": {"aws:RequestTag/eks:eks-cluster-name": cluster},
                "ForAllValues:StringEquals": {
                    "aws:TagKeys": ["eks:eks-cluster-name", "karpenter.sh/nodeclaim", "Name"]
                },
            },
        ),
        Statement(
            sid="EndOwn",
            actions=("ec2:TerminateInstances", "ec2:DeleteLaunchTemplate"),
            resources=(f"{ec2}:*:instance/*", f"{ec2}:*:launch-template/*"),
            conditions={"StringEquals": owned, "StringLike": {"aws:ResourceTag/karpenter.sh/nodepool": "*"}},
        ),
    )


def _reads(region: str, arn: str) -> Sequence[Statement]:
    """EC2's lists, prices and the list of instance profiles can't be narrowed to single resources."""
    return (
        Statement(
            sid="ReadRegion",
            actions=(
                "ec2:DescribeCapacityReservations",
                "ec2:DescribeImages",
                "ec2:DescribeInstances",
                "ec2:DescribeInstanceStatus",
                "ec2:DescribeInstanceTypeOfferings",
                "ec2:DescribeInstanceTypes",
                "ec2:DescribeLaunchTemplates",
                "ec2:DescribePlacementGroups",
                "ec2:DescribeSecurityGroups",
                "ec2:DescribeSpotPriceHistory",
                "ec2:DescribeSubnets",
            ),
            conditions={"StringEquals": {"aws:RequestedRegion": region}},
        ),
        Statement(
            sid="ReadImages",
            actions=("ssm:GetParameter",),
            resources=[
                f"{arn}:ssm:{region}::parameter/aws/service/{family}/*/image_id"
                for family in ("bottlerocket", "eks/optimized-ami")
            ],
        ),
        Statement(sid="ReadPrices", actions=("pricing:GetProducts", "iam:ListInstanceProfiles")),
    )
