"""No secret of a stack file shows in anything that a stack declares, components' own records included."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from infra import settings
from infra.build import build
from infra.offline.recorder import SECRET, run
from tests.whole import NAMES

HOOK = "https://hooks.example.com/services/T000/B000/not-to-be-shown"


@pytest.mark.parametrize("name", NAMES)
def test_an_address_that_lets_anyone_post_is_a_secret_wherever_it_stands(name: str) -> None:
    read = settings.from_file(name)
    watching = read.valid.observability
    assert read.stack is not None
    spec = read.stack.model_copy(
        update={"observability": watching.model_copy(update={"alerts_to": (*watching.alerts_to, HOOK)})}
    )
    given: Any = replace(read, stack=spec)
    recording = run(lambda: build(given), stack=name, known=True)
    text = json.dumps([each.inputs for each in recording.records]) + json.dumps(recording.outputs)
    assert HOOK not in text
    assert SECRET in text, "the address is there, and is a secret"
