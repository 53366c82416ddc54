"""Hold the generated valid stacks, and those of the project, against the Terraform AWS provider.

usage: python scripts/check_with_terraform.py TOOL [--only NAME ...] [OPTION ...]

TOOL is a program that records a Pulumi project's resources, writes them as Terraform configuration and asks the
provider about it: `TOOL PROJECT STACK OUT`, which leaves OUT/report.json. Each stack file is written into a copy of
the project's folder, so that the working tree stays as it is. Options that are not this script's own are handed on to
the tool. The exit code is 1 when the provider refuses a stack.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
# Properties of the AWS SDK that version 5.100 of the Terraform provider does not know yet (compared on 2026-11-30).
NEWER = ("controlPlaneScalingConfig", "deletionProtection", "nodeRepairConfigOverrides", "updateStrategy")
NEEDED = ("Pulumi.yaml", "components", "infra", "trainshed", "workload", "policies", "stacks")


def project(folder: Path) -> Path:
    """A copy of what a program needs to run, with every generated stack among its stack files."""
    from components import catalog
    from tests.valid_stacks import stacks

    folder.mkdir()
    for name in NEEDED:
        source = ROOT / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, folder / name)
    for name, config in stacks(catalog.load()):
        text = yaml.safe_dump({"config": config}, sort_keys=False)
        (folder / "stacks" / f"Pulumi.{name}.yaml").write_text(text, encoding="utf-8")
    return folder


def asked(tool: Path, root: Path, stack: str, out: Path, options: list[str]) -> tuple[bool, dict[str, Any], str]:
    """Whether the provider accepts a stack, the tool's report, and what it printed."""
    command = [sys.executable, str(tool), str(root), stack, str(out), *options]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    report = out / "report.json"
    found = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {}
    return ran.returncode == 0, found, ran.stdout + ran.stderr


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool", type=Path)
    parser.add_argument("--only", nargs="*", default=[], help="names of stacks")
    arguments, options = parser.parse_known_args()
    options = [*options, "--newer", *NEWER]
    refused = resources = 0
    with tempfile.TemporaryDirectory() as folder:
        root = project(Path(folder) / "project")
        every = sorted(path.name.split(".")[1] for path in (root / "stacks").glob("Pulumi.*.yaml"))
        chosen = [name for name in every if not arguments.only or name in arguments.only]
        for name in chosen:
            clean, report, text = asked(arguments.tool.resolve(), root, name, Path(folder) / name, options)
            count = report.get("resources", 0)
            resources += count
            verdict = report.get("validate", "no report")
            print(f"{name:<40} {count:>4} resources  {verdict}", flush=True)
            if not clean:
                refused += 1
                print(text)
    print(f"{len(chosen)} stacks, {resources} resources, {refused} refused")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
