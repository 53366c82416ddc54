"""Rules of Kubernetes rights and namespaces."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from policies.declared.resources import Resource, Stack
from policies.declared.types import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    NAMESPACE,
    NAMESPACED_ROLE,
    NETWORK_POLICY,
    ROLE_BINDING,
)
from policies.declared.values import Node
from policies.packs.policy_rule import Finding, Outcome, Settings, each, each_resource, missing, rule


@rule(
    "roles-name-their-rights",
    types=(CLUSTER_ROLE, NAMESPACED_ROLE),
    severity="high",
    ids=("CIS-EKS 4.1.3", "CKV_K8S_49"),
    says="Kubernetes roles name the verbs, resources and groups they allow.",
    fix="list the verbs and resources that the program uses",
)
def roles_name_their_rights(role: Resource, _: Settings) -> Iterator[Outcome]:
    def judge(granted: Node) -> Iterator[Outcome]:
        for key in ("verbs", "resources", "apiGroups"):
            yield from each(granted.at(key).elements(), _named)

    yield from each(role.at("rules").elements(), judge)


def _named(node: Node) -> Iterator[Outcome]:
    if (node.text() or "").strip() == "*":
        yield Finding(node, "named ones")


@rule(
    "roles-no-cluster-admin",
    types=(CLUSTER_ROLE_BINDING, ROLE_BINDING),
    severity="high",
    ids=("CIS-EKS 4.1.1",),
    says="Nobody is bound to cluster-admin inside the cluster.",
    fix="bind a role with the rights that are used",
)
def roles_no_cluster_admin(binding: Resource, _: Settings) -> Iterator[Outcome]:
    role = binding.at("roleRef", "name")
    if role.text() == "cluster-admin":
        yield Finding(role, "a narrower role")


LABEL = "pod-security.kubernetes.io/enforce"


@rule(
    "namespaces-enforce-a-standard",
    types=(NAMESPACE,),
    severity="medium",
    level="mandatory",
    ids=("PSS", "NSA"),
    says="Every namespace enforces a pod security standard.",
    fix=f"set the label {LABEL} to restricted, baseline or, where it must be, privileged",
    parameters={
        "privileged": {
            "type": "array",
            "items": {"type": "string"},
            "default": ["kube-system"],
            "description": "patterns of the namespaces that may enforce `privileged`",
        }
    },
)
def namespaces_enforce_a_standard(namespace: Resource, settings: Settings) -> Iterator[Outcome]:
    standard = namespace.at("metadata", "labels", LABEL)
    name = namespace.at("metadata", "name")
    if standard.text() == "privileged":
        known = name.text() or namespace.name
        if not any(fnmatchcase(known, pattern) for pattern in settings["privileged"]):
            yield Finding(standard, '"baseline" or "restricted"')
    elif standard.text() not in ("baseline", "restricted"):
        yield Finding(standard, '"baseline" or "restricted"')


@rule(
    "namespaces-deny-by-default",
    types=(NAMESPACE, NETWORK_POLICY),
    scope="stack",
    severity="medium",
    ids=("CIS-EKS 4.3.2", "NSA", "CKV2_K8S_6"),
    says="Every namespace lets in only what a policy names.",
    fix="add a NetworkPolicy with an empty podSelector and policyTypes [Ingress]",
    parameters={"except_names": {"type": "array", "items": {"type": "string"}, "default": ["kube-*"]}},
)
def namespaces_deny_by_default(stack: Stack, settings: Settings) -> Iterator[Outcome]:
    def judge(namespace: Resource) -> Iterator[Outcome]:
        name = namespace.at("metadata", "name").text() or namespace.name
        if any(fnmatchcase(name, pattern) for pattern in settings["except_names"]):
            return
        for policy in stack.of(NETWORK_POLICY):
            place = policy.at("metadata", "namespace")
            inside = place.value == name or (place.unknown and namespace.urn in policy.depends_on)
            if inside and _denies(policy):
                return
        yield Finding(missing("network policy"), f"one in {name} that selects all pods and lists Ingress")

    yield from each_resource(stack.of(NAMESPACE), judge)


def _denies(policy: Resource) -> bool:
    selector = policy.at("spec", "podSelector")
    kinds = policy.at("spec", "policyTypes").texts() or ["Ingress"]
    everything = not selector.at("matchLabels").entries() and not selector.at("matchExpressions").elements()
    rules = policy.at("spec", "ingress").elements()
    return everything and "Ingress" in kinds and all(not rule.at("from").absent for rule in rules)
