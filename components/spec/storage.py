"""Object storage and parallel file systems as the stack file words them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from components.spec.base import AbsolutePath, Count, CountOrZero, Days, Flag, Name, Region, Spec, ZoneId

LinkEvent = Literal["new", "changed", "deleted"]


class DatasetsSpec(Spec):
    """The dataset bucket; jobs only read it."""

    size_gib: Count | None = Field(default=None, description="size of the datasets in GiB; checked against the file system")


class CheckpointsSpec(Spec):
    """The checkpoint bucket and what is kept in it."""

    keep_last: Count = Field(default=3, description="newest checkpoints that are always kept")
    expire_days: Days = Field(default=30, description="age at which older checkpoints go")
    replicate_to: Region | None = Field(default=None, description="second region that holds a copy")


class LinkSpec(Spec):
    """A data repository association: a path of the file system tied to a bucket."""

    path: AbsolutePath
    bucket: Literal["datasets", "checkpoints"]
    import_events: tuple[LinkEvent, ...] = Field(default=(), alias="import", description="events that bring objects in")
    export_events: tuple[LinkEvent, ...] = Field(default=(), alias="export", description="events that send files out")


class LustreSpec(Spec):
    """One FSx for Lustre file system."""

    name: Name
    zone: ZoneId = Field(description="the training pool's zone")
    deployment: Literal["SCRATCH_1", "SCRATCH_2", "PERSISTENT_1", "PERSISTENT_2"] = "PERSISTENT_2"
    capacity_gib: Count | None = Field(default=None, description="size in GiB, a step of the deployment type")
    throughput_mbps_per_tib: Count | None = Field(default=None, description="throughput per TiB in MB/s")
    efa: Flag = Field(default=False, description="whether clients reach it over EFA")
    compression: Literal["LZ4", "NONE"] = Field(default="LZ4", description="data compression")
    version: Literal["2.12", "2.15"] = Field(default="2.15", description="Lustre version")
    metadata_iops: Count | None = Field(default=None, description="metadata IOPS; set automatically when left out")
    backup_days: CountOrZero = Field(default=0, description="days that automatic backups are kept")
    links: tuple[LinkSpec, ...] = Field(default=(), description="data repository associations")
    protect: Flag | None = Field(default=None, description="whether the engine refuses to delete it")


class StorageSpec(Spec):
    """Buckets and file systems."""

    datasets: DatasetsSpec = Field(default_factory=DatasetsSpec)
    checkpoints: CheckpointsSpec = Field(default_factory=CheckpointsSpec)
    lustre: tuple[LustreSpec, ...] = ()
