"""Fixtures of the live tests, and the record of what they proved."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from tests.live.support.engine import CHECKOUT, Engine

OUTCOMES = Path(__file__).parent / "outcomes.json"
_outcomes: dict[str, str] = {}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "proves(broken, promised): what a live test breaks on purpose, and what must hold all the same"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The shared stack comes last: while others have a control plane of their own it would only take room."""
    items.sort(key=lambda item: "staging" in getattr(item, "fixturenames", ()))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    outcome = yield
    report = outcome.get_result()
    if item.get_closest_marker("proves") and (report.when == "call" or report.failed):
        module = Path(item.path).relative_to(CHECKOUT).as_posix()
        key = f"{module}::{item.name.split('[', 1)[0]}"
        _outcomes[key] = "failed" if report.failed or _outcomes.get(key) == "failed" else report.outcome


def pytest_sessionfinish(session: pytest.Session) -> None:
    """With TRAINSHED_RECORD_LIVE=1 a run leaves what held, for the README's last column."""
    if os.environ.get("TRAINSHED_RECORD_LIVE") == "1" and _outcomes:
        known = json.loads(OUTCOMES.read_text()) if OUTCOMES.exists() else {}
        OUTCOMES.write_text(json.dumps(dict(sorted({**known, **_outcomes}.items())), indent=1) + "\n")


@pytest.fixture
def engine(tmp_path: Path) -> Callable[..., Engine]:
    """`engine("dev")` is this project with a backend and plugins of its own, nothing deployed yet."""

    def make(stack: str, **options: bool) -> Engine:
        return Engine.of_checkout(tmp_path / f"engine-{stack}", stack, **options)

    return make


@pytest.fixture(scope="session")
def deployed_dev(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """The dev stack after its first `up`: tests take a copy and change that."""
    engine = Engine.of_checkout(tmp_path_factory.mktemp("deployed"), "dev")
    engine.up().must()
    return engine


@pytest.fixture
def dev(deployed_dev: Engine, tmp_path: Path) -> Engine:
    """A deployed dev stack of the test's own."""
    return deployed_dev.fork(tmp_path / "fork")
