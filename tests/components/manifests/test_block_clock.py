"""The clock of block pools: what should be at each moment, and what it then asks the API server for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from components.catalog import Catalog
from components.manifests import block_clock
from components.manifests.programs.block_clock import moment, wanted
from components.manifests.queues import kueue
from components.planning import blocks
from components.spec.pools import PoolSpec
from tests.components.manifests import schemas
from tests.components.planning.pool_stacks import FINETUNE, IDS, PREPROCESS, PRETRAIN, stack

QUEUES = [
    {"name": "pretrain", "pool": "pretrain"},
    {"name": "research", "pool": "finetune"},
    {"name": "held", "pool": "finetune", "hold": True},
]
PROGRAM = Path(block_clock.__file__).parent / "programs" / "block_clock.py"
ONE: list[dict[str, Any]] = [window.as_plan() for window in blocks.windows(PoolSpec.model_validate(FINETUNE))]
BLOCK = "cr-3a1b2c3d4e5f60718"


def two() -> list[dict[str, Any]]:
    parts = [
        {"id": IDS[0], "start": "2026-12-10T11:30:00Z", "end": "2026-12-24T11:30:00Z", "nodes": 64},
        {"id": IDS[1], "start": "2026-12-20T11:30:00Z", "end": "2026-12-30T11:30:00Z", "nodes": 64},
    ]
    pool = {**FINETUNE, "nodes": {"min": 0, "max": 128}, "capacity": {"kind": "block", "blocks": parts}}
    return [window.as_plan() for window in blocks.windows(PoolSpec.model_validate(pool))]


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ("2026-12-10T11:29:59Z", ("Hold", [], [])),  # nothing to run on yet
        ("2026-12-10T11:30:00Z", ("None", [], [])),
        ("2026-12-24T09:29:59Z", ("None", [], [])),
        ("2026-12-24T09:30:00Z", ("Hold", [BLOCK], [])),  # 120 minutes before the end: no new job
        ("2026-12-24T09:59:59Z", ("Hold", [BLOCK], [])),
        ("2026-12-24T10:00:00Z", ("HoldAndDrain", [BLOCK], [BLOCK])),  # 90 minutes: jobs checkpoint and leave
        ("2026-12-24T11:29:59Z", ("HoldAndDrain", [BLOCK], [BLOCK])),
        ("2026-12-24T11:30:00Z", ("Hold", [], [])),
    ],
)
def test_the_queue_opens_with_the_block_and_is_drained_before_its_end(
    now: str, expected: tuple[str, list[str], list[str]]
) -> None:
    assert wanted(ONE, moment(now)) == expected


def test_a_block_that_ends_while_another_runs_empties_its_own_nodes_only() -> None:
    assert wanted(two(), moment("2026-12-24T09:45:00Z")) == ("None", [IDS[0]], [])
    assert wanted(two(), moment("2026-12-24T10:15:00Z")) == ("None", [IDS[0]], [IDS[0]])
    assert wanted(two(), moment("2026-12-30T10:15:00Z")) == ("HoldAndDrain", [IDS[1]], [IDS[1]])


def test_jobs_leave_before_the_nodes_do() -> None:
    (plan,) = ONE
    assert plan["queue_held"] < plan["jobs_told"] < plan["nodes_gone"] < plan["end"]


def test_the_objects_are_what_an_api_server_takes(cat: Catalog) -> None:
    given = stack(PRETRAIN, FINETUNE, PREPROCESS, queues=QUEUES)
    (pool,) = block_clock.pools(given)
    found = block_clock.objects(given, pool, cat)
    assert [manifest["kind"] for manifest in found.values()] == [
        "ServiceAccount",
        "ClusterRole",
        "ClusterRoleBinding",
        "ConfigMap",
        "CronJob",
    ]
    for manifest in found.values():
        assert schemas.faults(manifest) == []


def test_the_role_names_its_queues_and_a_held_queue_stays_held(cat: Catalog) -> None:
    given = stack(PRETRAIN, FINETUNE, queues=QUEUES)
    (pool,) = block_clock.pools(given)
    found = block_clock.objects(given, pool, cat)
    assert json.loads(found["program"]["data"]["calendar.json"]) == {"queues": ["research"], "blocks": ONE}
    assert found["role"]["rules"][0] == {
        "apiGroups": ["kueue.x-k8s.io"],
        "resources": ["clusterqueues"],
        "resourceNames": ["research"],
        "verbs": ["get", "patch"],
    }
    only_held = stack(PRETRAIN, FINETUNE, queues=[{"name": "held", "pool": "finetune", "hold": True}])
    rules = block_clock.objects(only_held, pool, cat)["role"]["rules"]
    assert all("clusterqueues" not in rule["resources"] for rule in rules), (
        "a rule without names would mean every queue"
    )


def test_the_stop_policy_belongs_to_the_clock_alone(cat: Catalog) -> None:
    found = kueue.objects(stack(PRETRAIN, FINETUNE, queues=QUEUES), cat).cluster_queues
    assert "stopPolicy" not in found["research"]["spec"]
    assert (found["pretrain"]["spec"]["stopPolicy"], found["held"]["spec"]["stopPolicy"]) == ("None", "Hold")


def test_the_clock_runs_on_system_nodes_as_nobody_every_five_minutes(cat: Catalog) -> None:
    given = stack(FINETUNE, queues=QUEUES[1:2])
    (pool,) = block_clock.pools(given)
    spec = block_clock.objects(given, pool, cat)["timetable"]["spec"]
    pod = spec["jobTemplate"]["spec"]["template"]["spec"]
    assert (spec["schedule"], spec["timeZone"], spec["concurrencyPolicy"]) == ("*/5 * * * *", "Etc/UTC", "Forbid")
    assert pod["nodeSelector"] == {"trainshed.io/purpose": "system"}
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["containers"][0]["securityContext"]["readOnlyRootFilesystem"] is True


def test_a_stack_without_blocks_or_queues_on_them_has_no_clock() -> None:
    assert block_clock.pools(stack(PRETRAIN, PREPROCESS, queues=QUEUES[:1])) == ()
    assert block_clock.pools(stack(PRETRAIN, FINETUNE, queues=QUEUES[:1])) == ()


class Server(ThreadingHTTPServer):
    """As much of an API server as the program talks to; keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, str, Any]] = []
        self.refusals = 0


