"""The offline preview declares what the engine would: the same resources, one by one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.live.support.engine import CHECKOUT, Engine

pytestmark = pytest.mark.engine
STACKS = sorted(path.name.split(".")[1] for path in (CHECKOUT / "stacks").glob("Pulumi.*.yaml"))
UNKNOWN_ON_THE_WIRE = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
SIGNATURE = "4dabf18193072939515e22adb298388d"


def as_offline(value: Any) -> Any:
    """The engine's value in the offline preview's words."""
    if isinstance(value, dict):
        if SIGNATURE in value:
            return "<secret>"
        return {key: as_offline(item) for key, item in value.items() if not key.startswith("__")}
    if isinstance(value, list):
        return [as_offline(item) for item in value]
    if isinstance(value, str):
        return "<secret>" if value == "[secret]" else value.replace(UNKNOWN_ON_THE_WIRE, "<unknown>")
    return int(value) if isinstance(value, float) and value.is_integer() else value


@pytest.mark.proves(
    broken="nothing: the same stack file read by the engine and by the offline preview",
    promised="type, name, parent, inputs, dependencies and protection are equal, resource by resource",
)
@pytest.mark.parametrize("stack", STACKS)
def test_the_engine_declares_what_the_offline_preview_shows(engine: Callable[..., Engine], stack: str) -> None:
    project = engine(stack)
    if "secure:" in project.stack_file.read_text():
        project.give_kubeconfig()
    shown = project.preview("--json").must()
    steps = {step["newState"]["urn"]: step["newState"] for step in json.loads(shown.stdout)["steps"] if "newState" in step}
    finished = subprocess.run(
        [sys.executable, "-m", "trainshed", "preview", stack, "--json"], cwd=project.folder, capture_output=True, text=True, check=False
    )
    # Exit code 1 would be a policy's verdict, which is another test's matter.
    assert finished.returncode in (0, 1), finished.stderr
    offline = {resource["urn"]: resource for resource in json.loads(finished.stdout)["resources"]}
    assert offline, finished.stdout
    stack_urn = f"urn:pulumi:{stack}::trainshed::pulumi:pulumi:Stack::trainshed-{stack}"

    assert set(steps) - {stack_urn} == set(offline) - {stack_urn}
    differing: list[str] = []
    for urn, ours in offline.items():
        if urn == stack_urn:
            continue
        theirs = steps[urn]
        inputs = as_offline(theirs.get("inputs") or {})
        if ours["type"].startswith("pulumi:providers:"):
            inputs.pop("version", None)  # the engine writes the SDK's request for a plugin among a provider's inputs
        pairs = {
            "type": (ours["type"], theirs["type"]),
            "parent": (ours["parent"] or stack_urn, theirs.get("parent") or stack_urn),
            "protect": (ours["protect"], theirs.get("protect", False)),
            "depends_on": (sorted(ours["depends_on"]), sorted(theirs.get("dependencies") or [])),
            "inputs": (as_offline(ours["inputs"]), inputs),
        }
        differing += [f"{urn} {key}: {mine!r} offline, {real!r} in the engine" for key, (mine, real) in pairs.items() if mine != real]
    assert differing == []
