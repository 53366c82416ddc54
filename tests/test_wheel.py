"""The wheel: everything under one name, and usable in an empty folder without the checkout."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MOVED = ("components", "infra", "policies", "workload")
RUN = """
import json, runpy
from importlib.util import find_spec
from trainshed.infra.offline.recorder import run

config = {"own-program:cluster": "lab", "own-program:endpoint": "https://lab.example",
          "own-program:certificateAuthority": "Y2E=", "own-program:nodeRoleArn": "arn:aws:iam::111122223333:role/nodes"}
records = run(lambda: runpy.run_path("own.py", run_name="__main__"), project="own-program", stack="lab",
              config=config).records
found = [name for name in ("components", "infra", "policies", "workload") if find_spec(name)]
print(json.dumps([sorted({each.type for each in records if each.type.startswith("trainshed:")}), found]))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    for each in (*MOVED, "trainshed"):
        shutil.copytree(ROOT / each, source / each, ignore=shutil.ignore_patterns("__pycache__"))
    for each in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / each, source / each)
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*pip, "-w", str(folder), str(source)], check=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Path:
    """A fresh environment that has the wheel, and the dependencies of this one."""
    made = wheel.parent / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(made)], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(made / "bin" / "python"), "install", "-q"]
    subprocess.run([*pip, "--no-deps", "--no-index", "--no-compile", str(wheel)], check=True)
    packages = next((made / "lib").glob("python*")) / "site-packages"
    # A folder that a .pth names is searched, but its own .pth files, such as the checkout's, aren't read.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    return made / "bin"


def test_one_top_level_package_is_installed(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as content:
        tops = {name.split("/")[0] for name in content.namelist()}
        told = next(content.read(name) for name in content.namelist() if name.endswith("/top_level.txt"))
    assert {each for each in tops if not each.endswith(".dist-info")} == {"trainshed"}
    assert told.split() == [b"trainshed"]


def test_no_module_of_it_imports_a_name_that_only_the_checkout_has(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as content:
        modules = [each for each in content.namelist() if each.endswith(".py") and "/workload/" not in each]
        assert len(modules) > 300
        for module in modules:
            for node in ast.walk(ast.parse(content.read(module))):
                wanted = [each.name for each in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom) and node.level == 0:
                    wanted = [node.module or ""]
                assert not [each for each in wanted if each.split(".")[0] in MOVED], module


def test_a_program_of_ones_own_runs_in_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    program = (ROOT / "examples" / "own_program" / "__main__.py").read_text(encoding="utf-8")
    (tmp_path / "own.py").write_text(program.replace("from components", "from trainshed.components"), encoding="utf-8")
    assert _run(installed, tmp_path, "python", "-c", RUN) == (
        '[["trainshed:network:Network", "trainshed:pool:GpuPool", "trainshed:storage:Lustre"], []]\n'
    )


def test_the_command_line_previews_a_stack_of_the_folder_by_its_name(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "stacks").mkdir()
    shutil.copy(ROOT / "stacks" / "Pulumi.prod.yaml", tmp_path / "stacks" / "Pulumi.lab.yaml")
    shutil.copytree(ROOT / "tasks", tmp_path / "tasks")
    assert '"stack": "lab"' in _run(installed, tmp_path, "trainshed", "preview", "lab", "--json")
    rendered = _run(installed, tmp_path, "trainshed", "job", "render", "finetune-8b", "--stack", "lab")
    assert "kind: JobSet" in rendered


def _run(installed: Path, folder: Path, *command: str) -> str:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    line = [str(installed / command[0]), *command[1:]]
    done = subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
