"""Rules over storage and what stands beside it: where a file system and a copy must lie, and which registries an image
comes from.
"""

from __future__ import annotations

from collections.abc import Iterator

from components import file_systems
from components.catalog import Catalog, regions
from components.file_systems.lustre import plan as lustre_plan
from components.naming import did_you_mean, listed, nearest
from components.planning import mounted_folders
from components.planning.pool import Pool
from components.planning.rules.lustre import deployment_of, systems
from components.planning.rules.registry import rule
from components.planning.rules.zones import offering
from components.problems import Problem
from components.spec.stack import StackSpec

# Pools whose jobs read datasets and write checkpoints all the time.
_TRAINS = ("training", "finetuning")


@rule(each="storage.lustre")
def file_system_zone_is_in_network(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """The file system lies in a subnet, and the network's zones are those that have them."""
    if stack.network is None:
        return
    for path, system in systems(stack):
        if system.zone not in stack.network.zones:
            said = f"{system.zone} is not one of the network's zones"
            # Zone ids are alike: the nearest by spelling says nothing, the zones of the training pools do.
            training = {pool.zone for pool in stack.pools if pool.purpose in _TRAINS and pool.zone in stack.zones}
            hint = f"use {listed(sorted(training) or stack.zones, 'or')}"
            yield Problem(id="zone-unknown", path=f"{path}.zone", said=said, hint=hint)


@rule()
def file_system_lies_beside_training(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """From another zone every byte is slower and paid for, and EFA doesn't reach at all."""
    # A pool whose own zone is wrong is told that, and nothing is to follow it there.
    training = [
        pool
        for pool in stack.pools
        if pool.purpose in _TRAINS
        and Pool(pool, cat).in_compute_network
        and pool.zone in stack.zones
        and pool.zone in offering(pool, stack, cat)
    ]
    zones = {pool.zone for pool in training}
    served = {system.zone for _, system in systems(stack)}
    for path, system in systems(stack):
        if not zones or system.zone in zones:
            continue
        # A second file system may serve other pools; only where no training pool has one beside it is this one wrong.
        if zones <= served:
            continue
        lonely = [pool for pool in training if pool.zone not in served]
        names = listed([f'"{pool.name}" in {pool.zone}' for pool in lonely])
        said = f'"{system.name}" lies in {system.zone}, the pool {names}'
        said += ", where EFA does not reach it" if system.efa else ", so that every read crosses zones and is charged"
        yield Problem(id="lustre-zone", path=f"{path}.zone", said=said, hint=f"use {lonely[0].zone}, or move the pool")


@rule()
def file_systems_are_mounted(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Tasks mount datasets and checkpoints: from a file system in their pool's zone, or from the one linked to the
    buckets. Another one is paid for and reachable by no task file.
    """
    found = file_systems.systems(stack, cat)
    mounted = {each.system.name for each in mounted_folders.of_stack(stack, cat) if each.content}
    for each in found:
        if each.name in mounted:
            continue
        homes = listed(sorted({f'"{name}"' for name in mounted}))
        said = f'no task mounts "{each.name}": datasets and checkpoints of every pool lie on {homes}'
        yield Problem(
            id="file-system-unused",
            path=f"{each.path}.name",
            said=said,
            hint="take it out, or put it into the zone of a pool that has none",
            severity="warning",
        )


@rule()
def pools_have_a_file_system_beside_them(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """A pool in another zone reads everything across zones: slower, charged for each byte, and not over EFA."""
    found = file_systems.systems(stack, cat)
    if not found or any(each.zone is None for each in found):
        return
    zones = {each.zone for each in found}
    for index, pool in enumerate(stack.pools):
        if (
            pool.purpose not in _TRAINS
            or not Pool(pool, cat).in_compute_network
            or pool.zone is None
            or pool.zone in zones
        ):
            continue
        if not any(other.zone in zones for other in stack.pools if other.purpose in _TRAINS):
            continue  # then the file system stands in the wrong zone, which has its own rule
        said = (
            f'"{pool.name}" lies in {pool.zone}, and the file systems in {listed(sorted(str(each) for each in zones))}'
        )
        yield Problem(
            id="pool-far-from-storage",
            path=f"pools[{index}].zone",
            said=f"{said}: its jobs read across zones, which is charged",
            hint=f"add a file system in {pool.zone}, or move the pool",
            severity="warning",
        )


@rule()
def settings_fit_their_kind(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Kinds of file systems are those of the adapters, which read the settings."""
    for index, each in enumerate(stack.storage.file_systems):
        path = f"storage.file_systems[{index}]"
        kind = file_systems.KINDS.get(each.kind)
        if kind is None or each.kind == "lustre":
            known = sorted(name for name in file_systems.KINDS if name != "lustre")
            said = f'"{each.kind}" is no kind of file system'
            hint = (
                "declare it under storage.lustre"
                if kind
                else did_you_mean(each.kind, known) or f"use {listed(known, 'or')}"
            )
            yield Problem(id="file-system-kind", path=f"{path}.kind", said=said, hint=hint)
        else:
            yield from kind.problems(each, path)


@rule()
def file_system_holds_dataset_twice(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Checkpoints and the next version of the data need the same room again. A warning: who reads from the bucket bit
    by bit needs less.
    """
    dataset = stack.storage.datasets.size_gib
    factor = lustre_plan.DATASET_FACTOR
    linked = [
        (path, system) for path, system in systems(stack) if any(link.bucket == "datasets" for link in system.links)
    ]
    # Without a link it isn't known where the data will be: the largest file system is assumed.
    largest = sorted(systems(stack), key=lambda each: -(each[1].capacity_gib or 0))[:1]
    homes = linked or largest
    for path, system in homes if dataset else ():
        assert dataset is not None
        if system.capacity_gib is None or system.capacity_gib >= factor * dataset:
            continue
        deployment = deployment_of(system, cat)
        sizes = deployment.sizes_for(system.throughput_mbps_per_tib, efa=system.efa) if deployment else None
        wanted = sizes.at_least(factor * dataset) if sizes else factor * dataset
        said = (
            f"{system.capacity_gib:,} GiB are less than {factor} x {dataset:,} = {factor * dataset:,} GiB, the dataset"
            " and its like again"
        )
        yield Problem(
            id="lustre-too-small",
            path=f"{path}.capacity_gib",
            said=f"{said} for checkpoints",
            hint=f"use {wanted}",
            severity="warning",
        )


@rule()
def copy_lies_elsewhere(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """The copy's region exists and S3 replicates to it; a copy in the same region is lost with it."""
    where, path, known = stack.storage.checkpoints.replicate_to, "storage.checkpoints.replicate_to", regions.known(cat)
    if where is None:
        return
    hint = "use another region, such as us-east-2" if where != "us-east-2" else "use another region, such as us-west-2"
    if where == stack.region:
        said = f"the copy of the checkpoints would lie in {where}, beside the originals"
        yield Problem(id="copy-region", path=path, said=said, hint=hint)
    elif stack.region in known and regions.partition(where) != regions.partition(stack.region):
        said = (
            f"{where} and {stack.region} belong to two partitions of AWS, and S3 copies nothing from one to the other"
        )
        yield Problem(id="copy-region", path=path, said=said, hint=hint)
    elif where not in known:
        said = f'"{where}" is no region that the catalog knows'
        yield Problem(
            id="region-unknown",
            path=path,
            said=said,
            hint=did_you_mean(where, known) if nearest(where, known) else hint,
        )


@rule()
def credentials_are_of_reached_registries(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """A secret is only of use for a publisher that ECR's cache reaches and that asks who pulls."""
    asking = sorted(registry for registry, secret in cat.charts.pull_through.items() if secret)
    for registry in stack.storage.registry.credentials:
        if registry not in asking:
            open_to_all = registry in cat.charts.pull_through
            said = (
                f'"{registry}" asks for no credential'
                if open_to_all
                else f'"{registry}" is not reached by ECR\'s pull-through cache'
            )
            hint = "take it out" if open_to_all else did_you_mean(registry, asking)
            yield Problem(
                id="registry-credential", path=f"storage.registry.credentials.{registry}", said=said, hint=hint
            )


@rule()
def preloaded_images_are_named_by_path(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """The registry's address is put before them."""
    for index, path in enumerate(stack.storage.registry.preload):
        name, slash, _ = path.partition("/")
        if slash and ("." in name or ":" in name):
            said = f'"{path}" names a registry; images are fetched from the account\'s own'
            hint = f"use {path.partition('/')[2]}"
            yield Problem(id="preload-registry", path=f"storage.registry.preload[{index}]", said=said, hint=hint)
        elif ":" not in path and "@" not in path:
            said = f'"{path}" has neither tag nor digest, and tags of this registry never move to mean "the newest"'
            hint = f"use {path}:{stack.environment}-1.0, or a digest"
            yield Problem(id="preload-tag", path=f"storage.registry.preload[{index}]", said=said, hint=hint)
