"""The labels that nodes of this project carry, and the prefixes that belong to others.

Pools write the labels; the selectors of daemons, flavors and jobs read them. All take the text from here.
"""

from __future__ import annotations

from typing import Final

PREFIX: Final = "trainshed.io/"
POOL: Final = "trainshed.io/pool"
SYSTEM_POOL: Final = "system"  # what the cluster's own nodes carry in place of a pool's name
PURPOSE: Final = "trainshed.io/purpose"
ACCELERATOR: Final = "trainshed.io/accelerator"  # the vendor whose adapter drives the cards: nvidia, neuron
EFA: Final = "trainshed.io/efa"  # "true" on nodes with EFA interfaces, absent elsewhere
FABRIC: Final = "trainshed.io/fabric"
CAPACITY: Final = "trainshed.io/capacity"  # on-demand, reservation, block, spot
BLOCK: Final = "trainshed.io/block"  # the Capacity Block that a node belongs to: its nodes are drained together

# Kubernetes, EKS, EC2's topology controller and this project write below these: a user's own key there is refused or
# collides.
RESERVED_DOMAINS: Final = ("kubernetes.io", "k8s.io", "eks.amazonaws.com", "karpenter.sh", "k8s.aws", "trainshed.io")


def reserved(key: str) -> str | None:
    """The reserved domain that a label or taint key lies in, or None when the key is the user's own.

    `node.kubernetes.io/x` lies in `kubernetes.io`, `topology.k8s.aws/x` in `k8s.aws`.
    """
    prefix, slash, _ = key.partition("/")
    if not slash:
        return None
    return next((domain for domain in RESERVED_DOMAINS if prefix == domain or prefix.endswith(f".{domain}")), None)


def of_pool(
    *, pool: str, purpose: str, capacity: str, fabric: str, accelerator: str | None, efa: bool
) -> dict[str, str]:
    """What every node of a pool carries, sorted by key."""
    words = {POOL: pool, PURPOSE: purpose, CAPACITY: capacity, FABRIC: fabric}
    if accelerator:
        words[ACCELERATOR] = accelerator
    if efa:
        words[EFA] = "true"
    return dict(sorted(words.items()))
