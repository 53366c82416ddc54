"""Alert rules: each tried on Prometheus' own evaluator, with what must and what must not raise it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.accelerators.neuron import NEURON
from components.accelerators.nvidia import NVIDIA
from components.manifests.observability import alerts

GROUPS = alerts.groups([NVIDIA, NEURON])
NAMES = [alert.name for alert in alerts.alerts([NVIDIA, NEURON])]


def case(
    alert: str, series: dict[str, str], at: str, labels: list[dict[str, str]], summaries: list[str]
) -> dict[str, Any]:
    rules = {rule["alert"]: rule for group in GROUPS for rule in group["rules"]}
    wanted = [
        {"exp_labels": {**each, **rules[alert]["labels"]}, "exp_annotations": {"summary": summary}}
        for each, summary in zip(labels, summaries, strict=True)
    ]
    return {
        "interval": "30s",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "alert_rule_test": [{"eval_time": at, "alertname": alert, "exp_alerts": wanted}],
    }


JOB = 'namespace="training",name="llama"'
CARD = 'gpu="3",node="n1"'
LLAMA = [{"trainshed_io_task": "llama"}]
LOSS = ["The loss of llama is NaN or infinite"]
NAN = 'training_loss{trainshed_io_task="llama"}'

CASES = {
    "failed": case("TrainingJobFailed", {f'{alerts.JOBSET_STATE}{{{JOB},state="Failed"}}': "0 1 1 1"}, "90s",
                   [{"namespace": "training", "name": "llama"}], ["Job llama failed for good: its restarts are used up"]),
    "not failed": case("TrainingJobFailed", {f'{alerts.JOBSET_STATE}{{{JOB},state="Failed"}}': "0x10"}, "90s", [], []),
    "restarted": case("TrainingJobRestarted", {f"{alerts.JOBSET_RESTARTS}{{{JOB}}}": "0x10 1x20"}, "8m",
                      [{"namespace": "training", "name": "llama"}],
                      ["Job llama lost a worker and started again from its last checkpoint"]),
    "nan": case("TrainingLossNotFinite", {NAN: "2 NaN"}, "30s", LLAMA, LOSS),
    "infinite": case("TrainingLossNotFinite", {NAN: "2 +Inf"}, "30s", LLAMA, LOSS),
    "finite": case("TrainingLossNotFinite", {NAN: "2 1.9"}, "30s", [], []),
    "collapsed": case("TrainingThroughputCollapsed",
                      {'training_tokens_per_second{namespace="training",trainshed_io_task="llama"}': "100x240 20x60"}, "135m",
                      [{"namespace": "training", "trainshed_io_task": "llama"}],
                      ["llama runs at less than half of its own speed of the last hours"]),
    "steady": case("TrainingThroughputCollapsed",
                   {'training_tokens_per_second{namespace="training",trainshed_io_task="llama"}': "100x240 90x60"}, "135m", [], []),
    "node lost": case("NodeLost", {'kube_node_status_condition{node="n1",condition="Ready",status="unknown"}': "1x20"}, "3m",
                      [{"node": "n1"}], ["Node n1 is not ready"]),
    "node well": case("NodeLost", {'kube_node_status_condition{node="n1",condition="Ready",status="unknown"}': "0x20",
                                   'kube_node_status_condition{node="n1",condition="Ready",status="true"}': "1x20"}, "3m", [], []),
    "xid 79": case("CardFault", {f"DCGM_FI_DEV_XID_ERRORS{{{CARD}}}": "0 79"}, "30s", [{"gpu": "3", "node": "n1"}],
                   ["Card 3 of node n1 reports fault 79: replace or reboot the node"]),
    "xid 13 is the program's": case("CardFault", {f"DCGM_FI_DEV_XID_ERRORS{{{CARD}}}": "0 13"}, "30s", [], []),
    "double-bit errors": case("CardMemoryErrors", {f"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{{{CARD}}}": "0x10 1x10"}, "8m",
                              [{"gpu": "3", "node": "n1"}], ["Memory of card 3 of node n1 has uncorrectable errors"]),
    "no card metrics": case("CardTelemetryAbsent", {'kube_node_status_capacity{node="n1",resource="nvidia_com_gpu"}': "8x40"}, "12m",
                            [{"node": "n1"}], ["No card metrics come from node n1"]),
    "card metrics": case("CardTelemetryAbsent", {'kube_node_status_capacity{node="n1",resource="nvidia_com_gpu"}': "8x40",
                                                 'up{job="monitoring/dcgm-exporter",node="n1"}': "1x40"}, "12m", [], []),
    "efa times out": case("EfaRetransmitTimeouts", {f'{alerts.EFA_TIMEOUTS}{{node="n1",device="rdmap0"}}': "0x5 3x10"}, "6m",
                          [{"node": "n1"}], ["EFA of node n1 waits in vain for answers"]),
}  # fmt: skip


@pytest.mark.promtool
@pytest.mark.parametrize("name", CASES)
def test_alert(name: str, tmp_path: Path):
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": GROUPS}))
    document = {"rule_files": ["rules.yaml"], "evaluation_interval": "30s", "tests": [CASES[name]]}
    (tmp_path / "test.yaml").write_text(yaml.safe_dump(document))
    result = subprocess.run(
        ["promtool", "test", "rules", "test.yaml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.promtool
def test_every_rule_is_one_that_prometheus_reads(tmp_path: Path):
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": GROUPS}))
    result = subprocess.run(
        ["promtool", "check", "rules", "rules.yaml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_alert_wakes_somebody_or_waits_and_says_what_happened():
    for group in GROUPS:
        for rule in group["rules"]:
            assert rule["labels"]["severity"] in ("page", "ticket")
            assert rule["annotations"]["summary"]


def test_hard_faults_are_exactly_the_codes_that_ask_for_another_node_or_a_reboot():
    expression = next(rule["expr"] for group in GROUPS for rule in group["rules"] if rule["alert"] == "CardFault")
    codes = [part.rpartition(" ")[2] for part in expression.split(" or ")]
    assert codes == sorted((code.code for code in NVIDIA.health_codes if code.action in ("replace", "reboot")), key=int)


def test_a_family_without_an_exporter_brings_no_card_alerts():
    assert not [alert for alert in alerts.alerts([NEURON]) if alert.name.startswith("Card")]
    assert {"TrainingJobFailed", "NodeLost", "EfaRetransmits", "CardFault"} <= set(NAMES)
