"""Families answer for their cards, and a new one is a value and an entry."""

from __future__ import annotations

import pytest

from components import accelerators, catalog
from components.accelerators import Accelerator, DevicePlugin, HostMount, NoImageFamily, UnknownVendor

CAT = catalog.load()


def made_up() -> Accelerator:
    return Accelerator(
        vendor="acme",
        resource_name="acme.example/npu",
        image_families={"x86_64": "CUSTOM"},
        collective_backend="acl",
        device_plugin=DevicePlugin(
            name="acme-device-plugin",
            image="nvidia-device-plugin",
            resource_name="acme.example/npu",
            mounts=(
                HostMount(
                    name="device-plugins",
                    path="/var/lib/kubelet/device-plugins",
                    mount="/var/lib/kubelet/device-plugins",
                ),
            ),
        ),
        environment={"ACME_CARDS": "{cards}"},
    )


def test_an_h100_node_is_driven_by_the_nvidia_family():
    family = accelerators.of(CAT.instance("p5.48xlarge"))
    assert family is not None
    assert (family.vendor, family.resource_name, family.taint_key, family.taint_value) == (
        "nvidia",
        "nvidia.com/gpu",
        "nvidia.com/gpu",
        "present",
    )
    assert (family.taint_effect, family.eks_taint_effect) == ("NoSchedule", "NO_SCHEDULE")
    assert dict(family.labels) == {"trainshed.io/accelerator": "nvidia"}


def test_a_trainium_node_is_driven_by_the_neuron_family():
    family = accelerators.of(CAT.instance("trn2.48xlarge"))
    assert family is not None
    assert (family.vendor, family.resource_name) == ("neuron", "aws.amazon.com/neuron")


def test_a_cpu_type_has_no_family():
    assert accelerators.of(CAT.instance("m7i.8xlarge")) is None


def test_cards_that_no_adapter_drives_have_no_family():
    assert accelerators.of(CAT.instance("dl1.24xlarge")) is None


def test_every_nvidia_and_neuron_type_of_the_catalog_has_an_image_family_it_may_run():
    for instance in CAT.instances.values():
        family = accelerators.of(instance)
        if family is None or "CUSTOM" in instance.image_families or not instance.image_families:
            continue
        assert family.image_family(instance.arch) in instance.image_families, instance.name


def test_an_architecture_without_an_image_is_refused_by_name():
    with pytest.raises(NoImageFamily, match=r"^EKS has no neuron machine image for arm64; it has x86_64$"):
        accelerators.for_vendor("neuron").image_family("arm64")


def test_an_unknown_vendor_names_the_known_ones():
    with pytest.raises(
        UnknownVendor, match=r'^no adapter drives "habana" cards; there are adapters for neuron and nvidia$'
    ):
        accelerators.for_vendor("habana")


def test_the_nvidia_plugin_leaves_rdma_devices_to_the_efa_plugin():
    assert accelerators.for_vendor("nvidia").device_plugin.environment["MOFED_ENABLED"] == "false"


def test_xid_79_asks_for_another_node_and_xid_13_for_a_look_at_the_program():
    nvidia = accelerators.for_vendor("nvidia")
    bus, engine = nvidia.health_code("79"), nvidia.health_code("13")
    assert bus is not None and bus.action == "replace"
    assert engine is not None and engine.action == "application"
    assert nvidia.health_code("9999") is None


def test_the_neuron_runtime_meets_on_the_first_worker():
    assert accelerators.for_vendor("neuron").job_environment(cards=16) == {
        "NEURON_RT_ROOT_COMM_ID": "$(MASTER_ADDR):62182"
    }


def test_jobs_never_pin_the_collective_librarys_protocol_or_algorithm():
    for family in accelerators.FAMILIES.values():
        assert {"NCCL_PROTO", "NCCL_ALGO"}.isdisjoint(family.job_environment(cards=8))


def test_a_made_up_family_is_one_value_and_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(accelerators.FAMILIES, "acme", made_up())
    family = accelerators.for_vendor("acme")
    assert family.job_environment(cards=4) == {"ACME_CARDS": "4"}
    assert dict(family.labels) == {"trainshed.io/accelerator": "acme"}
    assert family.image_family("x86_64") == "CUSTOM"
