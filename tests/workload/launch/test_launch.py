"""The launcher with real processes: two nodes are two launchers on this machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

from tests.workload.conftest import ROOT
from workload import contract
from workload.launch.settings import WrongSettings, free_port, from_environment

SAY = "import os,sys,time,signal;rank=int(os.environ['RANK']);attempt=int(os.environ['PROCESS_ATTEMPT']);"
BEAT = (
    f"sys.path.insert(0,{str(ROOT)!r});from pathlib import Path;from workload.heartbeat import Heart;"
    "heart=Heart(Path(os.environ['HEARTBEAT_FOLDER']),rank,every=0);"
)


class Gang:
    """Launchers of one task, one a node."""

    def __init__(self, folder: Path, python: str, nodes: int, program: str, **more: object) -> None:
        self.folder = folder
        ports = {"LAUNCH_PORT": free_port(), "MASTER_PORT": free_port()}
        self.launchers = []
        for node in range(nodes):
            words = {
                "NNODES": nodes,
                "NODE_RANK": node,
                "NODE_NAME": f"node-{node}",
                "MASTER_ADDR": "127.0.0.1",
                "HEARTBEAT_FOLDER": folder / f"beats-{node}",
                **ports,
                **more,
            }
            environment = {**os.environ, "PYTHONPATH": str(ROOT), **{name: str(value) for name, value in words.items()}}
            command = [python, "-m", "workload.launch", "--kill-after", "0.5"]
            command += ["--termination-message", str(folder / f"message-{node}")]
            self.launchers.append(
                subprocess.Popen(
                    [*command, "--", python, "-c", SAY + program],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                    env=environment,
                )
            )

    def wait_for(self, name: str, count: int = 1) -> None:
        """Until the programs have made so many files of that name."""
        deadline = time.monotonic() + 20
        while len(list(self.folder.glob(name))) < count:
            assert time.monotonic() < deadline, "nothing came"
            time.sleep(0.01)

    def end(self) -> tuple[list[int], str, str]:
        """Codes by node, and what was said."""
        said = [launcher.communicate(timeout=30) for launcher in self.launchers]
        codes = [launcher.returncode for launcher in self.launchers]
        return codes, "".join(out for out, _ in said), "".join(err for _, err in said)

    def message(self, node: int) -> dict[str, object]:
        return json.loads((self.folder / f"message-{node}").read_text())


def touch(folder: Path, name: str) -> str:
    return f"open({str(folder)!r}+'/{name}-%d'%rank,'w');"


def test_each_process_has_its_rank_among_all_nodes(tmp_path: Path, oldest_python: str) -> None:
    program = "print(*(os.environ[n] for n in ('RANK','LOCAL_RANK','WORLD_SIZE','GROUP_RANK','MASTER_ADDR')))"
    codes, out, err = Gang(tmp_path, oldest_python, 2, program, NPROC_PER_NODE=2).end()
    assert (codes, err) == ([0, 0], "")
    assert sorted(out.splitlines()) == [f"{rank} {rank % 2} 4 {rank // 2} 127.0.0.1" for rank in range(4)]


def test_every_node_ends_with_the_first_failures_code_and_names_it(tmp_path: Path, oldest_python: str) -> None:
    # The peer's broken connection comes moments later, with a code that tells nothing.
    wait = f"while not os.path.exists({str(tmp_path / 'failed-1')!r}): time.sleep(0.01)\n"
    program = (
        f"\nif rank==1:\n print('loss nan', flush=True); {touch(tmp_path, 'failed')} sys.exit(4)\n{wait}sys.exit(1)"
    )
    gang = Gang(tmp_path, oldest_python, 2, program)
    codes, _, err = gang.end()
    assert codes == [4, 4]
    for node in (0, 1):
        message = gang.message(node)
        assert (message["code"], message["name"], message["rank"], message["node"]) == (4, "NOT_FINITE", 1, "node-1")
        assert message["lines"] == ["loss nan"]
    assert "launch: end with 4 (NOT_FINITE): rank 1 (local rank 0) on node node-1: ended with 4" in err


def test_a_fault_of_a_process_starts_all_processes_of_all_nodes_again_in_place(
    tmp_path: Path, oldest_python: str
) -> None:
    program = "print(rank,attempt,flush=True)\nif attempt==0:\n if rank==1: os.kill(os.getpid(),11)\n time.sleep(60)"
    codes, out, err = Gang(tmp_path, oldest_python, 2, program).end()
    assert codes == [0, 0]
    assert sorted(out.splitlines()) == ["0 0", "0 1", "1 0", "1 1"]
    assert "restart 1 of 3 in place: rank 1 (local rank 0) on node node-1: ended with 139" in err


def test_restarts_in_place_are_bounded(tmp_path: Path, oldest_python: str) -> None:
    codes, out, _ = Gang(tmp_path, oldest_python, 1, "print(attempt,flush=True);sys.exit(1)", PROCESS_RESTARTS=1).end()
    assert (codes, out.split()) == ([1], ["0", "1"])


def test_a_signal_to_one_node_reaches_every_process_and_ends_with_143(tmp_path: Path, oldest_python: str) -> None:
    handler = "\ndef stop(*_):\n print('checkpoint',rank,flush=True); sys.exit(143)\nsignal.signal(15,stop);"
    gang = Gang(tmp_path, oldest_python, 2, f"{handler}{touch(tmp_path, 'up')}time.sleep(60)")
    gang.wait_for("up-*", 2)
    gang.launchers[1].send_signal(signal.SIGTERM)
    codes, out, _ = gang.end()
    assert codes == [143, 143]
    assert sorted(out.splitlines()) == ["checkpoint 0", "checkpoint 1"]


@pytest.mark.parametrize("lost", [0, 1])
def test_a_lost_node_ends_the_others_at_once_and_is_named(lost: int, tmp_path: Path, oldest_python: str) -> None:
    gang = Gang(tmp_path, oldest_python, 2, f"signal.signal(15,signal.SIG_IGN);{touch(tmp_path, 'up')}time.sleep(60)")
    gang.wait_for("up-*", 2)
    gang.launchers[lost].kill()
    started = time.monotonic()
    codes, _, _ = gang.end()
    assert codes[1 - lost] == contract.GANG_LOST
    assert time.monotonic() - started < 5
    reason = str(gang.message(1 - lost)["reason"])
    named = (
        "the first node's launcher (127.0.0.1) is gone" if lost == 0 else "node node-1 (number 1 of the gang) is lost"
    )
    assert reason.startswith(named)


def test_a_hang_is_found_from_the_gangs_heartbeats_and_the_first_to_stop_is_named(
    tmp_path: Path, oldest_python: str
) -> None:
    # Rank 1 stops at step 3; rank 0 waits for it at step 4, as in a collective.
    other = f"os.path.exists({str(tmp_path)!r}+'/up-%d'%(1-rank))"
    program = (
        f"{BEAT}{touch(tmp_path, 'up')}\nwhile not {other}: time.sleep(0.01)\n"
        "for step in range(1, 4 if rank else 5): heart.beat(step)\ntime.sleep(60)"
    )
    # Longer than the launchers' own reports, of which each node's must have come.
    gang = Gang(tmp_path, oldest_python, 2, program, HANG_TIMEOUT_SECONDS=5, PROCESS_RESTARTS=0)
    codes, _, err = gang.end()
    assert codes == [contract.HUNG, contract.HUNG]
    assert (gang.message(0)["rank"], gang.message(0)["node"]) == (1, "node-1")
    table = [line for line in err.splitlines() if "rank" in line]
    assert "rank 1 on node node-1" in table[1] and "at step 3" in table[1]


def test_a_rank_that_can_not_stop_is_not_waited_for(tmp_path: Path, oldest_python: str) -> None:
    program = f"{BEAT}heart.beat(1);signal.signal(15,signal.SIG_IGN);{touch(tmp_path, 'up')}time.sleep(60)"
    gang = Gang(tmp_path, oldest_python, 1, program, STOP_STEP_SECONDS=0.5)
    gang.wait_for("up-*")
    started = time.monotonic()
    gang.launchers[0].send_signal(signal.SIGTERM)
    codes, _, err = gang.end()
    assert codes == [143]
    assert time.monotonic() - started < 5
    assert "launch: rank 0 made no progress for " in err


def test_the_launcher_serves_the_figures_of_all_its_processes(tmp_path: Path, oldest_python: str) -> None:
    port = free_port()
    program = (
        f"sys.path.insert(0,{str(ROOT)!r});from workload.telemetry import Telemetry;run=Telemetry.from_environment();"
        f"run.step(3,loss=2.5,tokens=100,seconds=1);{touch(tmp_path, 'up')}"
        f"\nwhile not os.path.exists({str(tmp_path / 'scraped')!r}): time.sleep(0.01)"
    )
    reported = {"METRICS_PORT": port, "NPROC_PER_NODE": 2, "TASK_NAME": "llama", "QUEUE_NAME": "q", "TEAM_NAME": "t"}
    gang = Gang(tmp_path, oldest_python, 1, program, **reported)
    gang.wait_for("up-*", 2)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        text = answer.read().decode()
    (tmp_path / "scraped").touch()
    assert gang.end()[0] == [0]
    for rank in (0, 1):
        assert f'training_loss{{task="llama",queue="q",team="t",node="node-0",rank="{rank}"}} 2.5' in text


def test_what_a_process_started_goes_with_it(tmp_path: Path, oldest_python: str) -> None:
    program = (
        "import subprocess;child=subprocess.Popen(['sleep','60']);"
        f"open({str(tmp_path / 'child')!r},'w').write(str(child.pid));sys.exit(2)"
    )
    codes, _, _ = Gang(tmp_path, oldest_python, 1, program).end()
    assert codes == [2]
    child = Path("/proc") / (tmp_path / "child").read_text() / "stat"
    assert not child.exists() or child.read_text().split()[2] == "Z"


def test_a_command_that_is_not_there_ends_with_127(tmp_path: Path, oldest_python: str) -> None:
    command = [oldest_python, "-m", "workload.launch", "--", "no-such-program"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == contract.NOT_FOUND
    assert "the command is not there" in done.stderr


def test_all_that_does_not_fit_is_told_at_once() -> None:
    words = {"NNODES": "2", "NODE_RANK": "2", "NPROC_PER_NODE": "many", "GRACE_SECONDS": "0"}
    with pytest.raises(WrongSettings) as raised:
        from_environment(words, [])
    assert str(raised.value).splitlines() == [
        "NODE_RANK is 2 of 2 nodes: it runs from 0 to 1",
        "MASTER_ADDR is not set: with 2 nodes it names the first one",
        "NPROC_PER_NODE is 'many': a number is wanted, such as 1",
        "GRACE_SECONDS is 0: it starts at 1",
        "no command: write it after --, as in `python3 -m workload.launch -- python3 train.py`",
    ]
