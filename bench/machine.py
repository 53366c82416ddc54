"""The machine that figures come from, in one line each: a figure without it says nothing."""

from __future__ import annotations

import datetime
import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("pulumi", "pulumi-aws", "pulumi-kubernetes", "pydantic")


def described() -> list[str]:
    """Date, processor, memory, system, interpreter and the versions of what was measured."""
    cpu = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    memory_kib = int(
        next(line.split()[1] for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemTotal"))
    )
    load = os.getloadavg()
    return [
        f"date      {datetime.date.today().isoformat()}",
        (
            f"machine   {os.cpu_count()} cores, {cpu}, {memory_kib / 2**20:.0f} GiB, {platform.system()}"
            f" {platform.release()}"
        ),
        f"load      {load[0]:.1f} {load[1]:.1f} {load[2]:.1f} (1, 5, 15 minutes) before the run",
        (
            f"python    {platform.python_version()} ({sys.implementation.name});"
            f" {', '.join(f'{name} {version(name)}' for name in PACKAGES)}"
        ),
    ]


def table(header: list[str], rows: list[list[object]]) -> str:
    """A Markdown table, as RESULTS.md holds it."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)
