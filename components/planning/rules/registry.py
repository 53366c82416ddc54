"""The rules over the whole stack, each a small named function, and the one place that runs them.

When a part of the stack file could not be read, each rule still checks the parts that it can.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from components.catalog import Catalog
from components.problems import Problem
from components.spec.reading.partial import UnreadError
from components.spec.stack import StackSpec

Check = Callable[[StackSpec, Catalog], Iterable[Problem]]
Items = Literal["pools", "queues", "storage.lustre"]
_INDEX = re.compile(r"\[([0-9]+)\]")


class ForeignPath(Exception):
    """A rule reported an item of another list than the one it declared to loop over: an error in the program."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """`each` names the list that the check goes through item by item, judging each without its neighbours. Such a rule
    reports items of that list alone: where another item can't be read, the indexes are adjusted.
    """

    name: str
    each: Items | None
    check: Check


_RULES: dict[str, Rule] = {}


def rule(*, each: Items | None = None) -> Callable[[Check], Check]:
    """Register a rule under its function's name; a second of that name is a programming error."""

    def register(check: Check) -> Check:
        name = f"{check.__module__}.{check.__qualname__}"
        if name in _RULES:
            raise ValueError(f"a rule named {name} is there already")
        _RULES[name] = Rule(name=name, each=each, check=check)
        return check

    return register


def registered() -> Iterator[Rule]:
    yield from _RULES.values()


def run(stack: StackSpec, cat: Catalog) -> list[Problem]:
    """Every problem of every rule, in the order of the rules, as far as each can be judged by what was read."""
    return [problem for each in registered() for problem in of_rule(each, stack, cat)]


def of_rule(rule: Rule, stack: StackSpec, cat: Catalog) -> list[Problem]:
    found, stopped = until_unread(rule.check(stack, cat))
    for problem in found:
        own_path(rule, problem)
    if not stopped or rule.each is None:
        return found
    # An item of which the rule needs what nobody could read mustn't keep it from the others.
    found = []
    for index, part in _parts(stack, rule.each):
        of_part, _ = until_unread(rule.check(part, cat))
        found += [replace(each, path=moved(rule, each, index)) for each in of_part]
    return found


def own_path(rule: Rule, problem: Problem) -> None:
    """Raises ForeignPath for a problem outside the list that the rule loops over."""
    if rule.each is not None and not problem.path.startswith(f"{rule.each}["):
        raise ForeignPath(f"{rule.name} loops over {rule.each} and speaks of {problem.path or 'the whole stack'}")


def moved(rule: Rule, problem: Problem, index: int) -> str:
    """The path of a problem that was found in the item alone, at the item's real place."""
    own_path(rule, problem)
    head = f"{rule.each}"
    return f"{head}[{index}]{_INDEX.sub('', problem.path.removeprefix(head), count=1)}"


def until_unread(problems: Iterable[Problem]) -> tuple[list[Problem], bool]:
    """What is found before something is asked for that could not be read, and whether that happened."""
    found: list[Problem] = []
    try:
        for each in problems:
            found.append(each)
    except UnreadError:
        return found, True
    return found, False


def _parts(stack: StackSpec, items: Items) -> Iterator[tuple[int, StackSpec]]:
    """The stack once for each item, with that one alone in its list."""
    section, _, inner = items.partition(".")
    try:
        holder: Any = getattr(stack, section) if inner else stack
        for index, each in enumerate(getattr(holder, inner or section)):
            only = holder.model_copy(update={inner or section: (each,)})
            yield index, stack.model_copy(update={section: only}) if inner else only
    except UnreadError:
        return
