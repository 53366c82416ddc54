"""One staging stack on real schedulers, shared by the modules that only add to it and take away what they added."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.live.support.cluster import Cluster


@pytest.fixture(scope="session")
def staging() -> Iterator[Cluster]:
    with Cluster.of_stack("staging") as made:
        yield made
