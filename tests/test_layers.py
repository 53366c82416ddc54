"""The rule of the layers, from the import graph: who may import whom, and how large a folder may grow."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("components", "infra", "trainshed", "policies", "workload", "stacks", "tests")
SOURCES = ("components", "infra", "trainshed", "policies", "workload", "stacks")

# A layer may import itself and the layers above it in this list.
LAYERS = [
    ("components.catalog", "components.problems", "components.naming", "components.node_labels", "components.record"),
    ("components.spec",),
    ("components.accelerators", "components.fabrics"),
    # A file system's adapter prices what it declares and counts nodes, so it stands beside planning.
    ("components.planning", "components.sizing", "components.file_systems"),
    ("components.manifests",),
    ("components",),  # the component rooms
    ("infra",),
    ("trainshed",),
]
ROOMS = LAYERS.index(("components",))
# What any room may use of another: the rest of a room is its own.
SHARED_ROOMS = ("components.identity", "components.in_cluster")
# Programs that run in a container of a bare Python: nobody imports them, and they import nothing of the project.
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
MOST_MODULES = 20


def layer_of(module: str) -> int:
    for index, names in enumerate(LAYERS):
        if any(module == name or module.startswith(f"{name}.") for name in names if name != "components"):
            return index
    return ROOMS if module.startswith("components.") else -1


def modules() -> Iterator[tuple[str, Path]]:
    for package in SOURCES:
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
KNOWN = {name for name, _ in MODULES}
each_module = pytest.mark.parametrize(("module", "path"), MODULES, ids=[name for name, _ in MODULES])


@each_module
def test_imports_go_one_way(module: str, path: Path) -> None:
    mine = layer_of(module)
    for wanted in imports(path):
        package = wanted.split(".")[0]
        assert not wanted.startswith(PROGRAMS), f"{module} imports {wanted}, which is a text for a container"
        if module.startswith(PROGRAMS):
            assert package not in PACKAGES, f"{module} imports {wanted} from the project"
        elif module.split(".")[0] in ("policies", "workload", "stacks"):
            own = module.split(".")[0]
            assert package == own or package not in PACKAGES, f"{module} imports {wanted} from the project"
        elif package in ("components", "infra", "trainshed") and wanted != "components":
            theirs = layer_of(wanted)
            assert theirs <= mine, f"{module} (layer {mine}) imports {wanted} (layer {theirs})"


@each_module
def test_a_room_is_entered_by_its_door(module: str, path: Path) -> None:
    """Outside a component's room only what its `__init__` exports is used."""
    room = ".".join(module.split(".")[:2])
    for wanted in imports(path):
        theirs = ".".join(wanted.split(".")[:2])
        if layer_of(wanted) == ROOMS and theirs != room and not theirs.startswith(SHARED_ROOMS):
            assert wanted not in KNOWN or wanted == theirs, f"{module} imports {wanted}, a module of another room"


@each_module
def test_pulumi_network_and_clock_stay_out_of_the_pure_layers(module: str, path: Path) -> None:
    if 0 <= layer_of(module) < ROOMS and not module.startswith(PROGRAMS):
        reached = {wanted.split(".")[0] for wanted in imports(path)} & set(FORBIDDEN_BELOW_COMPONENTS)
        assert not reached, f"{module} imports {sorted(reached)}"
    if module.startswith("trainshed"):
        assert not {wanted.split(".")[0] for wanted in imports(path)} & {
            "pulumi",
            "pulumi_aws",
            "pulumi_kubernetes",
        }, module


def test_the_rule_sees_a_breach(tmp_path: Path) -> None:
    breach = tmp_path / "breach.py"
    breach.write_text("from components.network import Network\nimport pulumi\n")
    assert "components.network" in set(imports(breach))
    assert layer_of("components.network.network") > layer_of("components.spec.stack")


def graph() -> Mapping[str, set[str]]:
    """Imports between the project's own modules; a package that stands only for one of its modules is left out."""
    found: dict[str, set[str]] = {}
    for name, path in MODULES:
        wanted = {each for each in imports(path) if each in KNOWN and each != name}
        # `from package import module` names both: the module is what is wanted.
        found[name] = {each for each in wanted if not any(other.startswith(f"{each}.") for other in wanted)}
    return found


def test_there_are_no_circles() -> None:
    edges = graph()
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, f"import cycle: {' -> '.join((*trail[trail.index(name) :], name))}"
        if name in done:
            return
        for wanted in sorted(edges.get(name, ())):
            # A package's __init__ re-exports its own modules: that is no cycle.
            if not name.startswith(f"{wanted}."):
                visit(wanted, (*trail, name))
        done.add(name)

    for name in edges:
        visit(name, ())


def test_a_module_has_one_name() -> None:
    """No module of the project is imported under two names."""
    names: dict[str, set[str]] = defaultdict(set)
    for _, path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                for alias in node.names:
                    if f"{node.module}.{alias.name}" in KNOWN:
                        names[f"{node.module}.{alias.name}"].add(alias.asname or alias.name)
    twice = {module: sorted(used) for module, used in names.items() if len(used) > 1}
    assert not twice


@pytest.mark.parametrize("package", [*SOURCES, "tests"])
def test_a_folder_holds_at_most_some_twenty_modules(package: str) -> None:
    held: dict[Path, int] = defaultdict(int)
    for path in (ROOT / package).rglob("*.py"):
        held[path.parent] += path.name != "__init__.py"
    large = {str(folder.relative_to(ROOT)): count for folder, count in held.items() if count > MOST_MODULES}
    assert not large, f"these folders need rooms: {large}"
