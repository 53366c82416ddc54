"""A file system that exists already and is mounted through its CSI driver: NFS, EFS, WEKA, VAST and the like.

Nothing is declared for it but volumes and claims: the driver must run in the cluster, and the network must lead there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import Field, ValidationError

from components.file_systems.file_system import Content, FileSystem, System, VolumeSource
from components.naming import did_you_mean
from components.problems import Problem
from components.spec.base import Spec, Text
from components.spec.stack import StackSpec
from components.spec.storage import FileSystemSpec


class CsiMount(Spec):
    """One folder of the file system, in the words of its driver."""

    handle: Text = Field(description="the driver's name of the volume (volumeHandle)")
    attributes: dict[str, str] = Field(default_factory=dict, description="the driver's attributes of the volume")


class CsiSettings(Spec):
    """`settings` of an entry of kind `csi`."""

    driver: Text = Field(description="the CSI driver's name, such as nfs.csi.k8s.io")
    datasets: CsiMount = Field(description="what is mounted, read-only, at /datasets")
    checkpoints: CsiMount = Field(description="what is mounted at /checkpoints")
    mount_options: tuple[Text, ...] = Field(default=(), description="mount options of both volumes")


class Csi(FileSystem):
    kind = "csi"

    def problems(self, spec: FileSystemSpec, path: str) -> Iterable[Problem]:
        try:
            CsiSettings.model_validate(spec.settings)
        except ValidationError as wrong:
            for each in wrong.errors():
                where = ".".join(str(part) for part in ("settings", *each["loc"]))
                yield Problem(
                    id="file-system-settings",
                    path=f"{path}.{where}",
                    said=_said(each["type"], each["loc"], each["msg"]),
                    hint=_hint(each["type"], each["loc"]),
                )

    def source(
        self, system: System, content: Content | None, folder: str, key: str, stack: StackSpec, wires: Mapping[str, Any]
    ) -> VolumeSource:
        spec = next(each for each in stack.storage.file_systems if each.name == system.name)
        settings = CsiSettings.model_validate(spec.settings)
        mount = settings.datasets if content == "datasets" else settings.checkpoints
        return VolumeSource(
            driver=settings.driver,
            handle=(mount.handle,),
            attributes={name: (value,) for name, value in mount.attributes.items()},
            mount_options=settings.mount_options,
        )


def _said(kind: str, place: tuple[int | str, ...], message: str) -> str:
    name = str(place[-1]) if place else "settings"
    if kind == "missing":
        return f'"{name}" is missing'
    if kind == "extra_forbidden":
        return f'"{name}" is no setting of kind csi'
    return message[:1].lower() + message[1:]


def _hint(kind: str, place: tuple[int | str, ...]) -> str:
    known = CsiMount.model_fields if len(place) > 1 else CsiSettings.model_fields
    name = str(place[-1]) if place else ""
    if kind == "extra_forbidden":
        return did_you_mean(name, known) or "take it out"
    return known[name].description or "" if name in known else "write text"


CSI = Csi()
