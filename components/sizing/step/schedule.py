"""How long a pipeline's ranks wait, and how many micro-batches they hold, by schedule.

A rank's micro-batch takes forward, backward-to-inputs and backward-to-weights seconds; the slowest rank sets the pace.
"""

from __future__ import annotations

from components.sizing.layout.layout import Layout
from components.sizing.step.products import ProductPart


def fill(layout: Layout, mean: ProductPart, micro: int) -> float:
    """Seconds in which ranks wait for the pipeline to fill and drain, `mean` being one rank's micro-batch."""
    ranks, chunks = layout.pipeline, layout.virtual
    if ranks == 1:
        return 0.0
    whole = mean.forward + mean.backward
    match layout.schedule:
        case "zero-bubble":  # Qi et al. 2024, ZB-H1: weight gradients fill the drain
            return (ranks - 1) * max(0.0, mean.forward + mean.inputs - mean.weights)
        case "zbv":  # the same in two chunks that lie in a V
            return (ranks - 1) / 2 * max(0.0, mean.forward + mean.inputs - mean.weights)
        case "dualpipe":  # DeepSeek-V3 table 2: (p/2 - 1) (F&B + B - 3 W), F&B being both at once
            return max(0.0, ranks / 2 - 1) * max(0.0, mean.forward + 2 * mean.inputs - mean.weights)
        case _:
            # With fewer micro-batches than ranks each further chunk waits for the first to come round.
            short = (chunks - 1) / chunks * max(0, ranks - micro) * whole
            return (ranks - 1) / chunks * whole + short


def group_size(pipeline: int, micro: int) -> int:
    """Micro-batches that run through one chunk before the next one's turn: the fewest that leave no short group.

    A shorter last group would leave ranks waiting (Llama 3's flexible schedule; Megatron's microbatch-group-size-per-
    vp-stage).
    """
    for size in range(pipeline, micro):
        if micro % size == 0 or micro % size >= pipeline:
            return size
    return max(pipeline, micro)


def in_flight(layout: Layout, rank: int, micro: int) -> float:
    """Micro-batches whose activations a rank holds at the most, counted in whole stages."""
    ranks, chunks = layout.pipeline, layout.virtual
    match layout.schedule:
        case "gpipe":
            held = float(micro)
        case "interleaved" | "1f1b" if chunks > 1:
            held = ((ranks - rank - 1) * 2 + (chunks - 1) * group_size(ranks, micro) + 1) / chunks
        case "zero-bubble" | "zbv":
            held = float(ranks)
        case "dualpipe":
            held = (ranks + 1) / 2  # of both stages that the rank holds
        case _:
            held = float(ranks - rank)
    return min(float(micro), held)
