"""Rules over one file system by itself: what FSx takes, and how its folders are linked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from components.catalog import Catalog
from components.catalog.lustre import Deployment
from components.file_systems.lustre import other_kind
from components.file_systems.lustre import plan as lustre_plan
from components.naming import listed
from components.planning.rules.registry import rule
from components.problems import Problem
from components.spec.stack import StackSpec
from components.spec.storage import LinkSpec, LustreSpec

_STORAGE: Final = {"SSD": "SSD", "HDD": "HDD", "INTELLIGENT_TIERING": "intelligent tiering"}


def systems(stack: StackSpec) -> Iterator[tuple[str, LustreSpec]]:
    """Each file system with its path in the stack file."""
    for index, system in enumerate(stack.storage.lustre):
        yield f"storage.lustre[{index}]", system


def _kind(system: LustreSpec, *, throughput: bool = True) -> str:
    """`PERSISTENT_2 SSD at 500 MB/s/TiB with EFA`."""
    words = f"{system.deployment} {_STORAGE[system.storage]}" if not system.scratch else system.deployment
    if throughput and system.throughput_mbps_per_tib and not system.scratch:
        words += f" at {system.throughput_mbps_per_tib} MB/s/TiB"
    return f"{words} with EFA" if system.efa else words


@rule(each="storage.lustre")
def file_systems_are_on_aws(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """FSx, S3 and ECR are AWS's; a cluster that exists brings its own storage class."""
    for path, system in systems(stack) if not stack.on_aws else ():
        said = f'"{system.name}" is an FSx file system, and this stack declares nothing on AWS'
        hint = "take it out: claims are answered by form.storage_class"
        yield Problem(id="section-without-use", path=path, said=said, hint=hint)


