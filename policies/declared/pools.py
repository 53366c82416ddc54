"""What a pool of nodes is for, read from what the node group itself says.

It is written in labels, tags and taints: of node groups, of their templates, and of Karpenter's pools.
"""

from __future__ import annotations

from collections.abc import Mapping

from policies.declared.resources import Resource

PURPOSE_KEYS = ("trainshed.io/purpose", "trainshed/purpose", "trainshed:purpose", "purpose", "Purpose", "workload")
TRAINING = frozenset({"training", "pretraining", "pretrain", "finetuning", "finetune"})


def purposes(resource: Resource) -> set[str]:
    """The purposes that labels and tags name."""
    found: set[str] = set()
    for holder in (resource.at("labels"), resource.at("tags"), resource.at("spec", "template", "metadata", "labels")):
        if isinstance(holder.value, Mapping):
            entries = ((str(key), value) for key, value in holder.value.items())
            found |= {str(value).lower() for key, value in entries if key in PURPOSE_KEYS or key.endswith("/purpose")}
    return found


def is_training(resource: Resource) -> bool:
    return bool(purposes(resource) & TRAINING)


def is_preprocessing(resource: Resource) -> bool:
    return "preprocessing" in purposes(resource)
