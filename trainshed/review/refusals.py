"""Changes that the engine plans and the service refuses, or takes only under conditions: reported before `up` stops
half-way.

Single properties come from the catalog's table; what depends on several values (Kubernetes versions, sizes of node
groups, machines that are bought already) is judged here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from components.catalog.refusing import REFUSED, Refused
from components.record import Record
from trainshed.review.differences import Change, sources, unindexed
from trainshed.review.values import ABSENT, Difference, at

CLUSTER = "aws:eks/cluster:Cluster"
GROUP = "aws:eks/nodeGroup:NodeGroup"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
_ROLLBACK = (
    "EKS goes back by one minor version, within seven days of the upgrade, to a cluster that was upgraded in place, and"
    " only once its node groups are back"
)


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """One change that doesn't go through; `certain` is False where it does under the conditions that `why` tells."""

    name: str
    type: str
    difference: Difference
    why: str
    instead: str
    certain: bool = True
    unverified: bool = True

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "type": self.type,
            **self.difference.as_json(),
            "why": self.why,
            "instead": self.instead,
            "certain": self.certain,
            "unverified": self.unverified,
        }


def refusals(changes: Sequence[Change], after: Sequence[Record]) -> tuple[Refusal, ...]:
    """Certain ones first."""
    types = {each.type for each in after}
    templates = {each.urn: each for each in after if each.type == TEMPLATE}
    moves = any(each.type == CLUSTER and any(part.path == "version" for part in each.differences) for each in changes)
    found = [refusal for each in changes for refusal in _of(each, types, templates, moves)]
    return tuple(sorted(found, key=lambda each: (not each.certain, each.type, each.name)))


def _of(change: Change, types: set[str], templates: dict[str, Record], moves: bool) -> Iterator[Refusal]:
    if change.op == "update" and change.old is not None and change.new is not None:
        rows = [each for each in REFUSED if each.type == change.type and (not each.beside or each.beside in types)]
        yield from (found for row in rows if (found := _by_table(change, change.old, row)) is not None)
        # Node groups that go with their cluster are no news of their own.
        if change.type == CLUSTER or (change.type == GROUP and not moves):
            yield from _versions(change)
        if change.type == GROUP:
            yield from _minimum(change, change.new)
    elif change.op == "replace" and change.type == GROUP and change.old is not None and change.new is not None:
        yield from _bought_once(change, change.new, templates)


def _by_table(change: Change, old: Record, row: Refused) -> Refusal | None:
    holds = all(_given(at(old.inputs, path), wanted) for path, wanted in row.given)
    met = next(
        (each for each in change.differences if _under(each.path, row.path) and _WHEN[row.when](each, row)), None
    )
    if not holds or met is None:
        return None
    return Refusal(
        name=change.name,
        type=change.type,
        difference=met,
        why=row.why,
        instead=row.instead,
        unverified=row.unverified,
    )


def _given(value: object, wanted: tuple[object, ...]) -> bool:
    return value != ABSENT if not wanted else value in wanted


def _under(path: str, wanted: str) -> bool:
    bare = unindexed(path)
    return bare == wanted or bare.startswith(f"{wanted}.")


def _numbers(difference: Difference) -> tuple[float, float] | None:
    """Both sides as figures; a Kubernetes quantity in bytes."""
    old, new = _figure(difference.old), _figure(difference.new)
    return None if old is None or new is None else (old, new)


def _figure(value: object) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(Ki|Mi|Gi|Ti|Pi)?", value) if isinstance(value, str) else None
    if found is None:
        return None
    powers = {None: 0, "Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5}
    return float(found.group(1)) * 1024 ** powers[found.group(2)]


def _shrinks(difference: Difference, _: Refused) -> bool:
    figures = _numbers(difference)
    return figures is not None and figures[1] < figures[0]


def _grows_little(difference: Difference, _: Refused) -> bool:
    figures = _numbers(difference)
    return figures is not None and figures[0] < figures[1] < 1.1 * figures[0]


def _becomes(difference: Difference, row: Refused) -> bool:
    return difference.new in row.becomes


def _changes(_: Difference, __: Refused) -> bool:
    return True


_WHEN: dict[str, Callable[[Difference, Refused], bool]] = {
    "changes": _changes,
    "shrinks": _shrinks,
    "grows by less than a tenth": _grows_little,
    "becomes": _becomes,
}


def _versions(change: Change) -> Iterator[Refusal]:
    """EKS upgrades a control plane by one minor version; going back has rules, and node groups go no way back alone."""
    moved = next((each for each in change.differences if each.path == "version"), None)
    steps = _minor_steps(moved) if moved else None
    if moved is None or not steps:
        return
    if change.type == GROUP:
        if steps < 0:
            why = "a node group goes back only when the cluster goes back, and its machines are replaced"
            yield _reported(change, moved, why, "go back with the cluster", certain=False)
        return
    if steps > 1:
        yield _reported(change, moved, "EKS upgrades by one minor version at a time", "go step by step")
    elif steps == -1:
        yield _reported(
            change, moved, _ROLLBACK, "check `eks list-insights` first; add-ons stay as they are", certain=False
        )
    elif steps < -1:
        yield _reported(change, moved, f"{_ROLLBACK}; not by {-steps}", "make a new cluster")


def _reported(change: Change, moved: Difference, why: str, instead: str, *, certain: bool = True) -> Refusal:
    return Refusal(name=change.name, type=change.type, difference=moved, why=why, instead=instead, certain=certain)


def _minor_steps(moved: Difference) -> int | None:
    found = [re.fullmatch(r"(\d+)\.(\d+)", str(each)) for each in (moved.old, moved.new)]
    if found[0] is None or found[1] is None or found[0].group(1) != found[1].group(1):
        return None
    return int(found[1].group(2)) - int(found[0].group(2))


def _minimum(change: Change, new: Record) -> Iterator[Refusal]:
    """EKS refuses a minimum above the desired size, and the engine leaves alone what the resource ignores."""
    ignored = any(each.startswith("scalingConfig") for each in new.ignore_changes)
    raised = next((each for each in change.differences if each.path == "scalingConfig.minSize"), None)
    if raised is None or not ignored or not _shrinks(Difference(path="", old=raised.new, new=raised.old), REFUSED[0]):
        return
    why = "EKS refuses a minimum above the desired size, which the engine leaves as it is live"
    yield _reported(change, raised, why, f"set the desired size to {raised.new} or more first", certain=False)


def _bought_once(change: Change, new: Record, templates: dict[str, Record]) -> Iterator[Refusal]:
    """Machines of a reservation or a block exist once: a second group beside the first finds none."""
    kind = at(new.inputs, "capacityType")
    targets = [
        at(templates[urn].inputs, "capacityReservationSpecification.capacityReservationTarget")
        for urn in sources(new, "launchTemplate")
        if urn in templates
    ]
    reserved = kind == "CAPACITY_BLOCK" or any(each != ABSENT for each in targets)
    if not reserved or new.delete_before_replace or not change.reasons:
        return
    bought = "block" if kind == "CAPACITY_BLOCK" else "reservation"
    why = (
        f"the engine makes the new group before it deletes the old one, and the {bought} has no machines left for it:"
        " it never becomes ready"
    )
    instead = "drain the pool, set its nodes to 0 in one update, and make this change in the next"
    yield _reported(change, change.reasons[0], why, instead)
