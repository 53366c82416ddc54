"""Two states of a stack side by side: what is created, updated, replaced and deleted, and why.

Resources of two states are matched by URN, then by alias. A replacement spreads to what refers to the replaced
resource.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from components.catalog.replacing import LEAVES_WITH, SHRINKING, TAKEN_AWAY, replacing
from components.record import Record
from trainshed.review.aliases import former_urns
from trainshed.review.values import ABSENT, UNKNOWN, Difference, at, differences, opaque

Op = Literal["create", "update", "replace", "delete"]
OPS: tuple[Op, ...] = ("delete", "replace", "update", "create")


@dataclass(frozen=True, kw_only=True)
class Change:
    """One resource that doesn't stay as it is; `reasons` say which values make the engine replace it."""

    op: Op
    urn: str
    type: str
    name: str
    component: str
    differences: tuple[Difference, ...] = ()
    reasons: tuple[Difference, ...] = ()
    renamed_from: str = ""
    old: Record | None = None
    new: Record | None = None

    @property
    def either(self) -> Record:
        """The resource as it will be, or as it was when it goes."""
        found = self.new if self.new is not None else self.old
        if found is None:
            raise ValueError("a change of nothing")
        return found

    @property
    def short_type(self) -> str:
        return self.type.rsplit(":", 1)[-1]

    def as_json(self) -> dict[str, Any]:
        return {
            "op": self.op,
            "urn": self.urn,
            "type": self.type,
            "name": self.name,
            "component": self.component,
            "differences": [each.as_json() for each in self.differences],
            "replaced_for": [each.as_json() for each in self.reasons],
            "renamed_from": self.renamed_from,
        }


@dataclass(frozen=True, kw_only=True)
class Pair:
    """One resource in the two states."""

    old: Record | None
    new: Record | None

    @property
    def either(self) -> Record:
        found = self.new if self.new is not None else self.old
        if found is None:
            raise ValueError("a pair of nothing")
        return found


def compare(before: Sequence[Record], after: Sequence[Record], *, comparable: bool = True) -> tuple[Change, ...]:
    """What becomes of each resource.

    `comparable` is False when one state knows values that the other can't know (a real state against an offline
    preview): what is unknown on one side is then taken as unchanged.
    """
    pairs = matched(before, after)
    urns = {pair.old.urn: pair.new.urn for pair in pairs if pair.old and pair.new}
    changes = [found for pair in pairs if (found := _change(pair, urns, comparable)) is not None]
    parents = {each.urn: each for each in (*before, *after)}
    named = [replace(each, component=component_of(each.either, parents)) for each in _spread(changes, pairs)]
    return tuple(sorted(named, key=lambda each: (each.component, OPS.index(each.op), each.type, each.name)))


def matched(before: Sequence[Record], after: Sequence[Record]) -> list[Pair]:
    """Each resource with its other self; a new one that names an old one as its alias is that one, renamed."""
    left = {each.urn: each for each in before}
    new = {each.urn: each for each in after}
    pairs: list[Pair] = []
    waiting: list[Record] = []
    for each in after:
        old = left.pop(each.urn, None)
        if old is None:
            waiting.append(each)
        else:
            pairs.append(Pair(old=old, new=each))
    for each in waiting:
        old = next((left.pop(urn) for urn in _former(each, left, new) if urn in left), None)
        pairs.append(Pair(old=old, new=each))
    pairs.extend(Pair(old=each, new=None) for each in left.values())
    return pairs


def _former(resource: Record, left: Mapping[str, Record], new: Mapping[str, Record]) -> list[str]:
    """The URNs that its aliases and its parents' may mean; at last a name under any parent and of the same type."""
    found = former_urns(resource, new)
    for alias in resource.aliases:
        if not alias.startswith("urn:"):
            found.extend(urn for urn, each in left.items() if each.name == alias and each.type == resource.type)
    return found


def _change(pair: Pair, urns: Mapping[str, str], comparable: bool) -> Change | None:
    old, new, either = pair.old, pair.new, pair.either
    base = Change(
        op="create",
        urn=either.urn,
        type=either.type,
        name=either.name,
        component="",
        old=old,
        new=new,
    )
    if old is None:
        return base
    if new is None:
        return replace(base, op="delete")
    renamed = old.urn if old.urn != new.urn else ""
    found = [
        each for each in differences(old.inputs, new.inputs) if not _ignored(each, new) and _known(each, comparable)
    ]
    rewired = _rewired(old, new, urns)
    # Where it comes from says more than that it isn't known on either side.
    found = [each for each in found if not _only_unknown(each) or each.path not in {one.path for one in rewired}]
    found += rewired
    found += _options(old, new)
    if not found and not renamed:
        return None
    reasons = _reasons(old, new, found) if either.custom else ()
    return replace(
        base, op="replace" if reasons else "update", differences=tuple(found), reasons=reasons, renamed_from=renamed
    )


def _only_unknown(difference: Difference) -> bool:
    """Lists of unknown values that differ in nothing but their length."""
    sides = (difference.old, difference.new)
    return all(isinstance(each, list) and set(map(str, cast("list[object]", each))) == {UNKNOWN} for each in sides)


def _known(difference: Difference, comparable: bool) -> bool:
    return comparable or not (opaque(difference.old) or opaque(difference.new))


def _ignored(difference: Difference, new: Record) -> bool:
    """The engine keeps the old value of what a resource ignores."""
    path = unindexed(difference.path)
    return any(path == unindexed(each) or path.startswith(f"{unindexed(each)}.") for each in new.ignore_changes)


def unindexed(path: str) -> str:
    """A path without the indices of its lists."""
    out, inside = "", False
    for letter in path:
        inside = letter == "[" or (inside and letter != "]")
        out += "" if inside or letter == "]" else letter
    return out


