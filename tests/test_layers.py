"""The rule of the layers, from the import graph: who may import whom."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.rows import each_row

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("components", "infra", "trainshed", "policies", "workload", "stacks", "tests")

# A layer may import itself and the layers above it in this list.
LAYERS = [
    ("components.catalog", "components.problems", "components.naming", "components.labels"),
    ("components.spec",),
    ("components.planning", "components.sizing", "components.fabrics", "components.accelerators"),
    ("components.manifests",),
    ("components",),  # the component modules
    ("infra",),
    ("trainshed",),
]
PURE = LAYERS[:4]
# Texts of programs that run in a container of a bare Python: nobody imports them, and they import nothing of the project.
PROGRAMS = "components.manifests.programs"
FORBIDDEN_BELOW_COMPONENTS = (
    "pulumi",
    "pulumi_aws",
    "pulumi_kubernetes",
    "pulumi_random",
    "socket",
    "urllib",
    "http",
    "requests",
    "boto3",
    "time",
)


def layer_of(module: str) -> int:
    for index, names in enumerate(LAYERS):
        if any(module == name or module.startswith(f"{name}.") for name in names if name != "components"):
            return index
    return 4 if module.startswith("components.") and module.count(".") == 1 else -1


def modules() -> Iterator[tuple[str, Path]]:
    for package in ("components", "infra", "trainshed", "policies", "workload", "stacks"):
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


MODULES = list(modules())


@each_row(MODULES)
def test_imports_go_one_way(module: str, path: Path) -> None:
    mine = layer_of(module)
    for wanted in imports(path):
        package = wanted.split(".")[0]
        assert not wanted.startswith(PROGRAMS), f"{module} imports {wanted}, which is a text for a container"
        if module.startswith(PROGRAMS):
            assert package not in PACKAGES, f"{module} imports {wanted} from the project"
        elif module.split(".")[0] in ("policies", "workload", "stacks"):
            assert package == module.split(".")[0] or package not in PACKAGES, f"{module} imports {wanted} from the project"
        elif package in ("components", "infra", "trainshed"):
            theirs = layer_of(wanted)
            assert theirs <= mine, f"{module} (layer {mine}) imports {wanted} (layer {theirs})"


@each_row(MODULES)
def test_pulumi_network_and_clock_stay_out_of_the_pure_layers(module: str, path: Path) -> None:
    if 0 <= layer_of(module) < 4 and not module.startswith(PROGRAMS):
        reached = {wanted.split(".")[0] for wanted in imports(path)} & set(FORBIDDEN_BELOW_COMPONENTS)
        assert not reached, f"{module} imports {sorted(reached)}"
    if module.startswith("trainshed"):
        assert not {wanted.split(".")[0] for wanted in imports(path)} & {"pulumi", "pulumi_aws", "pulumi_kubernetes"}, module


def test_the_rule_sees_a_breach(tmp_path: Path) -> None:
    breach = tmp_path / "breach.py"
    breach.write_text("from components.network import Network\nimport pulumi\n")
    assert "components.network" in set(imports(breach))
    assert layer_of("components.network") > layer_of("components.spec.stack")


def test_the_pure_layers_hold_no_cycles() -> None:
    known = {name for name, _ in MODULES}
    graph = {name: {w for w in imports(path) if w in known and w != name} for name, path in MODULES if name.startswith("components")}
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, f"import cycle: {' -> '.join((*trail[trail.index(name) :], name))}"
        if name in done:
            return
        for wanted in sorted(graph.get(name, ())):
            # A package's __init__ re-exports its own modules: that is no cycle.
            if not name.startswith(f"{wanted}."):
                visit(wanted, (*trail, name))
        done.add(name)

    for name in graph:
        visit(name, ())
