"""The rule of credentials outside Secrets: configuration, environments and parameters that many may read."""

from __future__ import annotations

from collections.abc import Iterator

from policies.declared.resources import Resource
from policies.declared.types import (
    CONFIG_MAP,
    FUNCTION,
    PARAMETER,
    WORKLOADS,
)
from policies.declared.values import Node
from policies.packs.policy_rule import Outcome, Settings, each, rule
from policies.security.credentials import held_in


@rule(
    "configuration-holds-no-credentials",
    types=(WORKLOADS, CONFIG_MAP, FUNCTION, PARAMETER),
    severity="critical",
    ids=("CIS-EKS 4.4.1", "CKV_AWS_45", "CKV_SECRET_2"),
    says="Configuration and environments, which many may read, hold no credentials.",
    fix="put the value into a Secret or into Secrets Manager, and let the program fetch it",
)
def configuration_holds_no_credentials(holder: Resource, _: Settings) -> Iterator[Outcome]:
    yield from each(_texts(holder), lambda node: held_in(node, str(node.value), program=True))


def _texts(holder: Resource) -> list[Node]:
    """The plain texts of a resource; what is unknown or secret isn't readable by those who read configuration."""
    nodes: list[Node] = []
    if holder.type == CONFIG_MAP:
        nodes = list(holder.at("data").entries().values())
    elif holder.type == FUNCTION:
        variables = holder.at("environment", "variables")
        nodes = [] if variables.opaque else list(variables.entries().values())
    elif holder.type == PARAMETER:
        nodes = [holder.at("value")] if holder.at("type").value != "SecureString" else []
    for pod in holder.pods:
        for key in ("containers", "initContainers", "ephemeralContainers"):
            for container in [] if pod.at(key).opaque else pod.at(key).elements():
                if not container.opaque and not container.at("env").opaque:
                    nodes += [entry.at("value") for entry in container.at("env").elements() if not entry.opaque]
    return [node for node in nodes if isinstance(node.value, str) and not node.unknown]
