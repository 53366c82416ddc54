"""Where an image of others is found in the account's own registry.

Hides the folders of the mirror: one for each publisher, so that two images of one name never meet.
"""

from __future__ import annotations

from typing import Final

from components.catalog import ImagePin
from components.naming import listed

# ECR's pull-through cache serves these publishers without a credential; NVIDIA's registry it does not, so those are mirrored by hand.
FOLDERS: Final = {
    "public.ecr.aws": "ecr-public",
    "registry.k8s.io": "kubernetes",
    "quay.io": "quay",
    "ghcr.io": "github",
    "docker.io": "docker-hub",
    "nvcr.io": "nvcr",
    "602401143452.dkr.ecr.us-west-2.amazonaws.com": "eks",
}
PULL_THROUGH: Final = ("public.ecr.aws", "registry.k8s.io", "quay.io")


def folder(registry: str) -> str:
    """The mirror's folder for a publisher's registry. Raises KeyError naming the known ones."""
    try:
        return FOLDERS[registry]
    except KeyError:
        raise KeyError(f"no folder of the mirror holds {registry}; there are folders for {listed(sorted(FOLDERS))}") from None


def repository(pin: ImagePin) -> str:
    """`folder/repository`, below the account's registry."""
    return f"{folder(pin.registry)}/{pin.repository}"


def path(pin: ImagePin) -> str:
    """`folder/repository:tag`, below the account's registry."""
    return f"{repository(pin)}:{pin.tag}"
