"""Queues, flavors and topologies, as Kueue needs them."""

from __future__ import annotations

import pytest
import yaml

from components.manifests import admission, namespaces
from components.manifests.jobs import jobset, limits
from components.manifests.nodes import whole_node
from components.manifests.nodes.whole_node import machine_of
from components.manifests.queues import controllers, kueue
from components.planning.pool import Pool
from components.spec.quantities import Nodes
from tests.components.manifests.schemas import faults
from tests.given import CAT, STACKS, stack, stack_of, task

PROD = stack("prod")


def quotas(queue: str) -> dict[str, str]:
    spec = kueue.objects(PROD, CAT).cluster_queues[queue]["spec"]
    return {each["name"]: each["nominalQuota"] for each in spec["resourceGroups"][0]["flavors"][0]["resources"]}


def test_the_pretraining_queue_covers_everything_its_jobs_ask_for_times_1232_nodes():
    assert quotas("pretrain") == {
        "cpu": "232848",
        "ephemeral-storage": "31391360Gi",
        "memory": "2403632Gi",
        "nvidia.com/gpu": "9856",
        "vpc.amazonaws.com/efa": "39424",
    }


@pytest.mark.parametrize("name", ["llama-405b", "finetune-8b"])
def test_every_resource_that_a_job_asks_for_is_covered_by_its_queue(name: str):
    asked = jobset.render(task(name), PROD, CAT)[-1]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"][
        "spec"
    ]
    wanted = set().union(
        *(container["resources"]["requests"] for container in [*asked["containers"], *asked["initContainers"]])
    )
    queue = kueue.queue_of(PROD, task(name).resources.pool, task(name).queue)
    assert queue is not None
    assert wanted <= set(quotas(queue.name))


def test_no_queue_hands_out_more_than_its_nodes_hold_and_the_largest_job_fits_exactly():
    machine = machine_of(Pool(PROD.pool("pretrain"), CAT))
    assert machine is not None
    assert machine.quota(Nodes(1232))["nvidia.com/gpu"] == "9856"
    assert quotas("pretrain")["memory"] == machine.quota(Nodes(1232))["memory"]


@pytest.mark.parametrize("name", STACKS)
def test_each_flavor_has_the_labels_and_tolerates_exactly_the_taints_of_its_pools_nodes(name: str):
    given = stack(name)
    for pool in given.pools:
        if pool.name not in {queue.pool for queue in given.queues}:
            continue
        found = kueue.objects(given, CAT).flavors[pool.name]
        taints = Pool(pool, CAT).taints
        tolerated = [(each["key"], each["value"], each["effect"]) for each in found["spec"].get("tolerations", [])]
        assert tolerated == [(taint.key, taint.value, taint.effect) for taint in taints]
        labels = found["spec"]["nodeLabels"]
        on_nodes = pool.hosts.labels if pool.hosts else Pool(pool, CAT).labels()
        assert labels.items() <= on_nodes.items()


def test_a_maintenance_taint_of_the_pool_reaches_the_flavor_in_kubernetes_spelling():
    given = stack_of(
        pools=(
            "[{name: train, purpose: training, instance_type: p5.48xlarge, zone: usw2-az3, nodes: 4, fabric: efa, "
            'taints: [{key: maintenance, value: "yes", effect: NO_EXECUTE}]}]'
        ),
        queues="[{name: train, pool: train, cards: 32}]",
    )
    assert kueue.flavor(Pool(given.pool("train"), CAT))["spec"]["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Equal", "value": "present", "effect": "NoSchedule"},
        {"key": "maintenance", "operator": "Equal", "value": "yes", "effect": "NoExecute"},
    ]


def test_the_host_is_the_lowest_level_of_every_topology_because_only_then_taints_count():
    found = kueue.objects(PROD, CAT).topologies
    assert list(found) == ["aws-3-layers"]
    assert [level["nodeLabel"] for level in found["aws-3-layers"]["spec"]["levels"]] == [
        "topology.k8s.aws/network-node-layer-1",
        "topology.k8s.aws/network-node-layer-2",
        "topology.k8s.aws/network-node-layer-3",
        "kubernetes.io/hostname",
    ]


