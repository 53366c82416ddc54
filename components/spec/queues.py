"""Queues as the stack file words them: who may use how many cards of which pool."""

from __future__ import annotations

from pydantic import Field

from components.spec.base import Count, Name, Spec


class QueueSpec(Spec):
    """A share of a pool's cards."""

    name: Name = Field(description="the queue's name, unique in the stack")
    pool: Name = Field(description="the pool whose cards it hands out")
    cards: Count | None = Field(default=None, description="cards it may use at once; the pool's cards without its spares when left out")
    cohort: Name | None = Field(default=None, description="queues of one cohort lend each other idle cards")