@rule()
def file_system_names_differ(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Claims and log groups carry the name."""
    seen: dict[str, str] = {}
    for path, system in systems(stack):
        if system.name in seen:
            said = f'the name "{system.name}" is taken by {seen[system.name]}'
            yield Problem(
                id="duplicate-name",
                path=f"{path}.name",
                said=said,
                hint="names of file systems are unique in the stack",
            )
        elif system.name in ("datasets", "checkpoints"):
            said = f'"{system.name}" is the name of a claim that every stack has'
            yield Problem(id="name-taken", path=f"{path}.name", said=said, hint="use another, such as train")
        seen.setdefault(system.name, path)


@rule(each="storage.lustre")
def storage_type_exists(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """HDD is PERSISTENT_1's, intelligent tiering PERSISTENT_2's."""
    for path, system in systems(stack):
        if system.tiered:
            if system.deployment != "PERSISTENT_2":
                said = f"{system.deployment} has no intelligent tiering"
                yield Problem(
                    id="lustre-storage",
                    path=f"{path}.storage",
                    said=said,
                    hint=_instead(system, cat, {"deployment": "PERSISTENT_2"}, {"storage": "SSD"}),
                )
        elif cat.lustre.deployment(system.deployment, system.storage) is None:
            said = f"{system.deployment} has no {_STORAGE[system.storage]}"
            hint = _instead(system, cat, {"storage": "SSD"}, {"deployment": "PERSISTENT_1"})
            yield Problem(id="lustre-storage", path=f"{path}.storage", said=said, hint=hint)
        if system.drive_cache and system.storage != "HDD":
            said = f"a drive cache stands before HDD, and {_kind(system, throughput=False)} has none"
            hint = _instead(system, cat, {"storage": "HDD"}, before="take it out")
            yield Problem(id="lustre-drive-cache", path=f"{path}.drive_cache", said=said, hint=hint)


def _instead(system: LustreSpec, cat: Catalog, *changes: dict[str, str], before: str = "") -> str:
    """Kinds that FSx has, each with what else must change for it, after what may be done in place."""
    kinds = [words for each in changes if (words := other_kind.words(system, cat, **each))]
    found = [f"use {', or '.join(kinds)}"] if kinds else []
    return ", or ".join([before, *found] if before else found)


def deployment_of(system: LustreSpec, cat: Catalog) -> Deployment | None:
    """None for intelligent tiering, and for a pair that FSx doesn't offer, which has its own rule."""
    return None if system.tiered else cat.lustre.deployment(system.deployment, system.storage)


@rule(each="storage.lustre")
def throughput_is_offered(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Persistent types are bought with a throughput, scratch types come with theirs, intelligent tiering states a whole
    one.
    """
    for path, system in systems(stack):
        where = f"{path}.throughput_mbps_per_tib"
        deployment = deployment_of(system, cat)
        chosen = system.throughput_mbps_per_tib
        if deployment is not None:
            allowed = listed(deployment.throughputs, "or")
            if deployment.fixed_throughput and chosen:
                said = f"{system.deployment} comes with {deployment.fixed_throughput} MB/s/TiB, which can't be chosen"
                yield Problem(
                    id="lustre-throughput-fixed", path=where, said=said, hint="take throughput_mbps_per_tib out"
                )
            elif deployment.throughputs and chosen is None:
                said = f"{_kind(system)} needs a throughput"
                yield Problem(id="lustre-throughput-missing", path=where, said=said, hint=f"use {allowed}")
            elif deployment.throughputs and chosen not in deployment.throughputs:
                said = f"{chosen} is not offered by {_kind(system, throughput=False)}"
                yield Problem(id="lustre-throughput", path=where, said=said, hint=f"use {allowed}")
            if system.throughput_mbps is not None:
                said = (
                    f"throughput_mbps is intelligent tiering's; {_kind(system, throughput=False)} is bought by the TiB"
                )
                hint = "use throughput_mbps_per_tib" if deployment.throughputs and chosen is None else "take it out"
                yield Problem(id="lustre-throughput-kind", path=f"{path}.throughput_mbps", said=said, hint=hint)
        elif system.tiered and chosen is not None:
            said = "intelligent tiering has no size that a throughput per TiB could refer to"
            hint = "use throughput_mbps" if system.throughput_mbps is None else "take it out"
            yield Problem(id="lustre-throughput-kind", path=where, said=said, hint=hint)


@rule(each="storage.lustre")
def capacity_fits_its_step(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Each type grows in its own steps, with EFA in larger ones."""
    for path, system in systems(stack):
        deployment, size = deployment_of(system, cat), system.capacity_gib
        sizes = deployment.sizes_for(system.throughput_mbps_per_tib, efa=system.efa) if deployment else None
        if sizes is None or size is None or sizes.legal(size):
            continue
        below, above = sizes.at_most(size), sizes.at_least(size)
        above_small = f" above {listed(sizes.small)}" if sizes.small else ""
        yield Problem(
            id="lustre-capacity-step",
            path=f"{path}.capacity_gib",
            said=f"{size} does not fit {_kind(system)}",
            hint=(
                f"the step is {sizes.step}{above_small}: use {below} or {above}"
                if below
                else f"the step is {sizes.step}{above_small}: use {above}"
            ),
        )


@rule(each="storage.lustre")
def efa_has_what_it_needs(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """EFA comes with PERSISTENT_2, on SSD or intelligent tiering, and a metadata configuration, which Lustre 2.15 has;
    from the first day, or not at all.
    """
    for path, system in systems(stack):
        if not system.efa:
            continue
        if system.deployment != "PERSISTENT_2":
            said = f"{_kind(system.model_copy(update={'efa': False}), throughput=False)} can't be reached over EFA"
            yield Problem(
                id="lustre-efa",
                path=f"{path}.efa",
                said=said,
                hint=_instead(system, cat, {"deployment": "PERSISTENT_2", "storage": "SSD"}, before="set efa: false"),
            )
        elif not lustre_plan.has_metadata_mode(system):
            said = f'Lustre "{system.version}" has no metadata configuration, without which EFA can\'t be had'
            yield Problem(id="lustre-efa", path=f"{path}.efa", said=said, hint='use version "2.15", or efa: false')


@rule(each="storage.lustre")
def metadata_is_offered(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Metadata IOPS are PERSISTENT_2's, in a few steps."""
    for path, system in systems(stack):
        if system.metadata_iops is None:
            continue
        where = f"{path}.metadata_iops"
        if system.deployment == "PERSISTENT_2" and not lustre_plan.has_metadata_mode(system):
            said = f'Lustre "{system.version}" has no metadata IOPS to choose'
            hint = 'use version "2.15", or take metadata_iops out'
            yield Problem(id="lustre-metadata", path=where, said=said, hint=hint)
            continue
        tiering = cat.lustre.intelligent_tiering
        offered = tiering.metadata_iops if system.tiered else _metadata_iops(system, cat)
        if not offered:
            said = f"{_kind(system, throughput=False)} has no metadata IOPS to choose"
            yield Problem(
                id="lustre-metadata",
                path=where,
                said=said,
                hint=_instead(system, cat, {"deployment": "PERSISTENT_2"}, before="take metadata_iops out"),
            )
        elif system.metadata_iops not in offered:
            said = f"{system.metadata_iops} metadata IOPS are not offered by {_kind(system, throughput=False)}"
            yield Problem(
                id="lustre-metadata", path=where, said=said, hint=f"use {_nearest(offered, system.metadata_iops)}"
            )


def _metadata_iops(system: LustreSpec, cat: Catalog) -> tuple[int, ...]:
    deployment = deployment_of(system, cat)
    return deployment.metadata_iops if deployment else ()


def _nearest(offered: Sequence[int], wanted: int) -> str:
    below = max((each for each in offered if each < wanted), default=None)
    above = min((each for each in offered if each > wanted), default=None)
    return listed([each for each in (below, above) if each is not None], "or")


@rule(each="storage.lustre")
def tiering_has_throughput_and_no_size(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Intelligent tiering: a throughput in steps, a cache in proportion, no size."""
    limits = cat.lustre.intelligent_tiering
    for path, system in systems(stack):
        if not system.tiered:
            if system.read_cache is not None:
                said = f"a read cache stands before intelligent tiering, and {_kind(system, throughput=False)} has none"
                yield Problem(id="lustre-read-cache", path=f"{path}.read_cache", said=said, hint="take it out")
            continue
        if system.capacity_gib is not None:
            said = "intelligent tiering grows with what it holds and has no size"
            yield Problem(
                id="lustre-capacity-kind", path=f"{path}.capacity_gib", said=said, hint="take capacity_gib out"
            )
        step, most, rate = limits.throughput_step_mbps, limits.throughput_max_mbps, system.throughput_mbps
        where = f"{path}.throughput_mbps"
        if rate is None:
            said = "intelligent tiering needs a throughput"
            yield Problem(
                id="lustre-throughput-missing",
                path=where,
                said=said,
                hint=f"use a multiple of {step:,} MB/s, such as {step}",
            )
        elif rate % step or rate > most:
            above = min(most, -(-rate // step) * step)
            said = f"{rate} MB/s is not offered by intelligent tiering"
            yield Problem(
                id="lustre-throughput", path=where, said=said, hint=f"the step is {step}, the most {most}: use {above}"
            )
        elif system.read_cache is not None:
            yield from _read_cache(path, system, limits.cache_gib_per_1000_mbps, rate)


def _read_cache(path: str, system: LustreSpec, per_1000: tuple[int, int], rate: int) -> Iterator[Problem]:
    assert system.read_cache is not None
    mode, size = system.read_cache.mode, system.read_cache.size_gib
    least, most = per_1000[0] * rate // 1000, per_1000[1] * rate // 1000
    where = f"{path}.read_cache.size_gib"
    if mode != "USER_PROVISIONED" and size is not None:
        said = f"a cache of mode {mode} has no size to choose"
        yield Problem(
            id="lustre-read-cache", path=where, said=said, hint="take size_gib out, or use mode USER_PROVISIONED"
        )
    elif mode == "USER_PROVISIONED" and size is None:
        said = "a cache of mode USER_PROVISIONED needs a size"
        yield Problem(id="lustre-read-cache", path=where, said=said, hint=f"use {least} to {most} GiB at {rate} MB/s")
    elif size is not None and not least <= size <= most:
        said = f"a cache of {size} GiB does not fit {rate} MB/s"
        yield Problem(id="lustre-read-cache", path=where, said=said, hint=f"use {least} to {most} GiB")


@rule(each="storage.lustre")
def version_fits(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Old Lustre versions run on old types, and know no links."""
    for path, system in systems(stack):
        deployment = cat.lustre.deployment(system.deployment, "SSD" if system.tiered else system.storage)
        where = f"{path}.version"
        if system.tiered and system.version != "2.15":
            said = f'intelligent tiering needs a metadata configuration, which Lustre "{system.version}" has not'
            yield Problem(id="lustre-version", path=where, said=said, hint='use version "2.15"')
        elif deployment and system.version not in deployment.versions:
            said = f'{system.deployment} does not run Lustre "{system.version}"'
            yield Problem(id="lustre-version", path=where, said=said, hint=f"use {_quoted(deployment.versions)}")
        elif system.version == "2.10" and system.links:
            said = 'Lustre "2.10" takes no links to buckets'
            yield Problem(id="lustre-version", path=where, said=said, hint='use "2.12" or "2.15"')
        elif system.version == "2.10":
            said = 'the Lustre client 2.15 of Amazon Linux 2023, which every node runs, mounts no Lustre "2.10"'
            yield Problem(id="lustre-version", path=where, said=said, hint='use "2.12" or "2.15"')


def _quoted(words: Sequence[str]) -> str:
    return listed([f'"{each}"' for each in words], "or")


@rule(each="storage.lustre")
def backups_fit(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """FSx backs up persistent storage that no bucket stands behind."""
    most = cat.lustre.backup_days_max
    for path, system in systems(stack):
        reason = _no_backups(system)
        if system.backup_days > most:
            said = f"{system.backup_days} days of backups; FSx keeps them {most} days at most"
            yield Problem(
                id="lustre-backup-days", path=f"{path}.backup_days", said=said, hint=f"use 1 to {most}, or 0 for none"
            )
        elif system.backup_days and reason:
            yield Problem(
                id="lustre-backups", path=f"{path}.backup_days", said=f"{reason}, so FSx backs nothing up", hint="use 0"
            )
        if system.final_backup and reason:
            said = f"{reason}, so deletion can leave no backup"
            yield Problem(id="lustre-backups", path=f"{path}.final_backup", said=said, hint="take final_backup out")


def _no_backups(system: LustreSpec) -> str:
    if system.scratch:
        return f"{system.deployment} is scratch storage"
    return f'"{system.name}" is linked to a bucket' if system.links else ""


@rule(each="storage.lustre")
def links_attach(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Links: not on SCRATCH_1, eight at most, each with a folder of its own on both sides, and doing something."""
    most = cat.lustre.associations_max
    for path, system in systems(stack):
        deployment = deployment_of(system, cat)
        if system.links and system.tiered:
            said = "intelligent tiering takes no links to buckets"
            hint = _instead(system, cat, {"storage": "SSD"}, before="take links out")
            yield Problem(id="lustre-links", path=f"{path}.links", said=said, hint=hint)
        elif system.links and deployment and not deployment.associations:
            said = f"{system.deployment} takes no links to buckets"
            others = [{"deployment": each} for each in ("SCRATCH_2", "PERSISTENT_1", "PERSISTENT_2")]
            yield Problem(id="lustre-links", path=f"{path}.links", said=said, hint=_instead(system, cat, *others))
        if len(system.links) > most:
            said = f"{len(system.links)} links; a file system takes {most}"
            hint = "link folders higher up, which hold several of these"
            yield Problem(id="lustre-links-many", path=f"{path}.links", said=said, hint=hint)
        yield from _overlaps(path, system.links)
        for index, link in enumerate(system.links):
            if not link.import_events and not link.export_events and not link.batch_import:
                said = f'the link of "{link.path}" neither imports nor exports'
                hint = "give import or export events, or batch_import: true"
                yield Problem(id="lustre-link-idle", path=f"{path}.links[{index}]", said=said, hint=hint)
            if link.export_events and link.bucket == "datasets":
                said = f'the link of "{link.path}" would write to the dataset bucket, which jobs only read'
                hint = "take export out, or use bucket: checkpoints with a prefix of its own"
                yield Problem(
                    id="lustre-link-writes",
                    path=f"{path}.links[{index}].export",
                    said=said,
                    hint=hint,
                    severity="warning",
                )


def _overlaps(path: str, links: Sequence[LinkSpec]) -> Iterator[Problem]:
    for first, second in lustre_plan.overlapping(links):
        index = max(place for place, link in enumerate(links) if link.path == second)
        said = (
            f'"{second}" is linked twice'
            if first == second
            else f'"{second}" lies inside "{first}", which is linked too'
        )
        hint = "give each link a folder outside the others"
        yield Problem(id="lustre-links-overlap", path=f"{path}.links[{index}].path", said=said, hint=hint)
    buckets = sorted((link.bucket, link.prefix, place) for place, link in enumerate(links))
    for earlier, (bucket, prefix, place) in enumerate(buckets):
        for other_bucket, other_prefix, other in buckets[earlier + 1 :]:
            if bucket == other_bucket and (prefix == other_prefix or other_prefix.startswith(prefix.rstrip("/") + "/")):
                last = max(place, other)
                said = (
                    f"two links meet in the bucket {bucket}: {links[place].path} at {prefix} and {links[other].path} at"
                    f" {other_prefix}"
                )
                hint = "give each a prefix outside the other's"
                yield Problem(id="lustre-links-overlap", path=f"{path}.links[{last}].prefix", said=said, hint=hint)


@rule(each="storage.lustre")
def what_jobs_write_is_saved(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """One failed disk ends data on scratch storage, and a linked file system has no backups: what jobs write leaves by
    an export link of new and changed files, or someone says that it may go.
    """
    for path, system in systems(stack):
        if system.expendable or not (system.scratch or system.links):
            continue
        folder = _written(system)
        if any(_saves(link, folder) for link in system.links):
            continue
        why = (
            f"what is written to {system.deployment} is lost with a failed server"
            if system.scratch
            else f'"{system.name}" is linked to a bucket, so FSx makes no backups of it'
        )
        where = f"{path}.links" if system.links else f"{path}.deployment"
        said = f"{why}, and no link takes {folder}, where jobs write, to a bucket"
        linked = any(link.path == folder for link in system.links)
        export = f"{folder}{' ' if linked else ' with '}export: [new, changed]"
        hint = f"give the link of {export}" if linked else f"add a link of {export} to the bucket checkpoints"
        other = "or say expendable: true"
        if not system.links:
            other = f"{_instead(system, cat, {'deployment': 'PERSISTENT_2'})}, {other}"
        yield Problem(
            id="lustre-scratch-unsaved" if system.scratch else "lustre-unsaved",
            path=where,
            said=said,
            hint=f"{hint}, {other}",
            severity="error" if system.scratch else "warning",
        )


def _written(system: LustreSpec) -> str:
    """Where jobs write on this file system: the folder linked to the checkpoint bucket, or the usual one."""
    linked = sorted(link.path for link in system.links if link.bucket == "checkpoints")
    return linked[0] if linked else "/checkpoints"


def _saves(link: LinkSpec, folder: str) -> bool:
    holds = link.path == folder or folder.startswith(link.path.rstrip("/") + "/")
    return holds and {"new", "changed"} <= set(link.export_events)


@rule()
def exports_meet_nowhere(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Two file systems that export to one folder of a bucket overwrite each other's objects."""
    seen: list[tuple[str, LustreSpec, LinkSpec]] = []
    for path, system in systems(stack):
        for index, link in enumerate(system.links):
            if not link.export_events:
                continue
            for other, first in ((each, found) for _, each, found in seen):
                if other.name == system.name or not _meet(first, link):
                    continue
                said = (
                    f'"{system.name}" and "{other.name}" both export to {link.prefix} of the bucket {link.bucket}, and'
                    " the later file replaces the earlier"
                )
                yield Problem(
                    id="lustre-exports-meet",
                    path=f"{path}.links[{index}].prefix",
                    said=said,
                    hint=f"give each a prefix of its own, such as /{other.name} and /{system.name}",
                )
                break
            seen.append((path, system, link))


def _meet(first: LinkSpec, second: LinkSpec) -> bool:
    if first.bucket != second.bucket:
        return False
    one, other = first.prefix.rstrip("/") + "/", second.prefix.rstrip("/") + "/"
    return one.startswith(other) or other.startswith(one)
