"""A Lustre file system: its security group, key, logs, alarms, and the links that tie its folders to buckets.

FSx needs this order: every security group rule before the file system, and its links one after another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi
import pulumi_aws as aws

from components.catalog import Catalog
from components.catalog.limits import log_retention
from components.file_systems.lustre import plan as lustre_plan
from components.file_systems.lustre.alarms import of_plan
from components.file_systems.lustre.plan import LustrePlan
from components.identity import policy_documents
from components.lustre import alarms
from components.lustre.security_group import Client, LustreGroup
from components.planning import alone
from components.refused import refuse
from components.spec.storage import LinkSpec, LustreSpec

__all__ = ["Client", "Lustre", "LustreArgs"]

_MADE = pulumi.CustomTimeouts(create="2h", update="12h", delete="2h")
# A link is ready once the names of the bucket's objects are loaded: millions of them take hours.
_LINKED = pulumi.CustomTimeouts(create="6h", update="2h", delete="6h")


@dataclass(frozen=True, kw_only=True)
class LustreArgs:
    """`subnet_id` lies in `spec.zone`; `clients` are the groups of the machines that mount it.

    `buckets` has the names of the buckets that links name, `dataset_gib` the dataset's size for a spec without
    capacity. `protect` applies unless the spec says its own. `alarm_actions` are topics, `label` is the first word of
    the alarms' names; `after` is what links wait for, such as bucket policies.
    """

    spec: LustreSpec
    catalog: Catalog
    region: str
    account_id: pulumi.Input[str]
    vpc_id: pulumi.Input[str]
    subnet_id: pulumi.Input[str]
    clients: Sequence[Client]
    buckets: Mapping[str, pulumi.Input[str]] = field(default_factory=dict[str, "pulumi.Input[str]"])
    dataset_gib: int | None = None
    logs_days: int = 30
    label: str = "trainshed"
    protect: bool = False
    alarm_actions: Sequence[pulumi.Input[str]] = ()
    after: Sequence[pulumi.Resource] = ()
    tags: Mapping[str, str] = field(default_factory=dict[str, str])


class Lustre(pulumi.ComponentResource):
    """Attributes: `file_system_id`, `dns_name`, `mount_name`, `security_group_id`, `plan` (its size and throughput),
    `ready` (the file system and its links: what mounts wait for).
    """

    def __init__(self, name: str, args: LustreArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        found = alone.of_lustre(
            args.spec, args.region, args.catalog, buckets=args.buckets, dataset_gib=args.dataset_gib
        )
        refuse("Lustre", name, found)
        super().__init__("trainshed:storage:Lustre", name, args.spec.model_dump(mode="json"), opts)
        self._name, self._args = name, args
        self._children = pulumi.ResourceOptions(parent=self)
        self._kept = args.protect if args.spec.protect is None else args.spec.protect
        self.plan = lustre_plan.plan(args.spec, args.catalog, args.dataset_gib)

        servers = LustreGroup(
            name,
            vpc_id=args.vpc_id,
            clients=args.clients,
            ports=args.catalog.lustre.client_ports,
            efa=args.spec.efa,
            tags=args.tags,
            children=self._children,
        )
        key = self._key()
        system = self._system(self.plan, servers, key, self._logs(key))
        links = self._links(system)
        alarms.declare(
            name,
            of_plan(self.plan, args.catalog),
            label=args.label,
            file_system_id=system.id,
            actions=args.alarm_actions,
            tags=args.tags,
            children=self._children,
        )

        self.file_system_id, self.dns_name, self.mount_name = system.id, system.dns_name, system.mount_name
        self.security_group_id = servers.group.id
        self.ready: list[pulumi.Resource] = [system, *links]
        self.register_outputs(
            {
                "file_system_id": self.file_system_id,
                "dns_name": self.dns_name,
                "mount_name": self.mount_name,
                "security_group_id": self.security_group_id,
            }
        )

    def _tags(self, role: str) -> dict[str, str]:
        return {**self._args.tags, "Name": f"{self._name}-{role}"}

    def _key(self) -> aws.kms.Key:
        region, account = self._args.region, self._args.account_id
        return aws.kms.Key(
            f"{self._name}-key",
            description="The Lustre file system and its logs",
            enable_key_rotation=True,
            deletion_window_in_days=30,
            policy=policy_documents.document(
                policy_documents.key_administration(region, account), policy_documents.logs_use_key(region, account)
            ),
            tags=self._tags("key"),
            opts=pulumi.ResourceOptions(parent=self, protect=self._kept),
        )

    def _logs(self, key: aws.kms.Key) -> aws.cloudwatch.LogGroup:
        return aws.cloudwatch.LogGroup(
            f"{self._name}-logs",
            # FSx writes only to groups whose name begins so; the rest of the name is the provider's to make unique.
            name_prefix=f"{self._args.catalog.lustre.log_group_prefix}/{self._args.spec.name}-",
            retention_in_days=log_retention(self._args.logs_days),
            kms_key_id=key.arn,
            tags=self._tags("logs"),
            opts=self._children,
        )

    def _system(
        self, plan: LustrePlan, servers: LustreGroup, key: aws.kms.Key, logs: aws.cloudwatch.LogGroup
    ) -> aws.fsx.LustreFileSystem:
        spec = self._args.spec
        persistent = not spec.scratch
        backups = persistent and not spec.links
        return aws.fsx.LustreFileSystem(
            f"{self._name}-system",
            deployment_type=spec.deployment,
            storage_type=spec.storage,
            storage_capacity=plan.capacity_gib,
            per_unit_storage_throughput=None if spec.tiered else spec.throughput_mbps_per_tib,
            throughput_capacity=spec.throughput_mbps if spec.tiered else None,
            data_read_cache_configuration=_cache(plan),
            drive_cache_type=("READ" if spec.drive_cache else "NONE") if spec.storage == "HDD" else None,
            data_compression_type=spec.compression,
            file_system_type_version=spec.version,
            efa_enabled=spec.efa or None,
            metadata_configuration=_metadata(plan),
            subnet_ids=self._args.subnet_id,
            security_group_ids=[servers.group.id],
            # Scratch storage only knows the service's own key.
            kms_key_id=key.arn if persistent else None,
            log_configuration={"destination": logs.arn, "level": "WARN_ERROR"},
            weekly_maintenance_start_time=lustre_plan.weekly(spec.maintenance_at),
            automatic_backup_retention_days=spec.backup_days if persistent else None,
            daily_automatic_backup_start_time=spec.backup_at if backups and spec.backup_days else None,
            copy_tags_to_backups=True if persistent else None,
            skip_final_backup=not plan.final_backup,
            final_backup_tags=self._tags("final-backup") if plan.final_backup else None,
            # The policies ask for a word that data on scratch storage may go; the tag says it to whoever finds the file
            # system, too.
            tags={**self._tags("system"), **({"expendable": "true"} if spec.scratch and spec.expendable else {})},
            opts=pulumi.ResourceOptions(
                parent=self, protect=self._kept, depends_on=servers.rules, custom_timeouts=_MADE
            ),
        )

    def _links(self, system: aws.fsx.LustreFileSystem) -> list[aws.fsx.DataRepositoryAssociation]:
        """One after another, in the order of their paths: FSx refuses a second change while one is under way."""
        links: list[aws.fsx.DataRepositoryAssociation] = []
        for link in sorted(self._args.spec.links, key=lambda each: each.path):
            links.append(self._link(system, link, links[-1:]))
        return links

    def _link(
        self, system: aws.fsx.LustreFileSystem, link: LinkSpec, before: list[aws.fsx.DataRepositoryAssociation]
    ) -> aws.fsx.DataRepositoryAssociation:
        folder = link.prefix if link.prefix == "/" else f"{link.prefix}/"
        policy: aws.fsx.DataRepositoryAssociationS3ArgsDict = {}
        if link.import_events:
            policy["auto_import_policy"] = {"events": [word.upper() for word in sorted(link.import_events)]}
        if link.export_events:
            policy["auto_export_policy"] = {"events": [word.upper() for word in sorted(link.export_events)]}
        return aws.fsx.DataRepositoryAssociation(
            f"{self._name}-link{link.path}",
            file_system_id=system.id,
            file_system_path=link.path,
            data_repository_path=pulumi.Output.concat("s3://", self._args.buckets[link.bucket], folder),
            batch_import_meta_data_on_create=link.batch_import,
            imported_file_chunk_size=link.chunk_mib,
            # Taking a link away must not take the files with it.
            delete_data_in_filesystem=False,
            s3=policy or None,
            tags=self._tags(f"link{link.path}"),
            opts=pulumi.ResourceOptions(
                parent=self, protect=self._kept, depends_on=[*self._args.after, *before], custom_timeouts=_LINKED
            ),
        )


def _cache(plan: LustrePlan) -> aws.fsx.LustreFileSystemDataReadCacheConfigurationArgsDict | None:
    if plan.cache is None:
        return None
    words: aws.fsx.LustreFileSystemDataReadCacheConfigurationArgsDict = {"sizing_mode": plan.cache.mode}
    if plan.cache.size_gib is not None:
        words["size"] = plan.cache.size_gib
    return words


def _metadata(plan: LustrePlan) -> aws.fsx.LustreFileSystemMetadataConfigurationArgsDict | None:
    if plan.metadata_mode is None:
        return None
    words: aws.fsx.LustreFileSystemMetadataConfigurationArgsDict = {"mode": plan.metadata_mode}
    if plan.metadata_iops is not None:
        words["iops"] = plan.metadata_iops
    return words
