"""What stands once in an account and region, seen over the stack files of one folder.

A stack file alone says nothing of its neighbours, so they are passed in. Two stacks lie in one account where they name
roles of the same one; where no role is named, nothing is known and nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from components.naming import listed
from components.planning.rules.registry import until_unread
from components.problems import Problem
from components.spec.reading.partial import UnreadError
from components.spec.stack import StackSpec

_ACCOUNT = re.compile(r"arn:aws[a-z-]*:iam::([0-9]{12}):")


def accounts(stack: StackSpec) -> frozenset[str]:
    """The accounts of the people's roles that the stack names."""
    people = [
        *(stack.cluster.admins if stack.cluster else ()),
        *stack.access.admins,
        *stack.access.operators,
        *(who for each in stack.access.researchers for who in each.who),
    ]
    return frozenset(found.group(1) for who in people if (found := _ACCOUNT.match(who)))


def check(stack: StackSpec, siblings: Mapping[str, StackSpec]) -> list[Problem]:
    """Problems of the stack beside its siblings, which are given by name, as far as all of them could be read."""
    found, _ = until_unread(_registry_declared_twice(stack, siblings))
    return found


def _registry_declared_twice(stack: StackSpec, siblings: Mapping[str, StackSpec]) -> Iterator[Problem]:
    """The account's registry, its rules and its repositories' names exist once a region."""
    if not _declares(stack):
        return
    others = [name for name, other in sorted(siblings.items()) if _shared(stack, other)]
    if others:
        said = (
            f"{listed(others)} {'declares' if len(others) == 1 else 'declare'} the registry of {stack.region} in this"
            " account too, and there is one: the second update finds its repositories taken"
        )
        hint = "keep it in the stack that lives longest, and write storage.registry: {declare: false} in the others"
        yield Problem(
            id="registry-declared-twice", path="storage.registry.declare", said=said, hint=hint, severity="note"
        )


def _declares(stack: StackSpec) -> bool:
    return stack.on_aws and stack.storage.registry.declare


def _shared(stack: StackSpec, other: StackSpec) -> bool:
    try:
        return _declares(other) and other.region == stack.region and bool(accounts(stack) & accounts(other))
    except UnreadError:
        return False
