"""What all tests share: the marks for real tools, and one catalog."""

from __future__ import annotations

import pytest
from hypothesis import settings

from components import catalog as catalogs
from components.catalog import Catalog

pytest_plugins = ["tests.left_out"]

# Two cores shared by a whole suite: how long one example takes says nothing.
settings.register_profile("trainshed", deadline=None)
settings.load_profile("trainshed")


@pytest.fixture(scope="session")
def cat() -> Catalog:
    return catalogs.load()
