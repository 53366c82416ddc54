"""Staging by copy: whole or absent, resumable, in bounded memory, and honest about what went wrong."""

from __future__ import annotations

import hashlib
import json
import os
import pty
import random
import resource
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workload.conftest import ROOT, Run, pythons
from workload.data import faults


def make(folder: Path, sizes: dict[str, int]) -> None:
    generator = random.Random(7)
    for name, size in sizes.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(generator.randbytes(size))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    make(folder, {"a/one.bin": 3_000_000, "a/two.bin": 0, "b/c/three.bin": 10, "four": 1 << 20})
    return folder


@pytest.fixture
def manifest(tmp_path: Path, source: Path, run: Run) -> Path:
    file = tmp_path / "manifest.jsonl"
    done = run("data/stage", "manifest", source, "--output", file)
    assert (done.returncode, done.stdout) == (0, f"manifest: 4 files, 3.9 MiB -> {file}\n")
    return file


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".stage.lock"
    }


def copy(run: Run, manifest: Path, source: Path, destination: Path, *more: object) -> subprocess.CompletedProcess[str]:
    return run("data/stage", "copy", "--manifest", manifest, "--source", source, "--destination", destination, *more)


def test_a_copy_is_the_same_bytes_and_silent_without_a_terminal(
    tmp_path: Path, source: Path, manifest: Path, run: Run
) -> None:
    done = copy(run, manifest, source, tmp_path / "disk")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("copy: 4 copied of 4 files in ")
    assert contents(tmp_path / "disk") == contents(source)


def test_a_second_run_keeps_what_is_there(tmp_path: Path, source: Path, manifest: Path, run: Run) -> None:
    copy(run, manifest, source, tmp_path / "disk")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "disk").rglob("*.bin")}
    done = copy(run, manifest, source, tmp_path / "disk")
    assert done.stdout.startswith("copy: 4 kept of 4 files in ")
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_a_flipped_byte_in_the_source_is_found_and_named_and_the_rest_is_copied(
    tmp_path: Path, source: Path, manifest: Path, run: Run
) -> None:
    for name in ("a/one.bin", "four"):
        data = bytearray((source / name).read_bytes())
        data[1000] ^= 1
        (source / name).write_bytes(data)
    done = copy(run, manifest, source, tmp_path / "disk")
    assert done.returncode == faults.BAD_DATA == 4
    named = [line.split(":")[0] for line in done.stderr.splitlines() if "of the source is" in line]
    assert named == ["a/one.bin", "four"]
    assert f"removing the partial copy {tmp_path}/disk/a/.one.bin.partial" in done.stderr
    assert sorted(contents(tmp_path / "disk")) == ["a/two.bin", "b/c/three.bin"]


def test_a_flipped_byte_in_an_earlier_copy_is_named_and_copied_anew(
    tmp_path: Path, source: Path, manifest: Path, run: Run
) -> None:
    copy(run, manifest, source, tmp_path / "disk")
    (tmp_path / "disk/b/c/three.bin").write_bytes(b"0123456789")
    done = copy(run, manifest, source, tmp_path / "disk")
    assert done.returncode == 0
    assert done.stderr.startswith(
        f"replacing {tmp_path}/disk/b/c/three.bin: sha256 is"
        " 84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882"
    )
    assert done.stdout.startswith("copy: 1 copied, 3 kept of 4 files in ")
    assert contents(tmp_path / "disk") == contents(source)


@pytest.mark.parametrize("verb", ["verify", "copy"])
def test_the_staged_files_are_compared_with_the_manifest(
    verb: str, tmp_path: Path, source: Path, manifest: Path, run: Run
) -> None:
    data = bytearray((source / "four").read_bytes())
    data[-1] ^= 0x80
    (source / "four").write_bytes(data)
    (source / "a/two.bin").unlink()
    where = ("--root", source) if verb == "verify" else ("--source", source, "--destination", tmp_path / "disk")
    done = run("data/stage", verb, "--manifest", manifest, *where)
    # Bad data outranks a lost source: trying again can't help.
    assert done.returncode == faults.BAD_DATA
    lines = [line for line in done.stderr.splitlines() if not line.startswith("removing")]
    assert lines[0].startswith("four: sha256 ")
    assert lines[1] == "a/two.bin: the source can't be read: No such file or directory"


