"""The offline preview beside the engine's: where they differ, resource by resource."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from tests.live.support.engine import Engine, Run

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


def differences(project: Engine, shown: Run) -> list[str]:
    """What `shown`, a `preview --json` of the engine, has otherwise than the offline preview of the same stack file.

    Type, name, parent, inputs, dependencies and protection are compared, and that neither has a resource which the
    other lacks.
    """
    steps = {
        step["newState"]["urn"]: step["newState"] for step in json.loads(shown.stdout)["steps"] if "newState" in step
    }
    command = [sys.executable, "-m", "trainshed", "preview", project.stack, "--json"]
    finished = subprocess.run(command, cwd=project.folder, capture_output=True, text=True, check=False)
    # Exit code 1 would be a policy's verdict, which is another test's matter.
    assert finished.returncode in (0, 1), finished.stderr
    offline = {resource["urn"]: resource for resource in json.loads(finished.stdout)["resources"]}
    assert offline, finished.stdout
    stack_urn = f"urn:pulumi:{project.stack}::trainshed::pulumi:pulumi:Stack::trainshed-{project.stack}"
    found = [f"{urn} is in one of the two only" for urn in sorted((set(steps) ^ set(offline)) - {stack_urn})]
    for urn in sorted(set(steps) & set(offline) - {stack_urn}):
        ours, theirs = offline[urn], steps[urn]
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
        found += [
            f"{urn} {key}: {mine!r} offline, {real!r} in the engine"
            for key, (mine, real) in pairs.items()
            if mine != real
        ]
    return found
