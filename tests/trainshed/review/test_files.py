"""Files of the engine: an exported state, a preview's JSON, a stream of events; and what is wrong with others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.trainshed.review.review_states import BUCKET, KEY, LUSTRE, urn
from trainshed.review import command
from trainshed.review.engine_files import Step, over, read
from trainshed.review.trees import Unusable

SECRET = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "v1:abc"}
UNKNOWN_WIRE = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"


def state(type_: str, name: str, inputs: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "urn": urn(type_, name),
        "type": type_,
        "custom": True,
        "id": f"{name}-1",
        "inputs": inputs,
        "outputs": {},
        **more,
    }


def lustre(gib: float, **more: Any) -> dict[str, Any]:
    inputs = {
        "storageCapacity": gib,
        "deploymentType": "PERSISTENT_2",
        "perUnitStorageThroughput": 125.0,
        "secret": SECRET,
    }
    wires = {"kmsKeyId": [urn(KEY, "key")]}
    return state(
        LUSTRE,
        "lustre-train-system",
        inputs,
        protect=True,
        dependencies=[urn(KEY, "key")],
        propertyDependencies=wires,
        **more,
    )


def exported(*states: dict[str, Any]) -> str:
    root = {"urn": "urn:pulumi:prod::trainshed::pulumi:pulumi:Stack::trainshed-prod", "type": "pulumi:pulumi:Stack"}
    return json.dumps({"version": 3, "deployment": {"manifest": {}, "resources": [root, *states]}})


def step(op: str, old: dict[str, Any] | None, new: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    return {"op": op, "urn": (new or old or {})["urn"], "oldState": old, "newState": new, **more}


def previewed(*steps: dict[str, Any], same: int = 0, diagnostics: tuple[dict[str, Any], ...] = ()) -> str:
    return json.dumps(
        {"config": {}, "steps": list(steps), "diagnostics": list(diagnostics), "changeSummary": {"same": same}}
    )


REPLACED = (
    step("create-replacement", lustre(4800.0), lustre(2400.0)),
    step("replace", lustre(4800.0), lustre(2400.0), replaceReasons=["storageCapacity"], detailedDiff={}),
    step("delete-replaced", lustre(4800.0), None),
)


def test_a_state_becomes_records_with_markers_for_what_is_secret(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_text(exported(lustre(4800.0), {**state(BUCKET, "old", {}), "delete": True}))
    found = read(path)
    assert (found.kind, found.stacks) == ("state", {"prod"})
    assert len(found.after) == 1
    record = found.after[0]
    assert record.name == "lustre-train-system"
    assert record.inputs == {
        "storageCapacity": 4800,
        "deploymentType": "PERSISTENT_2",
        "perUnitStorageThroughput": 125,
        "secret": "<secret>",
    }
    assert record.protect
    assert record.property_dependencies == {"kmsKeyId": (urn(KEY, "key"),)}


def test_a_replacement_of_three_steps_is_one_with_its_reasons(tmp_path: Path) -> None:
    path = tmp_path / "preview.json"
    path.write_text(previewed(*REPLACED))
    found = read(path)
    assert found.steps == {urn(LUSTRE, "lustre-train-system"): Step(op="replace", reasons=("storageCapacity",))}
    assert [each.inputs["storageCapacity"] for each in found.before] == [4800]
    assert [each.inputs["storageCapacity"] for each in found.after] == [2400]


def test_a_detailed_diff_gives_the_reasons_too_and_unknowns_become_words(tmp_path: Path) -> None:
    path = tmp_path / "preview.json"
    new = state(BUCKET, "store", {"bucket": UNKNOWN_WIRE})
    diff = {"bucket": {"kind": "update-replace", "inputDiff": True}, "tags": {"kind": "update", "inputDiff": True}}
    path.write_text(previewed(step("replace", state(BUCKET, "store", {"bucket": "a"}), new, detailedDiff=diff)))
    found = read(path)
    assert found.steps[urn(BUCKET, "store")].reasons == ("bucket",)
    assert found.after[0].inputs == {"bucket": "<unknown>"}


def test_a_stream_of_events_reads_as_the_preview_that_it_is(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    bare = {key: value for key, value in lustre(2400.0).items() if key not in ("dependencies", "propertyDependencies")}
    metadata = {"op": "replace", "urn": bare["urn"], "old": lustre(4800.0), "new": bare, "keys": ["storageCapacity"]}
    events = [
        {"sequence": 0, "resourcePreEvent": {"metadata": metadata}},
        {"summaryEvent": {"resourceChanges": {"same": 5}}},
    ]
    path.write_text("\n".join(json.dumps(each) for each in events))
    found = read(path)
    assert (found.wired, found.unlisted) == (False, 5)
    assert found.steps[bare["urn"]] == Step(op="replace", reasons=("storageCapacity",))


def test_what_a_preview_leaves_out_stays_as_the_state_has_it(tmp_path: Path) -> None:
    before, after = tmp_path / "state.json", tmp_path / "preview.json"
    before.write_text(exported(lustre(4800.0), state(BUCKET, "store", {}), state(BUCKET, "gone", {})))
    after.write_text(
        previewed(
            step("update", lustre(4800.0), lustre(7200.0)), step("delete", state(BUCKET, "gone", {}), None), same=1
        )
    )
    found = over(read(before).after, read(after))
    assert {each.name: each.inputs.get("storageCapacity") for each in found} == {
        "store": None,
        "lustre-train-system": 7200,
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "FILE:1:2: this is no JSON (Expecting property name enclosed in double quotes)"),
        ("[]", "FILE holds no JSON object"),
        (
            '{"a": 1}',
            (
                "FILE holds neither the output of `pulumi preview --json` (a list of steps) nor of `pulumi stack"
                " export` (a deployment)"
            ),
        ),
    ],
)
def test_another_file_is_told_for_what_it_is(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "file.json"
    path.write_text(text)
    with pytest.raises(Unusable) as raised:
        read(path)
    assert str(raised.value) == said.replace("FILE", str(path))
    assert raised.value.code == 2


def test_a_file_that_is_not_there_or_no_text_is_told(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="No such file or directory"):
        read(tmp_path / "missing.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe")
    with pytest.raises(Unusable, match="is no UTF-8 text, so no JSON of the engine"):
        read(tmp_path / "binary.json")


def run(folder: Path, monkeypatch: pytest.MonkeyPatch, base: str, head: str | None = None, stack: str = "prod") -> int:
    monkeypatch.chdir(folder)
    return command.review(stack, base=base, head=head, shape="json")


def test_the_engines_word_on_a_state_is_taken_over_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The table would call a larger file system an update; the engine says that this one is replaced, and why."""
    (tmp_path / "state.json").write_text(exported(lustre(4800.0)))
    (tmp_path / "preview.json").write_text(
        previewed(step("replace", lustre(4800.0), lustre(7200.0), replaceReasons=["storageCapacity"]))
    )
    assert run(tmp_path, monkeypatch, "state.json", "preview.json") == 1
    told = json.loads(capsys.readouterr().out)
    assert told["counts"] == {"create": 0, "update": 0, "replace": 1, "delete": 0}
    assert told["dangers"][0]["reasons"] == [{"path": "storageCapacity", "old": "4800", "new": "7200"}]
    assert told["dangers"][0]["protected"] is True
    assert "ciphertext" not in json.dumps(told)


