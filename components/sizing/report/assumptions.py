"""Everything a plan takes for granted: each constant with its value, its range and its source.

It collects the constants from the modules in which they live; none is written here a second time.
"""

from __future__ import annotations

from typing import Any

from components.sizing.machine.table import AS_OF
from components.sizing.memory.memory import FRAGMENTATION, FRAMEWORK
from components.sizing.plan import request
from components.sizing.run import goodput
from components.sizing.tuning.constants import CONSTANTS


def assumptions() -> list[dict[str, Any]]:
    """Rows of plain data; `low` and `high` are None where a choice has no range."""
    listed: list[dict[str, Any]] = [
        {
            "name": one.name,
            "value": one.value,
            "low": one.low,
            "high": one.high,
            "unit": one.unit,
            "source": one.source,
            "fitted": one.fitted,
        }
        for one in (*CONSTANTS, FRAMEWORK, FRAGMENTATION, *goodput.CONSTANTS)
    ]
    batch = "batches of about 4 million tokens, 16 million from 100 billion parameters"
    choices = {
        "defaults": (
            f"{request.DEFAULT_INSTANCE}, {request.DEFAULT_DAYS:g} days, {batch}",
            "what a task file leaves out",
        ),
        "cards": (AS_OF, "vendors' data sheets in components/sizing/machines.py, and the catalog"),
    }
    for name, (value, source) in choices.items():
        listed.append(
            {"name": name, "value": value, "low": None, "high": None, "unit": "", "source": source, "fitted": False}
        )
    return listed