def test_types_with_four_layers_get_a_topology_of_their_own():
    given = stack_of(
        pools=(
            "[{name: a, purpose: training, instance_type: p5.48xlarge, zone: usw2-az3, nodes: 4},"
            " {name: b, purpose: training, instance_type: p6-b200.48xlarge, zone: usw2-az3, nodes: 4}]"
        ),
        queues="[{name: a, pool: a, cards: 32}, {name: b, pool: b, cards: 32}]",
    )
    found = kueue.objects(given, CAT)
    assert list(found.topologies) == ["aws-3-layers", "aws-4-layers"]
    assert len(found.topologies["aws-4-layers"]["spec"]["levels"]) == 5
    assert {name: each["spec"]["topologyName"] for name, each in found.flavors.items()} == {
        "a": "aws-3-layers",
        "b": "aws-4-layers",
    }


def test_a_pool_that_sizes_itself_has_no_topology_since_kueue_sees_only_nodes_that_are_there():
    for least in (0, 2):
        given = stack_of(
            pools=(
                "[{name: train, purpose: training, instance_type: p5.48xlarge, zone: usw2-az3, nodes:"
                f" {{{{min: {least}, max: 16}}}}}}]"
            )
            .replace("{{", "{")
            .replace("}}", "}"),
            queues="[{name: train, pool: train, cards: 64}]",
        )
        assert "topologyName" not in kueue.objects(given, CAT).flavors["train"]["spec"]


def test_a_blocks_pool_has_its_topology_since_all_its_nodes_are_there_while_the_queue_is_open():
    assert kueue.objects(PROD, CAT).flavors["finetune"]["spec"]["topologyName"] == "aws-3-layers"


def test_a_type_without_topology_labels_has_no_topology():
    given = stack_of(
        pools="[{name: one, purpose: finetuning, instance_type: p5.4xlarge, zone: usw2-az3, nodes: 2}]",
        queues="[{name: one, pool: one, cards: 2}]",
    )
    found = kueue.objects(given, CAT)
    assert found.topologies == {}
    assert "topologyName" not in found.flavors["one"]["spec"]


def test_a_queue_admits_only_the_jobs_of_its_namespace():
    spec = kueue.objects(PROD, CAT).cluster_queues["pretrain"]["spec"]
    assert spec["namespaceSelector"] == {"matchLabels": {"kubernetes.io/metadata.name": "training"}}


def test_queues_of_a_cohort_lend_and_take_back():
    found = kueue.objects(PROD, CAT)
    spec = found.cluster_queues["research"]["spec"]
    assert spec["cohortName"] == "shared"
    assert spec["preemption"]["reclaimWithinCohort"] == "Any"
    assert list(found.cohorts) == ["shared"]
    assert "cohortName" not in found.cluster_queues["pretrain"]["spec"]


def test_a_held_queue_admits_nothing_new_and_leaves_running_jobs_alone():
    pools = "[{name: train, purpose: training, instance_type: p5.48xlarge, zone: usw2-az3, nodes: 4}]"
    given = stack_of(pools=pools, queues="[{name: train, pool: train, cards: 32, hold: true}]")
    found = kueue.objects(given, CAT)
    assert found.cluster_queues["train"]["spec"]["stopPolicy"] == "Hold"
    assert found.local_queues["train"]["spec"]["stopPolicy"] == "Hold"


def test_a_pool_without_cards_is_shared_by_node():
    given = stack_of(
        pools=(
            "[{name: prep, purpose: preprocessing, instance_types: [m7i.8xlarge, m7a.8xlarge, m6i.8xlarge], nodes:"
            " {min: 0, max: 20}}]"
        ),
        queues="[{name: prep, pool: prep, nodes: 10}]",
    )
    spec = kueue.objects(given, CAT).cluster_queues["prep"]["spec"]
    assert spec["resourceGroups"][0]["coveredResources"] == ["cpu", "ephemeral-storage", "memory"]
    machine = machine_of(Pool(given.pool("prep"), CAT))
    assert machine is not None
    assert spec["resourceGroups"][0]["flavors"][0]["resources"][0] == {
        "name": "cpu",
        "nominalQuota": machine.quota(Nodes(10))["cpu"],
    }


