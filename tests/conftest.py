"""What all tests share: the marks for real tools, and one catalog."""

from __future__ import annotations

import pytest

from components import catalog as catalogs
from components.catalog import Catalog

pytest_plugins = ["tests.left_out"]


@pytest.fixture(scope="session")
def cat() -> Catalog:
    return catalogs.load()