def test_what_the_engine_calls_the_same_is_no_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "state.json").write_text(exported(state(KEY, "key", {"description": "a"})))
    (tmp_path / "preview.json").write_text(
        previewed(step("same", state(KEY, "key", {}), state(KEY, "key", {"description": "b"})), same=1)
    )
    run(tmp_path, monkeypatch, "state.json", "preview.json")
    assert json.loads(capsys.readouterr().out)["changes"] == []


def test_two_states_are_compared_by_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.json").write_text(exported(lustre(4800.0)))
    (tmp_path / "b.json").write_text(exported(lustre(2400.0)))
    assert run(tmp_path, monkeypatch, "a.json", "b.json") == 1
    assert json.loads(capsys.readouterr().out)["dangers"][0]["id"] == "review-replaces"


def test_one_preview_with_everything_in_it_is_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "preview.json").write_text(previewed(*REPLACED))
    assert run(tmp_path, monkeypatch, "preview.json") == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["base"]["label"], told["head"]["label"]) == ("preview.json (state before)", "preview.json")
    assert told["cost"]["delta"]["expected"] == pytest.approx(-2400 * 0.145)


def test_a_preview_that_leaves_resources_out_needs_the_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "preview.json").write_text(previewed(*REPLACED, same=166))
    assert run(tmp_path, monkeypatch, "preview.json") == 2
    told = json.loads(capsys.readouterr().out)
    assert told["passes"] is False
    assert [each["said"] + "; " + each["hint"] if each["hint"] else each["said"] for each in told["problems"]] == [
        (
            "preview.json lists only what changes (166 unchanged resources are left out), so neither cost nor policies"
            " can be told; make it with `pulumi preview --json --show-sames`, or give the exported state as --base and"
            " this as --head"
        )
    ]


def test_a_preview_that_failed_gives_its_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "state.json").write_text(exported(lustre(4800.0)))
    said = ({"severity": "error", "message": "stacks/Pulumi.prod.yaml:3:1 pools: is missing\n"},)
    (tmp_path / "preview.json").write_text(previewed(diagnostics=said))
    assert run(tmp_path, monkeypatch, "state.json", "preview.json") == 1
    told = json.loads(capsys.readouterr().out)
    assert told["head"]["failure"] == "stacks/Pulumi.prod.yaml:3:1 pools: is missing"
    assert told["changes"] is None


def test_files_of_another_stack_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "state.json").write_text(exported(lustre(4800.0)))
    assert run(tmp_path, monkeypatch, "state.json", "state.json", stack="dev") == 2
    assert capsys.readouterr().err == "state.json is of stack prod, not of dev\n"
