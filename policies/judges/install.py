"""Installs the judges (checkov, Cloud Custodian), each in a virtual environment of its own outside the checkout.

Their dependencies are large and old, and collide with the project's; nothing of the project imports them. Run it as
`python -m policies.judges.install [checkov] [custodian]`; what is there already is left alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Judge:
    """A program, the pinned distribution it comes from, and its command."""

    name: str
    requirement: str
    command: str


JUDGES = {
    judge.name: judge
    for judge in (Judge("checkov", "checkov==3.3.30", "checkov"), Judge("custodian", "c7n==0.9.53", "custodian"))
}


def home(name: str) -> Path:
    """Where a judge's environment lies."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache).expanduser() / "trainshed" / "tools" / name


def command(name: str) -> Path | None:
    """The judge's command, or None where it isn't installed."""
    path = home(name) / "bin" / JUDGES[name].command
    return path if path.is_file() else None


def python(name: str) -> Path:
    return home(name) / "bin" / "python"


def install(name: str) -> None:
    judge = JUDGES[name]
    if command(name):
        print(f"{name} is in {home(name)}")
        return
    start = time.monotonic()
    print(f"installing {judge.requirement} into {home(name)} ...", flush=True)
    venv.create(home(name), with_pip=True)
    subprocess.run(
        [str(python(name)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", judge.requirement],
        check=True,
    )
    print(f"installed {name} in {time.monotonic() - start:.0f} s")


def main(words: Sequence[str]) -> int:
    unknown = [word for word in words if word not in JUDGES]
    if unknown:
        print(f"no judge {unknown[0]}; there are {', '.join(JUDGES)}", file=sys.stderr)
        return 2
    for name in words or JUDGES:
        install(name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
