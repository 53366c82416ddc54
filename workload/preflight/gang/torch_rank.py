#!/usr/bin/env python3
"""One card's process in the gate's tests over torch: a test a line comes in, an answer a line goes out.

It runs by itself, under the image's own Python with torch, so that a collective that hangs can be ended from outside.
Every test makes a new process group: the group of the whole gang, of a pair of nodes, or of the cards of one node.
"""

from __future__ import annotations

import datetime
import importlib
import json
import os
import sys
import time
from typing import Any

torch: Any = None
dist: Any = None


def tensor_of(value: float, size: int, device: Any) -> Any:
    return torch.full((max(size // 4, 1),), value, dtype=torch.float32, device=device)


def settle(device: Any) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def all_reduce(rank: int, world: int, size: int, device: Any) -> tuple[float, int]:
    # Small whole numbers: their sum over ten thousand cards is exact in 32 bits, in whatever order it is made.
    data = tensor_of(rank % 8 + 1.0, size, device)
    settle(device)
    started = time.monotonic()
    dist.all_reduce(data)
    settle(device)
    seconds = time.monotonic() - started
    return seconds, int((data != sum(other % 8 + 1 for other in range(world))).sum().item())


def broadcast(rank: int, world: int, size: int, device: Any) -> tuple[float, int]:
    data = tensor_of(7.0 if rank == 0 else 0.0, size, device)
    settle(device)
    started = time.monotonic()
    dist.broadcast(data, 0)
    settle(device)
    dist.barrier()
    return time.monotonic() - started, int((data != 7.0).sum().item())


def pair(rank: int, world: int, size: int, device: Any) -> tuple[float, int]:
    """Each card with the same card of the other node, both ways at once: nothing stays inside a node."""
    other = (rank + world // 2) % world
    mine, theirs = tensor_of(rank + 1.0, size, device), tensor_of(0.0, size, device)
    settle(device)
    started = time.monotonic()
    works = dist.batch_isend_irecv([dist.P2POp(dist.isend, mine, other), dist.P2POp(dist.irecv, theirs, other)])
    for work in works:
        work.wait()
    settle(device)
    return time.monotonic() - started, int((theirs != other + 1.0).sum().item())


TESTS = {"all_reduce": all_reduce, "broadcast": broadcast, "pair": pair}


def run(command: dict[str, Any], card: int) -> dict[str, Any]:
    backend, rank, world = command["backend"], int(command["rank"]), int(command["world"])
    device = torch.device("cuda", card) if backend == "nccl" else torch.device("cpu")
    if backend == "nccl":
        torch.cuda.set_device(device)
    dist.init_process_group(
        backend,
        init_method=f"tcp://{command['address']}",
        rank=rank,
        world_size=world,
        timeout=datetime.timedelta(seconds=float(command["limit"])),
    )
    try:
        test, best, wrong = TESTS[command["do"]], float("inf"), 0
        test(rank, world, min(int(command["bytes"]), 1 << 20), device)  # connections are made at the first use
        for _ in range(int(command["repeats"])):
            dist.barrier()
            seconds, bad = test(rank, world, int(command["bytes"]), device)
            best, wrong = min(best, seconds), wrong + bad
        return {"seconds": best, "wrong": wrong}
    finally:
        dist.destroy_process_group()


def main() -> int:
    global torch, dist
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not look like an answer
    torch, dist = importlib.import_module("torch"), importlib.import_module("torch.distributed")
    torch.set_num_threads(1)
    for line in sys.stdin:
        try:
            answer = run(json.loads(line), int(os.environ["GATE_CARD"]))
        except Exception as error:  # every way that a library fails is an answer to the gate
            answer = {"failed": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
