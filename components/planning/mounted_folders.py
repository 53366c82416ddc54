"""Which folders of which file systems the jobs of a stack mount: datasets to read, checkpoints to write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from components import file_systems
from components.catalog import Catalog
from components.file_systems import CONTENTS, Content, System
from components.planning.pool import Pool
from components.spec.stack import StackSpec

# Where jobs find them, and where they lie on a file system that no link ties to a bucket.
PATHS: Final[Mapping[Content, str]] = {"datasets": "/datasets", "checkpoints": "/checkpoints"}


@dataclass(frozen=True, kw_only=True)
class Mount:
    """A folder of a file system as pods claim it. `name` is the claim's, the same in every namespace; `content` is None
    for a file system as a whole.
    """

    name: str
    system: System
    folder: str
    content: Content | None = None

    @property
    def read_only(self) -> bool:
        return self.content == "datasets"


def of_stack(stack: StackSpec, cat: Catalog) -> list[Mount]:
    """Datasets to read and checkpoints to write: from the file systems that are linked to the buckets (or the first
    one), once more from a file system in another zone for the pools there, and every further file system as a whole.
    """
    systems = sorted(file_systems.systems(stack, cat), key=lambda each: each.name)
    if not systems:
        return []
    homes = {content: _home(content, systems) for content in CONTENTS}
    found = [_mount(content, content, homes[content]) for content in CONTENTS]
    served = {each.zone for each in homes.values()}
    pools = {pool.zone for pool in stack.pools if pool.zone}
    used = {each.name for each in homes.values()}
    for system in systems:
        if system.name not in used and system.zone in pools - served:
            found += [_mount(f"{content}-{system.name}", content, system) for content in CONTENTS]
            served.add(system.zone)
            used.add(system.name)
    found += [Mount(name=each.name, system=each, folder="/") for each in systems if each.name not in used]
    return found


def _home(content: Content, systems: Sequence[System]) -> System:
    return next((each for each in systems if content in each.folders), systems[0])


def _mount(name: str, content: Content, system: System) -> Mount:
    folder = system.folders.get(content, PATHS[content])
    return Mount(name=name, system=system, folder=folder, content=content)


def claim_name(content: Content, pool: Pool, stack: StackSpec) -> str:
    """The claim that a pool's jobs mount for `content`: that of a file system in the pool's zone if there is one."""
    found = [each for each in of_stack(stack, pool.catalog) if each.content == content]
    beside = [each.name for each in found if pool.spec.zone and each.system.zone == pool.spec.zone]
    return beside[0] if beside else content