def _rewired(old: Record, new: Record, urns: Mapping[str, str]) -> list[Difference]:
    """Inputs unknown on both sides that now come from another resource."""
    found: list[Difference] = []
    for key, value in new.inputs.items():
        if not opaque(value) or not opaque(old.inputs.get(key)):
            continue
        before, after = {urns.get(urn, urn) for urn in sources(old, key)}, set(sources(new, key))
        gone, come = sorted(before - after), sorted(after - before)
        if gone or come:
            found.append(Difference(path=key, old=_of(gone), new=_of(come)))
    return found


def _of(urns: Sequence[str]) -> str:
    return ", ".join(f"{UNKNOWN} of {urn.rsplit('::', 1)[-1]}" for urn in urns) or ABSENT


def sources(resource: Record, key: str) -> tuple[str, ...]:
    """The resources that an input is computed from."""
    return resource.property_dependencies.get(key, ())


def _options(old: Record, new: Record) -> list[Difference]:
    options = (
        ("option protect", old.protect, new.protect),
        ("option retainOnDelete", old.retain_on_delete, new.retain_on_delete),
    )
    return [Difference(path=path, old=was, new=now) for path, was, now in options if was != now]


def _reasons(old: Record, new: Record, found: Sequence[Difference]) -> tuple[Difference, ...]:
    type_ = new.type
    if type_ != old.type:
        return (Difference(path="type", old=old.type, new=type_),)
    reasons: list[Difference] = []
    for path in replacing(type_):
        inside = [each for each in found if _under(unindexed(each.path), path)]
        # A whole object that comes or goes holds the path without naming it.
        around = [
            each
            for each in found
            if path.startswith(f"{unindexed(each.path)}.") and at(old.inputs, path) != at(new.inputs, path)
        ]
        reasons += [each for each in (*inside, *around) if each not in reasons]
    for path in SHRINKING.get(type_, ()):
        reasons += [each for each in found if unindexed(each.path) == path and _smaller(each)]
    for path in TAKEN_AWAY.get(type_, ()):
        reasons += [each for each in found if unindexed(each.path) == path and each.new in (ABSENT, [], None)]
    return tuple(reasons)


def _under(path: str, wanted: str) -> bool:
    return path == wanted or path.startswith(f"{wanted}.")


def _smaller(difference: Difference) -> bool:
    def figure(value: object) -> float | None:
        try:
            return float(cast("Any", value))
        except (TypeError, ValueError):
            return None

    old, new = figure(difference.old), figure(difference.new)
    return old is not None and new is not None and new < old


def _spread(changes: Sequence[Change], pairs: Sequence[Pair]) -> list[Change]:
    """Replacements spread: what refers to a replaced resource by a value that can't be changed in place is replaced
    too.
    """
    by_urn = {each.urn: each for each in changes}
    after = {pair.new.urn: pair.new for pair in pairs if pair.new is not None}
    grown = True
    while grown:
        grown = False
        replaced = {urn for urn, each in by_urn.items() if each.op == "replace"}
        for pair in pairs:
            old, new = pair.old, pair.new
            if old is None or new is None or new.urn in replaced or not new.custom:
                continue
            reasons = [each for path in replacing(new.type) if (each := _follows(new, path, replaced)) is not None]
            reasons += [each for path in LEAVES_WITH.get(new.type, ()) if (each := _leaves(new, path, replaced, after))]
            if not reasons:
                continue
            urn = new.urn
            known = by_urn.get(urn) or Change(
                op="update", urn=urn, type=new.type, name=new.name, component="", old=old, new=new
            )
            by_urn[urn] = replace(
                known, op="replace", differences=(*known.differences, *reasons), reasons=tuple(reasons)
            )
            grown = True
    return list(by_urn.values())


def _follows(new: Record, path: str, replaced: set[str]) -> Difference | None:
    if not opaque(at(new.inputs, path)):
        return None
    found = sorted(set(sources(new, path.split(".")[0])) & replaced)
    if not found:
        return None
    names = ", ".join(urn.rsplit("::", 1)[-1] for urn in found)
    return Difference(path=path, old=UNKNOWN, new=f"{UNKNOWN}: {names} is replaced")


def _leaves(new: Record, path: str, replaced: set[str], after: Mapping[str, Record]) -> Difference | None:
    """Its subnets are replaced because their VPC is: it can't follow them into another one."""
    subnets = [after[urn] for urn in sources(new, path.split(".")[0]) if urn in after and urn in replaced]
    vpcs = {urn for subnet in subnets for urn in sources(subnet, "vpcId")} & replaced
    if not vpcs:
        return None
    names = ", ".join(sorted(urn.rsplit("::", 1)[-1] for urn in vpcs))
    return Difference(path=path, old=UNKNOWN, new=f"{UNKNOWN}: {names} is replaced")


def component_of(resource: Record, parents: Mapping[str, Record]) -> str:
    """The name of the outermost component that holds the resource, or the stack's own name for a resource outside all
    components.
    """
    at_, found = resource, ""
    seen: set[str] = set()
    while True:
        if not at_.custom and not at_.type.startswith("pulumi:"):
            found = at_.name
        parent = at_.parent
        if parent in seen or parent not in parents:
            return found or "(the stack itself)"
        seen.add(parent)
        at_ = parents[parent]


def counts(changes: Iterable[Change]) -> dict[str, int]:
    """How many of each kind, of real resources: a component is only a folder for them."""
    found: dict[str, int] = {"create": 0, "update": 0, "replace": 0, "delete": 0}
    for each in changes:
        if each.either.custom and not each.type.startswith("pulumi:"):
            found[each.op] += 1
    return found
