"""Pins: add-ons, charts, images and node images are there for every version that a cluster may have."""

from __future__ import annotations

import re
from datetime import date

import pytest

from components import catalog

CAT = catalog.load()
TODAY = date(2026, 11, 30)
USABLE = CAT.usable_kubernetes(TODAY)
CORE = [
    "vpc-cni",
    "kube-proxy",
    "coredns",
    "eks-pod-identity-agent",
    "aws-ebs-csi-driver",
    "aws-fsx-csi-driver",
    "eks-node-monitoring-agent",
]


def test_a_version_without_pins_is_offered_but_not_usable() -> None:
    assert USABLE == ("1.32", "1.33", "1.34", "1.35", "1.36")
    assert "1.37" in CAT.kubernetes.offered(TODAY)
    assert CAT.addons.pins("1.37") == {}


@pytest.mark.parametrize("version", USABLE)
@pytest.mark.parametrize("name", [*CORE, "metrics-server", "aws-mountpoint-s3-csi-driver"])
def test_every_add_on_is_pinned_for_every_usable_version(name: str, version: str) -> None:
    pin = CAT.addons.pin(name, version)
    assert re.fullmatch(r"v\d+\.\d+\.\d+-eksbuild\.\d+", pin.version)
    assert CAT.addons.pins(version)[name] == pin


@pytest.mark.parametrize("version", USABLE)
def test_kube_proxy_follows_the_clusters_minor_version(version: str) -> None:
    assert CAT.addons.pin("kube-proxy", version).version.startswith(f"v{version}.")


def test_the_network_comes_before_nodes_and_names_after_them() -> None:
    pins = CAT.addons.pins("1.35")
    assert [name for name, pin in pins.items() if pin.before_nodes] == [
        "vpc-cni",
        "kube-proxy",
        "eks-pod-identity-agent",
    ]


@pytest.mark.parametrize(
    ("name", "account", "policy"),
    [
        ("vpc-cni", "aws-node", "AmazonEKS_CNI_Policy"),
        ("aws-ebs-csi-driver", "ebs-csi-controller-sa", "service-role/AmazonEBSCSIDriverPolicy"),
        ("aws-fsx-csi-driver", "fsx-csi-controller-sa", "AmazonFSxFullAccess"),
        ("coredns", None, None),
    ],
)
def test_an_add_on_that_calls_aws_names_its_service_account_and_policy(
    name: str, account: str | None, policy: str | None
) -> None:
    pin = CAT.addons.pin(name, "1.35")
    assert (pin.namespace, pin.service_account, pin.managed_policy) == ("kube-system", account, policy)


def test_a_pin_that_nobody_saw_for_a_version_says_so() -> None:
    assert not CAT.addons.pin("vpc-cni", "1.35").unverified
    assert not CAT.addons.pin("aws-ebs-csi-driver", "1.35").unverified
    assert CAT.addons.pin("aws-ebs-csi-driver", "1.33").unverified
    assert CAT.addons.pin("aws-fsx-csi-driver", "1.35").unverified


@pytest.mark.parametrize(("name", "version"), [("vpc-cni", "1.37"), ("nvidia-gpu-plugin", "1.35")])
def test_a_pin_that_does_not_exist_is_refused_in_words(name: str, version: str) -> None:
    with pytest.raises(catalog.UnknownAddon) as caught:
        CAT.addons.pin(name, version)
    assert str(caught.value) == f"no version of the EKS add-on {name} is pinned for Kubernetes {version}"


def test_charts_carry_the_versions_that_the_project_was_tried_with() -> None:
    assert {
        name: CAT.charts[name].version
        for name in ("kueue", "jobset", "karpenter", "karpenter-crd", "kube-prometheus-stack")
    } == {
        "kueue": "0.19.2",
        "jobset": "0.12.0",
        "karpenter": "1.13.0",
        "karpenter-crd": "1.13.0",
        "kube-prometheus-stack": "88.5.3",
    }
    assert CAT.charts["kueue"].repository == "oci://registry.k8s.io/kueue/charts/kueue"
    assert CAT.charts["kueue"].oci
    assert CAT.charts["karpenter"].oci


