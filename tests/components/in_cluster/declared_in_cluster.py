"""Runs one component that lives in a cluster, under an explicit provider, and gives its records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes

from components.in_cluster.namespaces import Namespaces, NamespacesArgs
from components.spec.stack import StackSpec
from tests.components.manifests.schemas import faults
from tests.declared import Record, record
from tests.given import CAT

REGISTRY = "111122223333.dkr.ecr.us-west-2.amazonaws.com"


def records(declare: Callable[[pulumi.ResourceOptions], object], *, known: bool = False) -> list[Record]:
    """What `declare` declares, given options that carry a Kubernetes and an AWS provider of the test's own."""

    def program() -> None:
        cluster = kubernetes.Provider("cluster", kubeconfig="{}")
        region = aws.Provider("region", region="us-west-2")
        declare(pulumi.ResourceOptions(providers={"kubernetes": cluster, "aws": region}))

    return [each for each in record(program, known=known) if not each.type.startswith("pulumi:providers:")]


def namespaces(stack: StackSpec, opts: pulumi.ResourceOptions) -> Namespaces:
    return Namespaces("namespaces", NamespacesArgs(spec=stack, catalog=CAT), opts)


def manifest(found: Record) -> dict[str, Any]:
    """The record's inputs as the API server gets them, with an image where it isn't known yet."""

    def filled(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: filled(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [filled(inner) for inner in value]
        return "unknown" if value == "<unknown>" else value

    return filled(found.inputs)


def wrong(found: list[Record]) -> dict[str, list[str]]:
    """Objects that an API server would refuse, by name; charts and AWS resources aside."""
    objects = [
        each
        for each in found
        if each.type.startswith("kubernetes:") and "helm.sh" not in each.type and "coreos.com" not in each.type
    ]
    assert objects
    return {each.name: said for each in objects if (said := faults(manifest(each)))}
