"""The scalar types and the base model of everything a user writes.

Hides what counts as a number, a boolean or a name, so that `"8"` and `yes` are refused alike everywhere.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic_core import PydanticCustomError


class UnreadError(Exception):
    """A field was asked for that the file doesn't hold in a readable shape, which has been told already.

    No AttributeError, which Python would take for a property that isn't there.
    """


class Spec(BaseModel):
    """A frozen value that knows all its keys. A field that could not be read is not there: asking for it raises UnreadError."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=False, hide_input_in_errors=True, defer_build=True)

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


Flag = Annotated[bool, BeforeValidator(_flag)]
Count = Annotated[int, Field(strict=True, ge=1)]
CountOrZero = Annotated[int, Field(strict=True, ge=0)]
Integer = Annotated[int, Field(strict=True)]
Percent = Annotated[int, Field(strict=True, ge=1, le=1000)]
Days = Annotated[int, Field(strict=True, ge=1)]
Amount = Annotated[float, Field(strict=True, gt=0)]
Fraction = Annotated[float, Field(strict=True, gt=0, le=1)]
Text = Annotated[str, StringConstraints(strict=True, min_length=1)]
Name = Annotated[str, StringConstraints(strict=True, pattern=r"^[a-z]([a-z0-9-]{0,30}[a-z0-9])?$")]
ZoneId = Annotated[str, StringConstraints(strict=True, pattern=r"^[a-z]{2,5}[0-9]+-az[1-8]$")]
Region = Annotated[str, StringConstraints(strict=True, pattern=r"^[a-z]{2}(-[a-z]+)+-[0-9]$")]
Cidr = Annotated[str, StringConstraints(strict=True), AfterValidator(_cidr)]
AbsolutePath = Annotated[str, StringConstraints(strict=True, pattern=r"^/([A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*)?$")]
ReservationId = Annotated[str, StringConstraints(strict=True, pattern=r"^cr-[0-9a-f]{8,17}$")]
Plain = dict[str, Any]

PATTERN_WORDS = {
    r"^[a-z]([a-z0-9-]{0,30}[a-z0-9])?$": "a name is wanted: lower-case letters, digits, dashes; a letter first; 32 at most",
    r"^[a-z]{2,5}[0-9]+-az[1-8]$": "a zone id such as usw2-az3 is wanted, the same place in every account; us-west-2a is a name",
    r"^[a-z]{2}(-[a-z]+)+-[0-9]$": "a region such as us-west-2 is wanted",
    r"^/([A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*)?$": "an absolute path such as /datasets is wanted",
    r"^tgw-[0-9a-f]{8,17}$": "a transit gateway id such as tgw-0a1b2c3d4e5f60718 is wanted",
    r"^cr-[0-9a-f]{8,17}$": "a reservation id such as cr-0a1b2c3d4e5f60718 is wanted",
    r"^o-[a-z0-9]{10,32}$": "an organisation's id such as o-a1b2c3d4e5 is wanted",
    r"^[a-z0-9]+([._/-][a-z0-9]+)*$": "a repository's name is wanted: lower-case words, joined by dots, dashes, underscores or slashes",
    r"^arn:aws[a-z-]*:secretsmanager:\S+:secret:ecr-pullthroughcache/\S+$": (
        "the ARN of a secret is wanted whose name begins with ecr-pullthroughcache/, as ECR asks for"
    ),
    r"^(mon|tue|wed|thu|fri|sat|sun) ([01][0-9]|2[0-3]):[0-5][0-9]$": 'a weekday and a time in UTC such as "sun 04:00" are wanted',
    r"^([01][0-9]|2[0-3]):[0-5][0-9]$": 'a time in UTC such as "04:00" is wanted, in quotes',
}
