"""The rules over the whole stack, each a small named function, and the one place that runs them.

Hides how rules are found and which can run when a part of the stack file could not be read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from components.catalog import Catalog
from components.problems import Problem
from components.spec.stack import StackSpec

Check = Callable[[StackSpec, Catalog], Iterable[Problem]]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """`reads` names the stack file's sections that the check looks at: it is left out when one of them lost an item."""

    name: str
    reads: frozenset[str]
    check: Check


_RULES: dict[str, Rule] = {}


def rule(reads: Collection[str]) -> Callable[[Check], Check]:
    """Register a rule under its function's name; a second of that name is a programming error."""

    def register(check: Check) -> Check:
        name = f"{check.__module__}.{check.__qualname__}"
        if name in _RULES:
            raise ValueError(f"a rule named {name} is there already")
        _RULES[name] = Rule(name=name, reads=frozenset(reads), check=check)
        return check

    return register


def registered() -> Iterator[Rule]:
    yield from _RULES.values()


def run(stack: StackSpec, cat: Catalog, *, incomplete: Collection[str] = ()) -> list[Problem]:
    """Every problem of every rule whose sections are whole, in the order of the rules."""
    return [problem for each in registered() if each.reads.isdisjoint(incomplete) for problem in each.check(stack, cat)]
