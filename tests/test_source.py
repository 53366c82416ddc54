"""What holds for every source file of the project."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
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


SOURCES = [
    path
    for folder in ("components", "infra", "trainshed", "policies", "workload", "tests", "bench", "scripts", "tools")
    for path in sorted((ROOT / folder).rglob("*.py"))
]
# Rooms that import one another: a public class name stands once in each of these groups.
TOGETHER = (("components", "infra", "trainshed"), ("policies",), ("workload",))
# Words that need a second reading, each with a plain one in the glossary.
MANNERED = re.compile(
    r"\b(?:theatre|curtain|crew|light_aws)\b|(?<!['\"])\b_?reckon(?:ing|ed|s)?\b|^\s*(?:[\"]{3})?Hides ", re.M | re.I
)


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_no_function_is_longer_than_sixty_lines() -> None:
    long = [
        f"{path.relative_to(ROOT)}: {each.name}, {each.end_lineno - each.lineno + 1} lines"
        for path in SOURCES
        for each in _functions(ast.parse(path.read_text(encoding="utf-8")))
        if each.end_lineno is not None and each.end_lineno - each.lineno + 1 > 60
    ]
    assert long == []


@pytest.mark.parametrize("folders", TOGETHER, ids=["product", "policies", "workload"])
def test_a_class_name_means_one_thing(folders: tuple[str, ...]) -> None:
    found: dict[str, list[str]] = {}
    for path in SOURCES:
        if path.relative_to(ROOT).parts[0] not in folders or "programs" in path.parts:
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


# Participles that were used as nouns for messages; the field `said` of a problem is part of the contract.
_NO_NOUNS = {"told", "unread", "doors", "theatre", "judges"}


def _names(tree: ast.AST) -> Iterator[str]:
    """Names that a module gives: of functions, classes, parameters and variables."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def test_names_are_nouns_that_need_no_second_reading() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in SOURCES
        for name in _names(ast.parse(path.read_text(encoding="utf-8")))
        if name.strip("_") in _NO_NOUNS
    }
    assert found == set()


def test_words_are_plain() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {match.group().strip()}"
        for path in SOURCES
        if path != Path(__file__)
        for match in MANNERED.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []
