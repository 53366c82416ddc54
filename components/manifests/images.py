"""Where an image of others is found in the account's own registry, as manifests name it.

Hides that the folders of the mirror are planned with the registry itself.
"""

from __future__ import annotations

from components.planning.images import FOLDERS, folder, path, repository

__all__ = ["FOLDERS", "folder", "path", "repository"]
