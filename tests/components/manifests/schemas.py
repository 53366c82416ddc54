"""Validates objects as an API server would: built-in kinds by kubernetes-validate, others by Kueue's and JobSet's own
definitions.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import kubernetes_validate
import yaml
from jsonschema import Draft202012Validator

from tests.left_out import leave_out
from trainshed.sandbox import tools

VERSION = "1.35"
TOOLS = {
    "kueue.x-k8s.io": "kueue",
    "jobset.x-k8s.io": "jobset",
    "karpenter.sh": "karpenter",
    "karpenter.k8s.aws": "karpenter",
}
# Where each module keeps its definitions.
FOLDERS = {"karpenter": "pkg/apis/crds"}


def crds(group: str) -> list[dict[str, Any]]:
    """The definitions that a controller's own release ships; leaves the test out where `make tools` has not brought
    them.
    """
    name = TOOLS[group]
    known = any(tool.name == name for tool in tools.BUILT)
    folder = tools.asset(name, FOLDERS.get(name, "config/components/crd/bases")) if known else None
    if folder is None or not folder.is_dir():
        leave_out(TOOLS[group], f"{TOOLS[group]}'s definitions are missing: {tools.remedy(TOOLS[group])}")
    return [yaml.safe_load(path.read_text()) for path in sorted(folder.glob("*.yaml"))]


@cache
def definitions(group: str) -> dict[tuple[str, str], dict[str, Any]]:
    """(version, kind) -> structural schema."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for definition in crds(group):
        for version in definition["spec"]["versions"]:
            if version["served"]:
                found[version["name"], definition["spec"]["names"]["kind"]] = closed(
                    version["schema"]["openAPIV3Schema"]
                )
    return found


def closed(schema: Any) -> Any:
    """The schema with unknown fields refused, as strict field validation does, and Kubernetes' own words made JSON
    Schema's.
    """
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    out = {key: closed(value) for key, value in schema.items() if key not in ("format", "default", "example")}
    if schema.get("x-kubernetes-int-or-string"):
        out.pop("type", None)
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        out["properties"] = {key: closed(value) for key, value in schema["properties"].items()}
        if not schema.get("x-kubernetes-preserve-unknown-fields") and "additionalProperties" not in schema:
            out["additionalProperties"] = False
    return out


def faults(manifest: dict[str, Any], version: str = VERSION) -> list[str]:
    """What an API server would refuse; empty for a good object."""
    group, _, served = manifest["apiVersion"].rpartition("/")
    if group in TOOLS:
        known = definitions(group)
        schema = known.get((served, manifest["kind"]))
        if schema is None:
            return [f"{manifest['apiVersion']} {manifest['kind']} is not served"]
        schema = {**schema, "properties": {**schema["properties"], "metadata": {"type": "object"}}}
        return [
            f"{'.'.join(map(str, each.absolute_path))}: {each.message}"
            for each in Draft202012Validator(schema).iter_errors(manifest)
        ]
    try:
        kubernetes_validate.validate(manifest, version, strict=True)
    except kubernetes_validate.ValidationError as error:
        return [f"{'.'.join(map(str, error.path))}: {error.message}"]
    return []
