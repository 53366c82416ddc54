"""The roles that nodes run with, and every way in which a permission reaches a role.

A role is named by an ARN, by its name, or by a dependency while both are unknown. What can't be told is a doubt: a
permission must never go unseen because of how it was written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from policies.declared.documents import statements
from policies.declared.resources import Resource, Stack
from policies.declared.types import (
    ACCESS_ENTRY,
    ACCESS_POLICY,
    ADDON,
    BUCKET_POLICY,
    CLUSTER,
    INSTANCE_PROFILE,
    KARPENTER_CLASS,
    KEY,
    KEY_GRANT,
    KEY_POLICY,
    LAUNCH_TEMPLATE,
    NODE_GROUP,
    POD_IDENTITY,
    POLICY_ATTACHMENT,
    QUEUE_POLICY,
    REPOSITORY_POLICY,
    ROLE,
    ROLE_ATTACHMENT,
    ROLE_ATTACHMENTS_EXCLUSIVE,
    ROLE_POLICIES_EXCLUSIVE,
    ROLE_POLICY,
    SECRET_POLICY,
    TOPIC_POLICY,
)
from policies.declared.values import UNKNOWN, Node, Unjudged, WrongType
from policies.packs.policy_rule import Doubt

# Documents on a resource that may name a role as principal, and the key under which each has it.
RESOURCE_POLICIES = {
    BUCKET_POLICY: "policy",
    KEY: "policy",
    KEY_POLICY: "policy",
    REPOSITORY_POLICY: "policy",
    TOPIC_POLICY: "policy",
    QUEUE_POLICY: "policy",
    SECRET_POLICY: "policy",
}
# Types of access entry by which machines join a cluster.
NODE_ENTRIES = ("EC2_LINUX", "EC2_WINDOWS", "EC2", "HYBRID_LINUX", "HYPERPOD_LINUX")


@dataclass(frozen=True)
class Grant:
    """One permission of a role: who gives it, and a managed policy's ARN, a document, or the value that names it."""

    resource: Resource
    arn: Node | None = None
    document: Node | None = None
    principal: Node | None = None


@dataclass(frozen=True)
class NodeRole:
    """A role of nodes: its URN where the stack declares it, and the names that are known."""

    urn: str
    names: frozenset[str]

    def named_by(self, resource: Resource, key: str, node: Node) -> bool | None:
        """Whether an input names this role; None when it can't be told."""
        if node.absent:
            return False
        sources = resource.targets(key, ROLE)
        if node.opaque:
            return (bool(self.urn) and self.urn in sources) if sources else None
        return role_name(node) in self.names or (not self.names and self.urn in sources)


def role_name(node: Node) -> str:
    """The name at the end of an ARN, or the text itself."""
    return str(node.value).rpartition("/")[2]


def node_roles(stack: Stack) -> tuple[list[NodeRole], list[Doubt]]:
    """The roles that machines of the cluster run with, and what can't be told about them."""
    found: dict[tuple[str, str], NodeRole] = {}
    doubts: list[Doubt] = []
    for resource, key, node in _references(stack):
        known = _resolved(stack, resource, key, node)
        if not known:
            doubts.append(Doubt(node.path, "is not known, so it can't be told which role the nodes have", resource.urn))
        for role in known:
            found.setdefault((role.urn, min(role.names, default="")), role)
    return list(found.values()), doubts


def _references(stack: Stack) -> Iterator[tuple[Resource, str, Node]]:
    """Each input that names a role of nodes."""
    for group in stack.of(NODE_GROUP):
        yield group, "nodeRoleArn", group.at("nodeRoleArn")
    for cluster in stack.of(CLUSTER):
        if not cluster.left_out and not (node := cluster.at("computeConfig", "nodeRoleArn")).absent:
            yield cluster, "computeConfig", node
    for entry in stack.of(ACCESS_ENTRY):
        if entry.at("type").value in NODE_ENTRIES:
            yield entry, "principalArn", entry.at("principalArn")
    for node_class in stack.of(KARPENTER_CLASS):
        if not (node := node_class.at("spec", "role")).absent:
            yield node_class, "spec", node
        named = node_class.at("spec", "instanceProfile")
        yield from _of_profile(stack, node_class, "spec", () if named.absent else (named,))
    for template in stack.of(LAUNCH_TEMPLATE):
        named = template.at("iamInstanceProfile")
        nodes = () if named.absent else tuple(node for key in ("arn", "name") if not (node := named.at(key)).absent)
        yield from _of_profile(stack, template, "iamInstanceProfile", nodes)


def _of_profile(
    stack: Stack, machine: Resource, key: str, named: tuple[Node, ...]
) -> Iterator[tuple[Resource, str, Node]]:
    """The role of the instance profile that a template or a node class names."""
    if not named:
        return
    sources = machine.targets(key, INSTANCE_PROFILE)
    names = {role_name(node) for node in named if not node.opaque}
    found = [
        profile for profile in stack.of(INSTANCE_PROFILE) if profile.urn in sources or profile.at("name").value in names
    ]
    # A profile that isn't declared here holds a role that nobody can read.
    yield from ((profile, "role", profile.at("role")) for profile in found)
    if not found:
        yield machine, key, Node(UNKNOWN, named[0].path)


