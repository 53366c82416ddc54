"""Stack files go through their whole life on the real engine: the small ones to the end, prod until it stands.

Every stack file's preview is held against the offline one in test_offline_preview.py.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.live.support.engine import Engine
from tests.live.support.graph import deleted_before_what_it_needs

pytestmark = pytest.mark.engine


def lives_on_and_ends(project: Engine) -> None:
    """What follows a first `up`: nothing to do, no drift, and a destroy in order."""
    state = project.state()
    second = project.up("--expect-no-changes").must()
    assert second.changed() == {}
    assert set(second.counts()) == {"same"}

    refreshed = project.refresh("--expect-no-changes").must()
    assert project.calls("update") == []
    assert refreshed.changed() == {}

    if any(resource.get("protect") for resource in state):
        refused = project.run("destroy", "--yes", "--stack", project.stack)
        assert refused.code != 0
        assert project.calls("delete") == [], "a protected stack lost resources before the engine refused"
        project.run("state", "unprotect", "--all", "--yes", "--stack", project.stack).must()

    project.destroy().must()
    deleted = [call["urn"] for call in project.calls("delete")]
    assert deleted_before_what_it_needs(state, deleted) == []
    assert project.state() == []


@pytest.mark.proves(
    broken="nothing: the self-hosted stack file as it is, with a kubeconfig of its own",
    promised="up does what preview said, a second up and a refresh change nothing, destroy goes in dependency order to an empty state",
)
def test_the_self_hosted_stack_goes_through_its_whole_life(engine: Callable[..., Engine]) -> None:
    project = engine("onprem")
    project.give_kubeconfig()
    preview = project.preview().must()
    assert set(preview.counts()) == {"create"}
    assert project.up().must().counts() == preview.counts()
    lives_on_and_ends(project)


@pytest.mark.proves(
    broken="nothing: the dev stack file as it is",
    promised="once up, a second up and a refresh change nothing, destroy goes in dependency order to an empty state",
)
def test_the_dev_stack_goes_through_its_whole_life(dev: Engine) -> None:
    lives_on_and_ends(dev)


@pytest.mark.proves(
    broken="a destroy of the prod stack, once it is up", promised="every resource is made once; the destroy is refused before it starts"
)
def test_the_prod_stack_comes_up_whole_and_refuses_a_destroy(engine: Callable[..., Engine]) -> None:
    project = engine("prod")
    made = project.up().must().counts()["create"]
    assert len(project.calls("create")) == len({call["urn"] for call in project.calls("create")})
    state = project.state()
    assert len(state) >= made
    refused = project.run("destroy", "--yes", "--stack", "prod")
    assert refused.code != 0
    assert "protect" in refused.output
    assert project.calls("delete") == []
