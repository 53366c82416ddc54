"""What all tests share: the marks for real tools, and one catalog."""

from __future__ import annotations

import gc
import uuid

import pytest
from hypothesis import settings

from components import catalog as catalogs
from components.catalog import Catalog

pytest_plugins = ["tests.left_out"]

# Catalogs, providers' modules and declared stacks stay: the collector's looking through them took a tenth of a run.
gc.set_threshold(200_000, 50, 100)

# Two cores shared by a whole suite: how long one example takes says nothing.
settings.register_profile("trainshed", deadline=None)
settings.load_profile("trainshed")


@pytest.fixture(scope="session")
def cat() -> Catalog:
    return catalogs.load()


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.option.testrunuid = getattr(config.option, "testrunuid", None) or uuid.uuid4().hex


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):
        from tests.whole import clear  # imports all of Pulumi

        clear(session.config.option.testrunuid)
