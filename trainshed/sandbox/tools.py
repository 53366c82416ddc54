"""The real programs that tests and the sandbox run, and where each one lies.

A tool is either installed on the machine or built into a cache folder from its pinned version.

Standard library only: `tools/build.py` reads this table before any dependency is installed.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
# The same table pins the charts that stacks declare.
RELEASES: Mapping[str, str] = json.loads(
    (CHECKOUT / "components" / "catalog" / "data" / "releases.json").read_text(encoding="utf-8")
)


@dataclass(frozen=True, kw_only=True)
class Tool:
    """One Go module of `tools/` and what is built from it.

    `binaries` maps the name of a program to the package it is built from. `assets` are folders or files of a module
    that tests read (charts, CRDs, scripts): they are copied beside the programs, so that nothing looks into Go's module
    cache later. `from_path` says that a program of that name on PATH is as good as ours or better: true where the
    version is the user's choice, false where the copied assets belong to exactly this version.
    """

    name: str
    version: str
    module: str
    binaries: Mapping[str, str]
    assets: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    defines: tuple[str, ...] = ()
    embeds: tuple[str, ...] = ()
    from_path: bool = False

    @property
    def folder(self) -> str:
        return f"{self.name}-{self.version}"


@dataclass(frozen=True, kw_only=True)
class Packaged:
    """A program that comes with the system's package manager and is only looked for."""

    name: str
    package: str


_KUBERNETES_STAMP = tuple(
    f"{package}.{name}={value}"
    for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    for name, value in (("gitVersion", "v1.35.4"), ("gitMajor", "1"), ("gitMinor", "35"), ("gitTreeState", "clean"))
)

# In this order: what most tests wait for comes first, the longest build last.
BUILT: tuple[Tool, ...] = (
    Tool(
        name="pulumi",
        version="3.274.1",
        module="github.com/pulumi/pulumi/pkg/v3",
        binaries={"pulumi": "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"},
        assets={"github.com/pulumi/pulumi/sdk/v3": ("python/cmd/pulumi-language-python-exec",)},
        defines=("github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v3.274.1",),
        from_path=True,
    ),
    Tool(
        name="etcd",
        version="3.6.13",
        module="go.etcd.io/etcd/server/v3",
        binaries={"etcd": "go.etcd.io/etcd/server/v3"},
        from_path=True,
    ),
    Tool(
        name="kubernetes",
        version="1.35.4",
        module="k8s.io/kubernetes",
        binaries={
            name: f"k8s.io/kubernetes/cmd/{name}"
            for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
        },
        defines=_KUBERNETES_STAMP,
    ),
    Tool(
        name="kwok",
        version="0.7.0",
        module="sigs.k8s.io/kwok",
        binaries={"kwok": "sigs.k8s.io/kwok/cmd/kwok"},
        assets={"sigs.k8s.io/kwok": ("kustomize/crd/bases", "kustomize/stage")},
    ),
    Tool(
        name="jobset",
        version=RELEASES["jobset"],
        module="sigs.k8s.io/jobset",
        binaries={"jobset": "sigs.k8s.io/jobset"},
        assets={"sigs.k8s.io/jobset": ("charts/jobset", "config/components/crd/bases", "config/components/webhook")},
    ),
    Tool(
        name="kueue",
        version=RELEASES["kueue"],
        module="sigs.k8s.io/kueue",
        binaries={"kueue": "sigs.k8s.io/kueue/cmd/kueue"},
        assets={"sigs.k8s.io/kueue": ("charts/kueue", "config/components/crd/bases", "config/components/webhook")},
    ),
    Tool(
        name="karpenter",
        version=RELEASES["karpenter"],
        module="github.com/aws/karpenter-provider-aws",
        binaries={"karpenter": "github.com/aws/karpenter-provider-aws/cmd/controller"},
        assets={"github.com/aws/karpenter-provider-aws": ("charts/karpenter", "pkg/apis/crds")},
    ),
    Tool(
        name="pulumi-resource-kubernetes",
        version="4.25.0",
        module="github.com/pulumi/pulumi-kubernetes/provider/v4",
        binaries={"pulumi-resource-kubernetes": "."},
        embeds=("cmd/pulumi-resource-kubernetes/schema.json", "cmd/pulumi-resource-kubernetes/terraform-mapping.json"),
    ),
)

PACKAGED: tuple[Packaged, ...] = (
    Packaged(name="kubectl", package="kubernetes-client"),
    Packaged(name="promtool", package="prometheus"),
    Packaged(name="amtool", package="prometheus-alertmanager"),
    Packaged(name="chromium", package="chromium"),
    Packaged(name="fio", package="fio"),
)


def cache() -> Path:
    """The folder that all checkouts of this user share; each tool lies in `<name>-<version>` there."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "trainshed" / "tools"


def owner(program: str) -> Tool | None:
    """The table's entry that a program is built from."""
    return next((tool for tool in BUILT if program in tool.binaries), None)


def find(program: str) -> Path | None:
    """The program's path: on PATH first where that is as good, then in the cache; None where this machine has none."""
    tool = owner(program)
    if tool is None or tool.from_path:
        on_path = shutil.which(program)
        if on_path:
            return Path(on_path)
    if tool is None:
        return None
    built = cache() / tool.folder / program
    return built if built.exists() else None


def asset(name: str, relative: str) -> Path:
    """A folder or file of a tool's module; it stands in the cache beside the built programs."""
    tool = next(tool for tool in BUILT if tool.name == name)
    return cache() / tool.folder / "assets" / relative


def missing(programs: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(program for program in programs if find(program) is None)


def remedy(program: str) -> str:
    """How a missing program is had, in the words of a message."""
    tool = owner(program)
    if tool is not None:
        return f"make tools (or python tools/build.py --only {tool.name})"
    packaged = next((entry for entry in PACKAGED if entry.name == program), None)
    return f"apt-get install {packaged.package}" if packaged else f"put {program} on PATH"
