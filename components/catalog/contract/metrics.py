"""The program's metrics and the words by which a task selects them.

All carry the labels task, queue, team, node, rank. What is of the whole run (loss, tokens a second) every rank reports
alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from components.catalog.contract.table import ContractMetric


def _gauge(word: str, help_text: str, name: str = "") -> ContractMetric:
    return ContractMetric(name=f"training_{name or word}", word=word, kind="gauge", help=help_text)


def _counter(word: str, help_text: str) -> ContractMetric:
    return ContractMetric(name=f"training_{word}_total", word=word, kind="counter", help=help_text)


METRICS: Final = (
    _gauge("step", "Steps done since the run began, those before restarts included."),
    _gauge("loss", "Mean loss of the last step over the global batch."),
    _gauge("step_seconds", "Duration of the last step."),
    _gauge("tokens_per_second", "Tokens of the last step over its duration, all ranks together."),
    _gauge("mfu", "Model FLOPs of the last step as a share of the cards' peak, 0 to 1.", "mfu_ratio"),
    _gauge("gradient_norm", "Norm of the last gradient, before clipping."),
    _gauge("learning_rate", "Learning rate of the last step."),
    _gauge(
        "memory_used",
        "Memory in use: the card's by tensors, or the process's where there is no card.",
        "memory_used_bytes",
    ),
    _gauge("memory_peak", "Most memory in use since the process began.", "memory_peak_bytes"),
    _gauge("data_wait", "Seconds of the last step that were spent waiting for data.", "data_wait_seconds"),
    _gauge("checkpoint_seconds", "Seconds from the start of the last checkpoint until it was complete."),
    _gauge(
        "checkpoint_stall", "Seconds that training stood still for the last checkpoint.", "checkpoint_stall_seconds"
    ),
    _gauge("checkpoint_age", "Seconds since the newest complete checkpoint's step ended.", "checkpoint_age_seconds"),
    _counter("checkpoint_failures", "Checkpoints that could not be completed since the process began."),
    _counter("restarts", "Restarts of the run: of the gang and in place."),
    _gauge("heartbeat_age", "Seconds since the rank's last sign of life.", "heartbeat_age_seconds"),
)

_OWN: Final = {metric.word: (metric.name,) for metric in METRICS}
# What tasks may also ask for, and exporters on the node deliver: no program writes it.
_FROM_EXPORTERS: Final = {"network_bandwidth": (), "card_use": (), "card_temperature": (), "card_power": ()}

# Each word that `monitor.metrics` takes, with the metrics it selects; none where exporters have it.
WORDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(_OWN | _FROM_EXPORTERS)
