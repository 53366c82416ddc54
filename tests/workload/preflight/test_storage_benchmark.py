"""The storage benchmark: fio's real output parsed, its verdicts, and real fio on a local disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.workload.conftest import Run
from workload.preflight import fio
from workload.preflight.fio import MIB, BadResult, Load, Window
from workload.preflight.storage_benchmark import BenchmarkRequest, verdict

CAPTURED = Path(__file__).with_name("fio")  # fio 3.33 on a virtual disk, with the job files of `--print-jobs`


def load(kind: str, **changes: Any) -> Load:
    base: dict[str, Any] = {
        "kind": kind,
        "workers": 4,
        "block_bytes": MIB,
        "file_bytes": 16 * MIB,
        "folder": Path("/mnt/lustre"),
        "seconds": 2.0,
        "direct": True,
        "engine": "psync",
    }
    return Load(**{**base, **changes})


def test_real_read_figures_are_parsed() -> None:
    window = fio.parse((CAPTURED / "read.json").read_text(), "read")
    assert window.as_json() == {
        "mb_per_s": 584.8,
        "operations_per_s": 557.7,
        "latency_ms": {"p50": 4.686, "p99": 38.011, "p99.9": 69.73},
    }


def test_real_write_figures_are_parsed() -> None:
    window = fio.parse("note: fio talks before its JSON\n" + (CAPTURED / "write.json").read_text(), "write")
    assert window.as_json() == {
        "mb_per_s": 242.3,
        "operations_per_s": 231.0,
        "latency_ms": {"p50": 6.128, "p99": 93.848, "p99.9": 93.848},
    }


def test_what_is_no_result_is_refused() -> None:
    for text, said in (
        ("fio: no such engine\n", "fio printed no JSON: 'fio: no such engine'"),
        ('{\n "jobs": [', "fio's JSON can't be read: "),
        ('{\n "version": 1}', "fio's JSON can't be read: KeyError('jobs')"),
        ('{\n "jobs": [{"error": 28, "jobname": "writers"}]}', "fio job writers failed with error 28"),
    ):
        with pytest.raises(BadResult) as raised:
            fio.parse(text, "read")
        assert str(raised.value).startswith(said)
    with pytest.raises(BadResult, match="fio's write moved no bytes"):
        fio.parse((CAPTURED / "read.json").read_text(), "write")


def test_readers_share_the_shards_out_between_them() -> None:
    shards = tuple(Path(f"/data/{name}.bin") for name in ("a", "b", "c:d", "e", "f"))
    lines = fio.job_file(load("read", workers=2, shards=shards)).splitlines()
    assert lines[lines.index("[reader-0]") + 1] == "filename=/data/a.bin:/data/c\\:d.bin:/data/f.bin"
    assert lines[lines.index("[reader-1]") + 1] == "filename=/data/b.bin:/data/e.bin"
    assert "rw=randread" in lines
    assert not [line for line in lines if line.startswith(("size=", "directory="))]
    few = fio.slices([Path("x"), Path("y")], 5)
    assert few == [(Path("x"),), (Path("y"),), (Path("x"),), (Path("y"),), (Path("x"),)]


def test_a_checkpoint_write_counts_its_flush() -> None:
    lines = fio.job_file(load("write")).splitlines()
    assert {"rw=write", "end_fsync=1", "numjobs=4", "size=16777216", "directory=/mnt/lustre"} <= set(lines)


def windows(*figures: tuple[float, float, float]) -> list[Window]:
    return [Window(speed, operations, {50.0: p99 / 4, 99.0: p99, 99.9: p99 * 9}) for speed, operations, p99 in figures]


@pytest.mark.parametrize(
    ("figures", "said"),
    [
        ([(1000, 1000, 10), (900, 900, 12), (800, 800, 29)], []),
        ([(700, 1000, 10)] * 3, ["read: 700 MB/s is 70% of the 1000 MB/s bought; at least 80% (800 MB/s) is asked"]),
        (
            [(1000, 1000, 10), (1000, 1000, 10), (1000, 1000, 31)],
            [
                "read: p50 latency is 7.8 ms in window 3 of 3, 3.1 times the median 2.5 ms; at most 3 times is steady",
                (
                    "read: p99 latency is 31.0 ms in window 3 of 3, 3.1 times the median 10.0 ms; at most 3 times is"
                    " steady"
                ),
            ],
        ),
        (
            [(1000, 1000, 10), (1000, 690, 10), (1000, 1000, 10)],
            ["read: 690 operations/s in window 2 of 3 are 69% of the median 1000; at least 70% is steady"],
        ),
    ],
    ids=["steady", "slow", "latency", "operations"],
)
def test_the_verdict_names_bandwidth_latency_and_operations(
    figures: list[tuple[float, float, float]], said: list[str]
) -> None:
    assert verdict("read", windows(*figures), BenchmarkRequest(1000)) == said


@pytest.mark.fio
def test_real_fio_on_a_local_disk_passes_a_modest_promise_and_leaves_nothing(tmp_path: Path, run: Run) -> None:
    words = (
        tmp_path,
        "--bought-mbps",
        0.001,
        "--file-mib",
        4,
        "--readers",
        3,
        "--writers",
        2,
        "--windows",
        2,
        "--seconds",
        0.5,
    )
    done = run("preflight/storage_benchmark", *words, "--latency-factor", 10**6, "--json")
    value = json.loads(done.stdout)
    assert [one for one in value["said"] if "operations/s" not in one] == []
    for kind in ("read", "write"):
        figures = value["loads"][kind]["windows"]
        assert len(figures) == 2
        assert all(one["mb_per_s"] > 0 and one["latency_ms"]["p99"] >= one["latency_ms"]["p50"] > 0 for one in figures)
    # A write of two files of 4 MiB moves just that.
    assert list(tmp_path.iterdir()) == []
    # What it made is named before it goes.
    assert done.stderr.count("removing ") == 5


@pytest.mark.fio
def test_real_fio_fails_a_promise_that_no_disk_keeps(tmp_path: Path, run: Run) -> None:
    words = (tmp_path, "--bought-mbps", 10**9, "--file-mib", 4, "--kinds", "write", "--writers", 2, "--windows", 1)
    done = run("preflight/storage_benchmark", *words)
    assert done.returncode == 1
    assert " MB/s is 0% of the 1e+09 MB/s bought; at least 80% (800000000 MB/s) is asked\n" in done.stdout


@pytest.mark.fio
def test_real_shards_are_read_and_stay_as_they_were(tmp_path: Path, run: Run) -> None:
    shards = tmp_path / "data"
    shards.mkdir()
    for number in range(3):
        (shards / f"s:{number}.bin").write_bytes(bytes([number]) * (2 * MIB))
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in shards.iterdir()}
    words = (
        tmp_path,
        "--shards",
        shards,
        "--bought-mbps",
        0.001,
        "--kinds",
        "read",
        "--readers",
        4,
        "--windows",
        1,
        "--seconds",
        0.5,
    )
    done = run("preflight/storage_benchmark", *words)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "passed")
    assert {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in shards.iterdir()} == before


@pytest.mark.fio
def test_a_fio_that_fails_is_shown_with_its_own_words(tmp_path: Path, run: Run) -> None:
    words = (
        tmp_path,
        "--bought-mbps",
        1,
        "--file-mib",
        1,
        "--kinds",
        "read",
        "--readers",
        1,
        "--windows",
        1,
        "--engine",
        "no-such-engine",
    )
    done = run("preflight/storage_benchmark", *words)
    assert done.returncode == 1
    assert "failed:\n  read: fio" in done.stdout
    assert "no-such-engine" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_without_fio_it_says_how_to_get_it(tmp_path: Path, run: Run) -> None:
    done = run("preflight/storage_benchmark", tmp_path, "--bought-mbps", 1, environment={"PATH": str(tmp_path)})
    assert (done.returncode, done.stderr) == (
        3,
        "storage_benchmark: fio is not installed: `apt-get install fio` or `dnf install fio`\n",
    )


def test_words_that_make_no_sense_are_refused(tmp_path: Path, run: Run) -> None:
    (tmp_path / "empty").mkdir()
    for words, said in (
        ((tmp_path, "--bought-mbps", 0), "argument --bought-mbps: 0 is not a number above 0"),
        ((tmp_path, "--bought-mbps", "nan"), "argument --bought-mbps: nan is not a number above 0"),
        ((tmp_path / "none", "--bought-mbps", 1), f"{tmp_path}/none is no folder"),
        ((tmp_path, "--bought-mbps", 1, "--kinds", "erase"), "--kinds erase: read, write, or both with a comma"),
        ((tmp_path, "--bought-mbps", 1, "--shards", tmp_path / "empty"), f"{tmp_path}/empty holds no file"),
        ((tmp_path, "--bought-mbps", 1, "--windows", 0), "argument --windows: 0 is less than 1"),
    ):
        done = run("preflight/storage_benchmark", *words)
        assert done.returncode == 2
        assert done.stderr.endswith(f"storage_benchmark: error: {said}\n")


def test_the_job_files_can_be_printed(tmp_path: Path, run: Run) -> None:
    done = run("preflight/storage_benchmark", tmp_path, "--bought-mbps", 1, "--print-jobs")
    assert done.returncode == 0
    assert done.stdout.count("[global]\n") == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("bw_bytes", 5848323140, "it says 5848.3 MB/s, its bytes and time make 584.8"),
        ("total_ios", 0, "bytes moved, yet no operation was timed"),
        ("clat_ns", {"percentile": {"50.000000": 9, "99.000000": 8}}, "a higher percentile of latency is lower"),
    ],
)
def test_figures_that_contradict_each_other_are_refused(key: str, value: object, said: str) -> None:
    result = json.loads((CAPTURED / "read.json").read_text())
    result["jobs"][0]["read"][key] = value
    with pytest.raises(BadResult, match=f"fio's read figures contradict each other: {said}"):
        fio.parse(json.dumps(result, indent=1), "read")
