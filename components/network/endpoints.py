"""The VPC endpoints of a network and the policies on them.

Beside the account's own requests, a policy must allow the layers of container images, which other accounts' buckets
hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_aws as aws

from components.catalog import packages
from components.identity.policy_documents import Statement, document, partition
from components.planning.endpoints import GATEWAY, Endpoint, interfaces

_UNUSUAL_KUBERNETES_BUCKETS = {"eu-west-2": "767373bbdcb8270361b96548387bf2a9ad0d48758c35-eu-west-2"}
_QUAY_BUCKET, _QUAY_REGION = "quayio-production-s3", "us-east-1"


def service_name(region: str, service: str) -> str:
    """The name that EC2 knows the endpoint's service by."""
    return f"{'cn.' if region.startswith('cn-') else ''}com.amazonaws.{region}.{service}"


def publishers_buckets(region: str) -> tuple[str, ...]:
    """Buckets of the same region to which publishers of images send clients on AWS, past any NAT: through the gateway.

    registry.k8s.io: its own table (kubernetes/registry.k8s.io, cmd/archeio/internal/app/buckets.go, read 2026-11-30); a
    client in a region without a bucket is sent to another region's, which no gateway serves. quay.io has one bucket, in
    us-east-1.
    """
    kubernetes = _UNUSUAL_KUBERNETES_BUCKETS.get(region, f"prod-registry-k8s-io-{region}")
    return (kubernetes, _QUAY_BUCKET) if region == _QUAY_REGION else (kubernetes,)


def gateway_policy(region: str, account: pulumi.Input[str], *, to_internet: bool) -> pulumi.Output[str]:
    """Who reaches which buckets from inside the network; `to_internet` where images come from their publishers too."""
    arn = f"arn:{partition(region)}:s3:::"
    published = Statement(
        sid="PublishedImageLayers",
        actions=("s3:GetObject",),
        resources=tuple(f"{arn}{bucket}/*" for bucket in publishers_buckets(region)),
        principals={"AWS": ("*",)},
    )
    return document(
        Statement(
            sid="OwnBuckets",
            actions=("s3:*",),
            principals={"AWS": ("*",)},
            conditions={"StringEquals": {"aws:PrincipalAccount": account, "aws:ResourceAccount": account}},
        ),
        # ECR hands out signed links to its own bucket: the principal behind them is ECR's, so no condition on the
        # account may stand here.
        Statement(
            sid="ImageLayers",
            actions=("s3:GetObject",),
            resources=(f"{arn}prod-{region}-starport-layer-bucket/*",),
            principals={"AWS": ("*",)},
        ),
        # Packages of Amazon Linux 2023: EC2's images ask this bucket by themselves, container images only where they
        # are configured to.
        Statement(
            sid="SystemPackages",
            actions=("s3:GetObject",),
            resources=(f"{arn}{packages.bucket(region)}/*",),
            principals={"AWS": ("*",)},
        ),
        *((published,) if to_internet else ()),
    )


def interface_policy(account: pulumi.Input[str]) -> pulumi.Output[str]:
    """Only this account's principals, with what their own policies allow. Add-on images lie in AWS's accounts, so
    resources stay open.
    """
    return document(
        Statement(
            sid="OwnPrincipals",
            actions=("*",),
            principals={"AWS": ("*",)},
            conditions={"StringEquals": {"aws:PrincipalAccount": account}},
        )
    )


def gateway(
    name: str,
    *,
    region: str,
    vpc: aws.ec2.Vpc,
    route_tables: Sequence[pulumi.Input[str]],
    to_internet: bool,
    tags: Mapping[str, str],
    children: pulumi.ResourceOptions,
) -> aws.ec2.VpcEndpoint:
    """The S3 gateway endpoint, in every route table that private machines use."""
    return aws.ec2.VpcEndpoint(
        f"{name}-endpoint-{GATEWAY}",
        vpc_id=vpc.id,
        service_name=service_name(region, GATEWAY),
        vpc_endpoint_type="Gateway",
        route_table_ids=list(route_tables),
        policy=gateway_policy(region, vpc.owner_id, to_internet=to_internet),
        tags={**tags, "Name": f"{name}-{GATEWAY}"},
        opts=children,
    )


def declare_interfaces(
    name: str,
    endpoints: tuple[Endpoint, ...],
    *,
    region: str,
    vpc: aws.ec2.Vpc,
    subnets: Sequence[pulumi.Input[str]],
    security_group: pulumi.Input[str],
    tags: Mapping[str, str],
    children: pulumi.ResourceOptions,
) -> list[aws.ec2.VpcEndpoint]:
    """One interface endpoint for each service, with an address in every control subnet."""
    return [
        aws.ec2.VpcEndpoint(
            f"{name}-endpoint-{each.service.replace('.', '-')}",
            vpc_id=vpc.id,
            service_name=service_name(region, each.service),
            vpc_endpoint_type="Interface",
            private_dns_enabled=True,
            subnet_ids=list(subnets),
            security_group_ids=[security_group],
            policy=interface_policy(vpc.owner_id) if each.policy else None,
            tags={**tags, "Name": f"{name}-{each.service}"},
            opts=children,
        )
        for each in interfaces(endpoints)
    ]
