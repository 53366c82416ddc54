"""The quota report's counts against what the prod stack really declares."""

from __future__ import annotations

from collections import Counter

from components import catalog as catalogs
from components.planning import quotas
from infra.settings import from_file
from tests.declared import of_type
from tests.infra.test_stacks import declared


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
