"""Every stack file goes through its whole life on the real engine, and the offline preview says beforehand what
it will be.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.live.support.engine import CHECKOUT, Engine
from tests.live.support.graph import deleted_before_what_it_needs
from tests.live.support.offline import differences

pytestmark = pytest.mark.engine
STACKS = sorted(path.name.split(".")[1] for path in (CHECKOUT / "stacks").glob("Pulumi.*.yaml"))


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
    broken=(
        "nothing: each stack file as it is, from preview to destroy; those that protect what they hold get a destroy"
        " too early"
    ),
    promised=(
        "the offline preview equals the engine's in type, name, parent, inputs, dependencies and protection of every"
        " resource; up makes once what preview said; a second up and a refresh change nothing; a destroy is refused"
        " before it starts, then goes in dependency order to an empty state"
    ),
)
@pytest.mark.parametrize("stack", STACKS)
def test_a_stack_goes_through_its_whole_life(engine: Callable[..., Engine], stack: str) -> None:
    project = engine(stack)
    if "secure:" in project.stack_file.read_text():
        project.give_kubeconfig()
    preview = project.preview("--json").must()
    assert differences(project, preview) == []
    assert set(preview.counts()) == {"create"}
    assert project.up().must().counts() == preview.counts()
    created = [call["urn"] for call in project.calls("create")]
    assert len(created) == len(set(created))
    lives_on_and_ends(project)
