"""Stacks for the tests on pools: a good network and cluster, and the pools that a test is about."""

from __future__ import annotations

from typing import Any

from components.catalog import Catalog
from components.planning import rules
from components.problems import render
from components.spec.stack import StackSpec

IDS = ("cr-0a1b2c3d4e5f60718", "cr-1a1b2c3d4e5f60718", "cr-2a1b2c3d4e5f60718")

PRETRAIN: dict[str, Any] = {
    "name": "pretrain",
    "purpose": "training",
    "instance_type": "p5.48xlarge",
    "zone": "usw2-az3",
    "nodes": 1250,
    "spares": 18,
    "fabric": "efa",
    "capacity": {"kind": "reservation", "ids": list(IDS)},
}
FINETUNE: dict[str, Any] = {
    "name": "finetune",
    "purpose": "finetuning",
    "instance_type": "p5en.48xlarge",
    "zone": "usw2-az3",
    "nodes": {"min": 0, "max": 16},
    "fabric": "efa",
    "capacity": {
        "kind": "block",
        "id": "cr-3a1b2c3d4e5f60718",
        "start": "2026-12-10T11:30:00Z",
        "end": "2026-12-24T11:30:00Z",
    },
}
PREPROCESS: dict[str, Any] = {
    "name": "preprocess",
    "purpose": "preprocessing",
    "instance_types": ["m7i.8xlarge", "m7a.8xlarge", "m6i.8xlarge", "m6a.8xlarge"],
    "nodes": {"min": 0, "max": 200},
}


def stack(*pools: dict[str, Any], **more: Any) -> StackSpec:
    """A stack in us-west-2 over three zones with these pools."""
    base: dict[str, Any] = {
        "region": "us-west-2",
        "environment": "prod",
        "network": {"zones": ["usw2-az2", "usw2-az3", "usw2-az4"]},
        "cluster": {},
        "pools": list(pools),
    }
    return StackSpec.model_validate({**base, **more})


def reported(cat: Catalog, *pools: dict[str, Any], **more: Any) -> list[str]:
    """What the rules say about the pools, one line a problem; notes on pools whose nodes come later are the queue's
    business.
    """
    found = rules.check(stack(*pools, **more), cat)
    return [
        render(each) for each in found if each.path.startswith("pools") and not each.said.startswith("jobs in pool")
    ]
