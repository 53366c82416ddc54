"""`trainshed sandbox up|down|status`: a stack's queues over a local control plane with fake nodes.

A supervisor process holds the sandbox; a file in its folder says which one, and `down` ends it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from components import node_labels
from trainshed.sandbox import tools
from trainshed.sandbox.api import Api
from trainshed.sandbox.cloud import account, karpenter
from trainshed.sandbox.cluster import PROGRAMS
from trainshed.sandbox.supervisor import IDENTITY, PROGRESS, STAGE, start_ticks

_errors = Console(stderr=True, highlight=False)
_out = Console(highlight=False)

FAILED, MISSING = 1, 3


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the one sandbox of this user keeps its state."""

    folder: Path

    @classmethod
    def of_user(cls) -> Place:
        base = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
        return cls(folder=Path(base).expanduser() / "trainshed" / "sandbox")

    def supervisor(self) -> int | None:
        """The id of the process that holds the sandbox, if it is alive and really that one."""
        with suppress(FileNotFoundError, json.JSONDecodeError):
            identity = json.loads((self.folder / IDENTITY).read_text())
            if start_ticks(identity["pid"]) == identity["ticks"]:
                return int(identity["pid"])
        return None

    def progress(self) -> list[dict[str, Any]]:
        path = self.folder / PROGRESS
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "plane" / "kubeconfig"

    def api(self) -> Api:
        config = yaml.safe_load(self.kubeconfig.read_text())
        port = int(config["clusters"][0]["cluster"]["server"].rsplit(":", 1)[1])
        return Api(
            port, config["users"][0]["user"]["token"], ca=str(self.folder / "plane" / "certificates" / "apiserver.crt")
        )

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def build_missing(programs: tuple[str, ...]) -> bool:
    """Build what is missing where the checkout with its build script is at hand; say what to do where it isn't."""
    missing = tools.missing(programs)
    if not missing:
        return True
    script = tools.CHECKOUT / "tools" / "build.py"
    names = sorted({owner.name for program in missing if (owner := tools.owner(program))})
    if script.exists() and shutil.which("go"):
        _errors.print(f"building {', '.join(names)} once; they stay in {tools.cache()}")
        words = [word for name in names for word in ("--only", name)]
        if subprocess.run(
            [sys.executable, str(script), *words], stdout=sys.stderr, check=False
        ).returncode == 0 and not tools.missing(programs):
            return True
    for program in tools.missing(programs):
        _errors.print(f"{program} is missing: {tools.remedy(program)}")
    return False


def able_to_buy() -> bool:
    """Whether this machine has what nodes are bought with; says what is missing where it hasn't."""
    packages = account.missing()
    if packages:
        _errors.print(
            f"{', '.join(packages)} missing: this stack's nodes are bought when jobs wait for them, in an account that"
            " moto plays; python -m pip install 'trainshed[test]' (or make .venv/installed)",
            markup=False,
        )
    return build_missing(karpenter.PROGRAMS) and not packages


def follow(place: Place, process: subprocess.Popen[bytes]) -> Iterator[dict[str, Any]]:
    """Each step that the supervisor tells, until it is ready, has failed or is gone."""
    reported = 0
    while True:
        gone = process.poll() is not None
        steps = place.progress()
        yield from steps[reported:]
        reported = len(steps)
        if gone or (steps and steps[-1].get("state")):
            return
        time.sleep(0.2)


