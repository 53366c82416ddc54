"""Device plugins: on the right nodes, under every taint, from the account's registry, without taking over each other's
devices.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from components import accelerators, node_labels
from components.in_cluster.devices import Devices, DevicesArgs
from components.manifests.jobs import jobset
from components.manifests.queues import kueue
from components.planning.pool import Pool
from components.spec.stack import StackSpec
from tests.components.in_cluster.declared_in_cluster import REGISTRY, records, wrong
from tests.components.planning import pool_stacks
from tests.declared import Record, named, of_type
from tests.given import CAT, SMALL_TASK, STACKS, made_up_accelerator, stack, stack_of, task_of


def declared(given: StackSpec) -> list[Record]:
    return records(
        lambda opts: Devices("devices", DevicesArgs(spec=given, catalog=CAT, registry_prefix=REGISTRY), opts)
    )


def pods(given: StackSpec) -> dict[str, dict[str, Any]]:
    found = of_type(declared(given), "DaemonSet")
    return {each.inputs["metadata"]["name"]: each.inputs["spec"]["template"]["spec"] for each in found}


@pytest.mark.parametrize("name", ["prod", "dev", "staging", "standby"])
def test_every_object_is_one_that_an_api_server_takes(name: str):
    assert wrong(declared(stack(name))) == {}


def test_a_stack_with_efa_gpus_gets_both_plugins():
    assert sorted(pods(stack("prod"))) == ["efa-device-plugin", "nvidia-device-plugin"]


def test_a_cluster_that_exists_keeps_its_own_plugins():
    assert pods(stack("onprem")) == {}


def test_plugins_run_on_the_nodes_of_their_devices_and_on_no_other():
    found = pods(stack("prod"))
    for pool in stack("prod").pools:
        on_node = Pool(pool, CAT).labels()
        runs = {name for name, pod in found.items() if pod["nodeSelector"].items() <= on_node.items()}
        wanted = {
            "pretrain": {"efa-device-plugin", "nvidia-device-plugin"},
            "finetune": {"efa-device-plugin", "nvidia-device-plugin"},
        }
        assert runs == wanted.get(pool.name, set()), pool.name


BOTTLEROCKET = "BOTTLEROCKET_x86_64_NVIDIA"
_OF_POOL = "purpose: training, instance_type: p5.48xlarge, zone: usw2-az3, nodes: 4, fabric: tcp"


def test_an_image_that_runs_its_own_plugin_gets_no_second_one():
    assert pods(stack_of(pools=f"[{{name: train, {_OF_POOL}, image_family: {BOTTLEROCKET}}}]")) == {}


def test_beside_such_an_image_the_plugin_keeps_to_the_other_pools():
    both = f"[{{name: train, {_OF_POOL}, image_family: {BOTTLEROCKET}}}, {{name: second, {_OF_POOL}}}]"
    given = stack_of(pools=both)
    rules = pods(given)["nvidia-device-plugin"]["affinity"]["nodeAffinity"]
    terms = rules["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert terms == [{"matchExpressions": [{"key": node_labels.POOL, "operator": "NotIn", "values": ["train"]}]}]
    assert wrong(declared(given)) == {}
    assert "affinity" not in pods(stack("prod"))["nvidia-device-plugin"]


def test_a_pool_without_efa_gets_no_efa_plugin():
    given = stack_of(
        pools="[{name: train, purpose: training, instance_type: p5.48xlarge, zone: usw2-az3, nodes: 4, fabric: tcp}]"
    )
    assert sorted(pods(given)) == ["nvidia-device-plugin"]
    assert node_labels.EFA not in Pool(given.pool("train"), CAT).labels()


def test_plugins_tolerate_every_taint():
    for pod in pods(stack("prod")).values():
        assert pod["tolerations"] == [{"operator": "Exists"}]


def test_the_nvidia_plugin_leaves_rdma_devices_alone():
    container = pods(stack("prod"))["nvidia-device-plugin"]["containers"][0]
    assert {"name": "MOFED_ENABLED", "value": "false"} in container["env"]
    assert CAT.charts.image("nvidia-device-plugin").tag == "v0.20.0"


def test_images_come_from_the_accounts_own_registry_at_a_pinned_tag():
    images = sorted(pod["containers"][0]["image"] for pod in pods(stack("prod")).values())
    assert images == [
        f"{REGISTRY}/eks/eks/aws-efa-k8s-device-plugin:v0.5.20",
        f"{REGISTRY}/nvcr/nvidia/k8s-device-plugin:v0.20.0",
    ]


def test_only_the_efa_plugin_is_privileged():
    found = {name: pod["containers"][0]["securityContext"] for name, pod in pods(stack("prod")).items()}
    assert found["efa-device-plugin"]["privileged"] is True
    assert found["nvidia-device-plugin"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def test_the_neuron_plugin_has_an_account_with_the_rights_it_needs_and_its_nodes_name():
    pool = {"name": "train", "purpose": "training", "instance_type": "trn1.32xlarge", "zone": "usw2-az4", "nodes": 2}
    found = declared(pool_stacks.stack(pool))
    assert wrong(found) == {}
    pod = named(found, "devices-daemon-neuron-device-plugin").inputs["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == "neuron-device-plugin"
    assert pod["automountServiceAccountToken"] is True
    assert {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}}} in pod[
        "containers"
    ][0]["env"]
    binding = named(found, "devices-neuron-device-plugin-clusterrolebinding").inputs
    assert binding["roleRef"] == {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "ClusterRole",
        "name": "neuron-device-plugin",
    }


def test_a_daemon_rolls_over_a_tenth_of_the_nodes_at_a_time():
    for each in of_type(declared(stack("prod")), "DaemonSet"):
        assert each.inputs["spec"]["updateStrategy"] == {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxUnavailable": "10%"},
        }


def test_every_object_has_an_explicit_provider_and_the_name_people_look_for():
    for each in of_type(declared(stack("prod")), "DaemonSet"):
        assert each.provider
        assert each.inputs["metadata"]["namespace"] == "kube-system"
        assert each.name == f"devices-daemon-{each.inputs['metadata']['name']}"


def test_a_made_up_family_gets_plugin_queue_and_job_without_a_change_to_any_component(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(accelerators.FAMILIES, "acme", made_up_accelerator())
    known = CAT.instance("p5.48xlarge")
    assert known.accelerator is not None
    cards = replace(known.accelerator, vendor="acme", model="NPU")
    cat = CAT.with_instance(replace(known, name="acme1.48xlarge", family="acme1", accelerator=cards))
    given = stack_of(
        pools=(
            "[{name: train, purpose: training, instance_type: acme1.48xlarge, zone: usw2-az3, nodes: 4, fabric: tcp}]"
        ),
        queues="[{name: train, pool: train, cards: 32}]",
    )
    found = records(
        lambda opts: Devices("devices", DevicesArgs(spec=given, catalog=cat, registry_prefix=REGISTRY), opts)
    )
    assert wrong(found) == {}
    daemon = named(found, "devices-daemon-acme-device-plugin").inputs["spec"]["template"]["spec"]
    assert daemon["nodeSelector"] == {"trainshed.io/accelerator": "acme"}
    assert Pool(given.pool("train"), cat).labels()["trainshed.io/accelerator"] == "acme"
    covered = kueue.objects(given, cat).cluster_queues["train"]["spec"]["resourceGroups"][0]["coveredResources"]
    assert "acme.example/npu" in covered
    pod = jobset.render(task_of(SMALL_TASK), given, cat)[-1]["spec"]["replicatedJobs"][0]["template"]["spec"][
        "template"
    ]["spec"]
    assert pod["containers"][0]["resources"]["limits"]["acme.example/npu"] == "8"
    assert pod["tolerations"][0]["key"] == "acme.example/npu"
    assert {"name": "ACME_CARDS", "value": "8"} in pod["containers"][0]["env"]


@pytest.mark.parametrize("name", STACKS)
def test_known_outputs_declare_exactly_as_many_resources(name: str):
    def declare(opts: Any) -> Devices:
        return Devices("devices", DevicesArgs(spec=stack(name), catalog=CAT, registry_prefix=REGISTRY), opts)

    assert sorted(each.urn for each in records(declare)) == sorted(each.urn for each in records(declare, known=True))
