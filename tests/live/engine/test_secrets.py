"""A secret that a stack file holds is nowhere in clear: not in the state, the previews, the event log, the
output or an error's text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.live.support.engine import Engine

pytestmark = pytest.mark.engine
SENTINEL = "hush-9f2c1b7e-token"


def places_with(text: str, folder: Path) -> Iterator[Path]:
    """Files under a folder that hold a text, whatever they are."""
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink() and text.encode() in path.read_bytes():
            yield path


@pytest.mark.proves(
    broken="the rack's kubeconfig holds a token, and one create fails",
    promised="the token is in clear neither in state, backend, stack file and event log nor in any output or error",
)
def test_a_secret_of_the_stack_file_is_nowhere_in_clear(engine: Callable[..., Engine]) -> None:
    project = engine("onprem").write_every_step()
    project.give_kubeconfig(token=SENTINEL)
    assert SENTINEL not in project.stack_file.read_text()
    runs = [project.preview("--diff", "--show-full-output"), project.preview("--json")]
    project.behave(fail_nth_create=10)
    runs.append(project.up("--diff"))
    assert runs[-1].code != 0
    project.behave()
    runs += [project.up("--diff"), project.refresh("--diff"), project.run("stack", "export", "--stack", "onprem")]
    for run in (runs[0], runs[1], *runs[3:]):
        run.must()
    for run in runs:
        assert SENTINEL not in run.output, f"pulumi {run.command} showed the token"
    assert SENTINEL not in "".join(str(run.events) for run in runs)
    assert list(places_with(SENTINEL, project.folder.parent)) == []


@pytest.mark.proves(
    broken="a stack file with an error next to a secret", promised="the error's text does not show the secret"
)
def test_an_error_of_the_stack_file_does_not_show_the_secret(engine: Callable[..., Engine]) -> None:
    project = engine("onprem")
    # The file's own placeholder is no ciphertext of this stack, and the engine would refuse it before the program reads
    # the file.
    for key in ("kubeconfig", "kubeconfigg"):
        project.give_kubeconfig(key, token=SENTINEL)
    refused = project.preview()
    assert refused.code != 0
    assert "kubeconfigg" in refused.output
    assert SENTINEL not in refused.output
