"""Runs a scene of checkpoint work over and over, killed with SIGKILL at its first, second, third ... change to the
disk.

Every call that changes the disk goes through `os`; here each is counted, and the nth is the last. A killed `write`
first writes half its bytes. Each scene runs in a forked child; after its death the parent looks at what it left. One
line of JSON a kill is printed.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from workload.checkpoints import checkpoint

CALLS = ("open", "write", "fsync", "replace", "mkdir", "unlink", "rmdir")
VERSIONS = {"image": "sha256:1", "code": "git:2", "data": "corpus-3"}


def write(root: Path, step: int, reported: Callable[[str], None], ranks: int = 2) -> None:
    writers = [
        checkpoint.Writer(root, step=step, attempt=f"a{os.getpid()}", versions=VERSIONS, rank=rank, world_size=ranks)
        for rank in range(ranks)
    ]
    for writer in reversed(writers):
        kinds = checkpoint.REQUIRED if writer.rank == 0 else ("random_state",)
        for holds in kinds:
            with writer.part(holds) as file:
                file.write(f"{holds} of rank {writer.rank} at step {step}".encode() * 50)
        writer.finish()
    writers[0].seal(timeout=0)
    reported(f"sealed {step}")


def prune(root: Path, reported: Callable[[str], None]) -> None:
    _, condemned = checkpoint.plan(root, keep_last=1)
    for one in condemned:
        checkpoint.delete(one)
    reported("pruned")


def scene_write(root: Path, reported: Callable[[str], None]) -> None:
    write(root, 10, reported)
    write(root, 20, reported)


def scene_prune(root: Path, reported: Callable[[str], None]) -> None:
    prune(root, reported)


def scene_copy(root: Path, reported: Callable[[str], None]) -> None:
    source, _ = checkpoint.latest(root.parent / "source")
    assert source is not None
    checkpoint.copy(checkpoint.place(str(source)), checkpoint.place(str(root / source.name)))
    reported("copied")


SCENES = {"write": scene_write, "prune": scene_prune, "copy": scene_copy}


def arm(last: int, said: Callable[[str], None]) -> None:
    """The `last`th change to the disk kills this process."""
    count = 0
    real_write = os.write

    def counted(name: str, real: Callable[..., object]) -> Callable[..., object]:
        def call(*words: object, **named: object) -> object:
            nonlocal count
            if name == "open" and not (isinstance(words[1], int) and words[1] & os.O_CREAT):
                return real(*words, **named)
            count += 1
            if count == last:
                said(f"killed at {name}")
                if name == "write":
                    descriptor, data = words
                    assert isinstance(descriptor, int) and isinstance(data, memoryview)
                    real_write(descriptor, data[: len(data) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*words, **named)

        return call

    for name in CALLS:
        setattr(os, name, counted(name, getattr(os, name)))


def once(scene: str, root: Path, last: int) -> tuple[int, list[str]]:
    """Run a scene in a child; gives its wait status and what it told."""
    mine, theirs = os.pipe()
    real_write = os.write
    child = os.fork()
    if child == 0:
        arm(last, lambda line: (real_write(theirs, f"{line}\n".encode()), None)[1])
        SCENES[scene](root, lambda line: (real_write(theirs, f"{line}\n".encode()), None)[1])
        os._exit(0)
    os.close(theirs)
    with os.fdopen(mine) as lines:
        reported = lines.read().splitlines()
    return os.waitpid(child, 0)[1], reported


def main(scene: str, folder: Path) -> None:
    """Before each kill the folder is as `prepare` left it."""
    prepared = folder / "prepared"
    for last in range(1, 1000):
        root = folder / "work"
        if root.exists():
            shutil.rmtree(root)
        shutil.copytree(prepared, root)
        status, reported = once(scene, root, last)
        killed = os.WIFSIGNALED(status)
        found, skipped = checkpoint.latest(root)
        complete = [path.name[:17] for path, _ in checkpoint.complete(root)]
        # The same work, not disturbed, on what the kill left.
        again, told_again = once(scene, root, -1) if killed else (0, reported)
        after, _ = checkpoint.latest(root)
        print(
            json.dumps(
                {
                    "last": last,
                    "killed": killed,
                    "status": status,
                    "told": reported,
                    "latest": found.name[:17] if found else None,
                    "skipped": skipped,
                    "complete": complete,
                    "again": again,
                    "told_again": told_again,
                    "after": after.name[:17] if after else None,
                }
            ),
            flush=True,
        )
        if not killed:
            return
    raise AssertionError("the scene never ended")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
