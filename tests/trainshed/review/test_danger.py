"""Data that a change would destroy, protection that it takes away, and pools whose machines go."""

from __future__ import annotations

from typing import Any

import pytest

from components import catalog
from components.record import Record
from tests.trainshed.review.review_states import (
    BUCKET,
    GROUP,
    KEY,
    TEMPLATE,
    UNKNOWN,
    group,
    lustre,
    resource,
    template,
    urn,
)
from trainshed.review.danger import STATEFUL, Acknowledgement, dangers, unused, weaker
from trainshed.review.differences import compare
from trainshed.review.rolls import Roll, cards, rolls, together

CAT = catalog.load()


@pytest.mark.parametrize("type_", sorted(STATEFUL))
def test_the_deletion_of_every_stateful_type_is_a_danger(type_: str) -> None:
    found = dangers(compare([resource(type_, "it")], []), ())
    assert [(each.kind, each.name) for each in found] == [("review-deletes", "it")]


def test_a_stateless_resource_may_go() -> None:
    assert dangers(compare([group(), template()], []), ()) == ()


def test_an_update_in_place_is_no_danger() -> None:
    assert dangers(compare([lustre(2400)], [lustre(4800)]), ()) == ()


def test_a_danger_tells_why_and_what_stands_against_it() -> None:
    found = dangers(
        compare([lustre(4800, protect=True, inputs={"automaticBackupRetentionDays": 7})], [lustre(2400, protect=True)]),
        (),
    )[0]
    assert found.kind == "review-replaces"
    assert [(each.path, each.old, each.new) for each in found.reasons] == [("storageCapacity", 4800, 2400)]
    assert found.protected
    assert found.keeps == ("automatic backups are kept 7 days, and go with the file system", "no final backup is made")


@pytest.mark.parametrize(
    ("type_", "inputs", "keeps"),
    [
        (BUCKET, {"forceDestroy": True}, ("forceDestroy empties it first",)),
        (BUCKET, {}, ("AWS refuses while it holds objects",)),
        (KEY, {"deletionWindowInDays": 14}, ("it can be saved for 14 days: cancel its deletion",)),
        ("aws:ecr/repository:Repository", {}, ("AWS refuses while it holds images",)),
        ("aws:ebs/volume:Volume", {"finalSnapshot": True}, ("a final snapshot is made",)),
        ("aws:eks/cluster:Cluster", {"deletionProtection": True}, ("EKS refuses while its deletion protection is on",)),
    ],
)
def test_what_softens_a_loss_is_told(type_: str, inputs: dict[str, Any], keeps: tuple[str, ...]) -> None:
    assert dangers(compare([resource(type_, "it", inputs)], []), ())[0].keeps == keeps


def test_an_acknowledgement_takes_one_danger_of_one_resource() -> None:
    accepted = [Acknowledgement(id="review-deletes", path="store-a", reason="moved to another account")]
    found = dangers(compare([resource(BUCKET, "store-a"), resource(BUCKET, "store-b")], []), accepted)
    assert [(each.name, each.acknowledged) for each in found] == [
        ("store-b", ""),
        ("store-a", "moved to another account"),
    ]


def test_an_acknowledged_deletion_does_not_cover_a_replacement() -> None:
    accepted = [Acknowledgement(id="review-deletes", path="lustre-train-system", reason="no longer needed")]
    found = dangers(compare([lustre(4800)], [lustre(2400)]), accepted)
    assert found[0].acknowledged == ""
    assert unused(accepted, found) == tuple(accepted)


def test_what_is_retained_stays_in_the_account() -> None:
    assert dangers(compare([resource(BUCKET, "store", retain_on_delete=True)], []), ())[0].retained


@pytest.mark.parametrize(
    ("type_", "old", "new", "path"),
    [
        (BUCKET, {}, {"forceDestroy": True}, "forceDestroy"),
        ("aws:ecr/repository:Repository", {"forceDelete": False}, {"forceDelete": True}, "forceDelete"),
        ("aws:eks/cluster:Cluster", {"deletionProtection": True}, {"deletionProtection": False}, "deletionProtection"),
        (KEY, {"deletionWindowInDays": 30}, {"deletionWindowInDays": 7}, "deletionWindowInDays"),
        ("aws:cloudwatch/logGroup:LogGroup", {"retentionInDays": 365}, {"retentionInDays": 30}, "retentionInDays"),
        (
            "aws:s3/bucketVersioning:BucketVersioning",
            {"versioningConfiguration": {"status": "Enabled"}},
            {"versioningConfiguration": {"status": "Suspended"}},
            "versioningConfiguration.status",
        ),
        (
            "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration",
            {"rules": [{"id": "age", "expiration": {"days": 30}}]},
            {"rules": [{"id": "age", "expiration": {"days": 3}}]},
            "rules[age].expiration.days",
        ),
    ],
)
def test_weaker_protection_is_told_and_stronger_is_not(
    type_: str, old: dict[str, Any], new: dict[str, Any], path: str
) -> None:
    before, after = resource(type_, "it", old), resource(type_, "it", new)
    assert [each.difference.path for each in weaker(compare([before], [after]))] == [path]
    assert weaker(compare([after], [before])) == ()


def test_backups_that_end_and_a_lifted_protection_are_told() -> None:
    before = lustre(protect=True, inputs={"automaticBackupRetentionDays": 7})
    found = weaker(compare([before], [lustre(inputs={"automaticBackupRetentionDays": 0})]))
    assert [each.difference.path for each in found] == ["option protect", "automaticBackupRetentionDays"]


def of(before: list[Record], after: list[Record]) -> tuple[Roll, ...]:
    return rolls(compare(before, after), after, CAT)


def test_a_new_version_of_its_template_rolls_a_group_that_names_no_change_itself() -> None:
    found = of([group(nodes=10), template()], [group(nodes=10), template(userData="Yg==")])
    assert [(each.group, each.how, each.nodes, each.cards, each.at_once, each.old_first) for each in found] == [
        ("pretrain-nodes", "rolls", 10, 80, 1, True)
    ]
    assert found[0].why == ("userData: YQ== → Yg==",)


def test_tags_of_the_template_itself_roll_nothing_but_tags_of_its_machines_do() -> None:
    assert of([group(), template(tags={"a": "1"})], [group(), template(tags={"a": "2"})]) == ()
    machines = [template(tagSpecifications=[{"tags": {"a": each}}]) for each in "12"]
    assert [each.how for each in of([group(), machines[0]], [group(), machines[1]])] == ["rolls"]


def test_a_new_kubernetes_version_rolls_a_group() -> None:
    found = of([group(version="1.34"), template()], [group(version="1.35"), template()])
    assert [(each.how, each.why) for each in found] == [("rolls", ("version: 1.34 → 1.35",))]


def test_another_machine_type_replaces_a_group() -> None:
    found = of([group(), template()], [group(instanceTypes=["p5en.48xlarge"]), template()])
    assert [(each.how, each.nodes, each.cards) for each in found] == [("is replaced", 4, 32)]


def test_sizes_grow_and_shrink_and_groups_come_and_go() -> None:
    assert [(each.how, each.nodes, each.cards) for each in of([group(nodes=4)], [group(nodes=1)])] == [
        ("shrinks", 3, 24)
    ]
    assert [(each.how, each.nodes) for each in of([group(nodes=4)], [group(nodes=6)])] == [("grows", 2)]
    assert [each.how for each in of([group()], [])] == ["goes"]
    assert [each.how for each in of([], [group()])] == ["comes"]


def test_labels_and_tags_of_a_group_leave_its_machines_alone() -> None:
    assert of([group(), template()], [group(labels={"a": "b"}, tags={"c": "d"}), template()]) == ()


def test_cards_are_counted_at_the_largest_size_and_from_the_template_where_the_group_names_no_type() -> None:
    block = resource(
        GROUP,
        "block",
        {"scalingConfig": {"minSize": 0, "maxSize": 3}, "launchTemplate": {"id": UNKNOWN}},
        wired={"launchTemplate": [urn(TEMPLATE, "pretrain-template")]},
    )
    states = [group(nodes=2), block, template(instanceType="trn1.32xlarge")]
    assert cards(states, CAT) == 2 * 8 + 3 * 16


def test_a_spot_group_and_the_one_that_stands_in_for_it_are_one_pools_nodes() -> None:
    def pair(nodes: int) -> list[Record]:
        kinds = {"spot": "SPOT", "on-demand": "ON_DEMAND"}
        return [
            group(name, nodes=nodes, capacityType=kind, instanceTypes=["m7i.8xlarge"]) for name, kind in kinds.items()
        ]

    found = of([*pair(200), template()], [*pair(200), template(userData="Yg==")])
    assert sum(each.nodes for each in found) == 400
    assert together(found, lambda each: each.nodes) == 200


def test_groups_that_roll_side_by_side_are_counted_together() -> None:
    groups = [group(f"pretrain-nodes-{number}", nodes=417, updateConfig={"maxUnavailable": 42}) for number in range(3)]
    found = of([*groups, template()], [*groups, template(userData="Yg==")])
    assert together(found, lambda each: each.at_once) == 126
