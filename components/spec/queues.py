"""Queues as the stack file words them: who may use how many cards of which pool."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from components.spec.base import Count, CountOrZero, Flag, Name, Spec, Text

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
    weight: Annotated[int, Field(strict=True, ge=0, le=1000)] | None = Field(
        default=None,
        description="its share of what the cohort has idle, beside the others' weights; first come, first served when"
        " no queue has one",
    )
    borrow: CountOrZero | None = Field(
        default=None,
        description="cards (nodes, for pools without cards) it may borrow at most; all idle ones when left out",
    )
    lend: CountOrZero | None = Field(
        default=None, description="cards (nodes, for pools without cards) it lends at most; all idle ones when left out"
    )
    datasets: tuple[Annotated[Text, Field(max_length=200)], ...] = Field(
        default=(),
        description="prefixes of the bucket of datasets that its jobs read, such as corpus/; all of it when left out",
    )
    namespace: Name = Field(default=JOB_NAMESPACE, description="the Kubernetes namespace whose jobs may use it")
    hold: Flag = Field(default=False, description="whether the queue admits nothing new for now; running jobs go on")