def _resolved(stack: Stack, resource: Resource, key: str, node: Node) -> list[NodeRole]:
    if node.absent:
        return []
    sources = set(resource.targets(key, ROLE))
    declared: list[Resource] = []
    for role in stack.of(ROLE):
        by_name = not node.opaque and role_name(node) in _names(role)
        if by_name or (role.urn in sources and (node.opaque or not _names(role))):
            declared.append(role)
    own = frozenset() if node.opaque else frozenset({role_name(node)})
    if declared:
        return [NodeRole(role.urn, frozenset(_names(role)) | own) for role in declared]
    return [NodeRole("", own)] if own else []


def _names(role: Resource) -> set[str]:
    found = {role_name(node) for key in ("name", "arn") if not (node := role.at(key)).absent and not node.opaque}
    # A role without a name is called after its resource, with or without a random end.
    return found or {role.name}


def grants(stack: Stack, role: NodeRole) -> Iterator[Grant | Doubt]:
    """Every permission of a role, whichever resource gives it."""
    yield from _own(stack, role)
    for type_, key, give in _JOINED:
        for resource in stack.of(type_):
            yield from _joined(resource, key, role, give)
    for resource in stack.of(ROLE_POLICIES_EXCLUSIVE):
        yield from _unseen_policies(stack, resource, role)
    yield from _as_principal(stack, role)


def _own(stack: Stack, role: NodeRole) -> Iterator[Grant | Doubt]:
    """What the role resource itself lists."""
    resource = stack.by_urn.get(role.urn)
    if resource is None:
        return
    for key in ("managedPolicyArns", "inlinePolicies"):
        node = resource.at(key)
        if resource.computed(key):
            continue
        if node.opaque:
            yield Doubt(key, "is not known before the update", resource.urn)
            continue
        for element in node.elements():
            if key == "managedPolicyArns":
                yield Grant(resource, arn=element)
            else:
                yield Grant(resource, document=element.at("policy"))


def _joined(
    resource: Resource, key: str, role: NodeRole, give: Callable[[Resource], Iterator[Grant]]
) -> Iterator[Grant | Doubt]:
    """What a resource gives to the roles that its key names."""
    named = resource.at(key)
    parts = [named] if named.opaque or named.absent else named.one_or_many()
    answers = [role.named_by(resource, key, part) for part in parts]
    if any(answers):
        yield from give(resource)
    elif None in answers:
        yield Doubt(key, f"of {resource.name} is not known, so it can't be told whether the nodes get it", resource.urn)


def _one_arn(resource: Resource) -> Iterator[Grant]:
    yield Grant(resource, arn=resource.at("policyArn"))


def _many_arns(resource: Resource) -> Iterator[Grant]:
    arns = resource.at("policyArns")
    yield from (Grant(resource, arn=arn) for arn in ([arns] if arns.opaque else arns.elements()))


def _document(resource: Resource) -> Iterator[Grant]:
    yield Grant(resource, document=resource.at("policy"))


def _named_by(key: str) -> Callable[[Resource], Iterator[Grant]]:
    def give(resource: Resource) -> Iterator[Grant]:
        yield Grant(resource, principal=resource.at(key))

    return give


def _with_groups(resource: Resource) -> Iterator[Grant]:
    """The groups of an access entry, by which bindings inside the cluster give rights."""
    groups = resource.at("kubernetesGroups")
    if groups.opaque or groups.elements():
        yield Grant(resource, principal=groups)


_JOINED = (
    (ROLE_ATTACHMENT, "role", _one_arn),
    (POLICY_ATTACHMENT, "roles", _one_arn),
    (ROLE_ATTACHMENTS_EXCLUSIVE, "roleName", _many_arns),
    (ROLE_POLICY, "role", _document),
    (KEY_GRANT, "granteePrincipal", _named_by("granteePrincipal")),
    (ACCESS_POLICY, "principalArn", _named_by("principalArn")),
    (ACCESS_ENTRY, "principalArn", _with_groups),
    (POD_IDENTITY, "roleArn", _named_by("roleArn")),
    (ADDON, "serviceAccountRoleArn", _named_by("serviceAccountRoleArn")),
)


def _unseen_policies(stack: Stack, resource: Resource, role: NodeRole) -> Iterator[Doubt]:
    """Inline policies that an exclusive list keeps on the role though no resource of the stack declares them."""
    if not role.named_by(resource, "roleName", resource.at("roleName")):
        return
    names = resource.at("policyNames")
    if names.opaque:
        return
    declared = {str(policy.at("name").value) for policy in stack.of(ROLE_POLICY)}
    for name in names.elements():
        if not name.opaque and name.value not in declared:
            yield Doubt(name.path, f"keeps the policy {name.value}, which this stack doesn't declare", resource.urn)


def _as_principal(stack: Stack, role: NodeRole) -> Iterator[Grant]:
    """Documents on other resources, trust policies among them, that allow something to the role.

    A document that is unknown as a whole is reported by the rules about documents of its kind.
    """
    for type_, key in (*RESOURCE_POLICIES.items(), (ROLE, "assumeRolePolicy")):
        for resource in stack.of(type_):
            try:
                found = [
                    principal
                    for statement in statements(resource.at(key))
                    if statement.allows
                    for kind, principal in statement.principals()
                    if kind == "AWS" and _is_role(principal, role)
                ]
            except (Unjudged, WrongType):
                continue
            yield from (Grant(resource, principal=principal) for principal in found)


def _is_role(principal: Node, role: NodeRole) -> bool:
    text = principal.value
    return isinstance(text, str) and ":role/" in text and text.rpartition("/")[2] in role.names
