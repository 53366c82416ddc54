#!/usr/bin/env python3
"""Installs a current torch into a virtual environment of its own in the tools' cache, for the trainer's tests.

It takes 4.8 GB, needs no card, and nothing of the project's own environment imports it. What is there already is left
alone; two runs at once never meet. Standard library only, so it runs before any installation.
"""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from trainshed.sandbox.tools import cache  # noqa: E402

VERSION = "2.12.0"
LOCK = ROOT / "tools" / "torch" / "requirements.lock"


def home() -> Path:
    """Where the environment lies."""
    return cache() / f"torch-{VERSION}"


def python() -> Path:
    return home() / "bin" / "python"


def installed() -> bool:
    return (home() / "complete").is_file()


def installer() -> list[str]:
    """uv of the project's environment installs in a third of pip's time; pip does the same from the same lock."""
    uv = ROOT / ".venv" / "bin" / "uv"
    found = str(uv) if uv.is_file() else shutil.which("uv")
    if found:
        return [found, "pip", "install", "--quiet", "--python", str(python()), "--link-mode", "hardlink"]
    return [str(python()), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]


def install() -> None:
    home().mkdir(parents=True, exist_ok=True)
    with (home() / "lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        if installed():
            return
        started = time.monotonic()
        print(f"torch {VERSION}: installing into {home()} (4.8 GB) ...", flush=True)
        venv.create(home(), with_pip=True, symlinks=True)
        subprocess.run([*installer(), "--require-hashes", "-r", str(LOCK)], check=True)
        probe = "import torch.distributed as d; raise SystemExit(0 if d.is_gloo_available() else 1)"
        subprocess.run([str(python()), "-c", probe], check=True)
        (home() / "complete").touch()
        print(f"torch {VERSION}: {time.monotonic() - started:.0f} s", flush=True)


def main() -> int:
    if installed():
        print(f"torch {VERSION}: there ({python()})")
        return 0
    try:
        install()
    except subprocess.CalledProcessError as error:
        print(f"torch {VERSION}: `{' '.join(map(str, error.cmd))}` ended with {error.returncode}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
