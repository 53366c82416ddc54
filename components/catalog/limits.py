"""What AWS allows an account, a cluster and a network by default, and how to ask for more.

A report names each limit in words, with the code of the quota to request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType
from typing import Literal

from components.catalog.pins import Origin

Market = Literal["on-demand", "spot"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """One limit: its default value, the Service Quotas code to raise it (None: no code known), and whether AWS raises
    it at all.
    """

    name: str
    value: int
    unit: str
    adjustable: bool
    origin: Origin
    service: str = ""
    code: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Limits:
    """Defaults of a new account, unless said otherwise."""

    clusters_per_region: Limit
    nodes_per_cluster: Limit
    node_groups_per_cluster: Limit
    nodes_per_node_group: Limit
    control_plane_security_groups: Limit
    public_endpoint_cidrs: Limit
    pod_identity_associations: Limit
    vpcs_per_region: Limit
    cidrs_per_vpc: Limit
    subnets_per_vpc: Limit
    routes_per_table: Limit
    rules_per_security_group: Limit
    security_groups_per_interface: Limit
    security_groups_per_region: Limit
    rules_per_network_acl: Limit
    route_tables_per_vpc: Limit
    endpoint_policy_characters: Limit
    interfaces_per_region: Limit
    network_address_units: Limit
    interface_endpoints_per_vpc: Limit
    gateway_endpoints_per_vpc: Limit
    nat_gateways_per_zone: Limit
    elastic_addresses_per_region: Limit
    placement_groups_per_region: Limit
    block_instances: Limit
    block_instances_per_day: Limit
    lustre_associations: Limit
    notifications_per_budget: Limit
    topics_per_notification: Limit
    mails_per_notification: Limit
    gp3_storage: Limit
    lustre_storage: Mapping[tuple[str, str], Limit]  # by deployment type and storage
    lustre_tiered_throughput: Limit
    vcpus: Mapping[tuple[str, Market], Limit]
    block_codes: Mapping[
        str, str
    ]  # instance family -> Service Quotas code of its Capacity Block instances; from one public list

    def vcpu(self, quota_family: str, market: Market, instance_family: str = "") -> Limit | None:
        """The vCPU limit of a quota family (P, G, Trn, DL, HPC, Standard) on that market; None where there is none.

        Spot requests of p5 and newer count apart from those of p4: say the instance family (`p5en`) to get the right
        one.
        """
        if market == "spot":
            quota_family = _SPOT_FAMILY.get(instance_family, quota_family)
        return self.vcpus.get((quota_family, market))


_AS_OF = date(2026, 11, 30)
_EKS = "EKS User Guide, service quotas"
_VPC = "moto 5.2.5 servicequotas defaults for vpc (VPC User Guide, quotas)"
_EC2 = "EC2 User Guide, instance quotas: defaults of a new account; codes as listed by Service Quotas"
_BUDGETS = "AWS Budgets API reference, Notification"
_FSX = "FSx for Lustre User Guide, quotas, as reported; the page was not read"
_EBS = "EBS User Guide, quotas; some old regions start with more"


def _limit(
    name: str,
    value: int,
    unit: str,
    source: str,
    *,
    adjustable: bool = True,
    service: str = "",
    code: str | None = None,
    unverified: bool = False,
) -> Limit:
    return Limit(
        name=name,
        value=value,
        unit=unit,
        adjustable=adjustable,
        service=service,
        code=code,
        origin=Origin(as_of=_AS_OF, source=source, unverified=unverified),
    )


_VCPU_ROWS: tuple[tuple[str, Market, str, str, int], ...] = (
    ("Standard", "on-demand", "L-1216C47A", "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", 5),
    ("Standard", "spot", "L-34B43A08", "All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests", 5),
    ("P", "on-demand", "L-417A185B", "Running On-Demand P instances", 0),
    ("P", "spot", "L-7212CCBC", "All P4, P3 and P2 Spot Instance Requests", 0),
    ("P5", "spot", "L-C4BD4855", "All P5 Spot Instance Requests", 0),
    ("G", "on-demand", "L-DB2E81BA", "Running On-Demand G and VT instances", 0),
    ("G", "spot", "L-3819A6DF", "All G and VT Spot Instance Requests", 0),
    ("Trn", "on-demand", "L-2C3B7624", "Running On-Demand Trn instances", 0),
    ("Trn", "spot", "L-6B0D517C", "All Trn Spot Instance Requests", 0),
    ("DL", "on-demand", "L-6E869C2A", "Running On-Demand DL instances", 0),
    ("DL", "spot", "L-85EED4F7", "All DL Spot Instance Requests", 0),
    ("HPC", "on-demand", "L-F7808C92", "Running On-Demand HPC instances", 0),
)

# Families whose spot requests count against a quota of their own. Where p6 belongs isn't published: P5 by public
# reports.
_SPOT_FAMILY = MappingProxyType({"p5": "P5", "p5e": "P5", "p5en": "P5", "p6-b200": "P5", "p6-b300": "P5"})


def _vcpus() -> dict[tuple[str, Market], Limit]:
    return {
        (family, market): _limit(name, value, "vCPU", _EC2, service="ec2", code=code)
        for family, market, code, name, value in _VCPU_ROWS
    }


LIMITS = Limits(
    clusters_per_region=_limit("clusters per region", 100, "clusters", _EKS, service="eks", code="L-1194D53C"),
    nodes_per_cluster=_limit(
        "nodes per cluster",
        100_000,
        "nodes",
        "AWS Containers Blog, EKS ultra scale clusters, 2025-07",
        adjustable=False,
    ),
    node_groups_per_cluster=_limit(
        "managed node groups per cluster", 30, "node groups", _EKS, service="eks", code="L-6D54EA21"
    ),
    nodes_per_node_group=_limit("nodes per managed node group", 450, "nodes", _EKS, service="eks", code="L-BD136A63"),
    control_plane_security_groups=_limit(
        "control plane security groups per cluster", 4, "security groups", _EKS, adjustable=False
    ),
    public_endpoint_cidrs=_limit(
        "public endpoint access ranges per cluster",
        40,
        "ranges",
        _EKS,
        adjustable=False,
        service="eks",
        code="L-93A74D60",
    ),
    pod_identity_associations=_limit(
        "pod identity associations per cluster",
        5000,
        "associations",
        "EKS User Guide, pod identities and service quotas",
        adjustable=False,
    ),
    vpcs_per_region=_limit("VPCs per region", 5, "VPCs", _VPC, service="vpc", code="L-F678F1CE"),
    cidrs_per_vpc=_limit("IPv4 ranges per VPC", 5, "ranges", _VPC, service="vpc", code="L-83CA0A9D"),
    subnets_per_vpc=_limit("subnets per VPC", 200, "subnets", _VPC, service="vpc", code="L-407747CB"),
    routes_per_table=_limit("routes per route table", 50, "routes", _VPC, service="vpc", code="L-93826ACB"),
    rules_per_security_group=_limit(
        "rules per security group and direction", 60, "rules", _VPC, service="vpc", code="L-0EA8095F"
    ),
    security_groups_per_interface=_limit(
        "security groups per network interface", 5, "security groups", _VPC, service="vpc", code="L-2AFB9258"
    ),
    security_groups_per_region=_limit(
        "security groups per region", 2500, "security groups", _VPC, service="vpc", code="L-E79EC296"
    ),
    rules_per_network_acl=_limit(
        "rules per network ACL and direction", 20, "rules", _VPC, service="vpc", code="L-2AEEBF1A"
    ),
    route_tables_per_vpc=_limit("route tables per VPC", 200, "route tables", _VPC, service="vpc", code="L-589F43AA"),
    endpoint_policy_characters=_limit(
        "characters per endpoint policy", 20480, "characters", _VPC, adjustable=False, service="vpc", code="L-3248932A"
    ),
    interfaces_per_region=_limit(
        "network interfaces per region", 5000, "interfaces", _VPC, service="vpc", code="L-DF5E4CA3"
    ),
    network_address_units=_limit(
        "network address units per VPC", 64000, "units", _VPC, service="vpc", code="L-BB24F6E5"
    ),
    interface_endpoints_per_vpc=_limit(
        "interface endpoints per VPC", 50, "endpoints", _VPC, service="vpc", code="L-29B6F2EB"
    ),
    gateway_endpoints_per_vpc=_limit(
        "gateway endpoints per region", 20, "endpoints", _VPC, service="vpc", code="L-1B52E74A"
    ),
    nat_gateways_per_zone=_limit("NAT gateways per zone", 5, "gateways", _VPC, service="vpc", code="L-FE5A380F"),
    elastic_addresses_per_region=_limit(
        "Elastic IP addresses per region", 5, "addresses", _EC2, service="ec2", code="L-0263D0A3"
    ),
    placement_groups_per_region=_limit("placement groups per region", 500, "placement groups", _EC2, adjustable=False),
    block_instances=_limit(
        "instances per Capacity Block", 64, "instances", "EC2 User Guide, Capacity Blocks", adjustable=False
    ),
    block_instances_per_day=_limit(
        "Capacity Block instances per organisation on one day",
        256,
        "instances",
        "EC2 User Guide, Capacity Blocks",
        adjustable=False,
    ),
    lustre_associations=_limit(
        "data repository associations per file system", 8, "associations", "FSx for Lustre User Guide", adjustable=False
    ),
    notifications_per_budget=_limit("notifications per budget", 10, "notifications", _BUDGETS, adjustable=False),
    topics_per_notification=_limit("topics per budget notification", 1, "topics", _BUDGETS, adjustable=False),
    mails_per_notification=_limit(
        "mail addresses per budget notification", 10, "addresses", _BUDGETS, adjustable=False
    ),
    # No quota counts the IOPS of gp3: those that exist are for io1 and io2.
    gp3_storage=_limit("storage of gp3 volumes per region", 50, "TiB", _EBS, service="ebs", code="L-7A658B76"),
    lustre_storage=MappingProxyType(
        {
            (deployment, storage): _limit(
                f"Lustre {deployment.replace('_', ' ').lower()} {storage} storage per region",
                100_800,
                "GiB",
                _FSX,
                service="fsx",
                unverified=True,
            )
            for deployment in ("SCRATCH_1", "SCRATCH_2", "PERSISTENT_1", "PERSISTENT_2")
            for storage in ("SSD", "HDD")
        }
    ),
    lustre_tiered_throughput=_limit(
        "throughput of intelligent tiering per region",
        100_000,
        "MB/s",
        _FSX,
        service="fsx",
        unverified=True,
        adjustable=False,
    ),
    vcpus=MappingProxyType(_vcpus()),
    block_codes=MappingProxyType(
        {
            "p4d": "L-2C8F52B3",
            "p4de": "L-CFF3E941",
            "p5": "L-DA6814F2",
            "p5e": "L-C45F30BC",
            "p5en": "L-4F9BB70B",
            "p6-b200": "L-8B23CEF3",
            "p6-b300": "L-8B23CEF3",
            "trn1": "L-2E30FD7D",
            "trn2": "L-64569A79",
        }
    ),
)


# Days that CloudWatch Logs can keep a log group:
# https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutRetentionPolicy.html
LOG_RETENTIONS = (
    *(
        1,
        3,
        5,
        7,
        14,
        30,
        60,
        90,
        120,
        150,
        180,
        365,
        400,
        545,
        731,
        1096,
        1827,
        2192,
        2557,
        2922,
        3288,
        3653,
    ),
    *(),
)


def log_retention(days: int) -> int:
    """The shortest retention of CloudWatch Logs that keeps at least so many days (0, for ever, beyond ten years)."""
    return next((each for each in LOG_RETENTIONS if each >= days), 0)