class Handler(BaseHTTPRequestHandler):
    server: Server  # pyright: ignore[reportIncompatibleVariableOverride] - it is made by a Server

    def _answer(self, code: int, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _asked(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        self.server.asked.append((self.command, self.path, body))

    def do_GET(self) -> None:
        self._asked()
        if self.path.startswith("/api/v1/nodes"):
            node = {"metadata": {"name": "ip-10-0-0-1"}, "spec": {}}
            self._answer(200, {"items": [node]})
        else:
            job = {
                "metadata": {"name": "worker-0", "namespace": "jobs", "ownerReferences": [{"kind": "Job"}]},
                "status": {"phase": "Running"},
            }
            daemon = {
                "metadata": {"name": "efa", "namespace": "kube-system", "ownerReferences": [{"kind": "DaemonSet"}]},
                "status": {},
            }
            ended = {"metadata": {"name": "old", "namespace": "jobs"}, "status": {"phase": "Succeeded"}}
            self._answer(200, {"items": [job, daemon, ended]})

    def do_PATCH(self) -> None:
        self._asked()
        self._answer(200, {})

    def do_POST(self) -> None:
        self._asked()
        if self.server.refusals:
            self.server.refusals -= 1
            self._answer(429, {})
        else:
            self._answer(201, {})


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()


def run(server: Server, tmp_path: Path, now: str) -> tuple[int, dict[str, Any]]:
    calendar = tmp_path / "calendar.json"
    calendar.write_text(json.dumps({"queues": ["research"], "blocks": ONE}))
    environment = {**os.environ, "API_SERVER": f"http://127.0.0.1:{server.server_port}", "NOW": now}
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(calendar)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


QUEUE = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/research?fieldManager=trainshed-block-clock"
NODE = "/api/v1/nodes/ip-10-0-0-1?fieldManager=trainshed-block-clock"


def test_while_the_block_runs_only_the_queue_is_opened(server: Server, tmp_path: Path) -> None:
    code, said = run(server, tmp_path, "2026-12-15T00:00:00Z")
    assert (code, said["policy"]) == (0, "None")
    assert server.asked == [("PATCH", QUEUE, {"spec": {"stopPolicy": "None"}})]


def test_two_hours_before_the_end_nodes_take_no_more_pods_and_none_is_evicted(server: Server, tmp_path: Path) -> None:
    assert run(server, tmp_path, "2026-12-24T09:35:00Z")[0] == 0
    assert server.asked == [
        ("PATCH", QUEUE, {"spec": {"stopPolicy": "Hold"}}),
        ("GET", "/api/v1/nodes?labelSelector=trainshed.io/block%3Dcr-3a1b2c3d4e5f60718", None),
        ("PATCH", NODE, {"spec": {"unschedulable": True}}),
    ]


def test_ninety_minutes_before_the_end_jobs_are_told_and_daemons_stay(server: Server, tmp_path: Path) -> None:
    code, said = run(server, tmp_path, "2026-12-24T10:05:00Z")
    assert (code, said["policy"], said["pods_waiting"]) == (0, "HoldAndDrain", 0)
    evicted = [(path, body["metadata"]) for method, path, body in server.asked if method == "POST"]
    assert evicted == [("/api/v1/namespaces/jobs/pods/worker-0/eviction", {"name": "worker-0", "namespace": "jobs"})]
