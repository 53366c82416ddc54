"""Every stack file goes through its whole life on the real engine."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.live.support.engine import CHECKOUT, Engine
from tests.live.support.graph import deleted_before_what_it_needs

pytestmark = pytest.mark.engine
STACKS = sorted(path.name.split(".")[1] for path in (CHECKOUT / "stacks").glob("Pulumi.*.yaml"))


@pytest.mark.proves(
    broken="nothing: each stack file as it is",
    promised="preview and up succeed, a second up and a refresh change nothing, destroy goes in dependency order and leaves an empty state",
)
@pytest.mark.parametrize("stack", STACKS)
def test_a_stack_file_goes_through_its_whole_life(engine: Callable[..., Engine], stack: str) -> None:
    project = engine(stack)
    preview = project.preview().must()
    assert set(preview.counts()) == {"create"}

    first = project.up().must()
    assert first.counts() == preview.counts()
    state = project.state()
    assert len(state) >= first.counts()["create"]

    second = project.up("--expect-no-changes").must()
    assert second.changed() == {}
    assert set(second.counts()) == {"same"}

    refreshed = project.refresh("--expect-no-changes").must()
    assert project.calls("update") == []
    assert refreshed.changed() == {}

    if any(resource.get("protect") for resource in state):
        refused = project.run("destroy", "--yes", "--stack", stack)
        assert refused.code != 0
        assert project.calls("delete") == [], "a protected stack lost resources before the engine refused"
        project.run("state", "unprotect", "--all", "--yes", "--stack", stack).must()

    project.destroy().must()
    deleted = [call["urn"] for call in project.calls("delete")]
    assert deleted_before_what_it_needs(state, deleted) == []
    assert project.state() == []
