"""Families answer for their cards, and a new one is a value and an entry."""

from __future__ import annotations

import pytest

from components import accelerators, catalog
from components.accelerators import NoImageFamily, UnknownVendor, nvidia
from components.catalog import addons
from components.manifests.jobs import jobset
from components.planning.rules import check
from components.planning.shares import with_default_queues
from components.problems import errors, render
from components.spec.reading.reader import read_text
from components.spec.stack import StackSpec
from tests.given import SMALL_TASK, made_up_accelerator, task_of

CAT = catalog.load()


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


def test_the_codes_that_ask_for_another_node_are_those_of_the_monitoring_agent():
    # WellKnownXidCodes of eks-node-monitoring-agent v1.7.0.
    agents = ("46 48 54 62 63 64 74 79 95 109 110 119 120 136 140 142 143 151 155 156 158").split()  # noqa: SIM905
    known = accelerators.for_vendor("nvidia").health_codes
    assert [each.code for each in known if each.action in ("replace", "reboot")] == agents
    assert [each.code for each in known] == sorted({each.code for each in known}, key=int)
    page_fault = accelerators.for_vendor("nvidia").health_code("31")
    assert page_fault is not None and page_fault.action == "application"


def test_the_table_of_codes_is_read_again_when_the_agent_has_a_new_minor_release():
    shipped = addons.ADDONS.pin("eks-node-monitoring-agent", "1.35").version
    assert shipped.startswith(f"v{nvidia.MONITORING_AGENT_RELEASE.rpartition('.')[0]}.")


def test_every_neuron_fault_of_the_agent_asks_for_another_node():
    known = {each.code: each.action for each in accelerators.for_vendor("neuron").health_codes}
    faults = ("DMAError", "HBMUncorrectableError", "NCUncorrectableError", "SRAMUncorrectableError")
    assert known == {f"Neuron{each}": "replace" for each in faults}


def test_the_neuron_runtime_meets_on_the_first_worker():
    assert accelerators.for_vendor("neuron").job_environment(cards=16) == {
        "NEURON_RT_ROOT_COMM_ID": "$(MASTER_ADDR):62182"
    }


def test_jobs_never_pin_the_collective_librarys_protocol_or_algorithm():
    for family in accelerators.FAMILIES.values():
        assert {"NCCL_PROTO", "NCCL_ALGO"}.isdisjoint(family.job_environment(cards=8))


def test_a_made_up_family_is_one_value_and_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(accelerators.FAMILIES, "acme", made_up_accelerator())
    family = accelerators.for_vendor("acme")
    assert family.job_environment(cards=4) == {"ACME_CARDS": "4"}
    assert dict(family.labels) == {"trainshed.io/accelerator": "acme"}
    assert family.image_family("x86_64") == "CUSTOM"


def test_neuron_has_a_process_for_each_logical_core():
    counts = {
        name: accelerators.processes_per_node(CAT.instance(name), "", CAT.instance(name).cards)
        for name in ("trn1.32xlarge", "trn2.48xlarge", "p5.48xlarge", "m7i.8xlarge")
    }
    assert counts == {"trn1.32xlarge": 32, "trn2.48xlarge": 64, "p5.48xlarge": 8, "m7i.8xlarge": 1}


RACK = """config:
  trainshed:environment: prod
  trainshed:form: {kind: self-hosted, kubeconfig: {secure: "v1:bm90LWEta2V5:eA=="}, storage_class: shared}
  trainshed:pools:
    - name: train
      purpose: training
      nodes: 2
      fabric: tcp
      hosts: {accelerator: npu7, vendor: VENDOR, cards: 8, vcpu: 96, memory_gib: 1024}
"""


def rack(vendor: str) -> StackSpec:
    reading = read_text(RACK.replace("VENDOR", vendor), "rack.yaml")
    assert reading.stack is not None and not errors(reading.problems), [render(each) for each in reading.problems]
    return reading.stack


def test_a_made_up_family_runs_a_job_on_machines_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(accelerators.FAMILIES, "acme", made_up_accelerator())
    given = with_default_queues(rack("acme"), CAT)
    assert not errors(check(given, CAT))
    rendered = jobset.render(task_of(SMALL_TASK), given, CAT)
    job = next(each for each in rendered if each["kind"] == "JobSet")["spec"]["replicatedJobs"][0]["template"]["spec"]
    [container] = job["template"]["spec"]["containers"]
    assert container["resources"]["limits"]["acme.example/npu"] == "8"
    environment = {each["name"]: each.get("value") for each in container["env"]}
    assert (environment["ACME_CARDS"], environment["COLLECTIVE_BACKEND"]) == ("8", "acl")


def test_cards_of_a_vendor_without_an_adapter_are_refused_with_the_known_ones() -> None:
    found = [render(each) for each in errors(check(rack("habana"), CAT))]
    assert found == ['pools[0].hosts.vendor: no adapter drives "habana" cards; use one of: neuron, nvidia']
