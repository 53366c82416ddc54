"""Installs checkov and Cloud Custodian, each in a virtual environment of its own outside the checkout.

Their dependencies are large and old, and collide with the project's; nothing of the project imports them. Run it as
`python -m policies.external_tools.install [checkov] [custodian]`; what is already installed is left alone.
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
class Tool:
    """A program, the pinned distribution it comes from, and its command."""

    name: str
    requirement: str
    command: str


TOOLS = {
    tool.name: tool
    for tool in (Tool("checkov", "checkov==3.3.30", "checkov"), Tool("custodian", "c7n==0.9.53", "custodian"))
}


def home(name: str) -> Path:
    """Where a tool's environment is."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache).expanduser() / "trainshed" / "tools" / name


def command(name: str) -> Path | None:
    """The tool's command, or None where it isn't installed."""
    path = home(name) / "bin" / TOOLS[name].command
    return path if path.is_file() else None


def python(name: str) -> Path:
    return home(name) / "bin" / "python"


def install(name: str) -> None:
    tool = TOOLS[name]
    if command(name):
        print(f"{name} is in {home(name)}")
        return
    start = time.monotonic()
    print(f"installing {tool.requirement} into {home(name)} ...", flush=True)
    venv.create(home(name), with_pip=True)
    subprocess.run(
        [str(python(name)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", tool.requirement],
        check=True,
    )
    print(f"installed {name} in {time.monotonic() - start:.0f} s")


def main(words: Sequence[str]) -> int:
    unknown = [word for word in words if word not in TOOLS]
    if unknown:
        print(f"unknown tool {unknown[0]}; choose from {', '.join(TOOLS)}", file=sys.stderr)
        return 2
    for name in words or TOOLS:
        install(name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
