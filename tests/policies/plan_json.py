"""A Terraform plan as checkov reads it, rendered from a preview's records.

Plan JSON is the one input by which checkov judges as it judges HCL (in `.tf.json` it skips IAM checks). Values stand
under `planned_values`, what is unknown under `after_unknown`, and who refers to whom under `configuration`, without
which checkov's joins see nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

# Where the Terraform name follows neither `aws_MODULE_NAME` nor, for these modules, `aws_NAME`.
PLAIN_MODULES = frozenset({"ec2", "autoscaling", "lb"})
NAMES = {
    "aws:cloudtrail/trail:Trail": "aws_cloudtrail",
    "aws:autoscaling/group:Group": "aws_autoscaling_group",
    "aws:autoscaling/tag:Tag": "aws_autoscaling_group_tag",
    "aws:costexplorer/anomalyMonitor:AnomalyMonitor": "aws_ce_anomaly_monitor",
    "aws:costexplorer/anomalySubscription:AnomalySubscription": "aws_ce_anomaly_subscription",
    "aws:costexplorer/costAllocationTag:CostAllocationTag": "aws_ce_cost_allocation_tag",
    "aws:cloudwatch/eventRule:EventRule": "aws_cloudwatch_event_rule",
    "aws:cloudwatch/eventTarget:EventTarget": "aws_cloudwatch_event_target",
    "aws:s3/bucketReplicationConfig:BucketReplicationConfig": "aws_s3_bucket_replication_configuration",
    "aws:cfg/rule:Rule": "aws_config_config_rule",
    "aws:cfg/recorder:Recorder": "aws_config_configuration_recorder",
    "aws:cfg/recorderStatus:RecorderStatus": "aws_config_configuration_recorder_status",
    "aws:cfg/deliveryChannel:DeliveryChannel": "aws_config_delivery_channel",
    "aws:amp/workspace:Workspace": "aws_prometheus_workspace",
    "aws:ebs/encryptionByDefault:EncryptionByDefault": "aws_ebs_encryption_by_default",
}
# Blocks that Pulumi names in the plural.
SINGULAR = {
    "rules": "rule",
    "ebsBlockDevices": "ebs_block_device",
    "encryptionConfigurations": "encryption_configuration",
    "inlinePolicies": "inline_policy",
    "notifications": "notification",
    "routes": "route",
    "transitions": "transition",
    "noncurrentVersionTransitions": "noncurrent_version_transition",
    "taints": "taint",
    "grants": "grant",
    "costFilters": "cost_filter",
    "eventSelectors": "event_selector",
    "advancedEventSelectors": "advanced_event_selector",
    "fieldSelectors": "field_selector",
}
MAPS = frozenset({"tags", "tagsAll", "labels", "variables", "configuration_values"})


def terraform_type(token: str) -> str:
    """`aws:eks/nodeGroup:NodeGroup` is `aws_eks_node_group`, `aws:ec2/vpc:Vpc` is `aws_vpc`."""
    if token in NAMES:
        return NAMES[token]
    _, module, name = token.split(":")
    folder = module.partition("/")[0]
    return f"aws_{snake(name)}" if folder in PLAIN_MODULES else f"aws_{folder}_{snake(name)}"


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def label(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def address(record: Mapping[str, Any]) -> str:
    return f"{terraform_type(record['type'])}.{label(record['name'])}"


def block(inputs: Mapping[str, Any], *, unknown: bool) -> dict[str, Any]:
    """A block's known values, or the mirror image that says which are unknown."""
    found: dict[str, Any] = {}
    for key, value in inputs.items():
        name = SINGULAR.get(key, snake(key))
        shape = _shaped(key, value, unknown)
        if shape is not None:
            found[name] = shape
    return found


def _shaped(key: str, value: Any, unknown: bool) -> Any:
    if value in ("<unknown>", "<secret>"):
        return True if unknown else None
    if isinstance(value, Mapping):
        if key in MAPS or key.endswith("Tags"):
            return None if unknown else dict(value)
        inner = block(value, unknown=unknown)
        return [inner] if inner or not unknown else None
    if isinstance(value, list | tuple):
        if any(isinstance(part, Mapping) for part in value):
            return [block(part, unknown=unknown) for part in value]
        known = [part for part in value if part not in ("<unknown>", "<secret>")]
        return (True if len(known) < len(value) else None) if unknown else (known if known or not value else None)
    return None if unknown else value


