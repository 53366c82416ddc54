"""Rules over what a pool's nodes boot from: image families that exist and drive the cards, and a root volume that holds
images.

An image family must still be made. A gp3 volume's throughput and operations are limited by its size.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from components.accelerators import NoImageFamily
from components.catalog import Catalog, ImageFamily, InstanceType
from components.naming import did_you_mean, listed
from components.planning.pool import Pool
from components.planning.rules.pools import driven, on_aws
from components.planning.rules.registry import rule
from components.problems import Problem
from components.spec.pools import PoolSpec
from components.spec.stack import StackSpec

SMALLEST_ROOT_GIB = 200
# gp3: 500 operations a second for every GiB, 0.25 MiB/s for every operation (EBS User Guide).
_IOPS_PER_GIB = 500
_MIB_PER_S_PER_IOPS = 0.25


@rule(each="pools")
def pool_image_fits(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """An image family that exists, is still made, and drives the machine's cards; or a custom image with all that it
    needs.
    """
    for path, pool in on_aws(stack):
        machines = Pool(pool, cat).machines
        if pool.image_id and pool.image_release:
            said = "image_id and image_release are both given, and an own image has no release of EKS'"
            yield Problem(id="image-twice", path=f"{path}.image_release", said=said, hint="keep one of the two")
        if machines and driven(machines[0]):
            yield from _image(path, pool, machines[0], cat)


def _image(path: str, pool: PoolSpec, machine: InstanceType, cat: Catalog) -> Iterator[Problem]:
    family = cat.images.families.get(pool.image_family) if pool.image_family else None
    usual = [name for name in machine.image_families if name != "CUSTOM"]
    if pool.image_family and family is None:
        said = f'"{pool.image_family}" is no EKS image family'
        hint = did_you_mean(pool.image_family, usual or cat.images.families)
        yield Problem(id="image-family-unknown", path=f"{path}.image_family", said=said, hint=hint)
        return
    if family and family.ends:
        said = (
            f'"{family.name}" ended on {family.ends.isoformat()}; the last was made for Kubernetes'
            f" {family.last_kubernetes}"
        )
        said += ", and it ignores the NodeConfig that sets nodes up"
        yield Problem(
            id="image-family-ended",
            path=f"{path}.image_family",
            said=said,
            hint=f"use {usual[0]}" if usual else "use an own image",
        )
        return
    if family and family.system != "custom":
        vendor = machine.accelerator.vendor if machine.accelerator else None
        if family.arch != machine.arch or (vendor and family.vendor != vendor):
            need = f"{machine.arch} with {vendor} cards" if vendor else machine.arch
            said = f'"{family.name}" does not run on {machine.name}, which is {need}'
            hint = f"use {listed(usual, 'or')}" if usual else "give an own image as image_id"
            yield Problem(id="image-family-unfit", path=f"{path}.image_family", said=said, hint=hint)
        return
    if family and not pool.image_id:
        said = "the family CUSTOM says nothing without an image"
        yield Problem(
            id="image-missing",
            path=f"{path}.image_id",
            said=said,
            hint="give the own image's id, such as ami-0a1b2c3d4e5f60718",
        )
        return
    if pool.image_id or pool.image_family:
        return
    try:
        chosen = Pool(pool, cat).image.name
    except NoImageFamily as missing:
        chosen, reason = None, str(missing)
    else:
        reason = f"no image of EKS' has a driver for {machine.name}"
    if chosen is None or (machine.accelerator and chosen not in machine.image_families):
        yield Problem(
            id="image-missing",
            path=f"{path}.image_id",
            said=reason,
            hint="build one with the driver it needs, and give its id",
        )


@rule(each="pools")
def pool_image_is_recent(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """A newer release than the pinned one is reported, never applied."""
    version = stack.cluster.version if stack.cluster else None
    for path, pool in on_aws(stack):
        if not version or not pool.image_release or pool.image_id or not Pool(pool, cat).machines:
            continue
        family = cat.images.families.get(pool.image_family or "") or _usual(Pool(pool, cat))
        newest = cat.images.release(family.name, version) if family else None
        if newest and newest != pool.image_release and _dated(newest) > _dated(pool.image_release):
            said = f'release "{pool.image_release}" has a successor in the catalog'
            hint = f'try image_release: "{newest}" on one pool first'
            yield Problem(id="image-release-newer", path=f"{path}.image_release", said=said, hint=hint, severity="note")


def _usual(pool: Pool) -> ImageFamily | None:
    try:
        return pool.image
    except LookupError:
        return None


def _dated(release: str) -> tuple[int, ...]:
    """`1.35.2-20260714` as numbers, so that releases compare by version and day."""
    return tuple(int(part) for part in re.findall(r"\d+", release))


@rule(each="pools")
def pool_root_is_large(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Training images are tens of GiB, and gp3 sells operations and throughput by size."""
    for path, pool in on_aws(stack):
        machines = Pool(pool, cat).machines
        if machines and machines[0].cards and pool.root_volume_gib < SMALLEST_ROOT_GIB:
            said = f"{pool.root_volume_gib} GiB fill up with two or three training images, and the node drains itself"
            yield Problem(
                id="root-volume-small",
                path=f"{path}.root_volume_gib",
                said=said,
                hint=f"use {SMALLEST_ROOT_GIB} or more",
            )
        most = pool.root_volume_gib * _IOPS_PER_GIB
        if pool.root_volume_iops > most:
            said = f"{pool.root_volume_iops} operations a second are more than gp3 gives {pool.root_volume_gib} GiB"
            yield Problem(id="root-volume-iops", path=f"{path}.root_volume_iops", said=said, hint=f"use at most {most}")
        if pool.root_volume_mib_per_s > pool.root_volume_iops * _MIB_PER_S_PER_IOPS:
            need = int(pool.root_volume_mib_per_s / _MIB_PER_S_PER_IOPS)
            said = (
                f"{pool.root_volume_mib_per_s} MiB/s need {need} operations a second, and the volume has"
                f" {pool.root_volume_iops}"
            )
            yield Problem(
                id="root-volume-throughput",
                path=f"{path}.root_volume_mib_per_s",
                said=said,
                hint=f"set root_volume_iops: {need}",
            )
