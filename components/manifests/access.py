"""What each kind of person may do inside the cluster, as roles, bindings and an admission rule.

The table in docs/access.md is made from the same values. A role can't tell one queue's jobs from another's in one
namespace: what is submitted and cancelled is held to a queue by admission, what is read is the namespace's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from components.manifests.queues import kueue
from components.spec.form import SelfHosted
from components.spec.stack import StackSpec

_RBAC: Final = "rbac.authorization.k8s.io/v1"
_RBAC_GROUP: Final = "rbac.authorization.k8s.io"
OPERATORS: Final = "trainshed:operators"
ADMINS: Final = "trainshed:admins"
_QUEUE_GROUP: Final = "trainshed:queue:"
OIDC_PREFIX: Final = "oidc:"
# Service accounts of queues (components/manifests/queues/accounts.py) begin so.
READ: Final = ("get", "list", "watch")

Manifest = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Right:
    """Verbs on resources of one API group; `why` is what a person does with them."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    why: str

    def rule(self) -> Manifest:
        return {"apiGroups": [self.group], "resources": list(self.resources), "verbs": list(self.verbs)}


RESEARCHER: Final = (
    Right(
        group="jobset.x-k8s.io",
        resources=("jobsets",),
        verbs=(*READ, "create", "delete"),
        why="submit, see and cancel jobs of their queues",
    ),
    Right(group="batch", resources=("jobs",), verbs=READ, why="see a job's parts"),
    Right(group="", resources=("pods", "events"), verbs=READ, why="see workers and what happened to them"),
    Right(group="", resources=("pods/log",), verbs=("get",), why="read logs"),
    Right(
        group="",
        resources=("configmaps", "services", "serviceaccounts"),
        verbs=(*READ, "create", "patch", "delete"),
        why="what a submitted task brings along",
    ),
    Right(
        group="kueue.x-k8s.io",
        resources=("localqueues", "workloads"),
        verbs=READ,
        why="see the queue and their place in it",
    ),
)
OPERATOR: Final = (
    Right(group="", resources=("nodes",), verbs=(*READ, "patch"), why="cordon nodes"),
    Right(group="", resources=("pods", "events", "namespaces"), verbs=READ, why="see what runs where"),
    Right(group="", resources=("pods/log",), verbs=("get",), why="read logs"),
    Right(group="", resources=("pods/eviction",), verbs=("create",), why="drain nodes"),
    Right(group="apps", resources=("daemonsets", "deployments", "statefulsets"), verbs=READ, why="drain nodes"),
    Right(group="batch", resources=("jobs",), verbs=READ, why="see jobs"),
    Right(group="jobset.x-k8s.io", resources=("jobsets",), verbs=(*READ, "delete"), why="see and end jobs"),
    Right(
        group="kueue.x-k8s.io",
        resources=("clusterqueues", "localqueues"),
        verbs=(*READ, "patch"),
        why="hold and open queues",
    ),
    Right(group="kueue.x-k8s.io", resources=("workloads",), verbs=READ, why="see what waits"),
    Right(group="karpenter.sh", resources=("nodeclaims", "nodepools"), verbs=READ, why="see which nodes are bought"),
)


def queue_group(queue: str) -> str:
    """The group of the people who submit to a queue."""
    return f"{_QUEUE_GROUP}{queue}"


def outside_group(principal: str, stack: StackSpec) -> str | None:
    """The Kubernetes group of a `group:NAME`; None for a role of IAM, which gets our own groups by its access entry."""
    kind, _, name = principal.partition(":")
    if kind != "group":
        return None
    return name if isinstance(stack.form, SelfHosted) else f"{OIDC_PREFIX}{name}"


def entries(stack: StackSpec) -> dict[str, tuple[str, ...]]:
    """The groups of each IAM principal that is no administrator: an access entry holds all of its principal's."""
    found: dict[str, set[str]] = {}
    for who in stack.access.operators:
        found.setdefault(who, set()).add(OPERATORS)
    for each in stack.access.researchers:
        for who in each.who:
            found.setdefault(who, set()).update(queue_group(queue) for queue in each.queues)
    admins = set(stack.access.admins)
    return {
        who: tuple(sorted(groups))
        for who, groups in sorted(found.items())
        if who.startswith("arn:") and who not in admins
    }


def _role(kind: str, name: str, rights: tuple[Right, ...], namespace: str | None = None) -> Manifest:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": _RBAC, "kind": kind, "metadata": metadata, "rules": [each.rule() for each in rights]}


def _binding(kind: str, name: str, role: str, groups: list[str], namespace: str | None = None) -> Manifest:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {
        "apiVersion": _RBAC,
        "kind": f"{kind}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": _RBAC_GROUP, "kind": kind, "name": role},
        "subjects": [{"apiGroup": _RBAC_GROUP, "kind": "Group", "name": group} for group in groups],
    }


