"""What Kubernetes objects make AWS charge: volumes behind claims, load balancers behind services.

A claim may stand as an object, in a stateful set, or deep in a chart's values; all are found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from components.planning.cost.lines import HOURS, Found, Range, Setting, Unpriced, flat, used
from components.record import Record

_UNITS = {
    "": 2.0**-30,
    "Ki": 2.0**-20,
    "Mi": 2.0**-10,
    "Gi": 1.0,
    "Ti": 1024.0,
    "K": 1e3 / 2**30,
    "M": 1e6 / 2**30,
    "G": 1e9 / 2**30,
    "T": 1e12 / 2**30,
}
_QUANTITY = re.compile(r"^([0-9.]+)([KMGT]i?)?$")
BALANCER_UNITS: Range = (0.1, 1.0, 10.0)


def priced(resource: Record, given: Setting) -> Found:
    """The lines of one object of the cluster."""
    for index, claim in enumerate(_claims(resource)):
        what = f"{resource.name}: claimed volume{f' {index + 1}' if index else ''}"
        if _shared(claim):
            continue  # A file system's volume is paid with the file system.
        size = _gib(((claim.get("resources") or {}).get("requests") or {}).get("storage"))
        if size is None:
            yield Unpriced(what=what, why="its size is not known", urn=resource.urn)
        else:
            count = _replicas(resource)
            yield from used(resource, given, "ebs-gp3", what, flat(size * count), f"{count} x {size:g} GB")
    if resource.type == "kubernetes:core/v1:Service" and resource.part("spec").get("type") == "LoadBalancer":
        name = f"{resource.name}: load balancer"
        yield from used(resource, given, "load-balancer-hour", name, flat(HOURS), f"1 x {HOURS:.0f} h")
        units = (BALANCER_UNITS[0] * HOURS, BALANCER_UNITS[1] * HOURS, BALANCER_UNITS[2] * HOURS)
        yield from used(
            resource, given, "load-balancer-capacity-unit", f"{name}'s use", units, f"0.1 to 10 units x {HOURS:.0f} h"
        )


def _claims(resource: Record) -> list[Mapping[str, Any]]:
    """Specs of claims."""
    if resource.type.endswith(":PersistentVolumeClaim"):
        return [resource.part("spec")]
    return list(_walk(resource.inputs))


def _walk(value: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        for key, part in cast("Mapping[str, Any]", value).items():
            if key in ("volumeClaimTemplate", "volumeClaimTemplates"):
                for each in cast("Sequence[Any]", part if isinstance(part, list) else [part]):
                    if isinstance(each, Mapping):
                        yield cast("Mapping[str, Any]", each).get("spec") or {}
            else:
                yield from _walk(part)
    elif isinstance(value, list):
        for part in cast("list[Any]", value):
            yield from _walk(part)


def _shared(claim: Mapping[str, Any]) -> bool:
    """Whether many nodes may write at once, which no EBS volume lets them."""
    return "ReadWriteMany" in (claim.get("accessModes") or ()) or bool(claim.get("volumeName"))


def _replicas(resource: Record) -> int:
    count = resource.part("spec").get("replicas")
    return count if isinstance(count, int) else 1


def _gib(quantity: object) -> float | None:
    if isinstance(quantity, int | float):
        return float(quantity) * _UNITS[""]
    found = _QUANTITY.match(str(quantity or ""))
    return float(found[1]) * _UNITS[found[2] or ""] if found else None
