"""The contract between job and program: one table, and everything written from it equal to it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from components.catalog import contract as table
from tests.workload.conftest import ROOT
from workload import contract


def test_the_page_and_the_programs_constants_are_those_of_the_table() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs/job_contract.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_no_name_stands_twice() -> None:
    for names in (
        [one.name for one in table.VARIABLES],
        [one.name for one in table.EXIT_CODES],
        [one.code for one in table.EXIT_CODES],
        [one.name for one in table.METRICS],
        [one.word for one in table.METRICS],
    ):
        assert len(names) == len(set(names))


def test_only_faults_that_may_pass_are_tried_again_in_place() -> None:
    for one in table.EXIT_CODES:
        assert not one.in_place or one.verdict == "restart", one.name


def test_metrics_have_names_that_prometheus_takes_and_units_at_the_end() -> None:
    for one in table.METRICS:
        assert one.name.startswith("training_")
        assert one.name.endswith("_total") == (one.kind == "counter")


def test_every_variable_that_a_program_reads_is_in_the_table() -> None:
    """A name that a program reads and no table has is a promise nobody keeps."""
    known = {one.name for one in table.VARIABLES}
    # Kubernetes itself gives pods the API server's address, and an indexed job's pods their number.
    kubernetes = {"HOSTNAME", "JOB_COMPLETION_INDEX", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"}
    other = {"AWS_ENDPOINT_URL", *kubernetes}
    for path in sorted((ROOT / "workload").rglob("*.py")):
        if "preflight" in path.parts or path.name == "contract.py":
            continue
        for name in environment_names(path):
            assert name in known | other, f"{path}: {name}"


def environment_names(path: Path) -> set[str]:
    """Names given as text to `os.environ.get(...)` or `os.environ[...]`."""
    import re

    return set(re.findall(r"environ(?:\.get\(|\[)\"([A-Z_]+)\"", path.read_text(encoding="utf-8")))


def test_programs_exit_with_the_tables_codes() -> None:
    assert contract.VERDICTS[contract.NOT_FINITE] == "end"
    assert {one.code: one.verdict for one in table.EXIT_CODES} == contract.VERDICTS
