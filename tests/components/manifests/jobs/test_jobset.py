"""A task's objects: gang, ranks, resources, recovery, placement and isolation."""

from __future__ import annotations

import base64
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.catalog.contract import EXIT_CODES
from components.catalog.contract.table import ExitCode
from components.manifests.jobs import environment, jobset
from components.manifests.nodes.whole_node import machine_of
from components.manifests.storage import volumes
from components.planning.pool import Pool
from components.spec.task import read_task_text
from tests.components.manifests.schemas import faults
from tests.given import CAT, ROOT, SMALL_TASK, TASKS, stack, stack_of, task, task_of

PROD = stack("prod")
EFA_POOL = "[{name: train, purpose: training, instance_type: p5.48xlarge, zone: usw2-az3, nodes: 4, fabric: efa}]"
EFA = stack_of(pools=EFA_POOL, queues="[{name: train, pool: train, cards: 32}]")


def rendered(name: str = "llama-405b") -> list[dict[str, Any]]:
    return jobset.render(task(name), PROD, CAT)


def job(manifests: list[dict[str, Any]]) -> dict[str, Any]:
    return manifests[-1]["spec"]["replicatedJobs"][0]["template"]["spec"]


def pod(manifests: list[dict[str, Any]]) -> dict[str, Any]:
    return job(manifests)["template"]["spec"]


def words(manifests: list[dict[str, Any]]) -> dict[str, str]:
    return {each["name"]: each["value"] for each in pod(manifests)["containers"][0]["env"] if "value" in each}


def small(**changes: Any) -> list[dict[str, Any]]:
    text = SMALL_TASK + "".join(f"{key}: {value}\n" for key, value in changes.items())
    return jobset.render(task_of(text), EFA, CAT)


@pytest.mark.parametrize("name", TASKS)
def test_every_task_of_the_project_renders_objects_that_an_api_server_takes(name: str):
    for manifest in rendered(name):
        assert faults(manifest) == []


@pytest.mark.parametrize("name", TASKS)
def test_the_pod_inside_the_jobset_is_a_pod_that_an_api_server_takes(name: str):
    inner = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "worker"}, "spec": pod(rendered(name))}
    assert faults(inner) == []


def test_a_pretraining_on_1232_nodes_has_1232_workers_and_9856_processes():
    found = job(rendered())
    assert (found["completions"], found["parallelism"], found["completionMode"]) == (1232, 1232, "Indexed")
    env = words(rendered())
    assert (env["NNODES"], env["NPROC_PER_NODE"], env["WORLD_SIZE"]) == ("1232", "8", "9856")


def test_the_rank_comes_from_the_index_and_the_master_is_the_first_worker_by_its_host_name():
    fields = {
        each["name"]: each["valueFrom"]["fieldRef"]["fieldPath"]
        for each in pod(rendered())["containers"][0]["env"]
        if "valueFrom" in each
    }
    assert fields["NODE_RANK"] == "metadata.labels['batch.kubernetes.io/job-completion-index']"
    assert fields["NODE_NAME"] == "spec.nodeName"
    env = words(rendered())
    assert (env["MASTER_ADDR"], env["MASTER_PORT"]) == ("llama-405b-workers-0-0.llama-405b", "29500")


def test_the_first_worker_alone_has_a_name_which_resolves_before_it_is_ready():
    """A list of every worker's address would be written anew with each pod of a large gang."""
    assert rendered()[-1]["spec"]["network"] == {"enableDNSHostnames": False}
    service = next(each for each in rendered() if each["kind"] == "Service")
    assert service["spec"] == {
        "clusterIP": "None",
        "selector": {"jobset.sigs.k8s.io/jobset-name": "llama-405b", "batch.kubernetes.io/job-completion-index": "0"},
        "publishNotReadyAddresses": True,
    }
    host, subdomain = words(rendered())["MASTER_ADDR"].split(".")
    assert service["metadata"]["name"] == subdomain == pod(rendered())["subdomain"]
    # An indexed job names its pods' hosts after itself and the index; JobSet names the job after itself, its part and
    # the replica.
    assert host == "llama-405b-workers-0" + "-0"


