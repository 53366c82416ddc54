"""Warming Lustre: `lfs` itself is stood in for by a small script; its log tells what was asked of it."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workload.conftest import Run
from workload.data import faults, warming

Warm = Callable[..., subprocess.CompletedProcess[str]]


class Lustre:
    """A folder whose files the stand-in calls released (-1) until they are restored."""

    def __init__(self, folder: Path, files: int) -> None:
        self.root, self.state, self.manifest = folder / "mount", folder / "state", folder / "m.jsonl"
        (folder / "bin").mkdir()
        shutil.copy(Path(__file__).with_name("lfs_stand_in.py"), folder / "bin/lfs")
        (folder / "bin/lfs").chmod(0o755)
        self.root.mkdir()
        self.state.mkdir()
        for number in range(files):
            (self.root / f"{number:02}.bin").write_bytes(bytes([number]) * 100)
        self.environment = {"PATH": f"{folder}/bin:/usr/bin:/bin", "LFS_STATE": str(self.state)}
        self.release(*(f"{number:02}.bin" for number in range(files)))

    def release(self, *names: str) -> None:
        (self.state / "released").write_text(json.dumps({str(self.root / name): -1 for name in names}))

    @property
    def released(self) -> list[str]:
        return sorted(Path(path).name for path in json.loads((self.state / "released").read_text()))

    @property
    def restores(self) -> list[int]:
        log = self.state / "log"
        lines = log.read_text().splitlines() if log.exists() else []
        return [int(line.split()[1]) for line in lines if line.startswith("hsm_restore")]


@pytest.fixture
def lustre(tmp_path: Path, run: Run) -> Lustre:
    made = Lustre(tmp_path, 20)
    assert run("data/stage", "manifest", made.root, "--output", made.manifest).returncode == 0
    return made


@pytest.fixture
def warm(lustre: Lustre, run: Run) -> Warm:
    def runs(*more: object, **environment: str) -> subprocess.CompletedProcess[str]:
        words = (
            "warm",
            "--manifest",
            lustre.manifest,
            "--root",
            lustre.root,
            "--poll",
            "0.01",
            "--batch-files",
            6,
            *more,
        )
        return run("data/stage", *words, environment={**lustre.environment, **environment})

    return runs


def test_released_files_are_restored_in_bounded_batches(lustre: Lustre, warm: Warm) -> None:
    done = warm(LFS_LOOKS="3")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("warm: 20 warmed of 20 files in ")
    assert lustre.released == []
    assert sorted(lustre.restores) == [2, 6, 6, 6]


def test_a_restart_restores_only_what_is_still_released(lustre: Lustre, warm: Warm) -> None:
    lustre.release("03.bin", "17.bin")
    done = warm("--check")
    assert done.stdout.startswith("warm: 2 warmed, 18 kept of 20 files in ")
    assert sorted(lustre.restores) == [1, 1]


def test_a_file_that_stays_away_is_named_after_the_timeout(lustre: Lustre, warm: Warm) -> None:
    done = warm("--timeout", "0.2", LFS_STUCK=str(lustre.root / "04.bin"))
    assert done.returncode == faults.LOST_SOURCE
    assert done.stderr == "04.bin: still not restored after 0.2 s\n"
    assert lustre.released == ["04.bin"]


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("lfs hsm_restore: cannot send HSM request: No space left on device", faults.NO_SPACE),
        ("lfs hsm_restore: cannot send HSM request: Input/output error", faults.LOST_SOURCE),
        ("lfs hsm_restore: cannot send HSM request: Operation not permitted", faults.FAILED),
    ],
)
def test_what_lfs_says_decides_the_exit_code(said: str, code: int, lustre: Lustre, warm: Warm) -> None:
    done = warm("--workers", 1, LFS_FAIL=said)
    assert done.returncode == code
    assert f"00.bin: {said}\n" in done.stderr


def test_a_flipped_byte_is_named_when_asked_to_check(lustre: Lustre, warm: Warm) -> None:
    (lustre.root / "07.bin").write_bytes(b"\x07" * 99 + b"\x06")
    assert warm().returncode == 0
    done = warm("--check")
    assert done.returncode == faults.BAD_DATA
    assert done.stderr.startswith("07.bin: sha256 is ")


def test_a_missing_file_and_one_of_another_size_are_named(lustre: Lustre, warm: Warm) -> None:
    (lustre.root / "01.bin").unlink()
    (lustre.root / "02.bin").write_bytes(b"x")
    done = warm()
    assert done.returncode == faults.BAD_DATA
    assert done.stderr.splitlines() == [
        "02.bin: 1 bytes, the manifest says 100",
        "01.bin: the source can't be read: No such file or directory",
    ]


def test_without_lfs_it_says_how_to_get_it(lustre: Lustre, run: Run, tmp_path: Path) -> None:
    words = ("warm", "--manifest", lustre.manifest, "--root", lustre.root)
    done = run("data/stage", *words, environment={"PATH": str(tmp_path / "empty")})
    assert done.returncode == faults.MISSING_TOOL == 3
    assert (
        done.stderr
        == "stage: `lfs` is not on PATH: install the Lustre client (Amazon Linux 2023: `dnf install lustre-client`)\n"
    )


def test_states_are_read_as_lfs_prints_them() -> None:
    text = """\
/mnt/a: b (1).bin: (0x0000000d) released exists archived, archive_id:1
/mnt/c: (0x00000000)
/mnt/d: (0x00000009) exists archived, archive_id:1
"""
    assert warming.parse_states(text) == {
        "/mnt/a: b (1).bin": {"released", "exists", "archived"},
        "/mnt/c": set(),
        "/mnt/d": {"exists", "archived"},
    }
