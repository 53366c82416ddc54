"""What holds for every source file of the project."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CHECKER = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pyright"]
# Modules that only the built tools bring, so that the type checker can't read them here.
_BUILT = {"torch", "checkov"}


def _imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


def test_every_folder_with_programs_is_checked_strictly() -> None:
    assert CHECKER["typeCheckingMode"] == "strict"
    folders = {path.relative_to(ROOT).parts[0] for path in ROOT.glob("*/**/*.py")}
    assert {each for each in folders if not each.startswith((".", "build", "dist"))} <= set(CHECKER["include"])


@pytest.mark.parametrize("path", CHECKER["ignore"])
def test_only_what_needs_a_built_tool_is_left_out_of_the_check(path: str) -> None:
    assert _imported(ROOT / path) & _BUILT
