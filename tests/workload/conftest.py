"""What the tests of the workload programs share: running one as a container would, under the oldest Python that this
machine has.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.left_out import torch_python
from workload.launch.settings import free_port

ROOT = Path(__file__).resolve().parents[2]
Run = Callable[..., subprocess.CompletedProcess[str]]


def pythons() -> list[str]:
    """This interpreter, and a 3.9 where one is installed: the oldest that the programs promise."""
    found = [path for path in sorted(Path.home().glob(".pyenv/versions/3.9.*/bin/python")) if path.exists()]
    return [sys.executable, *(str(path) for path in found[:1])]


@pytest.fixture(scope="session")
def oldest_python() -> str:
    return pythons()[-1]


@pytest.fixture(scope="session")
def run() -> Run:
    """`run("data/stage", "copy", ...)` runs workload/data/stage.py as a file, from another folder."""

    def runs(
        program: str, *words: object, python: str = pythons()[-1], environment: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        command = [python, str(ROOT / "workload" / f"{program}.py"), *map(str, words)]
        variables = {**os.environ, **(environment or {})}
        return subprocess.run(command, capture_output=True, text=True, cwd="/", env=variables, check=False)

    return runs


class TorchProcess:
    """One program of the torch server."""

    def __init__(self, server: TorchServer, process: int, said: Path) -> None:
        self._server, self.process, self._said = server, process, said
        self._code: int | None = None

    def send(self, number: int) -> None:
        if self._code is None:
            os.kill(self.process, number)

    @property
    def running(self) -> bool:
        """Not yet ended; one that ended stays as a zombie until it is waited for."""
        return (
            self._code is None and Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        )

    def wait(self) -> tuple[int, str]:
        """The exit code as a shell tells it, and what was said on standard error."""
        if self._code is None:
            self._code = int(self._server.ask(wait=self.process)["code"])
        return self._code, self._said.read_text()


class TorchServer:
    """Runs programs in forks of a process that has imported torch."""

    def __init__(self, folder: Path, python: Path) -> None:
        self._folder, self._count = folder, 0
        self._environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "PYTHONPATH": str(ROOT)}
        self._process = subprocess.Popen(
            [str(python), "-W", "ignore", str(ROOT / "tests/workload/torch_server.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self._environment,
        )
        self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def ask(self, **words: object) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def start(self, program: str, *words: object, **environment: object) -> TorchProcess:
        """A file's path, or the text of a program."""
        self._count += 1
        said = self._folder / f"said-{self._count}"
        said.touch()
        variables = {**self._environment, **{name: str(value) for name, value in environment.items()}}
        asked = {"run": program, "words": [str(word) for word in words], "environment": variables, "said": str(said)}
        return TorchProcess(self, int(self.ask(**asked)["process"]), said)

    def ranks(self, count: int, program: str, *words: object, **environment: object) -> list[TorchProcess]:
        """The same program on several ranks of one gang."""
        gang = {"WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
        return [self.start(program, *words, **gang, RANK=rank, LOCAL_RANK=rank, **environment) for rank in range(count)]

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@pytest.fixture(scope="session")
def torch_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TorchServer]:
    python = torch_python()
    assert python is not None, "tests that use it are marked with `torch`"
    server = TorchServer(tmp_path_factory.mktemp("torch-server"), python)
    yield server
    server.close()


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is room, for tests that flush thousands of times: what they look at doesn't depend
    on the disk.
    """
    memory = Path("/dev/shm")
    if not memory.is_dir() or shutil.disk_usage(memory).free < 1 << 30:
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory, prefix="trainshed-test-") as folder:
        yield Path(folder)
