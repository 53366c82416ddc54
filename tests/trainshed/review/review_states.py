"""Small states of a stack, made by hand, for the parts of a review that need no preview."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trainshed.review.sources import Side

STACK = "urn:pulumi:prod::trainshed"
LUSTRE = "aws:fsx/lustreFileSystem:LustreFileSystem"
BUCKET = "aws:s3/bucket:Bucket"
KEY = "aws:kms/key:Key"
SUBNET = "aws:ec2/subnet:Subnet"
GROUP = "aws:eks/nodeGroup:NodeGroup"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
UNKNOWN = "<unknown>"


def urn(type_: str, name: str) -> str:
    return f"{STACK}::{type_}::{name}"


def resource(type_: str, name: str, inputs: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A record as `trainshed preview --json` lists it."""
    wired: Mapping[str, Sequence[str]] = more.pop("wired", {})
    return {
        "urn": urn(type_, name),
        "type": type_,
        "name": name,
        "parent": "",
        "custom": True,
        "inputs": dict(inputs or {}),
        "depends_on": sorted({each for urns in wired.values() for each in urns}),
        "property_dependencies": {key: list(urns) for key, urns in wired.items()},
        "protect": False,
        "retain_on_delete": False,
        "ignore_changes": [],
        "aliases": [],
        "provider": "",
        **more,
    }


def lustre(gib: int = 4800, **more: Any) -> dict[str, Any]:
    inputs = {
        "storageCapacity": gib,
        "deploymentType": "PERSISTENT_2",
        "perUnitStorageThroughput": 125,
        **more.pop("inputs", {}),
    }
    return resource(LUSTRE, "lustre-train-system", inputs, **more)


def group(name: str = "pretrain-nodes", nodes: int = 4, **inputs: Any) -> dict[str, Any]:
    template = urn(TEMPLATE, "pretrain-template")
    return resource(
        GROUP,
        name,
        {
            "instanceTypes": ["p5.48xlarge"],
            "capacityType": "ON_DEMAND",
            "scalingConfig": {"minSize": nodes, "maxSize": nodes, "desiredSize": nodes},
            "launchTemplate": {"id": UNKNOWN, "version": UNKNOWN},
            "updateConfig": {"maxUnavailable": 1, "updateStrategy": "MINIMAL"},
            **inputs,
        },
        wired={"launchTemplate": [template]},
    )


def template(**inputs: Any) -> dict[str, Any]:
    return resource(TEMPLATE, "pretrain-template", {"userData": "YQ==", **inputs})


def side(*resources: Mapping[str, Any], label: str = "base", **more: Any) -> Side:
    settings = more.pop("settings", {"aws:region": "us-west-2", "trainshed:environment": "prod"})
    more.setdefault("policies", ())
    return Side(label=label, resources=resources, settings=settings, **more)
