"""Which nodes to take out, let in again, or empty: pure decisions from what is known of them.

At most a share of a pool is out at once, nothing is done while most nodes are lost, and a node that a person cordoned
is never let in.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workload.health.evidence import Accusation, seconds_of

Object = dict[str, Any]
KEY = "trainshed.io/quarantine"  # taint, annotation and label alike
HISTORY = "trainshed.io/quarantine-history"
POOL = "trainshed.io/pool"
XID = re.compile(r"^NvidiaXID(\d+)")
HISTORY_LENGTH = 10


@dataclass(frozen=True)
class Pool:
    """Nodes with these labels, each of which shows so many of these resources."""

    labels: Mapping[str, str]
    cards: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class HealthSettings:
    """`most_percent` of a pool's nodes, at least one, may be out at once; times are seconds."""

    most_percent: float = 5.0
    lost_after: float = 60.0
    most_lost_percent: float = 50.0
    settle: float = 600.0
    steady: float = 300.0
    strikes: int = 3
    strike_days: float = 7.0
    conditions: tuple[str, ...] = ("AcceleratedHardwareReady", "NetworkingReady", "StorageReady", "KernelReady")
    ignored_reasons: tuple[str, ...] = ("DCGMError",)
    health_codes: tuple[str, ...] = ()
    pools: Mapping[str, Pool] = field(default_factory=dict)


@dataclass(frozen=True)
class Take:
    """Take a node out of service."""

    node: str
    reason: str
    said: str


@dataclass(frozen=True)
class Free:
    """Let a node in again."""

    node: str
    said: str


@dataclass(frozen=True)
class Plan:
    """What to do now; `held` says what the cap keeps from being done."""

    take: tuple[Take, ...] = ()
    free: tuple[Free, ...] = ()
    lost: tuple[str, ...] = ()
    held: tuple[str, ...] = ()


def mark_of(node: Object) -> dict[str, Any] | None:
    """What this controller wrote when it took the node out."""
    text = (node["metadata"].get("annotations") or {}).get(KEY)
    try:
        value = json.loads(text or "")
        return dict(value) if isinstance(value, dict) else None
    except ValueError:
        return None


def history_of(node: Object) -> list[dict[str, Any]]:
    try:
        value = json.loads((node["metadata"].get("annotations") or {}).get(HISTORY) or "[]")
        return [dict(each) for each in value if isinstance(each, dict)]
    except (ValueError, TypeError):
        return []


def conditions_of(node: Object) -> dict[str, Object]:
    return {each["type"]: each for each in (node.get("status") or {}).get("conditions") or []}


def ready_since(node: Object) -> float | None:
    """When the node became ready; None while it isn't."""
    ready = conditions_of(node).get("Ready") or {}
    return seconds_of(ready.get("lastTransitionTime")) if ready.get("status") == "True" else None


def lost_since(node: Object) -> float | None:
    """When the node stopped being ready; None for one that is, or never said anything yet."""
    ready = conditions_of(node).get("Ready")
    if ready is None or ready.get("status") == "True":
        return None
    return seconds_of(ready.get("lastTransitionTime"))


def plan(
    nodes: Sequence[Object],
    accusations: Iterable[Accusation],
    passed: Mapping[str, float],
    settings: HealthSettings,
    now: float,
) -> Plan:
    """`passed` is when each node last passed a check."""
    accused: dict[str, Accusation] = {}
    for each in sorted(accusations, key=lambda accusation: accusation.at):
        accused[each.node] = each
    free = [each for each in (_free(node, passed, settings, now) for node in nodes) if each is not None]
    leaving = {each.node for each in free}
    out = Counter(
        _pool(node, settings) for node in nodes if mark_of(node) is not None and node["metadata"]["name"] not in leaving
    )
    sizes = Counter(_pool(node, settings) for node in nodes)
    take: list[Take] = []
    held: list[str] = []
    for node in sorted(nodes, key=lambda node: str(node["metadata"]["name"])):
        if mark_of(node) is not None:
            continue
        wanted = _take(node, accused, settings, now)
        if wanted is None:
            continue
        pool = _pool(node, settings)
        most = max(int(sizes[pool] * settings.most_percent / 100), 1)
        if out[pool] >= most:
            held.append(f"{wanted.node} stays in service ({wanted.said}): {out[pool]} of at most {most} nodes are out")
            continue
        out[pool] += 1
        take.append(wanted)
    lost, said = _lost(nodes, settings, now)
    return Plan(tuple(take), tuple(free), lost, (*held, *said))


