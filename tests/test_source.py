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
# What the checker lets pass on a line names its rules and gives a reason.
_LET_PASS = re.compile(r"# *pyright: *ignore\[[A-Za-z, ]+\] - \w")


# Rules that are off, each for the providers' generated code or for stubs that say nothing.
_OFF = {
    "reportIncompleteStub",
    "reportMissingModuleSource",
    "reportMissingTypeStubs",
    "reportUnknownArgumentType",
    "reportUnknownLambdaType",
    "reportUnknownMemberType",
    "reportUnknownVariableType",
    "reportUnnecessaryIsInstance",
}


def test_every_folder_with_programs_is_checked_strictly() -> None:
    assert CHECKER["typeCheckingMode"] == "strict"
    folders = {path.relative_to(ROOT).parts[0] for path in ROOT.glob("*/**/*.py")}
    assert {each for each in folders if not each.startswith((".", "build", "dist"))} <= set(CHECKER["include"])


def test_no_file_is_left_out_of_the_check_and_no_further_rule_is_off() -> None:
    assert "ignore" not in CHECKER and "executionEnvironments" not in CHECKER
    assert CHECKER["exclude"] == ["**/.*", "**/node_modules", "build", "dist"]
    assert {rule for rule, value in CHECKER.items() if rule.startswith("report") and value is False} <= _OFF
    assert CHECKER["enableTypeIgnoreComments"] is False and CHECKER["reportUnnecessaryTypeIgnoreComment"] is True


def test_what_the_checker_lets_pass_on_a_line_names_its_rule_and_says_why() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in SOURCES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(r"#\s*(pyright|type):", line) and path != Path(__file__) and not _LET_PASS.search(line)
    ]
    assert found == []


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
