"""Two states side by side: which resources meet, which values differ, and what makes the engine replace one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from components.record import Record
from tests.trainshed.review.review_states import BUCKET, GROUP, KEY, SUBNET, UNKNOWN, group, lustre, resource, urn
from trainshed.review import preview_json
from trainshed.review.differences import Change, compare, counts
from trainshed.review.values import ABSENT, Difference, differences, plain, shown


def only(changes: tuple[Change, ...]) -> Change:
    assert len(changes) == 1, [(each.op, each.name) for each in changes]
    return changes[0]


def test_a_state_beside_itself_has_no_changes() -> None:
    assert compare([lustre(), group()], [group(), lustre()]) == ()


def test_what_one_side_lacks_is_created_or_deleted() -> None:
    changes = compare([lustre()], [resource(BUCKET, "store-datasets")])
    assert [(each.op, each.name) for each in changes] == [
        ("delete", "lustre-train-system"),
        ("create", "store-datasets"),
    ]
    assert counts(changes) == {"create": 1, "update": 0, "replace": 0, "delete": 1}


def test_a_larger_file_system_is_updated_and_a_smaller_one_replaced() -> None:
    assert only(compare([lustre(4800)], [lustre(7200)])).op == "update"
    smaller = only(compare([lustre(4800)], [lustre(2400)]))
    assert smaller.op == "replace"
    assert smaller.reasons == (Difference(path="storageCapacity", old=4800, new=2400),)


@pytest.mark.parametrize(
    ("property_", "old", "new", "op"),
    [
        ("perUnitStorageThroughput", 125, 250, "update"),
        ("deploymentType", "PERSISTENT_2", "SCRATCH_2", "replace"),
        ("fileSystemTypeVersion", "2.12", "2.15", "update"),
        ("fileSystemTypeVersion", "2.15", "2.12", "replace"),
        ("efaEnabled", False, True, "replace"),
        ("automaticBackupRetentionDays", 7, 0, "update"),
        ("tags", {"team": "a"}, {"team": "b"}, "update"),
    ],
)
def test_a_file_system_is_replaced_for_what_fsx_cannot_change(
    property_: str, old: object, new: object, op: str
) -> None:
    change = only(compare([lustre(inputs={property_: old})], [lustre(inputs={property_: new})]))
    assert change.op == op


@pytest.mark.parametrize(
    ("inputs", "op"),
    [
        ({"instanceTypes": ["p5e.48xlarge"]}, "replace"),
        ({"capacityType": "SPOT"}, "replace"),
        ({"amiType": "AL2023_x86_64_NVIDIA"}, "replace"),
        ({"labels": {"a": "b"}}, "update"),
        ({"version": "1.36"}, "update"),
        ({"scalingConfig": {"minSize": 8, "maxSize": 8, "desiredSize": 8}}, "update"),
    ],
)
def test_a_node_group_is_replaced_for_what_eks_cannot_change(inputs: dict[str, Any], op: str) -> None:
    assert only(compare([group()], [group(**inputs)])).op == op


def test_a_cluster_that_loses_its_encryption_is_replaced_but_one_that_gets_it_is_not() -> None:
    type_ = "aws:eks/cluster:Cluster"
    bare, sealed = (
        resource(type_, "cluster"),
        resource(type_, "cluster", {"encryptionConfig": {"resources": ["secrets"]}}),
    )
    assert only(compare([bare], [sealed])).op == "update"
    assert only(compare([sealed], [bare])).op == "replace"


def test_an_unknown_input_that_comes_from_another_resource_is_a_change() -> None:
    before = lustre(inputs={"subnetIds": UNKNOWN}, wired={"subnetIds": [urn(SUBNET, "compute-az3")]})
    after = lustre(inputs={"subnetIds": UNKNOWN}, wired={"subnetIds": [urn(SUBNET, "compute-az4")]})
    change = only(compare([before], [after]))
    assert change.op == "replace"
    assert change.reasons == (
        Difference(path="subnetIds", old="<unknown> of compute-az3", new="<unknown> of compute-az4"),
    )


def test_records_without_wiring_are_judged_by_the_usual_type_of_an_input() -> None:
    def old_record(subnet: str) -> Record:
        printed = lustre(inputs={"subnetIds": UNKNOWN}, wired={"subnetIds": [urn(SUBNET, subnet)]}).as_json()
        del printed["property_dependencies"]
        return preview_json.record(printed)

    assert compare([old_record("a")], [old_record("a")]) == ()
    assert only(compare([old_record("a")], [old_record("b")])).op == "replace"


def test_a_replacement_spreads_to_what_refers_to_the_replaced_one() -> None:
    def state(cidr: str) -> list[Record]:
        subnet = resource(SUBNET, "compute", {"cidrBlock": cidr})
        return [
            subnet,
            lustre(inputs={"subnetIds": UNKNOWN}, wired={"subnetIds": [subnet.urn]}),
            resource(BUCKET, "store"),
        ]

    changes = {each.name: each for each in compare(state("10.0.0.0/24"), state("10.0.1.0/24"))}
    assert {name: each.op for name, each in changes.items()} == {"compute": "replace", "lustre-train-system": "replace"}
    assert changes["lustre-train-system"].reasons[0].new == "<unknown>: compute is replaced"


def test_a_replacement_does_not_spread_through_a_value_that_is_known_or_can_change() -> None:
    key = "aws:ec2/launchTemplate:LaunchTemplate"

    def state(prefix: str) -> list[Record]:
        template = resource(key, "template", {"namePrefix": prefix})
        known = resource(GROUP, "known", {"launchTemplate": {"id": "lt-1"}}, wired={"launchTemplate": [template.urn]})
        update = resource("aws:eks/cluster:Cluster", "cluster", {"version": UNKNOWN}, wired={"version": [template.urn]})
        return [template, known, update]

    assert [(each.op, each.name) for each in compare(state("a"), state("b"))] == [("replace", "template")]


def test_an_alias_makes_a_rename_an_update() -> None:
    new = resource(BUCKET, "store-data", aliases=(urn(BUCKET, "store-datasets"),))
    change = only(compare([resource(BUCKET, "store-datasets")], [new]))
    assert (change.op, change.renamed_from) == ("update", urn(BUCKET, "store-datasets"))
    by_name = resource(BUCKET, "store-data", aliases=("store-datasets",))
    assert only(compare([resource(BUCKET, "store-datasets")], [by_name])).op == "update"


def test_a_rename_without_an_alias_deletes_and_creates() -> None:
    changes = compare([resource(BUCKET, "store-datasets")], [resource(BUCKET, "store-data")])
    assert sorted(each.op for each in changes) == ["create", "delete"]


def test_inputs_that_a_resource_ignores_are_no_change() -> None:
    before = group(nodes=4)
    sized = group(scalingConfig={"minSize": 4, "maxSize": 4, "desiredSize": 0})
    after = replace(sized, ignore_changes=("scalingConfig.desiredSize",))
    assert compare([before], [after]) == ()


def test_a_real_state_beside_an_offline_preview_is_not_changed_by_what_only_one_can_know() -> None:
    known, offline = lustre(inputs={"subnetIds": "subnet-0abc"}), lustre(inputs={"subnetIds": UNKNOWN})
    assert compare([known], [offline], comparable=False) == ()
    assert only(compare([known], [offline])).op == "replace"


def test_protection_is_part_of_a_resource() -> None:
    change = only(compare([lustre(protect=True)], [lustre()]))
    assert (change.op, change.differences) == ("update", (Difference(path="option protect", old=True, new=False),))


def test_a_kubernetes_object_is_replaced_for_its_name_and_a_config_map_for_its_data() -> None:
    def config_map(name: str, data: str) -> Record:
        return resource("kubernetes:core/v1:ConfigMap", "settings", {"metadata": {"name": name}, "data": {"a": data}})

    assert only(compare([config_map("a", "1")], [config_map("b", "1")])).op == "replace"
    assert only(compare([config_map("a", "1")], [config_map("a", "2")])).op == "replace"
    namespace = "kubernetes:core/v1:Namespace"
    labels = [
        resource(namespace, "training", {"metadata": {"name": "training", "labels": {"a": each}}}) for each in "12"
    ]
    assert only(compare(labels[:1], labels[1:])).op == "update"


def test_changes_stand_under_their_outermost_component() -> None:
    store = resource("trainshed:storage:ObjectStore", "store", custom=False)
    bucket = resource("trainshed:storage:Bucket", "inner", custom=False, parent=store.urn)
    key = resource(KEY, "store-key", parent=bucket.urn)
    assert only(compare([store, bucket], [store, bucket, key])).component == "store"
    assert only(compare([], [resource(KEY, "alone")])).component == "(the stack itself)"


def test_components_and_providers_are_not_counted_as_resources() -> None:
    changes = compare(
        [],
        [
            resource("trainshed:storage:Lustre", "lustre", custom=False),
            resource("pulumi:providers:aws", "aws"),
            lustre(),
        ],
    )
    assert counts(changes)["create"] == 1


def test_documents_inside_text_are_compared_by_their_parts_and_order_of_lists_is_no_difference() -> None:
    found = list(differences({"policy": '{"a": 1, "b": [1, 2]}'}, {"policy": '{"b": [1, 2], "a": 2}'}))
    assert found == [Difference(path="policy.a", old=1, new=2)]
    assert list(differences({"a": [1, 2, 3]}, {"a": [3, 1, 2]})) != []  # of one length: position by position
    assert list(differences({"a": None}, {})) == []
    assert list(differences({}, {"a": 1})) == [Difference(path="a", old=ABSENT, new=1)]


def test_engine_markers_become_words_and_a_secret_is_never_shown() -> None:
    secret = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "plaintext": '"hunter2"'}
    assert plain({"a": secret, "b": "04da6b54-80e4-46f7-96ec-b56ff0331ba9", "c": 3.0}) == {
        "a": "<secret>",
        "b": "<unknown>",
        "c": 3,
    }
    assert "hunter2" not in shown({"nested": [secret]})


def test_a_long_value_is_cut_and_told_by_its_length() -> None:
    said = shown("x" * 5000)
    assert len(said) < 170
    assert "(5,000 characters, sha256 " in said