def test_a_lost_source_is_told_from_bad_data(tmp_path: Path, source: Path, manifest: Path, run: Run) -> None:
    (source / "four").unlink()
    done = copy(run, manifest, source, tmp_path / "disk")
    assert (done.returncode, done.stderr) == (
        faults.LOST_SOURCE,
        "four: the source can't be read: No such file or directory\n",
    )
    done = copy(run, manifest, tmp_path / "gone", tmp_path / "disk")
    assert (done.returncode, done.stderr) == (6, f"stage: source {tmp_path}/gone is not there or is no folder\n")


def test_a_source_of_another_length_is_bad_data(tmp_path: Path, source: Path, manifest: Path, run: Run) -> None:
    (source / "four").write_bytes(b"x" * 10)
    (source / "b/c/three.bin").write_bytes(b"x" * 11)
    done = copy(run, manifest, source, tmp_path / "disk")
    assert done.returncode == 4
    assert "four: the source has 10 bytes, the manifest says 1048576\n" in done.stderr
    assert "b/c/three.bin: the source has more than 10 bytes, the manifest says 10\n" in done.stderr


def test_a_dataset_larger_than_the_disk_is_refused_before_anything_is_copied(
    tmp_path: Path, source: Path, run: Run
) -> None:
    manifest = tmp_path / "huge.jsonl"
    manifest.write_text(json.dumps({"path": "four", "size": 1 << 60, "sha256": "0" * 64}) + "\n")
    done = copy(run, manifest, source, tmp_path / "disk")
    assert done.returncode == faults.NO_SPACE == 5
    assert (
        f"stage: destination {tmp_path}/disk: 1024.0 PiB (1152921504606846976 bytes) are still to copy and "
        in done.stderr
    )
    assert done.stderr.endswith(" are free; nothing was copied\n")
    assert contents(tmp_path / "disk") == {}


def test_a_write_that_finds_no_space_ends_the_run_with_its_own_code(
    tmp_path: Path, source: Path, manifest: Path
) -> None:
    """The limit on file size stands in for a full disk; both fail inside the write of a large file."""

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    words = ["copy", "--manifest", manifest, "--source", source, "--destination", tmp_path / "disk", "--workers", "1"]
    command = [pythons()[-1], str(ROOT / "workload/data/stage.py"), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limited, check=False)
    assert done.returncode == faults.FAILED
    assert "a/one.bin: can't be written: File too large\n" in done.stderr
    assert faults.of_destination("x", OSError(28, "No space left on device")) == faults.Fault(
        faults.NO_SPACE, "x", "no space left at the destination: No space left on device"
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_full_disk_ends_with_no_space(tmp_path: Path, source: Path, manifest: Path, run: Run) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=5m", "tmpfs", str(small)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mounting is not allowed here")
    try:
        # Enough is free when the run begins; then someone else takes it.
        process = subprocess.Popen(
            [
                pythons()[-1],
                "-c",
                SLOW,
                "copy",
                "--manifest",
                manifest,
                "--source",
                source,
                "--destination",
                small / "disk",
                "--workers",
                "1",
            ],
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT), "FILL": str(small / "fill")},
        )
        _, said = process.communicate()
        assert process.returncode == faults.NO_SPACE
        assert ": no space left at the destination: No space left on device\n" in said
    finally:
        subprocess.run(["umount", str(small)], check=True)


# Fills the disk after the free space was looked at, then goes on as the program does.
SLOW = """
import os, sys
from pathlib import Path
from workload.data import copying, stage
real = copying.Copies.run
def run(self, entries, workers):
    try:
        with open(os.environ["FILL"], "wb", buffering=0) as file:
            while True:
                file.write(b"x" * 65536)
    except OSError:
        pass
    real(self, entries, workers)
copying.Copies.run = run
sys.exit(stage.main(sys.argv[1:]))
"""


def test_a_killed_run_is_finished_by_the_next_which_copies_only_the_rest(tmp_path: Path, run: Run) -> None:
    source, destination, manifest = tmp_path / "source", tmp_path / "disk", tmp_path / "m.jsonl"
    make(source, {f"{number % 7}/{number:04}.bin": 40_000 for number in range(600)})
    run("data/stage", "manifest", source, "--output", manifest)
    words = ["copy", "--manifest", manifest, "--source", source, "--destination", destination, "--workers", "4"]
    process = subprocess.Popen(
        [pythons()[-1], str(ROOT / "workload/data/stage.py"), *map(str, words)], stdout=subprocess.DEVNULL
    )
    while sum(1 for _ in destination.rglob("*.bin")) < 40:
        assert process.poll() is None
        time.sleep(0.001)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    finished = {path: path.stat().st_ino for path in destination.rglob("*.bin")}
    # Whatever has a file's name is whole.
    assert all(path.read_bytes() == (source / path.relative_to(destination)).read_bytes() for path in finished)
    done = copy(run, manifest, source, destination)
    assert done.returncode == 0
    assert done.stdout.startswith(f"copy: {600 - len(finished)} copied, {len(finished)} kept of 600 files in ")
    assert {path: path.stat().st_ino for path in finished} == finished
    assert contents(destination) == contents(source)


