"""What pyproject.toml cannot say: in a wheel, every package of this project lies under the one name `trainshed`.

In the checkout `components`, `infra`, `policies` and `workload` are folders of their own. As top-level packages of a
wheel they would collide with anybody's. So a wheel holds `trainshed.components` and so on, with their imports changed
to match. An editable install stays as the checkout is.
"""

from __future__ import annotations

import ast
import shutil
from collections.abc import Iterator
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.egg_info import egg_info

PUBLISHED = "trainshed"
MOVED = ("components", "infra", "policies", "workload")
# Programs of containers import each other by the name they have there, so these are shipped as they are.
LEFT_AS_THEY_ARE = ("workload",)
NAMING_CALLS = ("files", "import_module")


def published(source: str) -> str:
    """A module's text with absolute imports of the moved packages changed to their published names.

    Raises ValueError for an import that has no such form: `import components.x` binds the name `components`.
    """
    lines = source.encode().splitlines(keepends=True)
    for line, column in sorted(_names(ast.parse(source)), reverse=True):
        text = lines[line - 1]
        lines[line - 1] = text[:column] + f"{PUBLISHED}.".encode() + text[column:]
    return b"".join(lines).decode()


def _names(tree: ast.AST) -> Iterator[tuple[int, int]]:
    """Where the moved packages' names begin: line, and column in bytes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module and _moved(node.module):
            yield node.lineno, node.col_offset + len("from ")
        elif isinstance(node, ast.Import):
            for each in node.names:
                if _moved(each.name):
                    if not each.asname:
                        raise ValueError(f"line {node.lineno}: write `from {each.name} import ...`")
                    yield each.lineno, each.col_offset
        elif isinstance(node, ast.Call) and _called(node.func) in NAMING_CALLS and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str) and _moved(first.value):
                yield first.lineno, first.col_offset + 1


def _moved(name: str) -> bool:
    return name.split(".")[0] in MOVED


def _called(function: ast.expr) -> str:
    return getattr(function, "id", getattr(function, "attr", ""))


class UnderOneName(build_py):
    """Builds as usual, then moves what was built under the published name."""

    def run(self) -> None:
        built = Path(self.build_lib)
        if not self.editable_mode:
            shutil.rmtree(built, ignore_errors=True)  # a module deleted since the last build must not be shipped
        super().run()
        if self.editable_mode:
            return
        for each in (*MOVED, PUBLISHED):
            if each not in LEFT_AS_THEY_ARE:
                for module in (built / each).rglob("*.py"):
                    module.write_text(published(module.read_text(encoding="utf-8")), encoding="utf-8")
        for each in MOVED:
            shutil.move(built / each, built / PUBLISHED / each)


class Named(egg_info):
    """What the distribution says it installs: in a wheel that is the published name alone."""

    def run(self) -> None:
        super().run()
        if not self.distribution.get_command_obj("build_py").editable_mode:
            names = Path(self.egg_info) / "top_level.txt"
            names.write_text(f"{PUBLISHED}\n", encoding="utf-8")


setup(cmdclass={"build_py": UnderOneName, "egg_info": Named})