def objects(stack: StackSpec) -> dict[str, Manifest]:
    """Roles, bindings and the admission rule, by a key; nothing for a stack that names nobody."""
    access = stack.access
    if access.empty:
        return {}
    found: dict[str, Manifest] = {}
    outside = [group for who in access.operators if (group := outside_group(who, stack))]
    found["operator"] = _role("ClusterRole", "trainshed-operator", OPERATOR)
    found["operators"] = _binding("ClusterRole", "trainshed-operators", "trainshed-operator", [OPERATORS, *outside])
    admins = [group for who in access.admins if (group := outside_group(who, stack))]
    if admins:
        found["admins"] = _binding("ClusterRole", "trainshed-admins", "cluster-admin", admins)
    members = _members(stack)
    spaces: dict[str, list[str]] = {}
    for queue in stack.queues:
        if members.get(queue.name):
            spaces.setdefault(queue.namespace, []).extend(members[queue.name])
    for namespace, groups in sorted(spaces.items()):
        found[f"researcher-{namespace}"] = _role("Role", "trainshed-researcher", RESEARCHER, namespace)
        found[f"researchers-{namespace}"] = _binding(
            "Role", "trainshed-researchers", "trainshed-researcher", sorted(set(groups)), namespace
        )
    if members:
        found["own-queue"] = own_queue(members)
        found["own-queue-binding"] = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": "researchers-own-queues"},
            "spec": {
                "policyName": "researchers-own-queues",
                "validationActions": ["Deny"],
                "matchResources": {"namespaceSelector": {"matchLabels": {"trainshed.io/jobs": "true"}}},
            },
        }
    return found


def _members(stack: StackSpec) -> dict[str, list[str]]:
    """The groups that submit to each queue: ours, which access entries give, and those of the identity provider."""
    found: dict[str, set[str]] = {}
    for each in stack.access.researchers:
        outside = {group for who in each.who if (group := outside_group(who, stack))}
        for queue in each.queues:
            found.setdefault(queue, {queue_group(queue)}).update(outside)
    return {queue: sorted(groups) for queue, groups in sorted(found.items())}


def own_queue(members: dict[str, list[str]]) -> Manifest:
    """Researchers submit to and cancel in their own queues only, under no other queue's service account.

    Whoever is in none of these groups (administrators, operators, controllers) is judged by their roles alone.
    """
    label = f"'{kueue.QUEUE_LABEL}'"
    all_groups = sorted({group for groups in members.values() for group in groups})
    table = ", ".join(f"'{queue}': {_texts(groups)}" for queue, groups in members.items())
    in_groups = f"request.userInfo.groups.exists(g, g in {_texts(all_groups)})"
    job = "(request.operation == 'DELETE' ? oldObject : object)"
    queue = f"(has({job}.metadata.labels) && {label} in {job}.metadata.labels ? {job}.metadata.labels[{label}] : '')"
    accounts = (
        "request.operation == 'DELETE' || object.spec.replicatedJobs.all(r,"
        " !has(r.template.spec.template.spec.serviceAccountName)"
        " || !r.template.spec.template.spec.serviceAccountName.startsWith('queue-')"
        " || r.template.spec.template.spec.serviceAccountName == 'queue-' + variables.queue)"
    )
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "researchers-own-queues"},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": ["jobset.x-k8s.io"],
                        "apiVersions": ["*"],
                        "operations": ["CREATE", "DELETE"],
                        "resources": ["jobsets"],
                    }
                ]
            },
            "matchConditions": [{"name": "researchers", "expression": in_groups}],
            "variables": [
                {"name": "queue", "expression": queue},
                {"name": "members", "expression": f"{{{table}}}"},
            ],
            "validations": [
                {
                    "expression": (
                        "variables.queue in variables.members"
                        " && request.userInfo.groups.exists(g, g in variables.members[variables.queue])"
                    ),
                    "message": "this queue is not one of yours: submit to and cancel in your own queues",
                },
                {"expression": accounts, "message": "a job runs under its own queue's service account, or its own"},
            ],
        },
    }


def _texts(words: list[str]) -> str:
    return "[" + ", ".join(f"'{word}'" for word in words) + "]"


def table() -> str:
    """Who may do what, as Markdown: docs/access.md holds it."""
    lines = ["| who | may | on | to |", "|---|---|---|---|"]
    lines.append("| administrator | everything | the whole cluster | build and repair it |")
    for who, rights in (("operator", OPERATOR), ("researcher", RESEARCHER)):
        for each in rights:
            where = ", ".join(f"`{name}`" for name in each.resources)
            lines.append(f"| {who} | {', '.join(each.verbs)} | {where} | {each.why} |")
    return "\n".join(lines) + "\n"