def test_sigterm_stops_at_the_next_piece(tmp_path: Path, run: Run) -> None:
    source, destination, manifest = tmp_path / "source", tmp_path / "disk", tmp_path / "m.jsonl"
    make(source, {f"{number:04}.bin": 200_000 for number in range(300)})
    run("data/stage", "manifest", source, "--output", manifest)
    words = ["copy", "--manifest", manifest, "--source", source, "--destination", destination, "--workers", "2"]
    process = subprocess.Popen(
        [pythons()[-1], str(ROOT / "workload/data/stage.py"), *map(str, words)], stdout=subprocess.PIPE
    )
    while not any(destination.rglob("*.bin")):
        assert process.poll() is None
        time.sleep(0.001)
    process.terminate()
    process.communicate()
    assert process.returncode == 143
    assert copy(run, manifest, source, destination).returncode == 0
    assert contents(destination) == contents(source)


def test_twenty_thousand_files_of_mixed_sizes_stage_in_under_200_mib(scratch: Path) -> None:
    source, destination, manifest = scratch / "source", scratch / "disk", scratch / "m.jsonl"
    generator = random.Random(1)
    block = generator.randbytes(1 << 16)
    sums = {}
    with manifest.open("w") as lines:
        for number in range(20_000):
            folder = source / f"{number % 50:02}"
            if number < 50:
                folder.mkdir(parents=True)
            # Mostly small, some of tens of KiB, a few of many MiB.
            size = generator.randrange(2000) if number % 100 else generator.randrange(len(block))
            data = block[:size] + (block * 400 if number % 5000 == 0 else b"")
            path = folder / f"{number:05}.bin"
            path.write_bytes(data)
            name = path.relative_to(source).as_posix()
            sums[name] = hashlib.sha256(data).hexdigest()
            lines.write(json.dumps({"path": name, "size": len(data), "sha256": sums[name]}) + "\n")
    words = ["copy", "--manifest", manifest, "--source", source, "--destination", destination, "--workers", "16"]
    process = subprocess.Popen(
        [pythons()[-1], str(ROOT / "workload/data/stage.py"), *map(str, words)], stdout=subprocess.PIPE, text=True
    )
    # The peak as the kernel keeps it for this program alone; a child's ru_maxrss would start from the test runner's
    # own.
    peak = 0
    while process.poll() is None:
        for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                peak = max(peak, int(line.split()[1]))
        time.sleep(0.02)
    said, _ = process.communicate()
    assert process.returncode == 0
    assert said.startswith("copy: 20000 copied of 20000 files in ")
    assert 0 < peak * 1024 < 200 * (1 << 20)
    assert {name: hashlib.sha256((destination / name).read_bytes()).hexdigest() for name in sums} == sums


def test_metrics_are_written_for_prometheus(tmp_path: Path, source: Path, manifest: Path, run: Run) -> None:
    (source / "four").write_bytes(b"x")
    metrics = tmp_path / "stage.prom"
    copy(run, manifest, source, tmp_path / "disk", "--metrics-file", metrics)
    lines = metrics.read_text().splitlines()
    assert 'trainshed_stage_files_total{work="copy",outcome="copied"} 3' in lines
    assert 'trainshed_stage_files_total{work="copy",outcome="failed"} 1' in lines
    assert 'trainshed_stage_bytes_total{work="copy",outcome="copied"} 3000010' in lines
    assert 'trainshed_stage_files_expected{work="copy"} 4' in lines
    assert 'trainshed_stage_exit_code{work="copy"} 4' in lines
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".partial")] == []


