"""Object storage, parallel file systems and the registry as the stack file words them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints

from components.spec.base import (
    AbsolutePath,
    Count,
    CountOrZero,
    Days,
    Flag,
    Name,
    Region,
    Spec,
    StrictText,
    Text,
    ZoneId,
    in_quotes,
    matching,
)

LinkEvent = Literal["new", "changed", "deleted"]
Organisation = Annotated[
    StrictText, matching(r"o-[a-z0-9]{10,32}", "an organisation's id such as o-a1b2c3d4e5 is wanted", sealed=True)
]
RepositoryName = Annotated[
    str,
    StringConstraints(strict=True, max_length=200),
    matching(
        r"[a-z0-9]+([._/-][a-z0-9]+)*",
        "a repository's name is wanted: lower-case words, joined by dots, dashes, underscores or slashes",
    ),
]
SecretArn = Annotated[
    StrictText,
    matching(
        r"arn:aws[a-z-]*:secretsmanager:\S+:secret:ecr-pullthroughcache/\S+",
        "the ARN of a secret is wanted whose name begins with ecr-pullthroughcache/, as ECR asks for",
        sealed=True,
    ),
]
# A weekday as a word: YAML reads 7:04:00 as a number to the base of sixty.
WeeklyTime = Annotated[
    StrictText,
    matching(
        r"(mon|tue|wed|thu|fri|sat|sun) ([01][0-9]|2[0-3]):[0-5][0-9]",
        'a weekday and a time in UTC such as "sun 04:00" are wanted',
    ),
]
DailyTime = Annotated[
    StrictText, matching(r"([01][0-9]|2[0-3]):[0-5][0-9]", 'a time in UTC such as "04:00" is wanted, in quotes')
]


class DatasetsSpec(Spec):
    """The dataset bucket; jobs only read it."""

    size_gib: Count | None = Field(
        default=None, description="size of the datasets in GiB; checked against the file system"
    )
    tier_after_days: Days = Field(default=30, description="age at which objects go to intelligent tiering")
    old_versions_days: Days = Field(default=30, description="days that replaced and deleted versions are kept")


class CheckpointsSpec(Spec):
    """The checkpoint bucket and what is kept in it."""

    keep_last: Count = Field(
        default=3, description="newest checkpoints of a task that are always kept, where its file says nothing"
    )
    expire_days: Days = Field(
        default=30,
        description="age at which objects go that the checkpoint program has condemned; it never takes others",
    )
    replicate_to: Region | None = Field(default=None, description="second region that holds a copy")
    old_versions_days: Days = Field(default=7, description="days that replaced and deleted versions are kept")
    lag_minutes: Count = Field(default=60, description="how far the copy may lie behind before an alarm is raised")


class LogsSpec(Spec):
    """The bucket that receives the others' access logs."""

    expire_days: Days = Field(default=365, description="days that access logs are kept")


class LinkSpec(Spec):
    """A data repository association: a path of the file system tied to a bucket."""

    path: AbsolutePath = Field(description="folder of the file system")
    bucket: Literal["datasets", "checkpoints"] = Field(description="the bucket that it is tied to")
    prefix: AbsolutePath = Field(default="/", description="folder of the bucket")
    import_events: tuple[LinkEvent, ...] = Field(default=(), alias="import", description="events that bring objects in")
    export_events: tuple[LinkEvent, ...] = Field(default=(), alias="export", description="events that send files out")
    batch_import: Flag = Field(
        default=True, description="whether the names of what is in the bucket are loaded when the link is made"
    )
    chunk_mib: Annotated[int, Field(strict=True, ge=1, le=512000)] = Field(
        default=1024, description="size of the parts of an imported file, each on another disk"
    )


class ReadCacheSpec(Spec):
    """The SSD cache in front of intelligent tiering."""

    mode: Literal["NO_CACHE", "USER_PROVISIONED", "PROPORTIONAL_TO_THROUGHPUT_CAPACITY"] = Field(
        default="PROPORTIONAL_TO_THROUGHPUT_CAPACITY", description="how the cache is sized"
    )
    size_gib: Count | None = Field(default=None, description="size of a USER_PROVISIONED cache in GiB")


class StripingSpec(Spec):
    """How files of the checkpoint folder are spread over disks."""

    count: Annotated[int, Field(strict=True, ge=-1, le=2000)] = Field(
        default=-1, description="disks of a file; -1 is all"
    )
    size_mib: Count = Field(default=16, description="bytes in a row on one disk, in MiB")


