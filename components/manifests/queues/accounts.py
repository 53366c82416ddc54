"""The service account that the jobs of a queue run under, and the prefixes of the buckets that it reaches."""

from __future__ import annotations

from typing import Any

from components.spec.queues import QueueSpec

Manifest = dict[str, Any]


def name(queue: str) -> str:
    return f"queue-{queue}"


def manifest(queue: QueueSpec) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {
            "name": name(queue.name),
            "namespace": queue.namespace,
            "labels": {"app.kubernetes.io/managed-by": "trainshed", "trainshed.io/queue": queue.name},
        },
        # A job has no business with the Kubernetes API; its AWS identity comes by a token of its own.
        "automountServiceAccountToken": False,
    }


def written(queue: QueueSpec) -> tuple[str, ...]:
    """Prefixes of the bucket of checkpoints: checkpoints of the queue's jobs, and what else they put out."""
    return (f"{queue.name}/", f"outputs/{queue.name}/")
