"""Seconds of sending tokens to their experts and back, by how the expert group lies in nodes and fast domains."""

from __future__ import annotations

from dataclasses import dataclass

from components.sizing.layout.layout import Job, Layout
from components.sizing.machine.links import path
from components.sizing.tuning.constants import Tuning


@dataclass(frozen=True, slots=True)
class Exchange:
    """Copies of a token that one card sends: over the network and over the fast links."""

    wire: float
    link: float


def visited(places: float, choices: int) -> float:
    """Expected places that a token reaches when its experts lie evenly over `places`."""
    return places * (1 - (1 - 1 / places) ** choices)


def exchange(job: Job, layout: Layout, tuning: Tuning) -> Exchange:
    """How often a token travels, by dispatcher: once a node, once for each expert, or to everyone."""
    experts = job.shape.experts
    if experts is None or layout.expert == 1:
        return Exchange(0.0, 0.0)
    group = path(job.machine, tuning, layout.expert_tensor, layout.expert)
    together = min(group.together, layout.expert)
    nodes = layout.expert / together
    if layout.dispatcher == "allgather":
        return Exchange(layout.expert - together, together - 1)
    reached = visited(nodes, experts.active) if nodes > 1 else 1.0
    if experts.most_nodes:
        reached = min(reached, experts.most_nodes)
    cards = min(visited(layout.expert, experts.active), reached * together)
    if layout.dispatcher == "alltoall":
        away = experts.active * (nodes - 1) / nodes
        return Exchange(away, (experts.active - away) * (together - 1) / together)
    return Exchange(reached * (nodes - 1) / nodes, cards * (together - 1) / together)


def exchange_seconds(job: Job, layout: Layout, tuning: Tuning, tokens: float) -> tuple[float, float]:
    """Seconds of dispatch and combine of one layer, forward and backward, `tokens` those of one card before they are
    sent.
    """
    copies = exchange(job, layout, tuning)
    if copies.wire + copies.link == 0:
        return 0.0, 0.0
    width = tokens * job.shape.hidden
    network = job.machine.network_bytes_per_card * tuning.exchange_efficiency
    link = job.machine.card.link_gb_per_s * 1e9 * tuning.exchange_efficiency
    group = path(job.machine, tuning, layout.expert_tensor, layout.expert)
    start = group.latency * min(group.steps, 8)

    def one(element_bytes: float) -> float:
        size = width * element_bytes
        # What crosses the network is handed on over the fast links while more arrives.
        return max(size * copies.wire / network, size * copies.link / link) + start

    narrow = job.recipe.dispatch_bytes
    return one(narrow) + one(2.0), one(narrow) + one(2.0)


def wire_bytes(job: Job, layout: Layout, tuning: Tuning) -> float:
    """Bytes that one card sends between nodes for one sparse layer and micro-batch, both directions."""
    tokens = layout.micro_batch * job.shape.sequence / layout.context / layout.tensor
    return 4 * tokens * job.shape.hidden * 2.0 * exchange(job, layout, tuning).wire
