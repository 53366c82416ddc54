"""Time of the real engine over a stack with the echo provider: preview, up, a second up, refresh, destroy.

python bench/engine.py [--stack prod]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench.machine import described, table  # noqa: E402
from tests.live.support.engine import Engine  # noqa: E402
from trainshed.sandbox import tools  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stack", default="prod")
    arguments = parser.parse_args()
    pulumi = tools.find("pulumi")
    if pulumi is None:
        raise SystemExit(f"pulumi is missing: {tools.remedy('pulumi')}")
    print("\n".join(described()))
    print(
        "pulumi    " + subprocess.run([pulumi, "version"], capture_output=True, text=True, check=True).stdout.strip(),
        flush=True,
    )
    rows: list[list[object]] = []
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine.of_checkout(Path(folder) / "engine", arguments.stack).write_every_step()
        for name, command in (
            ("preview", engine.preview),
            ("up", engine.up),
            ("second up", engine.up),
            ("refresh", engine.refresh),
        ):
            run = command().must()
            rows.append([name, f"{run.seconds:.1f}", ", ".join(f"{count} {op}" for op, count in run.counts().items())])
        engine.run("state", "unprotect", "--all", "--yes", "--stack", arguments.stack).must()
        run = engine.destroy().must()
        rows.append(["destroy", f"{run.seconds:.1f}", ", ".join(f"{count} {op}" for op, count in run.counts().items())])
    print(table([f"{arguments.stack} on the echo provider", "seconds", "steps"], rows))


if __name__ == "__main__":
    main()
