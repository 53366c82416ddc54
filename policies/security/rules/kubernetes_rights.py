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
    def check(granted: Node) -> Iterator[Outcome]:
        for key in ("verbs", "resources", "apiGroups"):
            yield from each(granted.at(key).elements(), _named)

    yield from each(role.at("rules").elements(), check)


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


EVERYBODY = ("system:unauthenticated", "system:anonymous", "system:authenticated", "system:serviceaccounts")


@rule(
    "roles-not-for-everybody",
    types=(CLUSTER_ROLE_BINDING, ROLE_BINDING),
    severity="critical",
    ids=("NSA",),
    says="No right is given to everybody who reaches the cluster, or to every program in it.",
    fix="name the groups and service accounts in subjects",
)
def roles_not_for_everybody(binding: Resource, _: Settings) -> Iterator[Outcome]:
    def subject(named: Node) -> Iterator[Outcome]:
        if (name := named.at("name")).text() in EVERYBODY:
            yield Finding(name, "a named group, user or service account")

    yield from each(binding.at("subjects").elements(), subject)


# Resources and verbs by which a program gains rights that it was not given.
MORE_RIGHTS = {
    "nodes/proxy": ("get", "create"),
    "serviceaccounts/token": ("create",),
    "certificatesigningrequests/approval": ("update", "patch"),
    "mutatingwebhookconfigurations": ("create", "update", "patch"),
    "validatingwebhookconfigurations": ("create", "update", "patch"),
    # A volume may name any folder of a node.
    "persistentvolumes": ("create",),
}
RISKY_VERBS = ("escalate", "bind", "impersonate")


@rule(
    "roles-give-no-more-rights",
    types=(CLUSTER_ROLE, NAMESPACED_ROLE),
    severity="high",
    ids=(
        "CIS-EKS 4.1.2",
        "CIS-EKS 4.1.8",
        "CIS-EKS 4.1.9",
        "CIS-EKS 4.1.10",
        "CIS-EKS 4.1.11",
        "CIS-EKS 4.1.12",
        "CKV_K8S_155",
        "CKV_K8S_156",
        "CKV_K8S_157",
        "CKV_K8S_158",
    ),
    says="No role lets its holder take further rights, and none reads the Secrets of every namespace.",
    fix="drop the verb or resource; a program that needs a Secret gets a Role in its namespace with resourceNames",
)
def roles_give_no_more_rights(role: Resource, _: Settings) -> Iterator[Outcome]:
    everywhere = role.type.endswith(":ClusterRole")

    def granted(rule_: Node) -> Iterator[Outcome]:
        verbs = rule_.at("verbs").texts()
        for verb in rule_.at("verbs").elements():
            if verb.text() in RISKY_VERBS:
                yield Finding(verb, "no verb that gives rights")
        for resource in rule_.at("resources").elements():
            if set(verbs) & {"*", *MORE_RIGHTS.get(resource.text() or "", ())} and resource.text() in MORE_RIGHTS:
                yield Finding(resource, "no resource by which rights are gained")
        if not everywhere or not rule_.at("resourceNames").absent or not set(verbs) & {"*", "get", "list", "watch"}:
            return
        for resource in rule_.at("resources").elements():
            if resource.text() == "secrets":
                yield Finding(resource, "Secrets of named namespaces or resourceNames")

    yield from each(role.at("rules").elements(), granted)


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
    def check(namespace: Resource) -> Iterator[Outcome]:
        name = namespace.at("metadata", "name").text() or namespace.name
        if any(fnmatchcase(name, pattern) for pattern in settings["except_names"]):
            return
        for policy in stack.of(NETWORK_POLICY):
            place = policy.at("metadata", "namespace")
            inside = place.value == name or (place.unknown and namespace.urn in policy.depends_on)
            if inside and _denies(policy):
                return
        yield Finding(missing("network policy"), f"one in {name} that selects all pods and lists Ingress")

    yield from each_resource(stack.of(NAMESPACE), check)


def _denies(policy: Resource) -> bool:
    selector = policy.at("spec", "podSelector")
    kinds = policy.at("spec", "policyTypes").texts() or ["Ingress"]
    everything = not selector.at("matchLabels").entries() and not selector.at("matchExpressions").elements()
    rules = policy.at("spec", "ingress").elements()
    return everything and "Ingress" in kinds and all(not rule.at("from").absent for rule in rules)
