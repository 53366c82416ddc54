"""Quotas of what a stack declares, counted by its resources: those of an account or a region that no plan counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from components.catalog import aws_types
from components.planning.quotas import QuotaRow
from components.record import Record

# What one stack's resources can be counted against; other units are of one bus, rule or bucket.
COUNTED = ("per region", "per account", "per account and region")


def rows(records: Iterable[Record]) -> tuple[QuotaRow, ...]:
    """One row for each declared type that the table of AWS types gives such a quota, by type."""
    counts = Counter(each.type for each in records if each.custom)
    table = aws_types.table()
    return tuple(
        _row(quota, counts[token])
        for token in sorted(counts)
        if token in table and (quota := table[token].quota) is not None and quota.unit.endswith(COUNTED)
    )


def _row(quota: aws_types.Quota, need: int) -> QuotaRow:
    what = quota.unit.split(" per ")[0]
    code = f" ({quota.service} {quota.code})" if quota.code else ""
    over = need > quota.value
    return QuotaRow(
        name=quota.unit,
        need=need,
        limit=quota.value,
        unit=what,
        verdict="request" if over else "fits",
        request=f"ask Service Quotas for {need:,} {what}{code}" if over else "",
        arithmetic=f"declared by this stack: {need:,}",
        unverified=quota.unverified,
    )
