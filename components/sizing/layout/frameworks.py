"""What a training framework can't run of a layout, said by its name.

Facts as of 2026-11: Megatron-Core's and torch's schedule checks, DeepSpeed's pipeline engine, NxD Training's
configuration.
"""

from __future__ import annotations

from collections.abc import Iterator

from components.sizing.layout.layout import Job, Layout
from components.spec.sizing import Framework

NAMES: dict[Framework, str] = {
    "megatron": "Megatron-Core",
    "torchtitan": "torchtitan",
    "automodel": "NeMo AutoModel",
    "deepspeed": "DeepSpeed",
    "neuron": "NxD Training",
}
_SCHEDULES: dict[Framework, tuple[str, ...]] = {
    "megatron": ("1f1b", "interleaved"),
    "torchtitan": ("gpipe", "1f1b", "interleaved", "zero-bubble", "zbv", "dualpipe"),
    "automodel": ("gpipe", "1f1b", "interleaved", "zero-bubble", "zbv", "dualpipe"),
    "deepspeed": ("1f1b",),
    "neuron": ("1f1b", "interleaved"),
}
_PRECISIONS: dict[Framework, tuple[str, ...]] = {
    "megatron": ("bf16", "fp16", "fp8", "fp8-block", "fp8-mx", "nvfp4"),
    "torchtitan": ("bf16", "fp8", "fp8-mx"),
    "automodel": ("bf16", "fp8", "fp8-block", "fp8-mx"),
    "deepspeed": ("bf16", "fp16", "fp8"),
    "neuron": ("bf16",),
}


def cannot(framework: Framework, job: Job, layout: Layout) -> tuple[str, ...]:
    """Why a framework can't run a layout, each reason a clause; empty when it can."""
    return tuple(_reasons(framework, job, layout))


def _reasons(framework: Framework, job: Job, layout: Layout) -> Iterator[str]:
    micro = layout.micro_batches(job.global_batch)
    if layout.pipeline > 1 and layout.schedule not in _SCHEDULES[framework]:
        yield f"has no {layout.schedule} schedule"
    if job.precision not in _PRECISIONS[framework]:
        yield f"has no {job.precision} recipe"
    if layout.schedule == "interleaved":
        if framework in ("megatron", "neuron") and micro < layout.pipeline:
            yield (
                "interleaves only with at least as many micro-batches as "
                f"stages, {micro} are fewer than {layout.pipeline}"
            )
        if framework == "neuron" and micro % layout.pipeline:
            yield f"interleaves whole rounds only, {micro} micro-batches on {layout.pipeline} stages are none"
        rounds = max(1, micro // layout.pipeline)
        if framework in ("torchtitan", "automodel") and micro % rounds:
            yield f"cuts {micro} micro-batches into {rounds} rounds, which don't divide them"
    if layout.schedule == "dualpipe" and micro < 2 * layout.pipeline:
        yield (
            "feeds both ends only with twice as many micro-batches as "
            f"stages, {micro} are fewer than {2 * layout.pipeline}"
        )
    if framework == "deepspeed":
        if layout.pipeline > 1 and layout.sharding in ("zero2", "zero3"):
            yield f"joins a pipeline with zero1 at most, not {layout.sharding}"
        if layout.context > 1 and layout.context_method != "alltoall":
            yield "splits a sequence by exchanging heads only (context_method: alltoall)"
    if framework == "megatron" and layout.sharding in ("zero2", "zero3") and layout.pipeline > 1:
        yield f"shards {'gradients' if layout.sharding == 'zero2' else 'weights'} only without a pipeline"
    if framework == "neuron" and layout.sharding in ("zero2", "zero3"):
        yield f"shards the optimizer state only (zero1), not {layout.sharding}"
    if (
        layout.context_method == "alltoall"
        and layout.context > 1
        and job.shape.heads % (layout.tensor * layout.context)
    ):
        yield f"can't exchange {job.shape.heads} heads over tensor {layout.tensor} x context {layout.context}"


def by_name(job: Job, layout: Layout) -> dict[str, str]:
    """For each framework: runs, or why it can't."""
    return {shown: "; ".join(cannot(name, job, layout)) or "runs" for name, shown in NAMES.items()}
