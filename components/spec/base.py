"""The scalar types and the base model of everything a user writes.

What counts as a number, a boolean or a name is decided here, so that `"8"` and `yes` are refused alike everywhere.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic_core import PydanticCustomError

from components.catalog.limits import LIMITS

SEALED = "<secret>"
"""Replaces an encrypted value where there is no key to decrypt it."""


class UnreadError(Exception):
    """A field was asked for that the file doesn't hold in a readable shape, which is reported already.

    No AttributeError, which Python would take for a property that isn't there.
    """


class Spec(BaseModel):
    """A frozen value that knows all its keys. A field that could not be read is not there: asking for it raises
    UnreadError.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_default=False, hide_input_in_errors=True, defer_build=True
    )

    computed: ClassVar[Mapping[str, str]] = {}
    """Keys that one might look for, and what stands in their place."""

    if not TYPE_CHECKING:  # a type checker would take every misspelt attribute for one

        def __getattr__(self, name: str) -> Any:
            if name in type(self).model_fields:
                raise UnreadError(name)
            return super().__getattr__(name)


def _flag(value: object) -> object:
    # `pulumi config set` writes the words "true" and "false"; every other spelling is a guess about what was meant.
    if isinstance(value, bool):
        return value
    if value == "true":
        return True
    if value == "false":
        return False
    raise PydanticCustomError("flag", "a boolean is wanted: true or false")


def in_quotes(value: object) -> object:
    """A version as text: 1.30 and 1.3 are one number to YAML, and the digit that was lost can't be guessed."""
    if isinstance(value, float | int) and not isinstance(value, bool):
        raise PydanticCustomError(
            "unquoted_version", "YAML reads an unquoted 1.30 as the number 1.3; write the version in quotes"
        )
    return value


def _cidr(value: str) -> str:
    try:
        return str(ipaddress.IPv4Network(value, strict=True))
    except ValueError:
        pass
    try:
        fixed = ipaddress.IPv4Network(value, strict=False)
    except ValueError:
        raise PydanticCustomError("cidr", "an IPv4 range such as 10.0.0.0/16 is wanted") from None
    raise PydanticCustomError("cidr", "has host bits set; the range that holds it is {range}", {"range": str(fixed)})


def matching(pattern: str, words: str, *, sealed: bool = False) -> AfterValidator:
    """Text that fits `pattern` from its first to its last character; `words` say what is wanted.

    With `sealed` an encrypted value, which a preview can't open, passes: nothing that is declared follows from the
    text.
    """
    whole = re.compile(pattern)

    def check(value: str) -> str:
        if whole.fullmatch(value) or (sealed and value == SEALED):
            return value
        raise PydanticCustomError("malformed", "{words}", {"words": words})

    return AfterValidator(check)


Flag = Annotated[bool, BeforeValidator(_flag)]
# What Kubernetes and AWS hold a number in, where nothing narrower is known.
_INT32 = 2**31 - 1
Count = Annotated[int, Field(strict=True, ge=1, le=_INT32)]
CountOrZero = Annotated[int, Field(strict=True, ge=0, le=_INT32)]
# More than any other Kubernetes takes.
_NODES = int(LIMITS.nodes_per_cluster.value)
NodeCount = Annotated[int, Field(strict=True, ge=1, le=_NODES)]
NodeCountOrZero = Annotated[int, Field(strict=True, ge=0, le=_NODES)]
Integer = Annotated[int, Field(strict=True)]
Percent = Annotated[int, Field(strict=True, ge=1, le=1000)]
Days = Annotated[int, Field(strict=True, ge=1, le=_INT32)]
# The longest that CloudWatch keeps logs, unless for ever.
LogDays = Annotated[int, Field(strict=True, ge=1, le=3653)]
# An amount is written in cents; a million millions is more than AWS ever billed.
Amount = Annotated[float, Field(strict=True, ge=0.01, le=1e12, allow_inf_nan=False)]
Fraction = Annotated[float, Field(strict=True, gt=0, le=1, allow_inf_nan=False)]


def _without_null(text: str) -> str:
    if "\0" in text:
        raise PydanticCustomError(
            "malformed", "text without the null character is wanted, at which programs stop reading"
        )
    return text


Text = Annotated[str, StringConstraints(strict=True, min_length=1), AfterValidator(_without_null)]
AnyText = Annotated[str, StringConstraints(strict=True), AfterValidator(_without_null)]
StrictText = Annotated[str, StringConstraints(strict=True)]
Name = Annotated[
    StrictText,
    matching(
        r"[a-z]([a-z0-9-]{0,30}[a-z0-9])?",
        "a name is wanted: lower-case letters, digits, dashes; a letter first; 32 at most",
    ),
]
ZoneId = Annotated[
    StrictText,
    matching(
        r"[a-z]{2,5}[0-9]+-az[1-8]",
        "a zone id such as usw2-az3 is wanted, the same place in every account; us-west-2a is a name",
    ),
]
Region = Annotated[StrictText, matching(r"[a-z]{2}(-[a-z]+)+-[0-9]", "a region such as us-west-2 is wanted")]
Cidr = Annotated[StrictText, AfterValidator(_cidr)]
AbsolutePath = Annotated[
    StrictText,
    matching(
        r"/|(/(?!\.\.?(/|$))[A-Za-z0-9._-]+)+",
        "an absolute path such as /datasets is wanted, without the steps . and ..",
    ),
]
ReservationId = Annotated[
    StrictText, matching(r"cr-[0-9a-f]{8,17}", "a reservation id such as cr-0a1b2c3d4e5f60718 is wanted", sealed=True)
]
Plain = dict[str, Any]
