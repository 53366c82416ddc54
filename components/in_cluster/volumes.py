"""The shared file systems inside the cluster: volumes and claims for every namespace of jobs, folders made ready,
images fetched early.

Hides what a claim is answered by: volumes of the stack's own file systems, or a storage class of a cluster that exists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi

from components.catalog import Catalog
from components.in_cluster.kubernetes_object import declare
from components.manifests.storage import claims, folders
from components.manifests.storage.claims import Share
from components.planning import images
from components.spec.form import SelfHosted
from components.spec.stack import StackSpec
from components.spec.storage import LustreSpec


@dataclass(frozen=True, kw_only=True)
class FileSystemWires:
    """What mounting needs of one file system (`Lustre`'s attributes of the same names)."""

    file_system_id: pulumi.Input[str]
    dns_name: pulumi.Input[str]
    mount_name: pulumi.Input[str]
    ready: Sequence[pulumi.Resource] = ()


@dataclass(frozen=True, kw_only=True)
class VolumesArgs:
    """`systems` are the stack's file systems by name, `namespaces` those of jobs by name; `registry_prefix` is the
    account's registry.

    `after`: what must be there before anything in the cluster, such as its access entries.
    """

    spec: StackSpec
    catalog: Catalog
    namespaces: Mapping[str, pulumi.Resource]
    registry_prefix: pulumi.Input[str]
    systems: Mapping[str, FileSystemWires] = field(default_factory=dict[str, FileSystemWires])
    after: Sequence[pulumi.Resource] = ()


class Volumes(pulumi.ComponentResource):
    """Attributes: `claims` (the names of each namespace's claims), `ready` (what jobs that mount wait for)."""

    def __init__(self, name: str, args: VolumesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        self._name, self._args = name, args
        form = args.spec.form
        self._shares = claims.shares(args.spec, args.catalog)
        super().__init__(
            "trainshed:storage:Volumes", name, {"shares": {each.name: each.system for each in self._shares}}, opts
        )
        self.ready: list[pulumi.Resource] = []
        self.claims: dict[str, list[str]] = {}
        for namespace in sorted(args.namespaces):
            if isinstance(form, SelfHosted):
                self._of_class(namespace, form.storage_class)
            else:
                self.claims[namespace] = [each.name for each in self._shares]
                for share in self._shares:
                    self.ready.append(self._bound(share, namespace, [args.namespaces[namespace]]))
        if not isinstance(form, SelfHosted):
            for system in sorted(args.spec.storage.lustre, key=lambda each: each.name):
                self._prepare(system)
        self._preload()
        self.register_outputs({"claims": self.claims})

    def _options(self, after: Sequence[pulumi.Resource]) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(parent=self, depends_on=[*self._args.after, *after])

    def _image(self, path: str) -> pulumi.Output[str]:
        return pulumi.Output.concat(self._args.registry_prefix, "/", path)

    def _of_class(self, namespace: str, storage_class: str) -> None:
        found = claims.claims_of_class(self._args.spec, namespace, storage_class)
        self.claims[namespace] = [each["metadata"]["name"] for each in found]
        for each in found:
            key = f"{self._name}-claim-{namespace}-{each['metadata']['name']}"
            self.ready.append(declare(key, each, self._options([self._args.namespaces[namespace]])))

    def _bound(self, share: Share, namespace: str, after: Sequence[pulumi.Resource]) -> pulumi.Resource:
        """A volume and its claim."""
        wires = self._args.systems[share.system]
        folder = "" if share.folder == "/" else share.folder
        manifest = claims.volume(
            share,
            namespace,
            handle=pulumi.Output.concat(wires.file_system_id, f":{namespace}:{share.name}"),
            dns_name=wires.dns_name,
            mount_name=pulumi.Output.concat(wires.mount_name, folder),
        )
        volume = declare(f"{self._name}-volume-{namespace}-{share.name}", manifest, self._options(wires.ready))
        claim = claims.claim(share, namespace)
        return declare(f"{self._name}-claim-{namespace}-{share.name}", claim, self._options([*after, volume]))

    def _prepare(self, system: LustreSpec) -> None:
        args = self._args
        share = claims.whole(system, args.spec, args.catalog)
        bound = self._bound(share, folders.NAMESPACE, [])
        image = self._image(images.path(args.catalog.charts.image(folders.IMAGE)))
        job = folders.prepare(system, self._shares, image, args.spec.region)
        self.ready.append(declare(f"{self._name}-prepare-{system.name}", job, self._options([bound])))

    def _preload(self) -> None:
        paths = sorted(set(self._args.spec.storage.registry.preload))
        if paths:
            daemon = claims.preload([self._image(path) for path in paths])
            declare(f"{self._name}-preload", daemon, self._options([]))
