"""Small states of a stack, made by hand, for the parts of a review that need no preview."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from components.record import UNKNOWN, Record
from trainshed.preview.policies import Verdict
from trainshed.review.sources import Side

STACK = "urn:pulumi:prod::trainshed"
LUSTRE = "aws:fsx/lustreFileSystem:LustreFileSystem"
BUCKET = "aws:s3/bucket:Bucket"
KEY = "aws:kms/key:Key"
SUBNET = "aws:ec2/subnet:Subnet"
GROUP = "aws:eks/nodeGroup:NodeGroup"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"


def urn(type_: str, name: str) -> str:
    return f"{STACK}::{type_}::{name}"


def resource(type_: str, name: str, inputs: Mapping[str, Any] | None = None, **more: Any) -> Record:
    """A record as a preview makes it; `wired` says which input comes from which resources."""
    wired: Mapping[str, Sequence[str]] = more.pop("wired", {})
    more.setdefault("depends_on", tuple(sorted({each for urns in wired.values() for each in urns})))
    return Record(
        urn=urn(type_, name),
        type=type_,
        name=name,
        inputs=dict(inputs or {}),
        property_dependencies={key: tuple(urns) for key, urns in wired.items()},
        **more,
    )


def lustre(gib: int = 4800, **more: Any) -> Record:
    inputs = {
        "storageCapacity": gib,
        "deploymentType": "PERSISTENT_2",
        "perUnitStorageThroughput": 125,
        **more.pop("inputs", {}),
    }
    return resource(LUSTRE, "lustre-train-system", inputs, **more)


def group(name: str = "pretrain-nodes", nodes: int = 4, **inputs: Any) -> Record:
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


def template(**inputs: Any) -> Record:
    return resource(TEMPLATE, "pretrain-template", {"userData": "YQ==", **inputs})


def side(*resources: Record, label: str = "base", **more: Any) -> Side:
    settings = more.pop("settings", {"aws:region": "us-west-2", "trainshed:environment": "prod"})
    more.setdefault("verdict", Verdict())
    return Side(label=label, resources=resources, settings=settings, **more)
