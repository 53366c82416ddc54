"""The packs' own estimate leaves nothing out: what it can't price is listed, whatever its type."""

from __future__ import annotations

from components.catalog import aws_types
from policies.cost import estimate as estimating
from policies.cost.catalog import catalog
from policies.cost.estimate import estimate
from policies.declared.resources import resources_from
from tests.policies.good import record


def test_every_declared_type_is_priced_or_known_to_be_free() -> None:
    known = {*estimating.PRICED, *estimating.BUYING, *estimating.ELSEWHERE} | catalog().free
    assert set(aws_types.table()) - known == set()


def test_no_type_is_both_priced_and_free() -> None:
    assert {*estimating.PRICED, *estimating.BUYING} & catalog().free == set()


def test_a_type_that_nobody_knows_is_listed_and_never_counted_as_nothing() -> None:
    unknown = record("aws:rds/instance:Instance", "database", {"instanceClass": "db.r6g.16xlarge"})
    found = estimate(resources_from([unknown]), catalog(), "us-east-1")
    assert [(line.resource.name, line.why) for line in found.unpriced] == [
        ("database", "is of a type whose price is not known")
    ]


def test_a_replica_of_a_key_costs_what_a_key_costs() -> None:
    kinds = ("aws:kms/key:Key", "aws:kms/replicaKey:ReplicaKey")
    costs = [estimate(resources_from([record(kind, "k", {})]), catalog(), "us-east-1").expected for kind in kinds]
    assert costs[0] == costs[1] > 0


def test_the_list_of_free_types_is_the_one_that_the_cost_model_reads() -> None:
    from components.planning.cost.free import FREE

    assert catalog().free == FREE
