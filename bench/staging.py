"""Benchmark of staging: files a second, bandwidth and memory of `workload/data/stage.py` on 20,000 files of mixed
sizes.

Run as `python bench/staging.py [FOLDER]`; it needs some 300 MB in FOLDER (default: a temporary folder). The plain `cp
-r` stands beside it, and rsync with checksums where it is installed.
"""

from __future__ import annotations

import os
import platform
import random
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

STAGE = Path(__file__).resolve().parents[1] / "workload/data/stage.py"
FILES = 20_000


def make(folder: Path) -> int:
    """Mostly small files, some of tens of KiB, four of 26 MB; gives their bytes."""
    generator = random.Random(1)
    block = generator.randbytes(1 << 16)
    total = 0
    for number in range(FILES):
        below = folder / f"{number % 50:02}"
        below.mkdir(parents=True, exist_ok=True)
        size = generator.randrange(2000) if number % 100 else generator.randrange(len(block))
        data = block[:size] + (block * 400 if number % 5000 == 0 else b"")
        (below / f"{number:05}.bin").write_bytes(data)
        total += len(data)
    return total


def measure(*words: object) -> tuple[float, float]:
    """Seconds, and MiB of the largest resident set, as the kernel keeps it for this program alone."""
    started = time.monotonic()
    process = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL)
    peak = 0
    while process.poll() is None:
        for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                peak = max(peak, int(line.split()[1]))
        time.sleep(0.02)
    if process.returncode:
        raise SystemExit(f"{words[0]} ended with {process.returncode}")
    return time.monotonic() - started, peak / 1024


def main() -> None:
    where = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory(dir=where) as name:
        folder = Path(name)
        size = make(folder / "source")
        load, python = os.getloadavg()[0], platform.python_version()
        print(
            f"machine: {platform.machine()}, {os.cpu_count()} CPUs, load {load:.1f}, Python {python},"
            f" {datetime.now(UTC):%Y-%m-%d}"
        )
        print(f"{FILES} files, {size / 1e6:.0f} MB, in {folder}")
        manifest, disk = folder / "m.jsonl", folder / "disk"
        stage = (sys.executable, STAGE)
        copy = (*stage, "copy", "--manifest", manifest, "--source", folder / "source", "--destination", disk)
        rows: list[tuple[str, tuple[object, ...]]] = [
            ("manifest (SHA-256)", (*stage, "manifest", folder / "source", "--output", manifest)),
            ("copy, 8 workers", copy),
            ("copy again, all there", copy),
            ("copy again, sizes trusted", (*copy, "--trust-existing")),
            ("verify, 8 workers", (*stage, "verify", "--manifest", manifest, "--root", disk)),
            ("cp -r (no checksum, no flush)", ("cp", "-r", folder / "source", folder / "plain")),
        ]
        if shutil.which("rsync"):
            words = f"rsync -a --checksum {folder}/source/ {folder}/rsync/ && sync -f {folder}/rsync"
            rows += [(f"rsync --checksum and flush{more}", ("sh", "-c", words)) for more in ("", ", again")]
        print(f"{'what':<30} {'seconds':>8} {'files/s':>9} {'MB/s':>7} {'MiB held':>9}")
        for what, words in rows:
            seconds, memory = measure(*words)
            print(
                f"{what:<30} {seconds:8.2f} {FILES / seconds:9.0f} {size / 1e6 / seconds:7.1f} {memory:9.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