class LustreSpec(Spec):
    """One FSx for Lustre file system."""

    name: Name = Field(description="the file system's name, unique in the stack")
    zone: ZoneId = Field(description="the training pool's zone")
    deployment: Literal["SCRATCH_1", "SCRATCH_2", "PERSISTENT_1", "PERSISTENT_2"] = Field(
        default="PERSISTENT_2", description="deployment type of FSx: scratch data is lost with a server"
    )
    storage: Literal["SSD", "HDD", "INTELLIGENT_TIERING"] = Field(default="SSD", description="what the data lies on")
    capacity_gib: Count | None = Field(
        default=None,
        description="size in GiB, a step of the deployment type; the step above twice the dataset when left out",
    )
    throughput_mbps_per_tib: Count | None = Field(
        default=None, description="throughput per TiB in MB/s; persistent types need it"
    )
    throughput_mbps: Count | None = Field(
        default=None, description="throughput in MB/s of intelligent tiering, which has no size"
    )
    read_cache: ReadCacheSpec | None = Field(
        default=None, description="cache of intelligent tiering; in step with throughput when left out"
    )
    drive_cache: Flag = Field(default=False, description="whether HDD has an SSD read cache")
    efa: Flag = Field(default=False, description="whether clients reach it over EFA")
    compression: Literal["LZ4", "NONE"] = Field(default="LZ4", description="data compression")
    version: Annotated[Literal["2.10", "2.12", "2.15"], BeforeValidator(in_quotes)] = Field(
        default="2.15", description="Lustre version"
    )
    metadata_iops: Count | None = Field(default=None, description="metadata IOPS; set automatically when left out")
    backup_days: CountOrZero = Field(default=0, description="days that automatic backups are kept")
    backup_at: DailyTime = Field(default="04:00", description="UTC time of the daily backup")
    final_backup: Flag | None = Field(
        default=None,
        description="whether deletion leaves a backup; yes where data is persistent and no bucket stands behind it",
    )
    maintenance_at: WeeklyTime = Field(
        default="sun 04:00", description="weekly maintenance: day, hour and minute in UTC"
    )
    expendable: Flag = Field(
        default=False, description="whether what jobs write there may be lost, with no bucket or backup that holds it"
    )
    links: tuple[LinkSpec, ...] = Field(default=(), description="data repository associations")
    striping: StripingSpec = Field(default_factory=StripingSpec)
    protect: Flag | None = Field(default=None, description="whether the engine refuses to delete it")

    @property
    def scratch(self) -> bool:
        return self.deployment.startswith("SCRATCH")

    @property
    def tiered(self) -> bool:
        """Whether it has no capacity of its own."""
        return self.storage == "INTELLIGENT_TIERING"


class FileSystemSpec(Spec):
    """A file system of another kind. The kinds are those of the file-system adapters, which read `settings` too."""

    kind: Name = Field(description="the kind of file system, such as csi: one that exists and has a CSI driver")
    name: Name = Field(description="the file system's name, unique in the stack")
    zone: ZoneId | None = Field(default=None, description="the zone it lies in; left out: reached from every zone")
    settings: dict[str, Any] = Field(default_factory=dict, description="what the kind asks for")


class RegistrySpec(Spec):
    """The account's image repositories. An account has one registry a region: of several stacks there, one
    declares it.
    """

    declare: Flag = Field(
        default=True, description="whether this stack declares the registry, or uses what another stack declared"
    )
    repositories: tuple[RepositoryName, ...] = Field(
        default=("trainer",), description="repositories of the account's own images"
    )
    keep_images: Count = Field(default=50, description="newest images that each environment keeps in a repository")
    credentials: dict[Text, SecretArn] = Field(
        default_factory=dict,
        description="secrets for registries that ask who pulls (ghcr.io, registry-1.docker.io), by registry",
    )
    image_gib: Count = Field(default=15, description="size of the training image in GiB, for the pull plan")
    preload: tuple[Text, ...] = Field(
        default=(), description="images that nodes of training pools fetch before a job needs them"
    )


class StorageSpec(Spec):
    """Buckets, file systems and images."""

    datasets: DatasetsSpec = Field(default_factory=DatasetsSpec)
    checkpoints: CheckpointsSpec = Field(default_factory=CheckpointsSpec)
    logs: LogsSpec = Field(default_factory=LogsSpec)
    organisation: Organisation | None = Field(
        default=None, description="only principals of this organisation reach the buckets' objects"
    )
    lustre: tuple[LustreSpec, ...] = ()
    file_systems: tuple[FileSystemSpec, ...] = Field(
        default=(), description="file systems of other kinds, which jobs mount as they mount Lustre"
    )
    registry: RegistrySpec = Field(default_factory=RegistrySpec)
