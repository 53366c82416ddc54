"""A run's checkpoints: tiers, a full disk, a killed gang's remains, object storage."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from tests.workload.checkpoints.test_transfer import ENDPOINT, bucket, proxy  # noqa: F401  # pyright: ignore[reportUnusedImport] - fixtures
from tests.workload.conftest import TorchServer
from workload import contract
from workload.checkpoints import checkpoint, tiers
from workload.checkpoints.tiers import Tiers
from workload.launch.settings import free_port

pytestmark = [pytest.mark.torch, pytest.mark.xdist_group("torch")]

# A made-up run: the state is a number that grows, each rank has a row of a matrix.
RUN = """
import json, os, sys, torch, torch.distributed as dist
from pathlib import Path
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor
from workload.checkpoints import tiers
from workload.checkpoints.keeper import Keeper
from workload.telemetry import Telemetry
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
dist.init_process_group("gloo")
mesh = init_device_mesh("cpu", (size,))

class Ranks:
    rank, size, local_rank = rank, size, int(os.environ["LOCAL_RANK"])
    checkpoint_group = dist.new_group(backend="gloo")
    def gathered(self, value):
        found = [None] * size
        dist.all_gather_object(found, value, group=self.checkpoint_group)
        return found
    def from_first(self, value):
        box = [value]
        dist.broadcast_object_list(box, src=0, group=self.checkpoint_group)
        return box[0]

log = []
def say(**values):
    if rank == 0:
        print(json.dumps(values), file=sys.stderr, flush=True)
root, steps = Path(os.environ["CHECKPOINT_PATH"]), int(sys.argv[1])
every, keep, width = int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
keeper = Keeper(tiers.from_environment(root, every, os.environ), Ranks(), keep_last=keep, run="run",
    attempt=int(os.environ.get("RESTART_ATTEMPT", 0)), node=os.environ.get("NODE_NAME", "node"),
    versions={"image": "1", "code": "2", "data": "3"}, observer=Telemetry(), say=say)
now = {"step": 0}

def tree():
    wide = distribute_tensor(torch.full((12, width), float(now["step"])), mesh, [Shard(0)])
    return {"weights": {"w": wide, "alike": torch.full((3,), float(now["step"]))}, "optimizer": {"x": 1},
        "scheduler": {"step": now["step"]}, "data_position": {"consumed": now["step"]}, "random_state": {"r": 1}}

def take(found):
    now["step"] = found["scheduler"]["step"]
    assert (found["weights"]["w"].to_local() == now["step"]).all(), found["weights"]["w"]
    assert (found["weights"]["alike"] == now["step"]).all()

name = keeper.resume(lambda held: tree(), take)
say(event="start", resumed_from=name, step=now["step"])
while now["step"] < steps:
    now["step"] += 1
    tier = keeper.due(now["step"])
    if tier:
        outcome = keeper.save(now["step"], tier, tree)
        say(event="saved", step=now["step"], tier=tier, fault=outcome.fault)