@pytest.mark.parametrize("pin", CAT.charts.charts.values(), ids=lambda pin: pin.name)
def test_every_chart_has_one_exact_version_a_repository_and_a_source(pin: catalog.ChartPin) -> None:
    assert re.fullmatch(r"v?\d+\.\d+\.\d+", pin.version)
    assert pin.repository.startswith(("https://", "oci://"))
    assert pin.namespace
    assert pin.origin.source
    assert pin.oci == pin.repository.endswith(f"/{pin.name}")


@pytest.mark.parametrize("pin", CAT.charts.images.values(), ids=lambda pin: pin.name)
def test_every_image_has_a_registry_and_a_tag_that_does_not_move(pin: catalog.ImagePin) -> None:
    assert "." in pin.registry
    assert "/" not in pin.registry
    assert re.search(r"\d+\.\d+", pin.tag)
    assert pin.tag != "latest"
    assert pin.reference == f"{pin.registry}/{pin.repository}:{pin.tag}"
    assert pin.origin.source


def test_device_plugins_are_pinned() -> None:
    assert CAT.charts.image("nvidia-device-plugin").reference == "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"
    assert CAT.charts.image("efa-device-plugin").tag == "v0.5.20"
    assert CAT.charts.image("dcgm-exporter").tag == "4.5.3-4.8.2-distroless"


@pytest.mark.parametrize(
    ("family", "system", "device", "user_data"),
    [
        ("AL2023_x86_64_NVIDIA", "al2023", "/dev/xvda", "nodeadm"),
        ("AL2023_x86_64_NEURON", "al2023", "/dev/xvda", "nodeadm"),
        ("BOTTLEROCKET_ARM_64_NVIDIA_FIPS", "bottlerocket", "/dev/xvdb", "bottlerocket"),
        ("AL2_x86_64_GPU", "al2", "/dev/xvda", "bootstrap"),
        ("CUSTOM", "custom", "/dev/xvda", "nodeadm"),
    ],
)
def test_image_family_knows_its_disk_and_its_user_data(family: str, system: str, device: str, user_data: str) -> None:
    found = CAT.images.family(family)
    assert (found.system, found.root_device, found.user_data) == (system, device, user_data)


def test_image_families_are_those_of_the_eks_api_without_windows() -> None:
    botocore = pytest.importorskip("botocore.session")
    shape = botocore.get_session().get_service_model("eks").shape_for("AMITypes")
    assert set(CAT.images.families) == {name for name in shape.enum if not name.startswith("WINDOWS")}


def test_al2_ended_and_stops_at_1_32() -> None:
    old = CAT.images.family("AL2_x86_64_GPU")
    assert old.ends is not None
    assert old.ends < TODAY
    assert old.last_kubernetes == "1.32"
    assert CAT.images.family("AL2023_x86_64_NVIDIA").ends is None


@pytest.mark.parametrize("version", USABLE)
def test_a_release_of_al2023_is_pinned_for_every_usable_version(version: str) -> None:
    release = CAT.images.release("AL2023_x86_64_NVIDIA", version)
    assert release is not None
    assert re.fullmatch(rf"{re.escape(version)}\.\d+-20\d{{6}}", release)


def test_no_release_is_made_up_where_none_was_read() -> None:
    assert CAT.images.release("CUSTOM", "1.35") is None
    assert CAT.images.release("AL2023_x86_64_NVIDIA", "1.37") is None
    assert CAT.images.release("BOTTLEROCKET_x86_64_NVIDIA", "1.33") is None
    assert CAT.images.release("BOTTLEROCKET_x86_64_NVIDIA", "1.35") == "1.58.0-c5c37032"
