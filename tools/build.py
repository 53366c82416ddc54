#!/usr/bin/env python3
"""Build the real programs that the live tests and the sandbox run, into a cache that all checkouts share.

What is built already, or lies on PATH, is skipped; a build that was broken off goes on where Go's own cache stands. Two
runs at once never meet: the second waits for the first one's lock. Standard library only, so it runs before any
installation.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from trainshed.sandbox.tools import BUILT, PACKAGED, Tool, cache, find  # noqa: E402

HEARTBEAT_SECONDS = 30


def say(text: str) -> None:
    print(text, flush=True)


@contextmanager
def reported(what: str) -> Generator[None]:
    """Print what begins, a line every half minute while it lasts, and how long it took: a silent CI looks like a
    dead one.
    """
    started = time.monotonic()
    done = threading.Event()

    def beat() -> None:
        while not done.wait(HEARTBEAT_SECONDS):
            say(f"  ... {what}: {time.monotonic() - started:.0f} s so far")

    say(f"{what} ...")
    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
    say(f"{what}: {time.monotonic() - started:.0f} s")


@contextmanager
def locked(folder: Path) -> Generator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with reported("waiting for another build"):
                fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def go(arguments: list[str], folder: Path) -> str:
    """Run Go with nothing of the caller's flags that could change what is built."""
    environment = {**os.environ, "GOFLAGS": "-mod=readonly -buildvcs=false", "GOWORK": "off", "CGO_ENABLED": "0"}
    finished = subprocess.run(
        ["go", *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if finished.returncode != 0:
        raise SystemExit(f"go {' '.join(arguments)} failed in {folder}:\n{finished.stderr[-6000:]}")
    return finished.stdout


def module_folder(module: str, folder: Path) -> Path:
    return Path(
        json.loads(go(["mod", "download", "-json", f"{module}@{module_version(module, folder)}"], folder))["Dir"]
    )


def module_version(module: str, folder: Path) -> str:
    return go(["list", "-m", "-f", "{{.Version}}", module], folder).strip()


def copied(source: Path, target: Path) -> None:
    """Copy a folder or file out of Go's module cache, where everything is write-protected, into a writable place."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True, copy_function=shutil.copyfile)
        for path in (target, *target.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
    else:
        shutil.copyfile(source, target)
        target.chmod(source.stat().st_mode | 0o200)


def complete(tool: Tool) -> bool:
    return (cache() / tool.folder / "complete").exists()


def build(tool: Tool) -> None:
    source = ROOT / "tools" / tool.name
    target = cache() / tool.folder
    target.mkdir(parents=True, exist_ok=True)
    for relative in tool.embeds:
        copied(module_folder(tool.module, source) / relative, source / Path(relative).name)
    for module, relatives in tool.assets.items():
        for relative in relatives:
            copied(module_folder(module, source) / relative, target / "assets" / relative)
    flags = " ".join(["-s", "-w", *(f"-X {define}" for define in tool.defines)])
    for program, package in tool.binaries.items():
        with reported(f"{tool.name} {tool.version}: building {program}"):
            go(["build", "-trimpath", "-ldflags", flags, "-o", str(target / f"{program}.part"), package], source)
        (target / f"{program}.part").replace(target / program)
    (target / "complete").touch()


def needed(tool: Tool) -> bool:
    """A program on PATH spares the build only where nothing else of the module is read by the tests."""
    if complete(tool):
        return False
    on_path = tool.from_path and all(shutil.which(program) for program in tool.binaries)
    return not on_path


def listing() -> str:
    lines: list[str] = []
    for tool in BUILT:
        for program in tool.binaries:
            where = find(program)
            lines.append(f"{program:30} {tool.version:10} {where or 'not built'}")
    lines += [
        f"{entry.name:30} {'(package)':10} {find(entry.name) or 'not installed: ' + entry.package}"
        for entry in PACKAGED
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="show each program and where it lies, build nothing")
    parser.add_argument(
        "--env", action="store_true", help="print a line that puts the built programs on a shell's PATH"
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="NAME",
        choices=[tool.name for tool in BUILT],
        help="build only this one (may be repeated)",
    )
    arguments = parser.parse_args()
    if arguments.list:
        say(listing())
        return 0
    if arguments.env:
        folders = [str(cache() / tool.folder) for tool in BUILT if complete(tool)]
        say(f'export PATH="{":".join([*folders, "$PATH"])}"')
        return 0
    wanted = [tool for tool in BUILT if not arguments.only or tool.name in arguments.only]
    missing = [tool for tool in wanted if needed(tool)]
    for tool in wanted:
        if tool not in missing:
            say(f"{tool.name} {tool.version}: there ({', '.join(str(find(program)) for program in tool.binaries)})")
    if not missing:
        return 0
    if shutil.which("go") is None:
        say("Go is not on PATH: install Go 1.26 or newer to build " + ", ".join(tool.name for tool in missing))
        return 3
    started = time.monotonic()
    with locked(cache()):
        for tool in missing:
            if not complete(tool):
                build(tool)
    say(f"tools: {time.monotonic() - started:.0f} s for {', '.join(tool.name for tool in missing)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
