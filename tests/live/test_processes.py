"""Children and ports: nothing outlives its starter, and two runs never meet."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.live.support.engine import CHECKOUT
from trainshed.sandbox.processes import Ports, Processes, ProcessFailed

# A shell starts what runs in its background with SIGINT ignored, and children inherit that.
STARTER = """
import signal, sys, time
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)
from trainshed.sandbox.processes import Processes
processes = Processes(logs=Path(sys.argv[1]))
child = processes.start("sleeper", [sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
time.sleep(600)
"""


def alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rsplit(")", 1)[1].split()[0] != "Z"


def gone_soon(pid: int) -> bool:
    for _ in range(100):
        if not alive(pid):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.proves(broken="the starting process is killed outright", promised="the kernel ends its children with it")
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_children_end_with_their_starter_however_it_ends(tmp_path: Path, sign: signal.Signals) -> None:
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=CHECKOUT,
        stderr=subprocess.DEVNULL,
    )
    assert starter.stdout is not None
    child = int(starter.stdout.readline())
    assert alive(child)
    starter.send_signal(sign)
    starter.wait()
    assert gone_soon(child)


def test_leaving_the_block_ends_children_that_ignore_a_polite_request(tmp_path: Path) -> None:
    stubborn = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('set', flush=True); time.sleep(600)"
    )
    processes = Processes(logs=tmp_path)
    child = processes.start("stubborn", [sys.executable, "-c", stubborn])
    processes.wait_until(lambda: "set" in child.log.read_text(), what="the stubborn child", child=child)
    child.stop(patience=0.3)
    assert not alive(child.pid)


def test_an_early_end_is_told_with_the_last_lines_of_its_log(tmp_path: Path) -> None:
    with Processes(logs=tmp_path) as processes:
        child = processes.start(
            "broken", [sys.executable, "-c", "import sys; print('no such flag: --wrong'); sys.exit(3)"]
        )
        with pytest.raises(ProcessFailed) as caught:
            processes.wait_until(lambda: False, what="a ready server", child=child)
    assert str(caught.value) == "broken ended with exit code 3 before a ready server:\nno such flag: --wrong"


def test_a_taken_port_can_be_listened_on_by_its_owner_and_is_given_to_nobody_else() -> None:
    ports = Ports()
    taken = ports.take()
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", taken))
    listener.listen()
    others = [Ports() for _ in range(4)]
    given = {other.take() for other in others for _ in range(500)}
    assert taken not in given
    assert len(given) == 2000
    for held in (*others, ports):
        held.close()
    listener.close()


def test_a_childs_environment_is_its_starters_and_what_was_added(tmp_path: Path) -> None:
    with Processes(logs=tmp_path) as processes:
        child = processes.start(
            "env",
            [sys.executable, "-c", "import os; print(os.environ['ADDED'], os.environ['PATH'])"],
            environment={"ADDED": "yes"},
        )
        child.process.wait()
        assert child.log.read_text() == f"yes {os.environ['PATH']}\n"


def test_what_all_children_get_gives_way_to_the_starters_own_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINE", "starter's")
    monkeypatch.delenv("SHARED", raising=False)
    with Processes(logs=tmp_path, environment={"MINE": "everyone's", "SHARED": "everyone's"}) as processes:
        child = processes.start(
            "env", [sys.executable, "-c", "import os; print(os.environ['MINE'], os.environ['SHARED'])"]
        )
        child.process.wait()
        assert child.log.read_text() == "starter's everyone's\n"
