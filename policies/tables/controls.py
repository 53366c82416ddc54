"""docs/controls.md: each published control that touches a type the project declares, and what holds it.

The rows stand in controls.json; the types are those of the catalog's table. `python -m policies.tables.controls` writes
the page anew. A control is held by rules of the packs, by construction (no stack can be otherwise), or not at all, and
then the page says why.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs" / "controls.md"
TYPES = ROOT / "components" / "catalog" / "data" / "aws_types.json"

Held = Literal["rule", "construction", "not applicable", "open"]
WORDS: Mapping[Held, str] = {
    "rule": "by a rule",
    "construction": "by construction",
    "not applicable": "not applicable",
    "open": "left open",
}


@dataclass(frozen=True, kw_only=True)
class Control:
    """One control: what it is about, the declared types it touches, and what holds it."""

    id: str
    about: str
    types: tuple[str, ...]
    held: Held
    rules: tuple[str, ...]
    why: str


@dataclass(frozen=True, kw_only=True)
class Standard:
    """A published list of controls. `outside` are services of which nothing is declared; `accounts` are controls about
    an account's own settings, which no stack declares.
    """

    name: str
    source: str
    read: str
    unverified: str
    controls: tuple[Control, ...]
    outside: tuple[str, ...]
    accounts: Mapping[str, str]


@cache
def standards() -> tuple[Standard, ...]:
    """The standards as controls.json has them."""
    return tuple(_standard(entry) for entry in _file()["standards"])


@cache
def types_without_controls() -> Mapping[str, str]:
    """The declared types that no control touches, and why."""
    return dict(_file()["types_without_controls"])


@cache
def declared_types() -> frozenset[str]:
    """The AWS types that the project declares."""
    return frozenset(json.loads(TYPES.read_text(encoding="utf-8"))["types"])


def _file() -> dict[str, Any]:
    return json.loads((HERE / "controls.json").read_text(encoding="utf-8"))


def _standard(entry: Mapping[str, Any]) -> Standard:
    return Standard(
        name=entry["name"],
        source=entry["source"],
        read=entry["read"],
        unverified=entry["unverified"],
        controls=tuple(_control(row) for row in entry["controls"]),
        outside=tuple(entry["outside"]),
        accounts=entry["accounts"],
    )


def _control(row: Mapping[str, Any]) -> Control:
    return Control(
        id=row["id"],
        about=row["about"],
        types=tuple(row["types"]),
        held=row["held"],
        rules=tuple(row["rules"]),
        why=row["why"],
    )


def written() -> str:
    """The page as docs/controls.md must hold it."""
    return "\n".join([*_head(), *(line for standard in standards() for line in _section(standard)), *_rest()])


def _head() -> Iterator[str]:
    yield "# Controls"
    yield ""
    yield "<!-- made by python -m policies.tables.controls from policies/tables/controls.json -->"
    yield ""
    yield "Each control of two published standards that touches a resource which this project declares, and what holds"
    yield "it. The rules are those of [the policy packs](../policies/README.md): they judge every preview and review."
    yield ""
    yield "- **by a rule**: a stack that breaks the control breaks the rule; what else is to be known stands beside."
    yield "- **by construction**: no stack of this project can be otherwise."
    yield "- **not applicable**: the thing that the control is about is not declared, or can't be so in a cluster for"
    yield "  training."
    yield "- **left open**: the control is not held, for the reason given."
    yield ""


def _section(standard: Standard) -> Iterator[str]:
    counts = Counter(control.held for control in standard.controls)
    yield f"## {standard.name}"
    yield ""
    yield f"Source: {standard.source}, read on {standard.read}."
    if standard.unverified:
        yield f"Unverified: {standard.unverified}."
    yield ""
    yield f"{len(standard.controls)} controls: " + ", ".join(f"{counts[held]} {WORDS[held]}" for held in WORDS) + "."
    yield ""
    yield from _table(("control", "about", "touches", "held", "by or why"), map(_row, standard.controls))
    if standard.accounts:
        named = ", ".join(f"{id_} ({about})" for id_, about in standard.accounts.items())
        yield f"About an account's own settings, which no stack declares: {named}."
        yield ""
    if standard.outside:
        yield f"About services of which nothing is declared: {', '.join(standard.outside)}."
        yield ""


def _row(control: Control) -> Sequence[str]:
    touched = ", ".join(dict.fromkeys(f"`{type_.rpartition(':')[2]}`" for type_ in control.types if type_ != PODS))
    touched = ", ".join(filter(None, ["pods" if PODS in control.types else "", touched.replace("`*`", RIGHTS)]))
    rules = ", ".join(f"`{name}`" for name in control.rules)
    return (control.id, control.about, touched, WORDS[control.held], "; ".join(filter(None, [rules, control.why])))


PODS = "kubernetes:*"
RIGHTS = "Kubernetes roles and bindings"


def _rest() -> Iterator[str]:
    yield "## Declared types that no control touches"
    yield ""
    yield from _table(("type", "what it is"), ((f"`{type_}`", why) for type_, why in types_without_controls().items()))


def _table(head: Sequence[str], rows: Any) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""


def main() -> None:
    PAGE.write_text(written(), encoding="utf-8")


if __name__ == "__main__":
    main()
