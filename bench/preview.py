"""Time and memory of `trainshed preview` as a cold process, against pools and nodes.

python bench/preview.py [--stack prod] [--runs 3]
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench.machine import described, table  # noqa: E402


def measured(stack: str | Path) -> tuple[float, float, int]:
    """Seconds, peak MiB and resources of one cold preview."""
    with tempfile.TemporaryFile() as output:
        started = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "trainshed", "preview", str(stack), "--json"], stdout=output, cwd=ROOT
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - started
        output.seek(0)
        text = output.read()
    if os.waitstatus_to_exitcode(status) != 0:
        problems = json.loads(text).get("problems") if text else "no output"
        raise SystemExit(f"the preview of {stack} failed: {problems}")
    return seconds, usage.ru_maxrss / 1024, len(json.loads(text)["resources"])


def with_nodes(config: dict[str, Any], nodes: int) -> dict[str, Any]:
    """The same stack with this many nodes in its first pool, and queues and spares that fit."""
    changed = copy.deepcopy(config)
    pool = changed["trainshed:pools"][0]
    pool["nodes"] = nodes
    pool["spares"] = min(pool.get("spares", 0), max(nodes - 1, 0))
    if pool.get("capacity", {}).get("kind") == "reservation":
        pool["capacity"] = {
            "kind": "reservation",
            "ids": [f"cr-{number:017x}" for number in range(1, 2 + (nodes - 1) // 450)],
        }
    for queue in changed.get("trainshed:queues", []):
        if queue.get("pool") == pool["name"]:
            queue["cards"] = 8 * (nodes - pool["spares"])
    changed.pop("trainshed:plan", None)
    return changed


def with_pools(config: dict[str, Any], pools: int) -> dict[str, Any]:
    """The same stack with its first pool repeated small until there are this many accelerator pools."""
    changed = with_nodes(config, 2)
    first: dict[str, Any] = changed["trainshed:pools"][0]
    for number in range(2, pools + 1):
        added: dict[str, Any] = {**copy.deepcopy(first), "name": f"extra{number}"}
        if added.get("capacity", {}).get("kind") == "reservation":  # no two pools share one
            added["capacity"] = {"kind": "reservation", "ids": [f"cr-{number:03x}{0:014x}"]}
        changed["trainshed:pools"].append(added)
    return changed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stack", default="prod")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    print("\n".join(described()), flush=True)
    source = ROOT / "stacks" / f"Pulumi.{arguments.stack}.yaml"
    config = yaml.safe_load(source.read_text())["config"]
    cases: list[tuple[str, dict[str, Any] | None]] = [(f"{arguments.stack}, as it is", None)]
    cases += [(f"first pool of {nodes} nodes", with_nodes(config, nodes)) for nodes in (2, 128, 450, 1250)]
    cases += [(f"{pools} more pools of 2 nodes", with_pools(config, 1 + pools)) for pools in (2, 5)]
    rows: list[list[object]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, changed in cases:
            path = source
            if changed is not None:
                path = Path(folder) / f"Pulumi.case{len(rows)}.yaml"
                path.write_text(yaml.safe_dump({"config": changed}))
            runs = [measured(path) for _ in range(arguments.runs)]
            rows.append(
                [
                    name,
                    runs[0][2],
                    f"{statistics.median(run[0] for run in runs):.2f}",
                    f"{min(run[0] for run in runs):.2f}",
                    f"{max(run[1] for run in runs):.0f}",
                ]
            )
            print(f"{name}: {rows[-1][2]} s", file=sys.stderr, flush=True)
    print(table(["stack", "resources", "seconds (median)", "seconds (best)", "peak MiB"], rows))


if __name__ == "__main__":
    main()