keeper.close()
"""


def run(
    server: TorchServer,
    folder: Path,
    ranks: int,
    steps: int,
    every: int,
    *,
    keep: int = 2,
    width: int = 2,
    nodes: bool = False,
    before: str = "",
    **environment: object,
) -> list[dict[str, Any]]:
    """Events of rank 0; every rank must have ended well. With `nodes` each rank is a node with a disk of its own."""
    reported = {"CHECKPOINT_PATH": folder / "shared", **environment}
    if not nodes:
        processes = server.ranks(ranks, before + RUN, steps, every, keep, width, **reported)
    else:
        gang = {"WORLD_SIZE": ranks, "LOCAL_WORLD_SIZE": 1, "LOCAL_RANK": 0}
        gang |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
        processes = [
            server.start(
                RUN,
                steps,
                every,
                keep,
                width,
                **{**reported, **gang},
                RANK=rank,
                CHECKPOINT_LOCAL_PATH=folder / f"disk-{rank}",
            )
            for rank in range(ranks)
        ]
    ended = [process.wait() for process in processes]
    assert [code for code, _ in ended] == [0] * ranks, ended
    return [json.loads(line) for line in ended[0][1].splitlines()]


def test_the_newest_complete_checkpoint_of_any_tier_is_gone_on_from(tmp_path: Path, torch_server: TorchServer) -> None:
    reported: dict[str, Any] = {"CHECKPOINT_LOCAL_INTERVAL_STEPS": 1}
    events = run(torch_server, tmp_path, 2, 5, 3, nodes=True, **reported)
    assert [(one["step"], one["tier"]) for one in events if one["event"] == "saved"] == [
        (1, "local"),
        (2, "local"),
        (3, "shared"),
        (4, "local"),
        (5, "local"),
    ]
    # Each node has its own parts and what makes the checkpoint complete, and the newest two only.
    for rank in (0, 1):
        folders = sorted(path.name[:17] for path in (tmp_path / f"disk-{rank}").iterdir())
        assert folders == ["step-000000000004", "step-000000000005"]
        newest = max((tmp_path / f"disk-{rank}").iterdir())
        assert sorted(path.name for path in newest.iterdir()) == [".metadata", f"__{rank}_0.distcp", "manifest.json"]
    events = run(torch_server, tmp_path, 2, 5, 3, nodes=True, RESTART_ATTEMPT=1, **reported)
    assert events[0]["step"] == 5
    # A node was replaced: its disk is empty, and the shared tier is the newest that is whole.
    shutil.rmtree(tmp_path / "disk-1")
    events = run(torch_server, tmp_path, 2, 3, 3, nodes=True, RESTART_ATTEMPT=2, **reported)
    assert events[0]["step"] == 3


def test_a_damaged_local_copy_is_passed_over(tmp_path: Path, torch_server: TorchServer) -> None:
    reported: dict[str, Any] = {"CHECKPOINT_LOCAL_INTERVAL_STEPS": 1}
    run(torch_server, tmp_path, 2, 2, 3, nodes=True, **reported)
    file = next(max((tmp_path / "disk-1").iterdir()).glob("*.distcp"))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    events = run(torch_server, tmp_path, 2, 2, 3, nodes=True, RESTART_ATTEMPT=1, **reported)
    assert [one["event"] for one in events[:2]] == ["passed over", "start"]
    assert events[1]["step"] == 1


@pytest.fixture
def small_disk(tmp_path: Path) -> Any:
    """A file system of 3 MiB, where this machine lets one be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)], check=False, capture_output=True
    )
    if done.returncode:
        pytest.skip("mounting needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_survived_and_nothing_is_left_behind(small_disk: Path, torch_server: TorchServer) -> None:
    """A checkpoint has 1 MiB: two fit and a third does not, though three are to be kept."""
    width = (1 << 20) // 12 // 4
    events = run(torch_server, small_disk, 2, 4, 1, keep=3, width=width)
    assert [one["fault"] for one in events if one["event"] == "saved"] == [""] * 4
    assert {one["why"] for one in events if one["event"] == "delete"} == {"the disk is full"}
    assert len(checkpoint.complete(small_disk / "shared")) == 2


def test_a_disk_that_stays_full_fails_the_save_and_not_the_run(small_disk: Path, torch_server: TorchServer) -> None:
    events = run(torch_server, small_disk, 2, 2, 1, width=(4 << 20) // 12 // 4)
    assert all("No space left on device" in one["fault"] for one in events if one["event"] == "saved")
    assert [path.name for path in (small_disk / "shared").iterdir()] == []


def test_what_killed_gangs_left_does_not_add_up(tmp_path: Path, torch_server: TorchServer) -> None:
    for attempt in range(3):
        remains = tmp_path / f"shared/step-000000000009-dead{attempt}"
        remains.mkdir(parents=True)
        (remains / "__0_0.distcp").write_bytes(bytes(1000))
    events = run(torch_server, tmp_path, 1, 1, 1)
    assert [one["event"] for one in events] == ["delete", "delete", "delete", "start", "saved"]
    assert [path.name[:17] for path in (tmp_path / "shared").iterdir()] == ["step-000000000001"]


# The client of S3 comes from the project's own environment.
WITH_S3 = f"import sys; sys.path.append({sysconfig.get_path('purelib')!r})\n"


def test_a_run_goes_on_from_object_storage_where_the_shared_file_system_is_empty(
    bucket: Any,  # noqa: F811
    tmp_path: Path,
    torch_server: TorchServer,
) -> None:
    reported: dict[str, Any] = {
        name: os.environ[name] for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "http_proxy")
    }
    reported |= {"AWS_ENDPOINT_URL": ENDPOINT, "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"}
    reported |= {
        "CHECKPOINT_OBJECT_URL": f"s3://{bucket.name}/runs",
        "HTTP_PROXY": reported["http_proxy"],
        "no_proxy": "",
    }
    events = run(torch_server, tmp_path, 2, 2, 2, before=WITH_S3, **reported)
    (copied,) = [one for one in events if one["event"] == "copied"]
    assert copied["to"] == f"s3://{bucket.name}/runs/{copied['checkpoint']}"
    shutil.rmtree(tmp_path / "shared")
    events = run(torch_server, tmp_path, 3, 2, 2, before=WITH_S3, RESTART_ATTEMPT=1, **reported)
    assert (events[0]["resumed_from"], events[0]["step"]) == (copied["checkpoint"], 2)
    assert [manifest.step for _, manifest in checkpoint.complete(tmp_path / "shared")] == [2]


def test_intervals_that_do_not_fit_are_refused() -> None:
    reported = {contract.CHECKPOINT_OBJECT_URL: "s3://b/p", contract.CHECKPOINT_OBJECT_INTERVAL_STEPS: "5"}
    with pytest.raises(ValueError, match="it is a multiple of their interval 2"):
        tiers.from_environment(Path("/c"), 2, reported)


def test_a_step_goes_to_one_tier() -> None:
    where = Tiers(Path("/shared"), 4, Path("/local"), 2, "s3://b/p", 8)
    assert [where.due(step) for step in range(1, 9)] == [None, "local", None, "shared"] * 2
    assert [step for step in range(1, 17) if where.due(step) == "shared" and where.copied(step)] == [8, 16]
