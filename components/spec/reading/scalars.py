"""What unquoted text in YAML means to the Pulumi engine, whose configuration is the stack file.

It follows Go's reading of numbers and times (go-yaml v3, then JSON), checked with `pulumi config --json` of engine
3.274: `0471` is octal, `1e999` text, `15.6e12` a whole number, `yes` a word, and `2026-12-10` a time that arrives as
"2026-12-10 00:00:00 +0000 UTC".
"""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEAN = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_WHOLE = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_CLOCK = r"(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d+))?"
_TIME = re.compile(rf"(\d{{4}})-(\d{{1,2}})-(\d{{1,2}})(?:[Tt]{_CLOCK}(Z|[-+]\d\d:\d\d)| {_CLOCK})?")
_SPELT_BY_GO = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?) ([-+]\d{4}) \S+")
NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


def scalar(text: str) -> Any:
    """A plain (unquoted) scalar's value: None, a boolean, a number, a time (`datetime`, or `date` without one), or the
    text itself.
    """
    if text in _NULL:
        return None
    if text in _BOOLEAN:
        return _BOOLEAN[text]
    if text[:1] not in "+-.0123456789":
        return text
    moment = _moment(text)
    if moment is not None:
        return moment
    digits = text.replace("_", "")
    number = _whole(digits)
    if number is None and _FLOAT.fullmatch(digits) and not text.startswith("_"):
        number = json_number(digits)
    return text if number is None else number


def json_number(digits: str) -> int | float | None:
    """A number as JSON hands it on, where 1e3 and 1000 are one; None beyond what 64 bits of floating point hold."""
    number = float(digits)
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() else number


def moment(text: str) -> datetime | None:
    """The time in the spelling of Go, in which the engine hands an unquoted one to the program."""
    found = _SPELT_BY_GO.fullmatch(text)
    if not found:
        return None
    day, clock, offset = found.groups()
    try:
        return datetime.fromisoformat(f"{day}T{clock}{offset[:3]}:{offset[3:]}")
    except ValueError:
        return None


def _whole(digits: str) -> int | None:
    found = _WHOLE.fullmatch(digits)
    if not found:
        return None
    sign, *written = found.groups()
    base, number = next((base, each) for base, each in zip((16, 2, 8, 10), written, strict=True) if each is not None)
    if base == 10 and len(number) > 20:
        return None
    value = int(number, base) * (-1 if sign == "-" else 1)
    if -(2**63) <= value < 2**63:
        return value
    # Beyond 64 bits Go has a floating-point number left, and only in decimals.
    return int(float(value)) if base == 10 or (not sign and value < 2**64) else None


def _moment(text: str) -> datetime | date | None:
    found = _TIME.fullmatch(text)
    if not found:
        return None
    year, month, day = (int(each) for each in found.groups()[:3])
    clock = found.groups()[3:7] if found[4] else found.groups()[8:12]
    try:
        if clock[0] is None:
            return date(year, month, day)
        hour, minute, second = (int(each or 0) for each in clock[:3])
        micro = int(f"{clock[3] or ''}000000"[:6])
        return datetime(year, month, day, hour, minute, second, micro, tzinfo=_zone(found[8]))
    except ValueError:
        return None


def _zone(text: str | None) -> timezone | None:
    if text is None:
        return None
    if text == "Z":
        return UTC
    offset = timedelta(hours=int(text[1:3]), minutes=int(text[4:]))
    return timezone(-offset if text[0] == "-" else offset)
