"""The table of tools, the modules they are built from, and how a missing one is told."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from components.catalog.charts import CHARTS
from components.manifests.queues import controllers
from tests.live.support.engine import CHECKOUT
from trainshed.sandbox import tools


@pytest.mark.parametrize("tool", tools.BUILT, ids=lambda tool: tool.name)
def test_the_module_file_requires_the_version_of_the_table(tool: tools.Tool) -> None:
    text = (CHECKOUT / "tools" / tool.name / "go.mod").read_text()
    required = re.search(rf"^\s*(?:require )?{re.escape(tool.module)} v(\S+)", text, re.MULTILINE)
    assert required is not None
    if tool.name == "pulumi-resource-kubernetes":
        # The provider's Go module carries no release tags: main.go names the version that this commit became.
        assert f'const version = "{tool.version}"' in (CHECKOUT / "tools" / tool.name / "main.go").read_text()
    else:
        assert required[1] == tool.version


@pytest.mark.parametrize("tool", tools.BUILT, ids=lambda tool: tool.name)
def test_every_module_is_pinned_by_checksums_and_names_no_registry(tool: tools.Tool) -> None:
    folder = CHECKOUT / "tools" / tool.name
    sums = (folder / "go.sum").read_text()
    assert f"{tool.module} v" in sums
    assert "http" not in "".join(line for line in (folder / "go.mod").read_text().splitlines() if "replace" in line)


def test_the_list_names_every_program_and_where_it_lies() -> None:
    shown = subprocess.run(
        [sys.executable, str(CHECKOUT / "tools" / "build.py"), "--list"], capture_output=True, text=True, check=True
    ).stdout
    for tool in tools.BUILT:
        for program in tool.binaries:
            line = next(line for line in shown.splitlines() if line.startswith(f"{program} "))
            assert tool.version in line
            assert str(tools.find(program) or "not built") in line


def test_a_program_on_path_is_taken_before_the_built_one_where_versions_may_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pulumi", "kueue"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert tools.find("pulumi") == tmp_path / "pulumi"
    # Kueue's charts and CRDs are copied at one version: a controller of another would not fit them.
    assert tools.find("kueue") is None


def test_a_missing_program_names_its_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert tools.missing(("pulumi", "promtool")) == ("pulumi", "promtool")
    assert tools.remedy("kube-apiserver") == "make tools (or python tools/build.py --only kubernetes)"
    assert tools.remedy("promtool") == "apt-get install prometheus"
    assert tools.remedy("terraform") == "put terraform on PATH"


def test_two_builds_at_once_do_not_meet(tmp_path: Path) -> None:
    """The second waits for the first one's lock and then finds nothing left to do."""
    program = (
        "import sys, time; sys.path.insert(0, sys.argv[1] + '/tools'); import build; from pathlib import Path\n"
        "with build.locked(Path(sys.argv[2])):\n"
        "    log = Path(sys.argv[2]) / 'log'\n"
        "    log.open('a').write('in '); time.sleep(0.3); log.open('a').write('out ')\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", program, str(CHECKOUT), str(tmp_path)], stdout=subprocess.DEVNULL)
        for _ in range(3)
    ]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert (tmp_path / "log").read_text() == "in out in out in out "


def test_the_charts_that_stacks_declare_are_of_the_versions_that_the_tests_run() -> None:
    shipped = {tool.name: tool.version for tool in tools.BUILT if tool.name in CHARTS.charts}
    assert {"kueue", "jobset"} <= set(shipped)
    for name, version in shipped.items():
        assert CHARTS[name].version == version
        assert CHARTS.image(name).tag.removeprefix("v") == version


@pytest.mark.control_plane
def test_every_aggregated_role_of_a_shipped_chart_is_declared_beside_its_release(need: Callable[[str], Path]) -> None:
    """Kubernetes makes such a role anew while Helm takes the chart away, unless it went before."""
    found: set[str] = set()
    for name in ("kueue", "jobset"):
        need(name)
        for file in tools.asset(name, f"charts/{name}").rglob("*.yaml"):
            text = file.read_text()
            if "aggregationRule:" in text:
                suffix = re.search(r"name: '?\{\{ include \"\w+\.fullname\" \. \}\}(\S+?)'?$", text, re.MULTILINE)
                assert suffix is not None, file
                found.add(name + suffix[1])
    assert found == {role["metadata"]["name"] for role in controllers.aggregated_roles()}
