"""From submit to all pods bound and running, and how near ring neighbours lie, with the real schedulers over fake
nodes.

    python bench/scheduling.py [--stack prod] [--sizes 16 128 1232] [--busy 0.5] [--skip-busy] [--bare]

Kueue and JobSet run with the client limits that the stack's own release sets.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench.machine import described, table  # noqa: E402
from components.spec.task import TaskSpec  # noqa: E402
from tests.live.support.cluster import Cluster, shares  # noqa: E402
from trainshed.sandbox import tools  # noqa: E402
from trainshed.sandbox.api import Object  # noqa: E402
from trainshed.sandbox.cluster import PROGRAMS  # noqa: E402

SEED = 11
LIMIT_SECONDS = 240
SETTLE_SECONDS = 300


def strip(objects: list[Object]) -> None:
    """Leave of a JobSet what Kueue and JobSet themselves need, with their own defaults: what this project adds is then
    the difference.
    """
    spec = objects[-1]["spec"]
    del spec["network"]
    pod = spec["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    [worker] = pod["containers"]
    pod["containers"] = [{key: worker[key] for key in ("name", "image", "resources", "securityContext")}]
    for key in ("volumes", "subdomain", "serviceAccountName", "terminationGracePeriodSeconds"):
        del pod[key]


def timed(
    cluster: Cluster, task: TaskSpec, change: Callable[[list[Object]], None] | None = None
) -> tuple[float, float, float]:
    """Seconds from submit to admitted, to all bound and to all running."""
    wanted = task.resources.nodes
    started = time.monotonic()
    cluster.submit(task, change)
    admitted = bound = 0.0
    while True:
        now = time.monotonic() - started
        if not admitted and cluster.admitted(task):
            admitted = now
        if admitted:
            if not bound and cluster.active(task) == wanted and not cluster.any_pod(task, "spec.nodeName="):
                bound = time.monotonic() - started
            if bound and not cluster.any_pod(task, "status.phase=Pending"):
                return admitted, bound, time.monotonic() - started
        if now > LIMIT_SECONDS:
            raise SystemExit(f"{task.task}: not running after {now:.0f} s: {cluster.condition(task, 'QuotaReserved')}")
        time.sleep(0.1 if wanted < 200 else 0.5)


def occupy(cluster: Cluster, share: float) -> int:
    """Cordon that share of the first pool's nodes at random: other tasks' nodes, as Kueue sees them."""
    pool = next(each.name for each in cluster.settings.valid.pools if each.purpose == "training")
    nodes = cluster.api.all("v1", "Node", labels=f"trainshed.io/pool={pool}")
    taken = random.Random(SEED).sample(nodes, int(len(nodes) * share))
    cluster.api.each(lambda node: cluster.api.patch(node, {"spec": {"unschedulable": True}}), taken)
    return len(nodes) - len(taken)


def settle(cluster: Cluster) -> int:
    """Wait until each daemon of the stack runs on each node, as on a cluster older than its first task; gives the
    number of such pods.
    """
    deadline = time.monotonic() + SETTLE_SECONDS
    while waiting := cluster.api.all("v1", "Pod", fields="status.phase=Pending"):
        if time.monotonic() > deadline:
            print(f"  {len(waiting)} pods of daemons still wait", file=sys.stderr, flush=True)
            break
        time.sleep(5)
    return sum(each["status"]["numberReady"] for each in cluster.api.all("apps/v1", "DaemonSet"))


def memory(cluster: Cluster) -> str:
    """Resident memory of each process, in MiB."""
    shown: list[str] = []
    for child in cluster.plane.processes.children:
        line = next(
            line for line in Path(f"/proc/{child.pid}/status").read_text().splitlines() if line.startswith("VmRSS")
        )
        shown.append(f"{child.name} {int(line.split()[1]) // 1024}")
    return ", ".join(shown)


def reported(text: str) -> None:
    print(f"  {text}", file=sys.stderr, flush=True)


HEADER = ["task's nodes", "admitted, s", "all bound, s", "all running, s", "neighbours in one leaf", "in one spine"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stack", default="prod")
    parser.add_argument(
        "--nodes", type=int, default=None, help="nodes of each pool with cards; without it the stack file's"
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[16, 128, 1232])
    parser.add_argument("--busy", type=float, default=0.5, help="share of nodes taken by others in the second part")
    parser.add_argument("--skip-busy", action="store_true")
    parser.add_argument(
        "--bare", action="store_true", help="each size once more as a JobSet with nothing in it but its resources"
    )
    parser.add_argument("--without-daemons", action="store_true", help="no pods on the nodes but the tasks'")
    arguments = parser.parse_args()
    missing = tools.missing(PROGRAMS)
    if missing:
        raise SystemExit(f"{', '.join(missing)} missing: make tools")
    print("\n".join(described()))
    print("versions  " + ", ".join(f"{tool.name} {tool.version}" for tool in tools.BUILT), flush=True)
    started = time.monotonic()
    with Cluster.of_stack(
        arguments.stack, nodes=arguments.nodes, daemons=not arguments.without_daemons, load=True, tell=reported
    ) as cluster:
        total = sum(shape.count for shape in cluster.stage.shapes)
        print(
            f"{total} nodes ready after {time.monotonic() - started:.1f} s; Kueue {cluster.stage.kueue}, JobSet"
            f" {cluster.stage.jobset}",
            flush=True,
        )
        daemons = settle(cluster)
        print(f"{daemons} pods of the stack's daemons running after {time.monotonic() - started:.1f} s", flush=True)
        rows: list[list[object]] = []
        held: object = "no task ran"
        kinds = [("gang", None), ("bare", strip)] if arguments.bare else [("gang", None)]
        for size, (kind, change) in product(arguments.sizes, kinds):
            task = cluster.task(f"{kind}-{size}", nodes=size)
            admitted, bound, running = timed(cluster, task, change)
            leaf, spine = shares(cluster.places(task))
            told_size = f"{size}, bare" if change else size
            rows.append([told_size, f"{admitted:.1f}", f"{bound:.1f}", f"{running:.1f}", f"{leaf:.0%}", f"{spine:.0%}"])
            print(f"  {rows[-1]}", file=sys.stderr, flush=True)
            held = memory(cluster)
            cluster.remove(task)
        print(table(HEADER, rows))
        print(f"MiB with the last task running: {held}", flush=True)
        if not arguments.skip_busy:
            print(f"with {arguments.busy:.0%} of the nodes taken at random (seed {SEED}):")
            print(table(HEADER, busy(cluster, arguments.busy)))


def busy(cluster: Cluster, share: float) -> list[list[object]]:
    """The same in a cluster whose nodes are partly taken."""
    free = occupy(cluster, share)
    rows: list[list[object]] = []
    for size in (size for size in (128, 512) if size <= free):
        task = cluster.task(f"busy-{size}", nodes=size)
        admitted, bound, running = timed(cluster, task)
        leaf, spine = shares(cluster.places(task))
        rows.append([size, f"{admitted:.1f}", f"{bound:.1f}", f"{running:.1f}", f"{leaf:.0%}", f"{spine:.0%}"])
        cluster.remove(task)
    return rows


if __name__ == "__main__":
    main()