def test_shuffled_queues_and_pools_make_the_same_objects():
    turned = PROD.model_copy(update={"queues": tuple(reversed(PROD.queues)), "pools": tuple(reversed(PROD.pools))})
    assert kueue.objects(turned, CAT).all() == kueue.objects(PROD, CAT).all()


@pytest.mark.parametrize("name", STACKS)
def test_every_object_passes_the_definitions_that_kueue_ships(name: str):
    for manifest in kueue.objects(stack(name), CAT).all():
        assert faults(manifest) == [], manifest["metadata"]["name"]


def test_kueue_may_send_far_more_than_its_default_of_50_requests_a_second():
    text = controllers.kueue_values(PROD)["managerConfig"]["controllerManagerConfigYaml"]
    settings = yaml.safe_load(text)
    assert settings["clientConnection"] == {"qps": 1000, "burst": 2000}
    assert settings["integrations"]["frameworks"] == ["batch/job", "jobset.x-k8s.io/jobset"]


def test_kueue_gives_lost_gangs_a_time_limit_and_lets_others_start_meanwhile():
    fixed = stack_of(
        pools="[{name: train, purpose: training, instance_type: p5.48xlarge, zone: usw2-az3, nodes: 4}]",
        queues="[{name: q, pool: train, cards: 32}]",
    )
    waiting = controllers.kueue_configuration(fixed)["waitForPodsReady"]
    assert (waiting["timeout"], waiting["recoveryTimeout"], waiting["blockAdmission"]) == ("120m", "120m", False)
    # A workload is requeued for ever: a limit would deactivate it without a word.
    assert "backoffLimitCount" not in waiting["requeuingStrategy"]


def test_kueue_never_gives_up_on_a_gang_before_its_workers_own_probe_does():
    limit = controllers.kueue_configuration(stack("dev"))["waitForPodsReady"]["timeout"]
    worker = limits.start_seconds(gate=True, collective=True, hang_timeout_seconds=None)
    assert int(limit.rstrip("m")) * 60 >= worker + limits.PULL_SECONDS


def test_a_job_whose_nodes_are_bought_for_it_has_the_time_that_they_take_to_boot():
    waiting = controllers.kueue_configuration(stack("dev"))["waitForPodsReady"]
    assert (waiting["timeout"], waiting["recoveryTimeout"]) == ("150m", "150m")


def test_webhooks_see_namespaces_of_jobs_only_so_that_no_other_chart_waits_for_them():
    selector = controllers.kueue_configuration(PROD)["managedJobsNamespaceSelector"]
    assert selector == {"matchLabels": {"trainshed.io/jobs": "true"}}
    labels = {
        each.name: namespaces.namespace(each)["metadata"]["labels"]["trainshed.io/jobs"]
        for each in namespaces.plan(PROD, CAT)
    }
    assert labels["training"] == "true"
    assert {name for name, word in labels.items() if word == "false"} == {"jobset-system", "kueue-system", "monitoring"}


def test_large_stacks_have_two_of_each_controller_and_a_budget():
    for given, count in ((PROD, 2), (stack("dev"), 1)):
        manager = controllers.kueue_values(given)["controllerManager"]
        gangs = controllers.jobset_values(given)["controller"]
        assert manager["replicas"] == gangs["replicas"] == count
        assert (
            manager["podDisruptionBudget"] == gangs["podDisruptionBudget"] == {"enabled": count == 2, "minAvailable": 1}
        )


