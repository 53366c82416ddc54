"""A dataset staged where it lies, by the pods of an indexed job, before the gang starts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.workload.conftest import Run
from workload.data import stage


@pytest.fixture
def dataset(tmp_path: Path, run: Run) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    for number in range(5):
        (folder / f"s{number}").write_bytes(bytes([number]) * 1000)
    run("data/stage", "manifest", folder, "--output", folder / "manifest.jsonl")
    return folder


def test_the_pods_of_a_job_share_the_files_between_them(dataset: Path, run: Run) -> None:
    said = []
    for index in range(2):
        variables = {"DATASET_PATH": str(dataset), "JOB_COMPLETION_INDEX": str(index), "STAGE_WORKERS": "2"}
        done = run("data/stage", "prepare", environment=variables)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout.split(" in ")[0])
    assert said == ["verify: 3 verified of 3 files", "verify: 2 verified of 2 files"]


def test_a_damaged_file_stops_the_job_by_name(dataset: Path, run: Run) -> None:
    (dataset / "s3").write_bytes(b"x" * 1000)
    done = run("data/stage", "prepare", "--root", dataset)
    assert done.returncode == 4
    assert done.stderr.startswith("s3: sha256 is ")


def test_what_is_missing_is_told(tmp_path: Path, run: Run) -> None:
    done = run("data/stage", "prepare", environment={"DATASET_PATH": ""})
    assert (done.returncode, done.stderr) == (2, "stage: prepare needs --root, or DATASET_PATH in the environment\n")
    done = run("data/stage", "prepare", "--root", tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        f"stage: {tmp_path}/manifest.jsonl: can't be read: No such file or directory\n",
    )
    done = run("data/stage", "verify", "--root", tmp_path)
    assert (done.returncode, done.stderr) == (2, "stage: verify needs --manifest\n")


def test_the_nearest_mount_says_whether_it_is_lustre(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text("/dev/sda / ext4 rw 0 0\n10.0.0.1@tcp:/m /mnt/fsx lustre rw 0 0\nx /mnt/fsx/local xfs rw 0 0\n")
    places = ("/mnt/fsx", "/mnt/fsx/corpus", "/mnt/fsx2", "/mnt/fsx/local/x", "/")
    assert [stage.on_lustre(Path(place), mounts) for place in places] == [True, True, False, False, False]


def test_the_manifest_of_a_folder_leaves_itself_out(dataset: Path) -> None:
    names = [json.loads(line)["path"] for line in (dataset / "manifest.jsonl").read_text().splitlines()]
    assert names == [f"s{number}" for number in range(5)]
