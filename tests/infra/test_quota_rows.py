"""The quota report's counts against what the prod stack really declares."""

from __future__ import annotations

from collections import Counter

from components import catalog as catalogs
from components.catalog import aws_types
from components.planning import quotas
from infra.settings import from_file
from tests.declared import of_type
from tests.infra.test_stacks import declared
from trainshed.preview import declared_limits


def test_rules_associations_and_node_groups_are_counted_as_declared() -> None:
    rows = {row.name: row for row in quotas.rows(from_file("prod").valid, catalogs.load())}
    records = declared("prod")
    rules = Counter(
        (each.type, each.property_dependencies["securityGroupId"])
        for each in records
        if each.type.endswith(("SecurityGroupIngressRule", "SecurityGroupEgressRule"))
    )
    assert rows["rules per security group and direction"].need == max(rules.values())
    assert rows["pod identity associations per cluster"].need == len(of_type(records, "PodIdentityAssociation"))
    assert rows["managed node groups per cluster"].need == len(of_type(records, "NodeGroup"))


def test_what_is_declared_is_counted_against_the_quotas_of_the_table() -> None:
    records = declared("prod")
    rows = {row.name: row for row in declared_limits.rows(records)}
    assert rows["roles per account"].need == len(of_type(records, "iam/role:Role"))
    assert rows["buckets per account"].need == len(of_type(records, "s3/bucket:Bucket"))
    assert all(row.verdict == "fits" and not row.request for row in rows.values())
    many = declared_limits.rows([each for each in records if each.type == "aws:s3/bucket:Bucket"] * 5000)
    assert [each.verdict for each in many] == ["request"]
    assert many[0].request.startswith(f"ask Service Quotas for {many[0].need:,} buckets")


def test_every_quota_of_the_table_is_counted_or_is_of_something_smaller_than_a_region() -> None:
    quotas = {token: row.quota.unit for token, row in aws_types.table().items() if row.quota}
    smaller = ("per event bus", "per rule", "per resource", "per VPC", "per role", "per bucket", "per policy")
    left_out = [unit for unit in quotas.values() if not unit.endswith((*declared_limits.COUNTED, *smaller))]
    assert left_out == []