def _pool(node: Object, settings: HealthSettings) -> str:
    """The first pool whose labels the node carries; of nodes of no known pool, the one they name themselves."""
    labels = node["metadata"].get("labels") or {}
    for name, pool in settings.pools.items():
        if pool.labels.items() <= labels.items():
            return name
    return str(labels.get(POOL, ""))


def _take(node: Object, accused: Mapping[str, Accusation], settings: HealthSettings, now: float) -> Take | None:
    name = node["metadata"]["name"]
    accusation = accused.get(name)
    last = max((float(each.get("until") or 0) for each in history_of(node)), default=0.0)
    if accusation is not None and accusation.at > last:
        return Take(name, accusation.check, accusation.said)
    bad = _bad_condition(node, settings)
    if bad is not None:
        return Take(name, bad[0], bad[1])
    missing = _missing_cards(node, settings, now)
    if missing is not None:
        return Take(name, "count", missing)
    since = lost_since(node)
    if since is not None and now - since >= settings.lost_after:
        return Take(name, "not-ready", f"not ready for {now - since:.0f} s")
    return None


def _bad_condition(node: Object, settings: HealthSettings) -> tuple[str, str] | None:
    for kind, condition in sorted(conditions_of(node).items()):
        reason = str(condition.get("reason") or "")
        if kind not in settings.conditions or condition.get("status") != "False" or reason in settings.ignored_reasons:
            continue
        code = XID.match(reason)
        if code and settings.health_codes and code[1] not in settings.health_codes:
            continue
        return f"{kind}-{reason}", f"{kind} is false: {reason}: {condition.get('message', '')}"
    return None


def _missing_cards(node: Object, settings: HealthSettings, now: float) -> str | None:
    pool = settings.pools.get(_pool(node, settings))
    since = ready_since(node)
    if pool is None or since is None or now - since < settings.settle:
        return None
    usable = (node.get("status") or {}).get("allocatable") or {}
    for resource, count in sorted(pool.cards.items()):
        found = int(usable.get(resource, "0"))
        if found < count:
            return f"{found} of {count} {resource} can be used"
    return None


def _free(node: Object, passed: Mapping[str, float], settings: HealthSettings, now: float) -> Free | None:
    mark = mark_of(node)
    if mark is None:
        return None
    name, since, reason = node["metadata"]["name"], float(mark.get("since") or 0), str(mark.get("reason"))
    if not (node.get("spec") or {}).get("unschedulable"):
        return Free(name, "somebody uncordoned it")
    strikes = [each for each in history_of(node) if now - float(each.get("since") or 0) < settings.strike_days * 86400]
    if len(strikes) + 1 >= settings.strikes:
        return None  # it came back sick before: somebody has to look
    if _bad_condition(node, settings) or _missing_cards(node, settings, now):
        return None
    ready = ready_since(node)
    if ready is None or now - ready < settings.steady:
        return None
    if reason.startswith("gate-"):
        return Free(name, "it passed a check") if passed.get(name, 0.0) > since else None
    quiet = [
        seconds_of(each.get("lastTransitionTime"))
        for kind, each in conditions_of(node).items()
        if kind in settings.conditions
    ]
    if now - max([since, *quiet]) < settings.steady:
        return None
    return Free(name, f"its conditions have been good for {settings.steady:.0f} s")


def _lost(nodes: Sequence[Object], settings: HealthSettings, now: float) -> tuple[tuple[str, ...], list[str]]:
    """Nodes whose pods nobody will end any more. When most are lost at once, the control plane is what is cut off."""
    since = {node["metadata"]["name"]: lost_since(node) for node in nodes}
    lost = sorted(name for name, at in since.items() if at is not None and now - at >= settings.lost_after)
    if lost and len(lost) > max(len(nodes) * settings.most_lost_percent / 100, 1):
        return (), [
            f"{len(lost)} of {len(nodes)} nodes are not ready: their pods are left alone, as the network may be cut"
        ]
    return tuple(lost), []