def test_the_master_address_stands_before_every_variable_that_refers_to_it():
    given = stack_of(
        pools="[{name: train, purpose: training, instance_type: trn2.48xlarge, zone: use2-az3, nodes: 2}]",
        queues="[{name: train, pool: train, cards: 32}]",
    )
    found = pod(jobset.render(task_of(SMALL_TASK), given, CAT))["containers"][0]["env"]
    names = [each["name"] for each in found]
    root = next(each for each in found if each["name"] == "NEURON_RT_ROOT_COMM_ID")
    assert root["value"] == "$(MASTER_ADDR):62182"
    assert names.index("MASTER_ADDR") < names.index("NEURON_RT_ROOT_COMM_ID")


def test_a_worker_owns_the_whole_node_with_all_cards_and_fabric_devices():
    resources = pod(rendered())["containers"][0]["resources"]
    assert resources["requests"] == {
        "cpu": "189",
        "memory": "1951Gi",
        "nvidia.com/gpu": "8",
        "vpc.amazonaws.com/efa": "32",
    }
    assert resources["limits"] == resources["requests"]


def test_the_memory_asked_for_is_less_than_what_a_p5_node_can_give():
    # A p5.48xlarge shows 2,113,409,756 KiB; huge pages, the kubelet's and the system's share go off (EKS' own
    # arithmetic).
    allocatable_mib = 2113409756 // 1024 - 5128 * 2 - (255 + 11 * 32) - 100 - 16384
    machine = machine_of(Pool(PROD.pool("pretrain"), CAT))
    assert machine is not None
    assert 0.95 < machine.memory_mib / allocatable_mib < 0.985


def test_no_pool_of_the_catalog_asks_for_more_than_its_advertised_memory_less_three_percent():
    for instance in CAT.instances.values():
        if instance.memory_gib < 64:
            continue
        given = stack_of(
            pools=f"[{{name: train, purpose: training, instance_type: {instance.name}, zone: usw2-az3, nodes: 1}}]"
        )
        machine = machine_of(Pool(given.pool("train"), CAT))
        assert machine is not None
        assert 0.6 * instance.memory_gib * 1024 < machine.memory_mib < 0.97 * instance.memory_gib * 1024, instance.name
        assert machine.millicpu < instance.vcpu * 1000


def test_shared_memory_is_a_part_of_the_memory_and_far_above_the_runtimes_64_mib():
    found = pod(rendered())
    shared = next(each for each in found["volumes"] if each["name"] == "shared-memory")
    assert shared["emptyDir"] == {"medium": "Memory", "sizeLimit": "64Gi"}
    assert {"name": "shared-memory", "mountPath": "/dev/shm"} in found["containers"][0]["volumeMounts"]
    machine = machine_of(Pool(PROD.pool("pretrain"), CAT))
    assert machine is not None
    assert volumes.shared_memory_mib(machine) < machine.memory_mib


def test_shared_memory_never_takes_more_than_a_quarter_of_a_small_node():
    given = stack_of(pools="[{name: train, purpose: finetuning, instance_type: g6.8xlarge, zone: usw2-az3, nodes: 1}]")
    machine = machine_of(Pool(given.pool("train"), CAT))
    assert machine is not None
    assert volumes.shared_memory_mib(machine) == 8 * 1024 <= machine.memory_mib // 4


def test_datasets_are_read_only_and_checkpoints_can_be_written():
    found = pod(rendered())
    by_name = {each["name"]: each for each in found["containers"][0]["volumeMounts"]}
    assert by_name["datasets"] == {"name": "datasets", "mountPath": "/datasets", "readOnly": True}
    assert by_name["checkpoints"] == {"name": "checkpoints", "mountPath": "/checkpoints"}
    claims = {
        each["name"]: each["persistentVolumeClaim"] for each in found["volumes"] if "persistentVolumeClaim" in each
    }
    assert claims["datasets"] == {"claimName": "datasets", "readOnly": True}
    assert claims["checkpoints"] == {"claimName": "checkpoints"}


def test_no_job_mounts_a_folder_of_the_host():
    for name in TASKS:
        assert not [each for each in pod(rendered(name))["volumes"] if "hostPath" in each]


def test_efa_jobs_name_their_network_plugin_so_that_nothing_falls_back_to_tcp():
    env = words(rendered())
    assert env["NCCL_NET"] == "AWS Libfabric"
    assert env["NCCL_SOCKET_IFNAME"] == "eth0"
    assert {"NCCL_PROTO", "NCCL_ALGO", "FI_PROVIDER"}.isdisjoint(env)


def test_the_users_own_environment_wins():
    env = words(small(environment="{NCCL_SOCKET_IFNAME: '^lo,docker,veth,pod-id-link', NCCL_DEBUG: INFO}"))
    assert (env["NCCL_SOCKET_IFNAME"], env["NCCL_DEBUG"]) == ("^lo,docker,veth,pod-id-link", "INFO")


