"""What all tests share: the marks for real tools, and one catalog."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import settings

from components import catalog as catalogs
from components.catalog import Catalog
from tests import whole

pytest_plugins = ["tests.left_out"]

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
        whole.clear(session.config.option.testrunuid)