def up(stack: str, *, nodes: int | None) -> int:
    """Start a control plane, fake nodes and the stack's queues on this machine; returns the command's exit code."""
    from trainshed.sandbox.stack_contents import WrongStack, stage_of

    place = Place.of_user()
    if place.supervisor():
        _errors.print(f"a sandbox is up already: KUBECONFIG={place.kubeconfig}; end it with `trainshed sandbox down`")
        return FAILED
    if not build_missing(PROGRAMS):
        return MISSING
    try:
        stage = stage_of(stack, nodes=nodes)
    except WrongStack as wrong:
        _errors.print(str(wrong), markup=False)
        return FAILED
    if stage.purchases and not able_to_buy():
        return MISSING
    place.remove()
    place.folder.mkdir(parents=True, mode=0o700)
    stage.write(place.folder / STAGE)
    log = (place.folder / "supervisor.log").open("wb")
    process = subprocess.Popen(
        [sys.executable, "-m", "trainshed.sandbox.supervisor", str(place.folder)],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
    )
    last: dict[str, Any] = {}
    try:
        for last in follow(place, process):
            if not last.get("state"):
                _errors.print(f"{last['seconds']:6.1f} s  {last['said']}")
    except KeyboardInterrupt:
        _errors.print("interrupted: taking the sandbox down")
        _end(place)
        return FAILED
    if last.get("state") != "ready":
        _errors.print(
            f"the sandbox did not come up: {last.get('said') or (place.folder / 'supervisor.log').read_text()[-2000:]}"
        )
        _end(place)
        return FAILED
    for line in last["left_out"]:
        _errors.print(f"left out: {line}")
    _errors.print(f"{last['seconds']:6.1f} s  ready")
    _out.print(f"export KUBECONFIG={place.kubeconfig}", soft_wrap=True)
    return 0


def status() -> int:
    """Show the nodes, the queues and what runs."""
    place = Place.of_user()
    if place.supervisor() is None:
        _errors.print("no sandbox is up: start one with `trainshed sandbox up STACK`")
        return FAILED
    steps = place.progress()
    if not steps or steps[-1].get("state") != "ready":
        _out.print(f"starting: {steps[-1]['said'] if steps else 'the supervisor'}")
        return 0
    api = place.api()
    pools: dict[str, int] = {}
    for node in api.all("v1", "Node"):
        # A bought node is named after its address.
        pool = node["metadata"]["labels"].get(node_labels.POOL) or node["metadata"]["name"].rsplit("-", 1)[0]
        pools[pool] = pools.get(pool, 0) + 1
    _out.print(f"KUBECONFIG={place.kubeconfig}", soft_wrap=True)
    for pool, count in sorted(pools.items()):
        _out.print(f"nodes   {pool}: {count}")
    for queue in api.all("kueue.x-k8s.io/v1beta2", "ClusterQueue"):
        state = queue.get("status", {})
        _out.print(
            f"queue   {queue['metadata']['name']}: {state.get('admittedWorkloads', 0)} admitted,"
            f" {state.get('pendingWorkloads', 0)} waiting"
        )
    for job in api.all("jobset.x-k8s.io/v1alpha2", "JobSet"):
        pods = api.all(
            "v1",
            "Pod",
            job["metadata"]["namespace"],
            labels=f"jobset.sigs.k8s.io/jobset-name={job['metadata']['name']}",
        )
        running = sum(pod["status"].get("phase") == "Running" for pod in pods)
        waiting = "waiting for room" if job["spec"].get("suspend") else f"{running} of {len(pods)} workers running"
        _out.print(f"job     {job['metadata']['namespace']}/{job['metadata']['name']}: {waiting}")
    return 0


def down() -> int:
    """End every process of the sandbox and remove its state, also after a crash."""
    place = Place.of_user()
    was_up = place.folder.exists()
    _end(place)
    _out.print("the sandbox is down" if was_up else "no sandbox was up")
    return 0


def _end(place: Place) -> None:
    """The supervisor ends its children; where it was killed, the kernel has ended them with it."""
    pid = place.supervisor()
    if pid is not None:
        for number, patience in ((signal.SIGTERM, 30.0), (signal.SIGKILL, 10.0)):
            with suppress(ProcessLookupError):
                os.kill(pid, number)
            limit = time.monotonic() + patience
            while place.supervisor() is not None and time.monotonic() < limit:
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
                time.sleep(0.1)
            if place.supervisor() is None:
                break
    place.remove()