def test_the_pod_itself_tolerates_the_pools_taints_and_leaves_a_lost_node_within_a_minute():
    assert pod(rendered())["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Equal", "value": "present", "effect": "NoSchedule"},
        {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60},
        {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60},
    ]
    assert pod(rendered())["nodeSelector"] == {"trainshed.io/pool": "pretrain"}


def test_the_first_lost_worker_restarts_the_gang_as_often_as_the_task_allows():
    assert job(rendered())["backoffLimit"] == 0
    assert pod(rendered())["restartPolicy"] == "Never"
    policy = rendered()[-1]["spec"]["failurePolicy"]
    assert (policy["maxRestarts"], policy["restartStrategy"]) == (20, "Recreate")


def message(exit_code: int, container: str = "worker") -> str | None:
    """What Kubernetes writes into a job whose pod ended so; None where no rule of its policy matches."""
    for index, rule in enumerate(job(rendered())["podFailurePolicy"]["rules"]):
        codes = rule.get("onExitCodes")
        if codes and codes["containerName"] == container and exit_code in codes["values"]:
            how = f"failed with exit code {exit_code} matching FailJob rule at index {index}"
            return f"Container {container} for pod a/b {how}"
    return None


def answer(said: str | None) -> str:
    """What JobSet does about it: its first rule that matches, else a counted restart."""
    for rule in rendered()[-1]["spec"]["failurePolicy"]["rules"]:
        if said and any(re.search(pattern, said) for pattern in rule["onJobFailureMessagePatterns"]):
            return rule["action"]
    return "RestartJobSet"


@pytest.mark.parametrize("code", [each for each in EXIT_CODES if each.verdict != "succeed"], ids=lambda each: each.name)
def test_every_exit_code_of_the_contract_has_the_answer_that_it_promises(code: ExitCode):
    wanted = {"end": "FailJobSet", "disruption": "RestartJobSetAndIgnoreMaxRestarts", "restart": "RestartJobSet"}
    assert answer(message(code.code)) == wanted[code.verdict]


def test_what_the_gate_finds_restarts_the_gang_without_being_counted():
    assert answer(message(12, "preflight")) == "RestartJobSetAndIgnoreMaxRestarts"
    disrupted = "Pod a/b has condition DisruptionTarget matching FailJob rule at index 1"
    assert answer(disrupted) == "RestartJobSetAndIgnoreMaxRestarts"


def test_workers_run_under_the_launcher_and_bring_its_programs_themselves():
    [worker] = pod(rendered())["containers"]
    archive = "/opt/trainshed/programs.zip"
    assert worker["command"] == [
        *("python3", archive, "workload.launch", "--"),
        *("python3", "-m", "workload.trainer.train"),
    ]
    [programs] = [each for each in rendered() if each["metadata"]["name"] == "llama-405b-programs"]
    assert programs["immutable"] is True
    mounted = [each for each in pod(rendered())["volumes"] if each["name"] == "programs"]
    assert mounted == [{"name": "programs", "configMap": {"name": "llama-405b-programs"}}]


def test_the_archive_runs_a_program_in_a_bare_python(tmp_path: Path):
    [programs] = [each for each in rendered() if each["metadata"]["name"] == "llama-405b-programs"]
    archive = tmp_path / "programs.zip"
    archive.write_bytes(base64.b64decode(programs["binaryData"]["programs.zip"]))
    show = "import os, workload.launch; print(os.environ['RANK'], os.environ['WORLD_SIZE'], workload.launch.__file__)"
    bare = {"PATH": os.environ["PATH"], "NPROC_PER_NODE": "2", "HEARTBEAT_FOLDER": str(tmp_path / "beats")}
    words = [sys.executable, "-I", str(archive), "workload.launch", "--", sys.executable, "-c", show]
    done = subprocess.run(words, env=bare, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = sorted(line for line in done.stdout.splitlines() if "programs.zip" in line)
    assert [re.findall(r"\b\d+ 2\b", line) for line in lines] == [["0 2"], ["1 2"]]


def test_no_node_is_taken_from_under_a_worker_to_save_money():
    annotations = job(rendered())["template"]["metadata"]["annotations"]
    assert annotations["karpenter.sh/do-not-disrupt"] == "true"


def test_preprocessing_workers_do_without_each_other():
    found = rendered("preprocess-corpus")
    assert job(found)["backoffLimitPerIndex"] == 100
    assert "backoffLimit" not in job(found)
    assert job(found)["podFailurePolicy"]["rules"][0]["action"] == "Ignore"
    [worker] = pod(found)["containers"]
    assert worker["command"][:3] == ["python3", "/opt/trainshed/programs.zip", "workload.data.preprocess.tokenize"]
    assert words(found)["PREPROCESS_WORKERS"] == "20"


def test_every_example_names_a_program_that_exists():
    for name in TASKS:
        module = next(word for word in task(name).command if word.startswith("workload.") and word != "workload.launch")
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), module


