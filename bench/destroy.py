"""Up and destroy of a stack's in-cluster half, again and again, on the real provider and API server: seconds of each.

    python bench/destroy.py [--stack onprem] [--times 20]

The first destroy that fails, or leaves something behind, ends the run.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench.machine import described, table  # noqa: E402
from tests.live.support.on_a_plane import engine_on, operator_crds  # noqa: E402
from tests.live.support.releases import Understudies  # noqa: E402
from trainshed.sandbox import nodes, tools  # noqa: E402
from trainshed.sandbox.cluster import PROGRAMS  # noqa: E402
from trainshed.sandbox.plane import ControlPlane  # noqa: E402
from trainshed.sandbox.stack_contents import stage_of  # noqa: E402

BUILT_IN = {"default", "kube-node-lease", "kube-public", "kube-system"}


def once(stack: str) -> tuple[float, float]:
    """Seconds of up and of destroy on a control plane of its own."""
    with tempfile.TemporaryDirectory() as place, ControlPlane.started() as plane:
        for crd in operator_crds():
            plane.api.apply(crd)
        nodes.start_kwok(plane, held_back=("kueue", "jobset"))
        nodes.create(plane.api, [shape for shape in stage_of(stack, nodes=2).shapes if shape.name == "system"])
        engine = engine_on(plane, Path(place) / "engine", stack)
        understudies = Understudies(plane=plane)
        started = time.monotonic()
        engine.up(meanwhile=understudies.step).must()
        up = time.monotonic() - started
        engine.run("state", "unprotect", "--all", "--yes", "--stack", stack).must()
        started = time.monotonic()
        engine.destroy(meanwhile=understudies.step).must()
        down = time.monotonic() - started
        left = {each["metadata"]["name"] for each in plane.api.all("v1", "Namespace")} - BUILT_IN
        roles = [
            each["metadata"]["name"]
            for each in plane.api.all("rbac.authorization.k8s.io/v1", "ClusterRole")
            if each["metadata"]["name"].startswith(("kueue-", "jobset-"))
        ]
        if engine.state() or left or roles:
            raise SystemExit(f"left behind: {engine.state()} {sorted(left)} {roles}")
    return up, down


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stack", default="onprem")
    parser.add_argument("--times", type=int, default=3)
    arguments = parser.parse_args()
    missing = tools.missing((*PROGRAMS, "pulumi", "pulumi-resource-kubernetes"))
    if missing:
        raise SystemExit(f"{', '.join(missing)} missing: make tools")
    print("\n".join(described()))
    rows: list[list[object]] = []
    for number in range(1, arguments.times + 1):
        up, down = once(arguments.stack)
        rows.append([number, f"{up:.1f}", f"{down:.1f}"])
        print(f"  {rows[-1]}", file=sys.stderr, flush=True)
    print(table(["time", "up, s", "destroy, s"], rows))


if __name__ == "__main__":
    main()
