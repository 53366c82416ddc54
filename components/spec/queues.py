"""Queues as the stack file words them: who may use how many cards of which pool.

Hides nothing; what a left-out number of cards comes to is reckoned in `components/planning`.
"""

from __future__ import annotations

from pydantic import Field

from components.spec.base import Count, Flag, Name, Spec

JOB_NAMESPACE = "training"


class QueueSpec(Spec):
    """A share of a pool's cards."""

    name: Name = Field(description="the queue's name, unique in the stack")
    pool: Name = Field(description="the pool whose cards it hands out")
    cards: Count | None = Field(
        default=None, description="cards it may use at once; the pool's cards without its spares when left out"
    )
    nodes: Count | None = Field(default=None, description="nodes it may use at once, for pools without cards")
    cohort: Name | None = Field(default=None, description="queues of one cohort lend each other idle cards")
    namespace: Name = Field(default=JOB_NAMESPACE, description="the Kubernetes namespace whose jobs may use it")
    hold: Flag = Field(default=False, description="whether the queue admits nothing new for now; running jobs go on")