def test_a_task_without_automatic_restart_fails_on_its_first_lost_worker():
    assert small()[-1]["spec"]["failurePolicy"]["maxRestarts"] == 0


def test_workers_get_time_to_write_a_checkpoint_when_they_are_told_to_stop():
    assert pod(rendered())["terminationGracePeriodSeconds"] == 300
    assert pod(rendered("preprocess-corpus"))["terminationGracePeriodSeconds"] == 90


def test_the_job_waits_in_its_queue_with_its_priority():
    assert rendered()[-1]["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "pretrain"
    assert rendered()[-1]["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] == "trainshed-normal"
    assert rendered("finetune-8b")[-1]["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "research"


def test_nodes_are_wanted_in_one_leaf_first_then_in_one_spine():
    found = job(rendered())["template"]["metadata"]["annotations"]
    assert found["kueue.x-k8s.io/podset-preferred-topology"] == "topology.k8s.aws/network-node-layer-3"


def test_a_task_may_require_one_spine():
    text = SMALL_TASK.replace("{pool: train, nodes: 2}", "{pool: train, nodes: 2, placement: required, within: spine}")
    found = job(jobset.render(task_of(text), EFA, CAT))["template"]["metadata"]["annotations"]
    assert found["kueue.x-k8s.io/podset-required-topology"] == "topology.k8s.aws/network-node-layer-2"


def test_a_job_whose_nodes_are_bought_for_it_names_no_topology_that_its_flavor_lacks():
    bought = stack_of(
        pools=(
            "[{name: train, purpose: training, instance_type: p5.48xlarge, zone: usw2-az3, nodes: {min: 1, max: 4},"
            " fabric: efa}]"
        ),
        queues="[{name: train, pool: train, cards: 32}]",
    )
    found = job(jobset.render(task_of(SMALL_TASK), bought, CAT))["template"]["metadata"]["annotations"]
    assert not [key for key in found if key.startswith("kueue.x-k8s.io/podset")]


def test_a_job_in_a_block_is_placed_by_topology_since_the_blocks_nodes_are_all_there():
    found = job(rendered("finetune-8b"))["template"]["metadata"]["annotations"]
    assert [key for key in found if key.startswith("kueue.x-k8s.io/podset")]


def test_workers_run_without_root_capabilities_or_tokens():
    found = pod(rendered())
    assert found["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 10001,
        "runAsGroup": 10001,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    for container in [*found["containers"], *found["initContainers"]]:
        assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    assert found["automountServiceAccountToken"] is False
    assert found["serviceAccountName"] == "queue-pretrain", "the jobs of a queue share its identity"


def test_pods_on_roce_have_an_address_on_each_devices_network():
    hosts = "{accelerator: h100, cards: 8, vcpu: 192, memory_gib: 2048, rdma_devices: 2, networks: [net/a, net/b]}"
    given = stack_of(
        pools=f"[{{name: train, purpose: training, hosts: {hosts}, nodes: 4, fabric: roce}}]",
        queues="[{name: train, pool: train, cards: 32}]",
    )
    found = job(jobset.render(task_of(SMALL_TASK), given, CAT))["template"]["metadata"]["annotations"]
    assert found["k8s.v1.cni.cncf.io/networks"] == "net/a, net/b"
    assert rendered()[0]["metadata"]["name"] == "llama-405b"


def test_the_runs_identity_stands_on_every_object_and_pod():
    digest = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
    for manifest in rendered():
        found = manifest["metadata"]["annotations"]
        assert found["trainshed.io/image-digest"] == digest
        assert found["trainshed.io/code-version"] == "git:3f2a91c"
        assert found["trainshed.io/data-version"] == "corpus-2026-11"
    assert job(rendered())["template"]["metadata"]["annotations"]["trainshed.io/image-digest"] == digest


def test_the_task_and_its_model_stand_under_etc_task_and_read_back_as_the_same_task():
    data = rendered()[1]["data"]
    assert yaml.safe_load(data["model.yaml"])["layers"] == 126
    again = read_task_text(data["task.yaml"], "task.yaml")
    assert again.problems == ()
    assert again.task == task("llama-405b")


def test_the_gate_sees_what_the_worker_sees_and_tests_the_whole_gang():
    found = pod(rendered())
    gate, worker = found["initContainers"][0], found["containers"][0]
    assert gate["command"] == [
        "python3", "/opt/trainshed/programs.zip", "workload.preflight.gate", "--shm-gib", "63.36", "--memlock",
        "--devices", "8", "--device-kind", "nvidia", "--mount", "/datasets:ro", "--mount", "/checkpoints:rw",
        "--gang", "--join-limit", "900", "--limit", "1800", "--fabric", "efa", "--instance-type", "p5.48xlarge",
        "--wire-gbps", "3200", "--baselines", "/checkpoints/.baselines",
    ]  # fmt: skip
    assert (gate["resources"], gate["env"], gate["image"]) == (worker["resources"], worker["env"], worker["image"])
    assert gate["volumeMounts"] == worker["volumeMounts"]


def test_the_gate_program_knows_every_option_it_is_given():
    gate = pod(rendered())["initContainers"][0]
    done = subprocess.run(
        [sys.executable, str(ROOT / "workload/preflight/gate.py"), "--help"], capture_output=True, text=True, check=True
    )
    known = set(re.findall(r"--[a-z-]+", done.stdout))
    assert {word for word in gate["command"] if word.startswith("--")} <= known


def test_a_task_without_preflight_has_no_gate():
    assert "initContainers" not in pod(small())


def test_a_silent_worker_is_ended_and_a_slow_start_is_not():
    worker = pod(rendered())["containers"][0]
    ranks = "--world-size 8 --first-rank $((NODE_RANK * 8))"
    program = "python3 /opt/trainshed/programs.zip workload.heartbeat"
    # Twice the timeout: the launcher sees a hang first, and names the rank.
    look = f"exec {program} check /run/trainshed/heartbeat {ranks} --hang-timeout 1200"
    assert worker["livenessProbe"]["exec"]["command"] == ["sh", "-c", look]
    assert worker["startupProbe"]["exec"]["command"] == ["sh", "-c", f"exec {program} started /run/trainshed/heartbeat"]
    assert worker["startupProbe"]["periodSeconds"] * worker["startupProbe"]["failureThreshold"] == 3600


def test_a_task_without_a_hang_timeout_is_never_ended_for_silence():
    worker = pod(small())["containers"][0]
    assert {"livenessProbe", "startupProbe"}.isdisjoint(worker)


def test_a_task_on_cpu_nodes_asks_for_no_cards_and_runs_one_process_a_node():
    found = rendered("preprocess-corpus")
    assert sorted(pod(found)["containers"][0]["resources"]["requests"]) == ["cpu", "memory"]
    assert words(found)["WORLD_SIZE"] == "20"
    assert not [name for name in words(found) if name.startswith("NCCL")]
    assert found[-1]["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "preprocess"


def test_a_pool_of_several_types_gives_workers_what_the_least_of_them_has():
    machine = machine_of(Pool(PROD.pool("preprocess"), CAT))
    assert machine is not None
    assert machine.millicpu == 29500


def test_infiniband_jobs_ask_for_the_racks_own_devices():
    text = SMALL_TASK.replace("pool: train", "pool: rack")
    found = jobset.render(task_of(text), stack("onprem"), CAT)
    assert pod(found)["containers"][0]["resources"]["requests"]["rdma/hca_shared_devices_a"] == "8"
    assert pod(found)["nodeSelector"] == {"node.example.com/rack": "a"}
    assert words(found)["NCCL_NET"] == "IB"


def test_an_unknown_pool_is_refused_by_name():
    text = SMALL_TASK.replace("pool: train", "pool: other")
    with pytest.raises(jobset.NoSuchPool, match=r'^the stack has no pool "other" with known machines$'):
        jobset.render(task_of(text), EFA, CAT)


def test_the_longest_task_name_still_makes_host_names_that_dns_takes():
    name = "a" * 32
    text = SMALL_TASK.replace("task: small", f"task: {name}")
    host = environment.master_address(task_of(text)).partition(".")[0]
    assert len(host.replace("-0-0", "-0-1231")) <= 63
