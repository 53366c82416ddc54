"""FSx for Lustre as a kind of file system. The component `components/lustre` declares it on AWS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any, Final

import components.catalog.lustre as facts
from components.catalog import Catalog, packages
from components.file_systems.file_system import (
    CONTENTS,
    Addresses,
    Alarm,
    Content,
    FileSystem,
    NeededAddon,
    System,
    VolumeSource,
)
from components.file_systems.lustre import alarms, prices
from components.file_systems.lustre import plan as lustre_plan
from components.planning.cost.lines import Pricer
from components.spec.stack import StackSpec
from components.spec.storage import LustreSpec

# The smallest storage target: an upper bound on the servers, which each have one interface.
GIB_PER_SERVER: Final = 1200
DRIVER: Final = "fsx.csi.aws.com"
_GB: Final = 1e9

# The image's own repository is on a CDN that only the internet leads to; `--repo` leaves every other one out.
_CLIENT: Final = """cat > /etc/yum.repos.d/trainshed.repo <<'END'
[trainshed]
name=Amazon Linux 2023 from the region's bucket
mirrorlist={mirrors}
enabled=1
gpgcheck=1
gpgkey=file://{key}
END
dnf install --assumeyes --repo=trainshed --setopt=install_weak_deps=False lustre-client"""


class LustreAdapter(FileSystem):
    kind = "lustre"
    images = ("amazonlinux",)  # prepares the folders
    endpoint = ("fsx", "the FSx CSI driver describes file systems")
    # File systems are mounted by static volumes: the driver only looks them up.
    addon = NeededAddon(name="aws-fsx-csi-driver", actions=("fsx:DescribeFileSystems", "fsx:ListTagsForResource"))
    ports = facts.LUSTRE.client_ports

    def systems(self, stack: StackSpec, cat: Catalog) -> Sequence[System]:
        return [_system(index, each, stack, cat) for index, each in enumerate(stack.storage.lustre)]

    def present(self, stack: StackSpec) -> bool:
        return bool(stack.storage.lustre)

    def addresses(self, system: System, stack: StackSpec) -> Addresses | None:
        spec = spec_of(system, stack)
        capacity = spec.capacity_gib or 2 * (stack.storage.datasets.size_gib or 0) or GIB_PER_SERVER
        servers = 1 + ceil(capacity / GIB_PER_SERVER)
        arithmetic = f"{spec.name}: at most {servers:,} Lustre servers"
        return Addresses(zone=spec.zone, count=servers, arithmetic=arithmetic)

    def source(
        self, system: System, content: Content | None, folder: str, key: str, stack: StackSpec, wires: Mapping[str, Any]
    ) -> VolumeSource:
        inner = "" if folder == "/" else folder
        return VolumeSource(
            driver=DRIVER,
            # A node that finds one handle in two volumes takes them for one.
            handle=(wires["file_system_id"], f":{key}"),
            attributes={"dnsname": (wires["dns_name"],), "mountname": (wires["mount_name"], inner)},
            mount_options=("flock", "noatime"),
        )

    def prepared(self, system: System, stack: StackSpec) -> bool:
        return True

    def prepare(self, system: System, checkpoints: str, stack: StackSpec) -> Sequence[str]:
        """Striping, which holds for files made afterwards."""
        striping = spec_of(system, stack).striping
        return (
            _CLIENT.format(mirrors=packages.mirror_list(stack.region), key=packages.KEY_FILE),
            f"lfs setstripe --stripe-count {striping.count} --stripe-size {striping.size_mib}M {checkpoints}",
        )

    def alarms(self, system: System, stack: StackSpec, cat: Catalog) -> Sequence[Alarm]:
        plan = lustre_plan.plan(spec_of(system, stack), cat, stack.storage.datasets.size_gib)
        return alarms.of_plan(plan, cat)

    def faster(self, system: System, wanted_mbps: float, stack: StackSpec, cat: Catalog) -> str:
        return _faster(spec_of(system, stack), wanted_mbps, stack, cat)

    def pricers(self) -> Mapping[str, Pricer]:
        return prices.PRICERS


def spec_of(system: System, stack: StackSpec) -> LustreSpec:
    return next(each for each in stack.storage.lustre if each.name == system.name)


def _system(index: int, spec: LustreSpec, stack: StackSpec, cat: Catalog) -> System:
    path = f"storage.lustre[{index}]"
    plan = lustre_plan.plan(spec, cat, stack.storage.datasets.size_gib)
    folders: dict[Content, str] = {}
    for content in CONTENTS:
        linked = sorted(link.path for link in spec.links if link.bucket == content)
        if linked:
            folders[content] = linked[0]
    if spec.tiered:
        key, words = "throughput_mbps", f"{plan.total_mbps:,.0f} MB/s"
    else:
        rate = spec.throughput_mbps_per_tib or (plan.total_mbps * 1024 / plan.capacity_gib if plan.capacity_gib else 0)
        key = "capacity_gib" if spec.scratch else "throughput_mbps_per_tib"
        total = plan.total_mbps * 1e6 / _GB
        words = f"{plan.capacity_gib or 0:,} GiB at {rate:,.0f} MB/s/TiB = {total:,.1f} GB/s"
    return System(
        kind=LustreAdapter.kind,
        name=spec.name,
        path=path,
        zone=spec.zone,
        folders=folders,
        capacity_gib=plan.capacity_gib,
        total_mbps=plan.total_mbps,
        throughput_words=words,
        throughput_path=f"{path}.{key}",
    )


def _faster(spec: LustreSpec, wanted_mbps: float, stack: StackSpec, cat: Catalog) -> str:
    """A higher throughput at this size, or more of it."""
    if spec.tiered:
        step = cat.lustre.intelligent_tiering.throughput_step_mbps
        return f"use throughput_mbps: {-(-int(wanted_mbps) // step) * step}"
    deployment = cat.lustre.deployment(spec.deployment, spec.storage)
    size = lustre_plan.plan(spec, cat, stack.storage.datasets.size_gib).capacity_gib or 0
    if deployment is None:
        return "use a file system that FSx offers"
    for rate in deployment.throughputs:
        sizes = deployment.sizes_for(rate, efa=spec.efa)
        if sizes and sizes.legal(size) and size / 1024 * rate >= wanted_mbps:
            return f"use throughput_mbps_per_tib: {rate}"
    fastest = max(deployment.throughputs, default=deployment.fixed_throughput or 0)
    sizes = deployment.sizes_for(fastest if deployment.throughputs else None, efa=spec.efa)
    more = sizes.at_least(wanted_mbps / fastest * 1024) if sizes and fastest else 0
    return f"use capacity_gib: {more} at {fastest} MB/s/TiB"


LUSTRE = LustreAdapter()
