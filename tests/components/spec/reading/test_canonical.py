"""The order of lists and maps in a stack file means nothing."""

from __future__ import annotations

import random
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from components.spec.reading.canonical import canonical
from components.spec.reading.reader import read_config
from infra.settings import STACKS
from tests.given import shuffled


def config() -> dict[str, Any]:
    return yaml.safe_load((STACKS / "Pulumi.prod.yaml").read_text())["config"]


@given(seed=st.integers(0, 10_000))
def test_a_shuffled_stack_file_is_the_same_stack(seed: int) -> None:
    plain, mixed = read_config(config()), read_config(shuffled(config(), random.Random(seed)))
    assert plain.stack is not None
    assert mixed.stack is not None
    assert canonical(mixed.stack) == canonical(plain.stack)
    assert canonical(mixed.stack).model_dump_json() == canonical(plain.stack).model_dump_json()
