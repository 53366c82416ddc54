"""What Karpenter may buy is priced and judged as what node groups buy."""

from __future__ import annotations

from typing import Any

import pytest

from policies.cost.catalog import HOURS_A_MONTH, catalog
from policies.cost.estimate import estimate
from policies.cost.pack import PACK as COST
from policies.declared.resources import resources_from
from policies.packs.evaluation import evaluate
from tests.policies.cases import TODAY
from tests.policies.good import Record, record

REGION = "us-east-1"
NODE_CLASS = record(
    "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass",
    "cards",
    {"metadata": {"name": "cards"}, "spec": {"blockDeviceMappings": [{"ebs": {"volumeSize": "100Gi"}}]}},
)


def pool(types: tuple[str, ...], buys: tuple[str, ...], **spec: Any) -> Record:
    words = {"node.kubernetes.io/instance-type": list(types), "karpenter.sh/capacity-type": list(buys)}
    requirements = [{"key": key, "operator": "In", "values": values} for key, values in words.items()]
    template = {"spec": {"nodeClassRef": {"name": "cards"}, "requirements": requirements}}
    return record("kubernetes:karpenter.sh/v1:NodePool", "pool", {"spec": {"template": template, **spec}})


def figures(*records: Record) -> tuple[float, float, float]:
    found = estimate(resources_from(records), catalog(), REGION)
    assert found.unpriced == ()
    return found.low, found.expected, found.high


def hour(name: str, capacity: str = "on-demand") -> tuple[float, float, float]:
    rate = catalog().hourly(name, REGION, capacity)
    assert rate is not None
    return rate


def test_a_pool_costs_nothing_at_rest_its_limit_at_most_and_half_of_it_as_the_expectation() -> None:
    most = 8 * hour("p5.48xlarge")[2] * HOURS_A_MONTH
    by_cards = figures(pool(("p5.48xlarge",), ("on-demand",), limits={"nvidia.com/gpu": "64"}))
    assert by_cards == pytest.approx((0, most / 2, most))
    assert figures(pool(("p5.48xlarge",), ("on-demand",), limits={"nodes": "8"})) == pytest.approx(by_cards)
    assert figures(pool(("p5.48xlarge",), ("on-demand",), limits={"cpu": "1536"})) == pytest.approx(by_cards)
    assert figures(pool(("p5.48xlarge",), ("on-demand",), limits={"cpu": "1536k", "nodes": 8})) == by_cards


def test_a_pool_of_a_fixed_size_costs_that_many_nodes() -> None:
    rate = 3 * hour("m7i.8xlarge")[1] * HOURS_A_MONTH
    assert figures(pool(("m7i.8xlarge",), ("on-demand",), replicas=3)) == pytest.approx((rate, rate, rate))


def test_a_pool_that_falls_back_is_dearest_on_demand_and_cheapest_on_spot() -> None:
    _, expected, high = figures(pool(("m7i.8xlarge",), ("spot", "on-demand"), limits={"nodes": 2}))
    assert high == pytest.approx(2 * hour("m7i.8xlarge")[2] * HOURS_A_MONTH)
    assert expected == pytest.approx(hour("m7i.8xlarge", "spot")[1] * HOURS_A_MONTH)


def test_the_volumes_of_its_class_are_counted() -> None:
    price = catalog().price("ebs-gp3", REGION)
    assert price is not None
    bare = figures(pool(("m7i.8xlarge",), ("on-demand",), limits={"nodes": 2}))
    assert figures(pool(("m7i.8xlarge",), ("on-demand",), limits={"nodes": 2}), NODE_CLASS)[2] == pytest.approx(
        bare[2] + 2 * 100 * price
    )


@pytest.mark.parametrize("limits", [{}, {"memory": "100Gi"}, {"nodes": "<unknown>"}])
def test_a_pool_without_an_end_is_listed_as_unpriced(limits: dict[str, str]) -> None:
    found = estimate(resources_from([pool(("m7i.8xlarge",), ("on-demand",), limits=limits)]), catalog(), REGION)
    assert [line.resource.name for line in found.unpriced] == ["pool"]


@pytest.mark.parametrize(
    ("buys", "flagged"), [(("on-demand",), True), (("spot", "on-demand"), True), (("spot",), False), ((), True)]
)
def test_cards_that_must_not_be_on_demand_are_refused_in_a_pool_too(buys: tuple[str, ...], flagged: bool) -> None:
    only = {"all": "disabled", "cards-not-on-demand": {"enforcementLevel": "mandatory", "types": ["p5*"]}}
    records = [pool(("p5.48xlarge",), buys, limits={"nodes": 1})]
    assert bool(evaluate(records, COST, only, today=TODAY).violations) is flagged
