"""Node groups whose machines a change removes, replaces or adds, pool by pool.

A node group learns of a new version of its launch template only during the update, so no input names it before. What a
change costs a running job depends on how the group is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from components.catalog import Catalog
from components.record import Record
from trainshed.review.differences import Change, sources
from trainshed.review.values import ABSENT, Difference, at, shown

GROUP = "aws:eks/nodeGroup:NodeGroup"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
# What Karpenter may buy: its nodes leave when they are empty, and a change of it ends no job.
BOUGHT = "kubernetes:karpenter.sh/v1:NodePool"
_TYPE_LABEL = "node.kubernetes.io/instance-type"
How = Literal["goes", "is replaced", "rolls", "shrinks", "grows", "comes"]
_WORST: tuple[How, ...] = ("goes", "is replaced", "rolls", "shrinks", "grows", "comes")
# What EKS answers with new machines: see UpdateNodegroupVersion.
_ROLLING = ("version", "releaseVersion", "launchTemplate.version")
# A change of these leaves the template's version as it is.
_OUTSIDE_A_VERSION = ("tags", "updateDefaultVersion", "defaultVersion", "option ")


@dataclass(frozen=True, kw_only=True)
class Roll:
    """What becomes of one node group; `nodes` and `cards` are how many machines that touches at most."""

    pool: str
    group: str
    how: How
    nodes: int
    cards: int
    why: tuple[str, ...]
    at_once: int = 0  # machines that a roll takes at a time; 0 where nothing is rolled
    old_first: bool = False
    template: str = ""
    capacity: str = ""

    def as_json(self) -> dict[str, Any]:
        return {
            "pool": self.pool,
            "group": self.group,
            "how": self.how,
            "nodes": self.nodes,
            "cards": self.cards,
            "why": list(self.why),
            "at_once": self.at_once,
            "old_machine_first": self.old_first,
        }


def rolls(changes: Sequence[Change], after: Sequence[Record], cat: Catalog) -> tuple[Roll, ...]:
    """The groups that change their machines, worst first."""
    renewed = {each.urn: each for each in changes if each.type == TEMPLATE and _new_version(each)}
    by_urn = {each.urn: each for each in changes if each.type in (GROUP, BOUGHT)}
    templates = {each.urn: each.old for each in changes if each.type == TEMPLATE and each.old is not None}
    templates |= {each.urn: each for each in after if each.type == TEMPLATE}
    found = [roll for each in by_urn.values() if (roll := _changed(each, renewed, templates, cat)) is not None]
    for resource in after:
        if resource.type == GROUP and resource.urn not in by_urn and (cause := _template(resource, renewed)):
            found.append(
                _roll(resource, templates, cat, pool=cause.component, how="rolls", why=_why(cause.differences))
            )
    return tuple(sorted(found, key=lambda each: (_WORST.index(each.how), -each.cards, -each.nodes, each.group)))


def _new_version(change: Change) -> bool:
    if change.op not in ("update", "replace"):
        return False
    return any(not each.path.startswith(_OUTSIDE_A_VERSION) for each in change.differences)


def _template(group: Record, renewed: Mapping[str, Change]) -> Change | None:
    return next((renewed[urn] for urn in sources(group, "launchTemplate") if urn in renewed), None)


def _changed(
    change: Change, renewed: Mapping[str, Change], templates: Mapping[str, Record], cat: Catalog
) -> Roll | None:
    old, new = change.old, change.new
    if change.type == BOUGHT:
        return _bought(change, templates, cat)
    if new is None and old is not None:
        return _roll(old, templates, cat, pool=change.component, how="goes", why=())
    if new is None:
        return None
    if old is None:
        return _roll(new, templates, cat, pool=change.component, how="comes", why=())
    if change.op == "replace":
        return _roll(old, templates, cat, pool=change.component, how="is replaced", why=_why(change.reasons))
    rolling = [each for each in change.differences if each.path in _ROLLING]
    template = _template(new, renewed)
    if rolling or template:
        why = (*_why(rolling), *(_why(template.differences) if template else ()))
        return _roll(new, templates, cat, pool=change.component, how="rolls", why=why)
    before, after = _most(old), _most(new)
    if before != after:
        size = f"{before:,} → {after:,} nodes"
        how: How = "shrinks" if after < before else "grows"
        return _roll(new, templates, cat, pool=change.component, how=how, why=(size,), nodes=abs(after - before))
    return None


def _bought(change: Change, templates: Mapping[str, Record], cat: Catalog) -> Roll | None:
    """What becomes of a pool that Karpenter buys for, which has the pool's own name."""
    old, new = change.old, change.new
    one = new or old
    if one is None:
        return None
    pool = str(at(one.inputs, "metadata.name"))
    if old is None or new is None:
        return _roll(one, templates, cat, pool=pool, how="comes" if old is None else "goes", why=())
    before, after = _most(old), _most(new)
    if before == after:
        return None
    size, how = f"{before:,} → {after:,} nodes", "shrinks" if after < before else "grows"
    return _roll(one, templates, cat, pool=pool, how=how, why=(size,), nodes=abs(after - before))


