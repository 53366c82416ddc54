"""Queues that don't fit their pools, each with the whole message."""

from __future__ import annotations

import pytest

from components.planning import rules
from components.problems import Problem, render
from components.spec.stack import StackSpec
from tests.given import CAT, STACKS, stack, stack_of

POOL = "{name: train, purpose: training, instance_type: p5.48xlarge, zone: usw2-az3, nodes: 20, spares: 2}"
PREP = (
    "{name: prep, purpose: preprocessing, instance_types: [m7i.8xlarge, m7a.8xlarge, m6i.8xlarge], nodes: {min: 0, max:"
    " 20}}"
)


def about(given: StackSpec, *ids: str) -> list[Problem]:
    return [each for each in rules.check(given, CAT) if each.id in ids]


def said(queues: str, *ids: str, pools: str = f"[{POOL}]") -> list[str]:
    return [render(each) for each in about(stack_of(pools=pools, queues=queues), *ids)]


def test_a_queue_that_names_an_unknown_pool_hears_the_nearest_one():
    assert said("[{name: q, pool: trian, cards: 8}]", "queue-pool-unknown") == [
        'queues[0].pool: queue "q" names the pool "trian", which the stack does not have; did you mean "train"?'
    ]


def test_two_queues_of_one_name_are_refused():
    assert said("[{name: q, pool: train, cards: 8}, {name: q, pool: train, cards: 8}]", "duplicate-name") == [
        'queues[1].name: the name "q" is taken by queues[0]; names of queues are unique in the stack'
    ]


def test_queues_that_hand_out_more_than_the_pool_has_beside_its_spares_show_the_sum():
    assert said("[{name: a, pool: train, cards: 96}, {name: b, pool: train, cards: 64}]", "queue-over-pool") == [
        (
            'queues[1].cards: the queues of pool "train" hand out a 96 and b 64, 160 cards together; it has '
            "(20 nodes - 2 spares) x 8 = 144; take 16 cards away, or add 2 nodes to the pool"
        )
    ]


def test_queues_that_hand_out_exactly_what_the_pool_has_are_fine():
    assert said("[{name: a, pool: train, cards: 80}, {name: b, pool: train, cards: 64}]", "queue-over-pool") == []


def test_cards_beyond_the_last_whole_node_are_told():
    assert said("[{name: q, pool: train, cards: 12}]", "queue-partial-node") == [
        (
            "queues[0].cards: warning: 12 cards are no whole number of nodes of 8: the last 4 can never be used; use 8"
            " or 16"
        )
    ]


def test_less_than_a_node_is_refused():
    assert said("[{name: q, pool: train, cards: 4}]", "queue-under-node") == [
        "queues[0].cards: 4 cards are less than one node of 8, and a worker takes a whole node; use 8"
    ]


def test_cards_of_a_pool_without_cards_are_refused():
    assert said("[{name: q, pool: prep, cards: 8}]", "queue-cards-without-cards", pools=f"[{PREP}]") == [
        'queues[0].cards: pool "prep" has no cards to hand out; use nodes: 20'
    ]


def test_nodes_of_a_pool_with_cards_are_refused():
    assert said("[{name: q, pool: train, nodes: 2}]", "queue-nodes-of-cards") == [
        'queues[0].nodes: pool "train" is shared by card, 8 a node; use cards: 16'
    ]


def test_more_nodes_than_the_pool_has_are_refused():
    assert said("[{name: q, pool: prep, nodes: 21}]", "queue-over-pool", pools=f"[{PREP}]") == [
        'queues[0].nodes: queue "q" asks for 21 nodes; pool "prep" has 20; use at most 20'
    ]


def test_cards_that_no_queue_hands_out_are_told():
    pools = f"[{POOL}, {{name: other, purpose: training, instance_type: p5.48xlarge, zone: usw2-az3, nodes: 2}}]"
    assert said("[{name: q, pool: train, cards: 8}]", "pool-without-queue", pools=pools) == [
        (
            'pools[1].name: warning: no queue hands out the 16 cards of pool "other": no task can run there; '
            "add {name: other, pool: other} to queues"
        )
    ]


def test_a_pool_from_zero_nodes_is_told_that_neighbours_are_left_to_chance():
    pools = "[{name: train, purpose: finetuning, instance_type: p5.48xlarge, zone: usw2-az3, nodes: {min: 0, max: 4}}]"
    assert said("[{name: q, pool: train, cards: 32}]", "placement-from-zero", pools=pools) == [
        (
            'pools[0].nodes: note: jobs in pool "train" are placed without regard to network layers, since its nodes '
            "are bought when a job waits; a cluster placement group keeps them near each other; "
            "use a fixed number of nodes for jobs whose speed depends on which neighbours they get"
        )
    ]


def test_a_cohort_over_two_pools_is_told():
    pools = f"[{POOL}, {{name: other, purpose: training, instance_type: p5.48xlarge, zone: usw2-az3, nodes: 2}}]"
    queues = "[{name: a, pool: train, cards: 8, cohort: c}, {name: b, pool: other, cards: 8, cohort: c}]"
    assert said(queues, "cohort-over-pools", pools=pools) == [
        (
            'queues[1].cohort: warning: the queues of cohort "c" belong to the pools other and train, and cards of one '
            "pool are no use in another; give the queues of each pool a cohort of their own"
        )
    ]


@pytest.mark.parametrize("namespace", ["kube-system", "kueue-system", "monitoring"])
def test_jobs_do_not_run_where_controllers_do(namespace: str):
    assert said(f"[{{name: q, pool: train, cards: 8, namespace: {namespace}}}]", "namespace-taken") == [
        f'queues[0].namespace: the namespace "{namespace}" is the cluster\'s own; use one for jobs, such as training'
    ]


@pytest.mark.parametrize("name", STACKS)
def test_the_projects_own_queues_fit(name: str):
    wrong = [
        each for each in rules.check(stack(name), CAT) if each.severity == "error" and each.path.startswith("queues")
    ]
    assert [render(each) for each in wrong] == []
