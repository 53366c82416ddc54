"""Requests and plans for tests, from the words of a task file."""

from __future__ import annotations

import random
from typing import Any

from components import catalog
from components.problems import render
from components.sizing.layout.layout import Job
from components.sizing.machine import profiles
from components.sizing.model import shape
from components.sizing.model.shape import Shape
from components.sizing.plan import reading
from components.sizing.plan.plan import Plan, plan
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
    named = profiles.card_named(card)
    assert named is not None
    return Job(shape=found, machine=profiles.of_accelerator(named, None, None), precision=precision, global_batch=batch)


_SHAPES = (
    ("{layers: 32, hidden: 4096, heads: 32, kv_heads: 8, ffn: 14336, vocab: 128256, sequence: 8192}", 1),
    ("{layers: 80, hidden: 8192, heads: 64, kv_heads: 8, ffn: 28672, vocab: 128256, sequence: 8192}", 16),
    ("{layers: 126, hidden: 16384, heads: 128, kv_heads: 8, ffn: 53248, vocab: 128256, sequence: 8192}", 96),
    ("{layers: 40, hidden: 5120, heads: 40, kv_heads: 8, ffn: 17408, vocab: 151936, sequence: 4096}", 4),
    ("{layers: 36, hidden: 2048, heads: 16, kv_heads: 2, ffn: 11008, vocab: 151936, sequence: 32768}", 4),
    (
        (
            "{layers: 48, hidden: 2048, heads: 32, kv_heads: 4, head_dim: 128, ffn: 768, vocab: 151936, "
            "sequence: 4096, experts: {count: 128, active: 8}}"
        ),
        4,
    ),
    (
        (
            "{layers: 61, hidden: 7168, heads: 128, head_dim: 128, ffn: 18432, vocab: 129280, sequence: 4096, "
            "experts: {count: 256, active: 8, shared: 1, ffn: 2048, dense_layers: 3}, "
            "latent_attention: {kv_rank: 512, q_rank: 1536, rope_dim: 64}}"
        ),
        64,
    ),
)


def random_task(seed: int) -> str:
    """A task that somebody might write: a model, machines that may hold it, and some of the split."""
    draw = random.Random(seed)
    shape, least = draw.choice(_SHAPES)
    kind = draw.choice(("p5.48xlarge", "p5en.48xlarge", "p4de.24xlarge", "p6-b200.48xlarge", "trn2.48xlarge"))
    nodes = least * draw.choice((1, 2, 3, 5, 8, 11, 16))
    precision = draw.choice(("bf16", "bf16", "fp8")) if kind.startswith(("p5", "p6")) else "bf16"
    training = f"tokens: {draw.choice(('100B', '1T', '15T'))}, precision: {precision}"
    if draw.random() < 0.6:
        training += f", global_batch: {draw.choice((256, 500, 1024, 2002, 3072))}"
    if draw.random() < 0.3:
        training += f", recompute: {draw.choice(('selective', 'full'))}"
    lines = [f"model: {shape}", f"training: {{{training}}}", f"hardware: {{instance_type: {kind}, nodes: {nodes}}}"]
    if draw.random() < 0.4:
        lines.append(f"parallelism: {{tensor: {draw.choice((1, 2, 4, 8))}, pipeline: {draw.choice((1, 2, 4, 8))}}}")
    if draw.random() < 0.3:
        lines.append(f"goal: {{days: {draw.choice((10, 60, 200))}}}")
    return "\n".join(lines) + "\n"
