"""What the API server refuses by itself: a job without a queue, which would take its cards past everybody who waits."""

from __future__ import annotations

from typing import Any, Final

from components.manifests.queues import kueue

NAME: Final = "jobs-name-a-queue"
_API: Final = "admissionregistration.k8s.io/v1"

Manifest = dict[str, Any]

# Children carry the queue of whoever made them: a JobSet's jobs wait with it.
_QUEUED = f"has(object.metadata.labels) && '{kueue.QUEUE_LABEL}' in object.metadata.labels"
_CHILD = "has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(o, o.kind == 'JobSet')"


def policy() -> Manifest:
    """The rule, for jobs and JobSets; changes of one that is there already aren't judged."""
    rules = [
        {"apiGroups": ["batch"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["jobs"]},
        {"apiGroups": ["jobset.x-k8s.io"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["jobsets"]},
    ]
    message = (
        f"a job in this namespace names its queue: set the label {kueue.QUEUE_LABEL}; `kubectl get localqueues` lists"
        " them, and `trainshed job render` sets it"
    )
    return {
        "apiVersion": _API,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": NAME},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": rules},
            "validations": [{"expression": f"({_QUEUED}) || ({_CHILD})", "message": message}],
        },
    }


def binding(jobs: dict[str, str]) -> Manifest:
    """Where the rule holds: namespaces with the labels of jobs."""
    return {
        "apiVersion": _API,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": NAME},
        "spec": {
            "policyName": NAME,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": {"matchLabels": jobs}},
        },
    }
