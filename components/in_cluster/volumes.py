"""The shared file systems inside the cluster: volumes and claims for every namespace of jobs, folders made ready,
images fetched early.

A claim is bound to a volume of the stack's own file systems, or to a storage class when the cluster already exists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pulumi

from components import file_systems
from components.catalog import Catalog
from components.file_systems import System, VolumeSource
from components.in_cluster.kubernetes_object import declare
from components.manifests.storage import claims, folders
from components.planning import alone, images, mounted_folders
from components.planning.mounted_folders import Mount
from components.refused import refuse
from components.spec.form import SelfHosted
from components.spec.stack import StackSpec


@dataclass(frozen=True, kw_only=True)
class FileSystemWires:
    """What mounting needs of one file system (`Lustre`'s attributes of the same names)."""

    file_system_id: pulumi.Input[str]
    dns_name: pulumi.Input[str]
    mount_name: pulumi.Input[str]
    ready: Sequence[pulumi.Resource] = ()

    @property
    def outputs(self) -> Mapping[str, pulumi.Input[str]]:
        """By the names that the file systems' adapters use."""
        return {"file_system_id": self.file_system_id, "dns_name": self.dns_name, "mount_name": self.mount_name}


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
        refuse("Volumes", name, alone.of_stack(args.spec, args.catalog))
        self._name, self._args = name, args
        form = args.spec.form
        self._shares = mounted_folders.of_stack(args.spec, args.catalog)
        super().__init__(
            "trainshed:storage:Volumes", name, {"shares": {each.name: each.system.name for each in self._shares}}, opts
        )
        self.ready: list[pulumi.Resource] = []
        self.claims: dict[str, list[str]] = {}
        for namespace in sorted(args.namespaces):
            if isinstance(form, SelfHosted) and not self._shares:
                self._of_class(namespace, form.storage_class)
            else:
                self.claims[namespace] = [each.name for each in self._shares]
                for share in self._shares:
                    self.ready.append(self._bound(share, namespace, [args.namespaces[namespace]]))
        for system in sorted(file_systems.systems(args.spec, args.catalog), key=lambda each: each.name):
            if file_systems.KINDS[system.kind].prepared(system, args.spec):
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

    def _bound(self, share: Mount, namespace: str, after: Sequence[pulumi.Resource]) -> pulumi.Resource:
        """A volume and its claim."""
        wires = self._args.systems.get(share.system.name)
        kind = file_systems.KINDS[share.system.kind]
        known = wires.outputs if wires else {}
        key = f"{namespace}:{share.name}"
        source = kind.source(share.system, share.content, share.folder, key, self._args.spec, known)
        manifest = claims.volume(share, namespace, _joined(source))
        ready = wires.ready if wires else ()
        volume = declare(f"{self._name}-volume-{namespace}-{share.name}", manifest, self._options(ready))
        claim = claims.claim(share, namespace)
        return declare(f"{self._name}-claim-{namespace}-{share.name}", claim, self._options([*after, volume]))

    def _prepare(self, system: System) -> None:
        args = self._args
        bound = self._bound(claims.whole(system), folders.NAMESPACE, [])
        image = self._image(images.path(args.catalog.charts.image(folders.IMAGE)))
        job = folders.prepare(system, self._shares, image, args.spec)
        self.ready.append(declare(f"{self._name}-prepare-{system.name}", job, self._options([bound])))

    def _preload(self) -> None:
        paths = sorted(set(self._args.spec.storage.registry.preload))
        if paths:
            daemon = claims.preload([self._image(path) for path in paths])
            declare(f"{self._name}-preload", daemon, self._options([]))


def _joined(source: VolumeSource) -> VolumeSource:
    """The same with each handle and attribute as one text."""
    return replace(
        source,
        handle=_text(source.handle),
        attributes={name: _text(parts) for name, parts in source.attributes.items()},
    )


def _text(parts: Sequence[Any]) -> Any:
    if all(isinstance(each, str) for each in parts):
        return "".join(parts)
    return pulumi.Output.concat(*parts) if len([each for each in parts if each != ""]) > 1 else parts[0]