def references(record: Mapping[str, Any], by_urn: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The expressions of a resource: which inputs come from which other resources."""
    wired: Mapping[str, Iterable[str]] = record.get("property_dependencies") or {}
    found: dict[str, Any] = {}
    for key, value in record["inputs"].items():
        others = [
            by_urn[urn] for urn in (wired.get(key) or record["depends_on"]) if urn in by_urn and urn != record["urn"]
        ]
        if (expression := _expression(value, others)) is not None:
            found[SINGULAR.get(key, snake(key))] = expression
    return found


def _expression(value: Any, others: list[Mapping[str, Any]]) -> Any:
    if isinstance(value, Mapping):
        inner = {
            SINGULAR.get(key, snake(key)): part
            for key, given in value.items()
            if (part := _expression(given, others)) is not None
        }
        return [inner]
    if isinstance(value, list | tuple) and any(isinstance(part, Mapping) for part in value):
        return [part for each in value for part in _expression(each, others)]
    targets = [address(other) for other in others if _names(value, other)]
    if targets:
        return {"references": [part for target in targets for part in (f"{target}.id", target)]}
    return None if isinstance(value, list | tuple) else {"constant_value": value}


def _names(value: Any, other: Mapping[str, Any]) -> bool:
    """Whether a value names the other resource; an unknown one may be of any that the resource depends on.

    A recording with known outputs makes ids and ARNs that hold the resource's name.
    """
    names = {item for key in ("id", "arn", "bucket", "name") if isinstance(item := other["inputs"].get(key), str)}
    parts = value if isinstance(value, list | tuple) else [value]
    given = other["name"]
    return any(isinstance(part, str) and (part == "<unknown>" or part in names or given in part) for part in parts)


def plan(records: Iterable[Mapping[str, Any]]) -> str:
    """The plan of a stack's AWS resources, as JSON text."""
    aws = [record for record in records if record["type"].startswith("aws:")]
    by_urn = {record["urn"]: record for record in aws}
    planned: list[dict[str, Any]] = []
    changes: list[dict[str, Any]] = []
    configured: list[dict[str, Any]] = []
    for record in aws:
        head = {
            "address": address(record),
            "mode": "managed",
            "type": terraform_type(record["type"]),
            "name": label(record["name"]),
        }
        head["provider_name"] = "registry.terraform.io/hashicorp/aws"
        values = _documents(block(record["inputs"], unknown=False))
        change = {
            "actions": ["create"],
            "before": None,
            "after": values,
            "after_unknown": block(record["inputs"], unknown=True),
        }
        planned.append({**head, "schema_version": 0, "values": values})
        changes.append({**head, "change": change})
        configured.append({**head, "provider_config_key": "aws", "expressions": references(record, by_urn)})
    whole = {
        "format_version": "1.2",
        "terraform_version": "1.9.0",
        "planned_values": {"root_module": {"resources": planned}},
        "resource_changes": changes,
        "configuration": {"provider_config": {"aws": {"name": "aws"}}, "root_module": {"resources": configured}},
    }
    return json.dumps(whole, indent=1)


def _documents(values: dict[str, Any]) -> dict[str, Any]:
    """Policies that a program wrote as maps are text in a plan."""
    for key in ("policy", "assume_role_policy"):
        if isinstance(values.get(key), list):
            values[key] = json.dumps(values[key][0])
    return values


def manifests(records: Iterable[Mapping[str, Any]]) -> str:
    """The Kubernetes objects of a stack as manifests, for checkov's other framework."""
    objects: list[dict[str, Any]] = []
    for record in records:
        if record["type"].startswith("kubernetes:"):
            _, version, kind = record["type"].split(":", 2)
            meta = {"name": label(record["name"]), **(record["inputs"].get("metadata") or {})}
            head = {"apiVersion": version.removeprefix("core/"), "kind": kind}
            objects.append({**head, **record["inputs"], "metadata": meta})
    return yaml.safe_dump_all(objects)
