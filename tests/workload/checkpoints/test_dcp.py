"""Checkpoints of torch.distributed.checkpoint, sealed: written in the background, read by anyone, running nothing."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from tests.workload.conftest import TorchServer
from workload.checkpoints import checkpoint

pytestmark = [pytest.mark.torch, pytest.mark.xdist_group("torch")]

BEGIN = """
import os, sys, torch, torch.distributed as dist, torch.distributed.checkpoint as dcp
from pathlib import Path
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Shard, distribute_tensor
from workload.checkpoints.dcp import SealingWriter, load
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
dist.init_process_group("gloo")
mesh = init_device_mesh("cpu", (size,))
root = Path(sys.argv[1])
VERSIONS = {"image": "sha256:1", "code": "git:2", "data": "corpus-3"}

def state(value):
    weight = distribute_tensor(torch.arange(24.0).reshape(12, 2) + value, mesh, [Shard(0)])
    return {"weights": {"w": weight, "norm": torch.full((3,), float(value))}, "optimizer": {"betas": [0.9, value]},
            "scheduler": {"step": value}, "data_position": {"consumed": value, "data": "abc"},
            "random_state": {f"rank{rank}": torch.get_rng_state()}}

def writer(step, **more):
    return SealingWriter(root, step=step, attempt="a", versions=VERSIONS, rank=rank, world_size=size, **more)
"""


def gang(server: TorchServer, ranks: int, program: str, *words: object) -> list[tuple[int, str]]:
    return [process.wait() for process in server.ranks(ranks, BEGIN + program, *words)]


def test_a_save_in_the_background_holds_the_state_of_its_step_and_loads_on_another_number_of_ranks(
    tmp_path: Path, torch_server: TorchServer
) -> None:
    program = """
now = state(5)
future = dcp.async_save(now, storage_writer=writer(5), process_group=dist.new_group(backend="gloo"))
with torch.no_grad():
    now["weights"]["w"].to_local().add_(1000)
future.result()
"""
    assert gang(torch_server, 2, program, tmp_path) == [(0, ""), (0, "")]
    folder, faults = checkpoint.latest(tmp_path)
    assert folder is not None and faults == []
    manifest = checkpoint.read_manifest(folder)
    assert (manifest.step, manifest.world_size) == (5, 2)
    assert sorted((part.name, part.rank) for part in manifest.parts) == [
        (".metadata", 0),
        ("__0_0.distcp", 0),
        ("__1_0.distcp", 1),
    ]
    program = """
found = state(0)
del found["random_state"]
folder = root / "step-000000000005-a"
for reader in (lambda: load(found, folder), lambda: dcp.load(found, storage_reader=dcp.FileSystemReader(folder))):
    reader()
    assert torch.equal(found["weights"]["w"].full_tensor(), torch.arange(24.0).reshape(12, 2) + 5)
    assert torch.equal(found["weights"]["norm"], torch.full((3,), 5.0))
    assert found["optimizer"]["betas"] == [0.9, 5] and found["data_position"] == {"consumed": 5, "data": "abc"}
"""
    assert gang(torch_server, 3, program, tmp_path) == [(0, "")] * 3


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("flip", "read back after writing: "),
        ("lease", "somebody took over"),
        ("kinds", "nothing holds scheduler"),
    ],
)
def test_what_is_not_good_is_not_sealed(fault: str, said: str, tmp_path: Path, torch_server: TorchServer) -> None:
    program = """
fault = sys.argv[2]
now = state(5)
def lost():
    raise RuntimeError("somebody took over")
if fault == "kinds":
    del now["scheduler"]
if fault == "flip" and rank == 1:
    import workload.checkpoints.dcp as module
    real = module.checkpoint_folder.part_fault
    def flipped(folder, part, **more):
        data = bytearray((folder / part.name).read_bytes()); data[40] ^= 1
        (folder / part.name).write_bytes(data)
        return real(folder, part, **more)
    module.checkpoint_folder.part_fault = flipped
try:
    dcp.save(now, storage_writer=writer(5, before_sealing=lost if fault == "lease" else None))
except BaseException as error:
    print(error, file=sys.stderr)
    sys.exit(9)
"""
    ended = gang(torch_server, 2, program, tmp_path, fault)
    assert [code for code, _ in ended] == [9, 9]
    assert all(said in text for _, text in ended)
    assert checkpoint.latest(tmp_path) == (None, [])


class Trap:
    """A pickle that would end the process that loads it."""

    def __reduce__(self) -> tuple[object, ...]:
        import os

        return (os._exit, (77,))


def test_a_checkpoint_of_another_job_runs_no_code(tmp_path: Path, torch_server: TorchServer) -> None:
    program = """
dcp.save(state(5), storage_writer=writer(5))
"""
    assert gang(torch_server, 1, program, tmp_path) == [(0, "")]
    folder = tmp_path / "step-000000000005-a"
    good = (folder / ".metadata").read_bytes()
    (folder / ".metadata").write_bytes(pickle.dumps(Trap()))
    program = """
from workload.checkpoints.dcp import Unsafe
try:
    load(state(0), root / "step-000000000005-a")
except BaseException as error:
    print(error, file=sys.stderr)
"""
    ((code, said),) = gang(torch_server, 1, program, tmp_path)
    assert code == 0
    assert "its metadata names posix._exit, which no checkpoint needs" in said
    (folder / ".metadata").write_bytes(good)
    # The objects beside the tensors: where torch's own reader would run what lies there.
    program = """
import io, pickle
class Trap:
    def __reduce__(self):
        return (os._exit, (77,))
dcp.save({**state(6), "extra": {"object": Trap()}}, storage_writer=writer(6))
found = {**state(0), "extra": {"object": None}}
try:
    load(found, root / "step-000000000006-a")
except BaseException as error:
    print("refused", type(error).__name__, file=sys.stderr)
"""
    ((code, said),) = gang(torch_server, 1, program, tmp_path)
    assert (code, said.split()[0]) == (0, "refused")


def test_every_piece_of_work_is_told(tmp_path: Path, torch_server: TorchServer) -> None:
    """A large checkpoint takes minutes: the heartbeat goes on with each piece written and read."""
    program = """
heard = []
big = {**state(5), "big": torch.zeros(4_000_000)}
dcp.save(big, storage_writer=writer(5, worked=heard.append))
print(sum(heard), len(heard), file=sys.stderr)
"""
    ((code, said),) = gang(torch_server, 1, program, tmp_path)
    total, calls = map(int, said.split())
    assert code == 0
    assert total > 2 * 16_000_000  # once written, once read back
    assert calls > 16