def _roll(
    group: Record,
    templates: Mapping[str, Record],
    cat: Catalog,
    *,
    pool: str,
    how: How,
    why: tuple[str, ...],
    nodes: int | None = None,
) -> Roll:
    inputs = group.inputs
    count = _most(group) if nodes is None else nodes
    at_once = at(inputs, "updateConfig.maxUnavailable")
    rolling = how == "rolls" and isinstance(at_once, int)
    return Roll(
        pool=pool,
        group=group.name,
        how=how,
        nodes=count,
        cards=count * cards_of(group, templates, cat),
        why=why,
        at_once=min(at_once, count) if rolling else 0,
        old_first=rolling and at(inputs, "updateConfig.updateStrategy") == "MINIMAL",
        template=_template_of(group),
        capacity=_capacity(group),
    )


def _template_of(group: Record) -> str:
    return next(iter(sources(group, "launchTemplate")), group.urn)


def _capacity(group: Record) -> str:
    return "spot" if at(group.inputs, "capacityType") == "SPOT" else "bought"


def together(found: Iterable[Roll], figure: Callable[[Roll], int]) -> int:
    """A figure over several groups. Spot and on-demand groups of one template stand in for each other: their machines
    are the same ones, so only the larger side counts.
    """
    return _together((each.template, each.capacity, figure(each)) for each in found)


def _together(found: Iterable[tuple[str, str, int]]) -> int:
    sides: dict[str, dict[str, int]] = {}
    for template, capacity, figure in found:
        of = sides.setdefault(template, {})
        of[capacity] = of.get(capacity, 0) + figure
    return sum(max(each.values()) for each in sides.values())


def _why(found: Iterable[Difference]) -> tuple[str, ...]:
    return tuple(
        f"{each.path}: {shown(each.old)} → {shown(each.new)}" for each in found if not each.path.startswith("tags")
    )


def _most(group: Record) -> int:
    if group.type == BOUGHT:
        limit = at(group.inputs, "spec.limits.nodes")
        return int(limit) if isinstance(limit, str) and limit.isdigit() else 0
    size = at(group.inputs, "scalingConfig.maxSize")
    return size if isinstance(size, int) else 0


def _asked(pool: Record) -> list[str]:
    """The machine types that a pool of Karpenter's may buy."""
    found: Any = at(pool.inputs, "spec.template.spec.requirements")
    entries: list[Mapping[str, Any]] = found if isinstance(found, list) else []
    return [str(name) for each in entries if each.get("key") == _TYPE_LABEL for name in each.get("values") or []]


def cards_of(group: Record, templates: Mapping[str, Record], cat: Catalog) -> int:
    """Cards of one machine of the group; the fewest when it may be of several types."""
    named = _asked(group) if group.type == BOUGHT else at(group.inputs, "instanceTypes")
    types = [str(each) for each in named] if isinstance(named, list) else []
    if not types:
        urns = sources(group, "launchTemplate")
        own = [at(templates[urn].inputs, "instanceType") for urn in urns if urn in templates]
        types = [str(each) for each in own if each != ABSENT]
    return min((cat.instances[each].cards if each in cat.instances else 0 for each in types), default=0)


def cards(resources: Sequence[Record], cat: Catalog) -> int:
    """Cards of a whole stack, every group at its largest."""
    templates = {each.urn: each for each in resources if each.type == TEMPLATE}
    groups = [each for each in resources if each.type in (GROUP, BOUGHT)]
    return _together(
        (_template_of(each), _capacity(each), _most(each) * cards_of(each, templates, cat)) for each in groups
    )
