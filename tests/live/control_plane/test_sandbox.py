"""`trainshed sandbox` as a person uses it: up, a task, status, down; also after a crash."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from components.manifests.jobs import jobset
from components.spec.task import read_task_text
from infra import settings
from tests.live.support.cluster import JOBSET
from tests.live.support.engine import CHECKOUT
from trainshed.sandbox.api import Api, wait_for

pytestmark = [pytest.mark.control_plane, pytest.mark.xdist_group("control_plane")]


@dataclass(kw_only=True)
class Sandbox:
    """The command over a state folder of the test's own."""

    state: Path

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "XDG_STATE_HOME": str(self.state)}
        command = [sys.executable, "-m", "trainshed", "sandbox", *words]
        return subprocess.run(command, env=environment, cwd=CHECKOUT, capture_output=True, text=True, check=False)

    @property
    def folder(self) -> Path:
        return self.state / "trainshed" / "sandbox"

    def supervisor(self) -> int:
        return int(json.loads((self.folder / "supervisor.json").read_text())["pid"])

    def api(self) -> Api:
        config = yaml.safe_load((self.folder / "plane" / "kubeconfig").read_text())
        port = int(config["clusters"][0]["cluster"]["server"].rsplit(":", 1)[1])
        return Api(
            port, config["users"][0]["user"]["token"], ca=str(self.folder / "plane" / "certificates" / "apiserver.crt")
        )


def children(pid: int) -> list[int]:
    """Ids of the processes that a process started."""
    found: list[int] = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == pid:
            found.append(int(path.parent.name))
    return found


def listening(pids: list[int]) -> set[tuple[str, int]]:
    """Addresses and ports on which processes listen, from the kernel's own tables."""
    sockets: set[str] = set()
    for pid in pids:
        for link in Path(f"/proc/{pid}/fd").iterdir():
            try:
                target = str(link.readlink())
            except FileNotFoundError:
                continue
            if target.startswith("socket:["):
                sockets.add(target[8:-1])
    found: set[tuple[str, int]] = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in sockets:
                address, port = fields[1].split(":")
                found.add((address, int(port, 16)))
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    made = Sandbox(state=tmp_path)
    yield made
    made.run("down")


def submitted(sandbox: Sandbox, stack: str, *, pool: str, nodes: int) -> str:
    """Submit a task of so many whole nodes and wait until all its workers run; gives its namespace."""
    read = settings.from_file(stack)
    text = (CHECKOUT / "tests/live/task.yaml").read_text()
    text = text.replace("NAME", "tryout").replace("POOL", pool).replace("NODES", str(nodes))
    task = read_task_text(text, "tryout.yaml").task
    assert task is not None
    api = sandbox.api()
    for manifest in jobset.render(task, read.valid, read.catalog):
        api.apply(manifest)
    namespace = jobset.namespace_of(task, read.valid)
    wait_for(
        lambda: sum(pod["status"].get("phase") == "Running" for pod in api.all("v1", "Pod", namespace)) == nodes,
        what=f"{nodes} running workers",
        seconds=240,
    )
    return namespace


@pytest.mark.proves(
    broken="nothing: up, a task, status, down",
    promised="listens on 127.0.0.1 only, shows the placement, and leaves no process and no file",
)
def test_a_sandbox_comes_up_runs_a_task_and_goes_without_a_trace(sandbox: Sandbox) -> None:
    up = sandbox.run("up", "staging", "--nodes", "4")
    assert up.returncode == 0, up.stderr
    assert up.stdout == f"export KUBECONFIG={sandbox.folder}/plane/kubeconfig\n"
    supervisor = sandbox.supervisor()
    processes = children(supervisor)
    # Etcd, three of Kubernetes, JobSet, Kueue and kwok; moto, Karpenter and the kubelets' stand-in.
    assert len(processes) == 10
    open_ports = listening([supervisor, *processes])
    assert len(open_ports) >= 6
    assert {address for address, _ in open_ports} == {"0100007F"}, "something listens on another address than 127.0.0.1"

    namespace = submitted(sandbox, "staging", pool="pretrain", nodes=3)
    api = sandbox.api()
    status = sandbox.run("status")
    assert status.returncode == 0
    assert "nodes   pretrain: 4" in status.stdout
    assert "queue   pretrain: 1 admitted, 0 waiting" in status.stdout
    assert f"job     {namespace}/tryout: 3 of 3 workers running" in status.stdout
    assert api.exists(JOBSET, "JobSet", "tryout", namespace)

    again = sandbox.run("up", "staging", "--nodes", "4")
    assert again.returncode == 1
    assert "a sandbox is up already" in again.stderr

    down = sandbox.run("down")
    assert (down.returncode, down.stdout) == (0, "the sandbox is down\n")
    assert [pid for pid in (supervisor, *processes) if alive(pid)] == []
    assert not sandbox.folder.exists()
    assert sandbox.run("down").stdout == "no sandbox was up\n"


@pytest.mark.proves(
    broken="a task waits on a stack whose pools have no node",
    promised="Karpenter buys its nodes as the stack declares them, they join, and its workers run",
)
def test_nodes_come_when_a_task_waits(sandbox: Sandbox) -> None:
    assert sandbox.run("up", "dev").returncode == 0
    api = sandbox.api()
    pool = "trainshed.io/pool"
    assert api.all("v1", "Node", labels=f"{pool}=train") == []
    submitted(sandbox, "dev", pool="train", nodes=2)
    nodes = api.all("v1", "Node", labels=f"{pool}=train")
    assert [node["metadata"]["labels"]["node.kubernetes.io/instance-type"] for node in nodes] == ["g6e.48xlarge"] * 2
    assert {node["metadata"]["labels"]["karpenter.sh/capacity-type"] for node in nodes} == {"on-demand"}
    assert {node["status"]["allocatable"]["nvidia.com/gpu"] for node in nodes} == {"8"}
    assert "nodes   train: 2" in sandbox.run("status").stdout


@pytest.mark.proves(
    broken="the sandbox's supervisor is killed outright", promised="every process ends with it, and down clears up"
)
def test_a_killed_sandbox_leaves_no_process_and_down_clears_up(sandbox: Sandbox) -> None:
    assert sandbox.run("up", "staging", "--nodes", "1").returncode == 0
    supervisor = sandbox.supervisor()
    processes = children(supervisor)
    os.kill(supervisor, signal.SIGKILL)
    limit = time.monotonic() + 60
    while any(alive(pid) for pid in processes) and time.monotonic() < limit:
        time.sleep(0.1)
    assert [pid for pid in processes if alive(pid)] == []
    assert sandbox.run("status").returncode == 1
    assert sandbox.run("down").stdout == "the sandbox is down\n"
    assert not sandbox.folder.exists()


def test_a_wrong_stack_file_is_told_before_anything_starts(sandbox: Sandbox, tmp_path: Path) -> None:
    path = tmp_path / "Pulumi.wrong.yaml"
    path.write_text("config:\n  aws:region: us-west-2\n  trainshed:environment: dev\n  trainshed:pools: []\n")
    up = sandbox.run("up", str(path))
    assert up.returncode == 1
    assert "pools" in up.stderr
    assert not sandbox.folder.exists()
