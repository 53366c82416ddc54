"""Validates objects as an API server would: built-in kinds by kubernetes-validate, others by Kueue's and JobSet's own definitions."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from jsonschema import Draft202012Validator

VERSION = "1.35"
_MODULES = {"kueue.x-k8s.io": "sigs.k8s.io/kueue@v0.17.0", "jobset.x-k8s.io": "sigs.k8s.io/jobset@v0.11.1"}


@cache
def module_cache() -> Path:
    """Go's module cache; its usual place where Go itself isn't there."""
    try:
        found = subprocess.run(["go", "env", "GOMODCACHE"], capture_output=True, text=True, check=True, timeout=60).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        found = ""
    return Path(found or os.environ.get("GOMODCACHE") or Path.home() / "go" / "pkg" / "mod")


@cache
def definitions(group: str) -> dict[tuple[str, str], dict[str, Any]]:
    """(version, kind) -> structural schema; skips the test where the module isn't on this machine."""
    folder = module_cache() / _MODULES[group] / "config" / "components" / "crd" / "bases"
    if not folder.is_dir():
        if os.environ.get("TRAINSHED_REQUIRE_LIVE") == "1":
            pytest.fail(f"{_MODULES[group]} is not in Go's module cache: `make tools` brings it")
        pytest.skip(f"{_MODULES[group]} is not in Go's module cache: `make tools` brings it")
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for path in sorted(folder.glob("*.yaml")):
        definition = yaml.safe_load(path.read_text())
        for version in definition["spec"]["versions"]:
            if version["served"]:
                found[version["name"], definition["spec"]["names"]["kind"]] = closed(version["schema"]["openAPIV3Schema"])
    return found


def closed(schema: Any) -> Any:
    """The schema with unknown fields refused, as strict field validation does, and Kubernetes' own words made JSON Schema's."""
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
    if group in _MODULES:
        known = definitions(group)
        schema = known.get((served, manifest["kind"]))
        if schema is None:
            return [f"{manifest['apiVersion']} {manifest['kind']} is not served"]
        schema = {**schema, "properties": {**schema["properties"], "metadata": {"type": "object"}}}
        return [f"{'.'.join(map(str, each.absolute_path))}: {each.message}" for each in Draft202012Validator(schema).iter_errors(manifest)]
    try:
        kubernetes_validate.validate(manifest, version, strict=True)
    except kubernetes_validate.ValidationError as error:
        return [f"{'.'.join(map(str, error.path))}: {error.message}"]
    return []
