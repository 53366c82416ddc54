"""The planner's terms, each explained once in a sentence."""

from __future__ import annotations

TERMS: tuple[tuple[str, str], ...] = (
    ("tensor", "cards that share each matrix; they exchange results within every layer"),
    ("pipeline", "stages of consecutive layers, each on its own cards; micro-batches pass through them"),
    ("context", "cards that share one sequence, for long ones"),
    ("expert", "cards that share the experts of a layer; tokens travel to them and back"),
    ("data", "copies of the whole model that work on different sequences: cards / (tensor x pipeline x context)"),
    ("micro-batch", "sequences that pass through the model at once; a step has several"),
    ("virtual stages", "chunks of a stage: with more of them ranks wait less at a step's ends (interleaving)"),
    ("bubble", "time in which pipeline ranks wait, because the first micro-batch has not come or the last has gone"),
    ("recompute", "activations computed again instead of kept: less memory, more time"),
    (
        "sharding",
        "what data ranks share out: nothing (ddp), optimizer state (zero1), gradients (zero2), weights (zero3)",
    ),
    ("MFU", "model FLOPs over what the cards' 16-bit peak allows; recomputation not counted"),
    ("HFU", "FLOPs that the cards really compute over the same peak"),
    (
        "goodput",
        "share of the wall clock that makes progress: failures, checkpoints and the campaign's stops taken off",
    ),
    ("spares", "nodes that stand by while others are repaired"),
    ("stragglers", "what waiting for the slowest of many nodes adds to a step"),
    ("waiting for launches", "time in which a card is faster than its host hands it work"),
    ("band", "low to high: eight to nine of ten published runs lie inside"),
    ("frontier", "ways to run the task that no other way beats in both days and money"),
)