def test_weights_share_what_is_idle_and_limits_say_how_much_of_it():
    given = stack_of(
        pools=("[{name: train, purpose: training, instance_type: p5.48xlarge, zone: usw2-az3, nodes: 4, fabric: efa}]"),
        queues=(
            "[{name: a, pool: train, cards: 16, cohort: c, weight: 3, borrow: 8},"
            " {name: b, pool: train, cards: 16, cohort: c, weight: 1, lend: 0}]"
        ),
    )
    found = kueue.objects(given, CAT).cluster_queues
    assert {name: each["spec"]["fairSharing"] for name, each in found.items()} == {
        "a": {"weight": "3"},
        "b": {"weight": "1"},
    }
    cards = {
        name: next(
            each
            for each in queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
            if each["name"] == "nvidia.com/gpu"
        )
        for name, queue in found.items()
    }
    assert cards["a"] == {"name": "nvidia.com/gpu", "nominalQuota": "16", "borrowingLimit": "8"}
    assert cards["b"] == {"name": "nvidia.com/gpu", "nominalQuota": "16", "lendingLimit": "0"}
    for manifest in found.values():
        assert faults(manifest) == []
    assert "fairSharing" in controllers.kueue_configuration(given)
    assert "fairSharing" not in controllers.kueue_configuration(PROD)


def test_a_job_without_a_queue_is_refused_where_jobs_run():
    rule, where = admission.policy(), admission.binding(controllers.JOBS)
    assert faults(rule) == faults(where) == []
    assert where["spec"]["validationActions"] == ["Deny"]
    assert {each["resources"][0] for each in rule["spec"]["matchConstraints"]["resourceRules"]} == {"jobs", "jobsets"}


def test_every_pool_whose_jobs_run_somewhere_has_a_queue():
    for name in STACKS:
        given = stack(name)
        named = {queue.pool for queue in given.queues}
        assert {pool.name for pool in given.pools if pool.purpose != "system"} <= named


def test_a_kueue_release_that_replaces_failed_nodes_is_pinned():
    major, minor, _ = CAT.charts["kueue"].version.split(".")
    assert (int(major), int(minor)) >= (0, 17)


def test_controllers_of_a_large_stack_get_memory_for_1250_node_gangs_and_small_ones_share_their_node():
    assert controllers.size(PROD).resources()["limits"] == {"memory": "4096Mi"}
    assert controllers.size(stack("dev")).resources()["limits"] == {"memory": "1024Mi"}
    assert controllers.jobset_values(PROD)["controller"]["clientConnection"] == {"qps": 1000, "burst": 2000}


def test_the_mirror_gives_controllers_their_image_where_nothing_else_is_reached():
    values = controllers.kueue_values(PROD, registry="registry.example.com/kueue")
    assert values["controllerManager"]["manager"]["image"] == {"repository": "registry.example.com/kueue"}
    assert controllers.jobset_values(PROD, registry="r/jobset")["image"] == {"repository": "r/jobset"}


def test_flavors_carry_at_most_as_many_tolerations_as_the_definition_allows():
    for name in STACKS:
        for pool in stack(name).pools:
            assert len(whole_node.tolerations(Pool(pool, CAT))) <= kueue.MAX_FLAVOR_TOLERATIONS


def test_another_topology_is_another_flavor_because_kueue_never_changes_one():
    pool = "{{name: train, purpose: training, instance_type: p5.48xlarge, zone: usw2-az3, nodes: {nodes}}}"
    queues = "[{name: q, pool: train, cards: 32}]"
    warm, cold = (stack_of(pools=f"[{pool.format(nodes=nodes)}]", queues=queues) for nodes in ("4", "{min: 1, max: 4}"))
    assert kueue.flavor_name(Pool(warm.pool("train"), CAT)) == "train-aws-3-layers"
    assert kueue.flavor_name(Pool(cold.pool("train"), CAT)) == "train"
    used = kueue.objects(warm, CAT).cluster_queues["q"]["spec"]["resourceGroups"][0]["flavors"][0]["name"]
    assert used == kueue.objects(warm, CAT).flavors["train"]["metadata"]["name"] == "train-aws-3-layers"
