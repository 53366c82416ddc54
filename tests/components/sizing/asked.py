"""Requests and plans for tests, from the words of a task file."""

from __future__ import annotations

from typing import Any

from components import catalog
from components.problems import render
from components.sizing import machines, reading, shape
from components.sizing.layout import Job
from components.sizing.plan import Plan, plan
from components.sizing.shape import Shape
from components.spec.sizing import ModelSpec, Precision

CAT = catalog.load()
LLAMA_3_8B = "model: {layers: 32, hidden: 4096, heads: 32, kv_heads: 8, ffn: 14336, vocab: 128256, sequence: 8192}\n"
LLAMA_3_70B = "model: {layers: 80, hidden: 8192, heads: 64, kv_heads: 8, ffn: 28672, vocab: 128256, sequence: 8192}\n"
LLAMA_3_405B = (
    "model: {layers: 126, hidden: 16384, heads: 128, kv_heads: 8, ffn: 53248, vocab: 128256, sequence: 8192}\n"
)


def planned(text: str) -> Plan:
    """The plan of a task file's text."""
    read = reading.read_text(text, "task.yaml", CAT)
    assert read.request is not None, [render(each) for each in read.problems]
    made, problems = plan(read.request, CAT)
    assert made is not None, [render(each) for each in problems]
    return made


def refused(text: str) -> list[str]:
    """Every reason why a text gives no plan, as it is shown."""
    read = reading.read_text(text, "task.yaml", CAT)
    problems = list(read.problems)
    if read.request is not None:
        made, found = plan(read.request, CAT)
        assert made is None, "a plan was made"
        problems += read.placed(found)
    return [render(each) for each in problems]


def gpt(layers: int, hidden: int, heads: int, **more: Any) -> Shape:
    """A GPT of the Megatron papers."""
    words: dict[str, Any] = {"vocab": 51200, "sequence": 2048, "gated_mlp": False, "tied_embeddings": True} | more
    return shape.of(ModelSpec(layers=layers, hidden=hidden, heads=heads, **words))


def job(found: Shape, card: str = "a100-80", precision: Precision = "fp16", batch: int = 64) -> Job:
    named = machines.card_named(card)
    assert named is not None
    return Job(shape=found, machine=machines.of_accelerator(named, None, None), precision=precision, global_batch=batch)