def test_metrics_pass_promtool(
    tmp_path: Path, source: Path, manifest: Path, run: Run, need: Callable[[str], Path]
) -> None:
    promtool = need("promtool")
    metrics = tmp_path / "stage.prom"
    copy(run, manifest, source, tmp_path / "disk", "--metrics-file", metrics)
    with metrics.open() as text:
        done = subprocess.run([promtool, "check", "metrics"], stdin=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_terminal_sees_progress(tmp_path: Path, source: Path, manifest: Path) -> None:
    mine, theirs = pty.openpty()
    words = ["copy", "--manifest", manifest, "--source", source, "--destination", tmp_path / "disk"]
    command = [pythons()[-1], str(ROOT / "workload/data/stage.py"), *map(str, words)]
    subprocess.run(command, stderr=theirs, stdout=subprocess.DEVNULL, check=True)
    os.close(theirs)
    shown = os.read(mine, 65536).decode()
    os.close(mine)
    assert "copy 4/4 files, 3.9 MiB of 3.9 MiB, " in shown


def test_a_part_is_a_share_and_all_parts_are_everything(tmp_path: Path, source: Path, manifest: Path, run: Run) -> None:
    for number in range(3):
        assert copy(run, manifest, source, tmp_path / "disk", "--part", f"{number}/3").returncode == 0
    assert contents(tmp_path / "disk") == contents(source)
    done = copy(run, manifest, source, tmp_path / "disk", "--part", "3/3")
    assert done.returncode == 2
    assert "argument --part: '3/3' is not NUMBER/COUNT with NUMBER from 0 to COUNT - 1" in done.stderr


def test_a_link_in_the_destination_leads_no_copy_elsewhere(
    tmp_path: Path, source: Path, manifest: Path, run: Run
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk/a").symlink_to(tmp_path / "elsewhere")
    done = copy(run, manifest, source, tmp_path / "disk")
    assert done.returncode == faults.FAILED
    assert f"a/one.bin: can't be written: {tmp_path}/disk/a leads out of {tmp_path}/disk\n" in done.stderr
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_two_runs_into_one_folder_do_not_meet(tmp_path: Path, source: Path, manifest: Path, run: Run) -> None:
    import fcntl

    (tmp_path / "disk").mkdir()
    with (tmp_path / "disk/.stage.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = copy(run, manifest, source, tmp_path / "disk")
    assert (done.returncode, done.stderr) == (1, f"stage: another run is staging into {tmp_path}/disk\n")


def test_nothing_is_deleted_that_the_manifest_does_not_list(
    tmp_path: Path, source: Path, manifest: Path, run: Run
) -> None:
    make(tmp_path / "disk", {"a/mine.bin": 5, "unrelated": 6})
    copy(run, manifest, source, tmp_path / "disk")
    assert sorted(set(contents(tmp_path / "disk")) - set(contents(source))) == ["a/mine.bin", "unrelated"]


def test_a_malformed_manifest_is_found_before_anything_is_written(
    tmp_path: Path, source: Path, manifest: Path, run: Run
) -> None:
    with manifest.open("a") as file:
        file.write('{"path": "../x", "size": 1, "sha256": "00"}\n')
    done = copy(run, manifest, source, tmp_path / "disk")
    assert done.returncode == 4
    assert done.stderr == f"stage: {manifest}:5: path '../x' must be relative, without empty, `.` or `..` parts\n"
    assert not (tmp_path / "disk").exists()
    done = copy(run, tmp_path / "none.jsonl", source, tmp_path / "disk")
    assert (done.returncode, done.stderr) == (
        2,
        f"stage: {tmp_path}/none.jsonl: can't be read: No such file or directory\n",
    )


def test_a_manifest_counts_samples_and_refuses_a_cut_file(tmp_path: Path, run: Run) -> None:
    make(tmp_path / "data", {"one": 660, "two": 66})
    done = run(
        "data/stage",
        "manifest",
        tmp_path / "data",
        "--output",
        tmp_path / "m",
        "--sample-bytes",
        66,
        "--checksum",
        "crc32c",
    )
    assert done.returncode == 0
    assert [
        (line["path"], line["samples"], len(line["crc32c"]))
        for line in map(json.loads, (tmp_path / "m").read_text().splitlines())
    ] == [
        ("one", 10, 8),
        ("two", 1, 8),
    ]
    make(tmp_path / "data", {"three": 67})
    before = (tmp_path / "m").read_bytes()
    done = run("data/stage", "manifest", tmp_path / "data", "--output", tmp_path / "m", "--sample-bytes", 66)
    assert done.returncode == 4
    assert (
        done.stderr
        == f"removing the partial manifest {tmp_path}/.m.partial\nstage: three: 67 bytes is not a multiple of 66\n"
    )
    assert (tmp_path / "m").read_bytes() == before
