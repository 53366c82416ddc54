"""The plan as sections of a stack file: pools, storage and queues to paste.

The zone is one of the region's that sells the type, the third where it can be had.
"""

from __future__ import annotations

from typing import Any

from components.sizing.plan.request import Request
from components.sizing.run.store import Store

_FAVOURITES = ("az3", "az2", "az4", "az1")


def zone_for(request: Request, region: str) -> str | None:
    instance = request.machine.instance
    if instance is None:
        return None
    if request.pool and request.pool.zone:
        return request.pool.zone
    sold = instance.zones.get(region, ())
    return next((zone for end in _FAVOURITES for zone in sold if zone.endswith(end)), sold[0] if sold else None)


def stack_section(
    request: Request, store: Store, *, nodes: int, spares: int, cards: int, region: str
) -> dict[str, Any] | None:
    """`pools`, `storage` and `queues`; None for machines that no stack on AWS can buy."""
    instance, zone = request.machine.instance, zone_for(request, region)
    if instance is None or zone is None:
        return None
    facts = request.pool
    finetuning = request.spec.training.method == "lora" or (facts is not None and facts.name.startswith("finetun"))
    name = facts.name if facts else "finetune" if finetuning else "pretrain"
    purpose = (facts.purpose if facts else None) or ("finetuning" if finetuning else "training")
    capacity = dict(facts.capacity) if facts and facts.capacity else {"kind": "on-demand"}
    pool: dict[str, Any] = {
        "name": name,
        "purpose": purpose,
        "instance_type": instance.name,
        "zone": zone,
        # A fixed number: spares are warm, and jobs are placed by network layer only on nodes that are there.
        "nodes": nodes + spares,
        "spares": spares,
        "fabric": (facts.fabric if facts else None) or ("efa" if instance.efa else "tcp"),
        "capacity": capacity,
    }
    lustre: dict[str, Any] = {
        "name": "train",
        "zone": zone,
        "deployment": "PERSISTENT_2",
        "capacity_gib": store.lustre_gib,
        "throughput_mbps_per_tib": store.lustre_throughput,
        "efa": store.lustre_efa,
        "links": [
            {"path": "/datasets", "bucket": "datasets", "import": ["new", "changed", "deleted"]},
            {"path": "/checkpoints", "bucket": "checkpoints", "export": ["new", "changed", "deleted"]},
        ],
    }
    return {
        "pools": [pool],
        "storage": {
            "datasets": {"size_gib": max(1, -int(-store.dataset_gib // 1))},
            "checkpoints": {"keep_last": request.keep_last},
            "lustre": [lustre],
        },
        "queues": [{"name": name, "pool": name, "cards": cards}],
    }
