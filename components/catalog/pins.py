"""Where a figure comes from: its date, its source and whether anybody checked it.

Every pin, limit and price of the catalog carries one, so that a report can say how old its figures are.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """`unverified` is set where the figure is from memory or from one weak source."""

    as_of: date
    source: str
    unverified: bool = False
