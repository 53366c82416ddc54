"""Helm charts and images of others, each pinned to one version.

Isolated networks mirror exactly the images listed here, so every image that a chart runs must be listed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from types import MappingProxyType

from components.catalog.pins import Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartPin:
    """One Helm chart. For an OCI chart `repository` is the whole reference (`oci://...`), and `oci` is true."""

    name: str
    version: str
    repository: str
    app_version: str
    namespace: str
    origin: Origin

    @property
    def oci(self) -> bool:
        return self.repository.startswith("oci://")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagePin:
    """One container image by its upstream registry, repository and tag."""

    name: str
    registry: str
    repository: str
    tag: str
    origin: Origin

    @property
    def reference(self) -> str:
        """`registry/repository:tag`."""
        return f"{self.registry}/{self.repository}:{self.tag}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Charts:
    """Charts by name and images by name."""

    charts: Mapping[str, ChartPin]
    images: Mapping[str, ImagePin]
    pull_through: Mapping[
        str, bool
    ]  # registries that ECR's pull-through cache reaches -> whether it needs their credentials

    def __getitem__(self, name: str) -> ChartPin:
        return self.charts[name]

    def image(self, name: str) -> ImagePin:
        return self.images[name]


def _chart(
    name: str,
    version: str,
    repository: str,
    *,
    namespace: str,
    app: str = "",
    source: str = "the project's own repository, 2026-08",
) -> ChartPin:
    return ChartPin(
        name=name,
        version=version,
        repository=repository,
        app_version=app or version,
        namespace=namespace,
        origin=Origin(as_of=date(2026, 8, 23), source=source),
    )


def _image(name: str, registry: str, repository: str, tag: str, *, source: str, unverified: bool = False) -> ImagePin:
    return ImagePin(
        name=name,
        registry=registry,
        repository=repository,
        tag=tag,
        origin=Origin(as_of=date(2026, 11, 30), source=source, unverified=unverified),
    )


# One table for the charts that are shipped and for the programs that the live tests and the sandbox build.
RELEASES: Mapping[str, str] = json.loads((Path(__file__).parent / "data" / "releases.json").read_text(encoding="utf-8"))

_PROMETHEUS = "https://prometheus-community.github.io/helm-charts"
_EKS = "https://aws.github.io/eks-charts"
# The newest release whose controller this project has run, against a real API server and a stand-in for EC2.
_KARPENTER = "aws/karpenter-provider-aws v1.13.0, charts/karpenter values; run from that tag"
_RELEASE = "the version of the pinned chart or release; the path is that project's usual one"

_CHARTS = (
    _chart("kueue", RELEASES["kueue"], "oci://registry.k8s.io/kueue/charts/kueue", namespace="kueue-system"),
    _chart("jobset", RELEASES["jobset"], "oci://registry.k8s.io/jobset/charts/jobset", namespace="jobset-system"),
    _chart(
        "karpenter",
        RELEASES["karpenter"],
        "oci://public.ecr.aws/karpenter/karpenter",
        namespace="kube-system",
        source=_KARPENTER,
    ),
    _chart(
        "karpenter-crd",
        RELEASES["karpenter"],
        "oci://public.ecr.aws/karpenter/karpenter-crd",
        namespace="kube-system",
        source=_KARPENTER,
    ),
    _chart("kube-prometheus-stack", "88.5.3", _PROMETHEUS, namespace="monitoring", app="v0.93.1"),
    _chart("aws-load-balancer-controller", "3.5.0", _EKS, namespace="kube-system"),
    _chart("aws-for-fluent-bit", "0.2.0", _EKS, namespace="logging", app="3.2.1"),
    _chart(
        "dcgm-exporter",
        "4.8.2",
        "https://nvidia.github.io/dcgm-exporter/helm-charts",
        namespace="monitoring",
        app="4.5.3-4.8.2",
    ),
    _chart("gpu-operator", "v26.7.0", "https://helm.ngc.nvidia.com/nvidia", namespace="gpu-operator"),
    _chart("nvidia-device-plugin", "0.20.0", "https://nvidia.github.io/k8s-device-plugin", namespace="kube-system"),
    _chart("aws-efa-k8s-device-plugin", "v0.5.30", _EKS, namespace="kube-system", app="v0.5.20"),
    _chart(
        "neuron-helm-chart",
        "1.10.0",
        "oci://public.ecr.aws/neuron/neuron-helm-chart",
        namespace="kube-system",
        app="2.32.0.0",
        source="the chart's values as printed in public on 2026-09-11",
    ),
    _chart(
        "node-problem-detector",
        "2.4.0",
        "oci://ghcr.io/deliveryhero/helm-charts/node-problem-detector",
        namespace="kube-system",
        app="v1.36.0",
        source="install command in oracle-quickstart/oci-hpc-oke",
    ),
    _chart("lws", "0.10.0", "oci://registry.k8s.io/lws/charts/lws", namespace="lws-system"),
    _chart("kubeflow-trainer", "2.3.0", "oci://ghcr.io/kubeflow/charts/kubeflow-trainer", namespace="kubeflow-system"),
)

_STACK = "prometheus-community/helm-charts kube-prometheus-stack 88.5.3, values.yaml"

_IMAGES = (
    _image(
        "nvidia-device-plugin",
        "nvcr.io",
        "nvidia/k8s-device-plugin",
        "v0.20.0",
        source="NVIDIA/k8s-device-plugin release 0.20.0, 2026-08-19",
    ),
    _image(
        "efa-device-plugin",
        "602401143452.dkr.ecr.us-west-2.amazonaws.com",
        "eks/aws-efa-k8s-device-plugin",
        "v0.5.20",
        source="aws/eks-charts 5239609 aws-efa-k8s-device-plugin values",
    ),
    _image(
        "dcgm-exporter",
        "nvcr.io",
        "nvidia/k8s/dcgm-exporter",
        "4.5.3-4.8.2-distroless",
        source="NVIDIA/dcgm-exporter chart 4.8.2, 2026-05-12",
    ),
    _image(
        "neuron-device-plugin",
        "public.ecr.aws",
        "neuron/neuron-device-plugin",
        "2.32.0.0",
        source="values of neuron-helm-chart 1.10.0",
    ),
    _image(
        "neuron-monitor",
        "public.ecr.aws",
        "neuron/neuron-monitor",
        "1.10.0",
        source="public device configurations for the Neuron operator",
    ),
    _image(
        "node-problem-detector",
        "registry.k8s.io",
        "node-problem-detector/node-problem-detector",
        "v1.36.0",
        source="values of neuron-helm-chart 1.10.0; the project's release",
    ),
    _image("kueue", "registry.k8s.io", "kueue/kueue", f"v{RELEASES['kueue']}", source=_RELEASE, unverified=True),
    _image("jobset", "registry.k8s.io", "jobset/jobset", f"v{RELEASES['jobset']}", source=_RELEASE, unverified=True),
    _image("karpenter", "public.ecr.aws", "karpenter/controller", RELEASES["karpenter"], source=_KARPENTER),
    _image(
        "kube-state-metrics",
        "registry.k8s.io",
        "kube-state-metrics/kube-state-metrics",
        "v2.20.0",
        source=_RELEASE,
        unverified=True,
    ),
    _image("node-exporter", "quay.io", "prometheus/node-exporter", "v1.12.1", source=_RELEASE, unverified=True),
    _image(
        "prometheus-operator",
        "quay.io",
        "prometheus-operator/prometheus-operator",
        "v0.93.1",
        source=_RELEASE,
        unverified=True,
    ),
    _image(
        "python",
        "public.ecr.aws",
        "docker/library/python",
        "3.13-alpine",
        source="Docker official images on ECR Public",
        unverified=True,
    ),
    # Has dnf and the key of Amazon Linux's packages, of which the job that prepares file systems takes the Lustre
    # client.
    _image(
        "amazonlinux",
        "public.ecr.aws",
        "amazonlinux/amazonlinux",
        "2023.9.20251117.1",
        source="Amazon Linux 2023 release notes",
    ),
    _image("prometheus", "quay.io", "prometheus/prometheus", "v3.14.0-distroless", source=_STACK),
    _image("alertmanager", "quay.io", "prometheus/alertmanager", "v0.34.0", source=_STACK),
    _image(
        "prometheus-config-reloader",
        "quay.io",
        "prometheus-operator/prometheus-config-reloader",
        "v0.93.1",
        source=_STACK,
    ),
    _image("kube-webhook-certgen", "ghcr.io", "jkroepke/kube-webhook-certgen", "1.8.7", source=_STACK),
    _image(
        "fluent-bit",
        "public.ecr.aws",
        "aws-observability/aws-for-fluent-bit",
        "3.2.1",
        source=_RELEASE,
        unverified=True,
    ),
    _image(
        "load-balancer-controller",
        "public.ecr.aws",
        "eks/aws-load-balancer-controller",
        "v3.5.0",
        source=_RELEASE,
        unverified=True,
    ),
)

CHARTS = Charts(
    charts=MappingProxyType({pin.name: pin for pin in _CHARTS}),
    images=MappingProxyType({pin.name: pin for pin in _IMAGES}),
    pull_through=MappingProxyType(
        {
            "public.ecr.aws": False,
            "registry.k8s.io": False,
            "quay.io": False,
            "ghcr.io": True,
            "registry-1.docker.io": True,
        }
    ),
)
