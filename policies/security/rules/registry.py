"""Rules of image repositories."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from policies.declared.resources import Resource, Stack
from policies.declared.types import REGISTRY_SCANNING, REPOSITORY
from policies.packs.policy_rule import Finding, Outcome, Settings, each_resource, rule


def _immutable(inputs: dict[str, Any]) -> bool:
    if str(inputs.get("imageTagMutability") or "").startswith("IMMUTABLE"):
        return False
    inputs["imageTagMutability"] = "IMMUTABLE"
    return True


@rule(
    "registry-tags-immutable",
    types=(REPOSITORY,),
    severity="medium",
    level="mandatory",
    ids=("ECR.2", "CKV_AWS_51"),
    says="A tag of an image always means the same image.",
    fix='set imageTagMutability to "IMMUTABLE"',
    remedy=_immutable,
)
def registry_tags_immutable(repository: Resource, _: Settings) -> Iterator[Outcome]:
    mutability = repository.at("imageTagMutability")
    if not (mutability.text() or "MUTABLE").startswith("IMMUTABLE"):
        yield Finding(mutability, '"IMMUTABLE"')


@rule(
    "registry-images-scanned",
    types=(REPOSITORY, REGISTRY_SCANNING),
    scope="stack",
    severity="high",
    ids=("ECR.1", "CIS-EKS 5.1.1", "CKV_AWS_163"),
    says="Images are scanned when they are pushed.",
    fix="set imageScanningConfiguration.scanOnPush to true, or scan the whole registry",
)
def registry_images_scanned(stack: Stack, _: Settings) -> Iterator[Outcome]:
    if any(rules.at("rules").elements() for rules in stack.of(REGISTRY_SCANNING)):
        return

    def check(repository: Resource) -> Iterator[Outcome]:
        scan = repository.at("imageScanningConfiguration", "scanOnPush")
        if not scan.boolean():
            yield Finding(scan, "true")

    yield from each_resource(stack.of(REPOSITORY), check)
