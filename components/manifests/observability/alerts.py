"""Alert rules, as data: what must wake somebody.

Rules on card faults come from the accelerator's own health codes, so a new family brings its alerts along.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from components.accelerators import Accelerator

JOBSET_STATE: Final = "trainshed_jobset_terminal"
JOBSET_RESTARTS: Final = "trainshed_jobset_restarts"
EFA_RETRANSMITS: Final = "trainshed_efa_retrans_pkts_total"
EFA_TIMEOUTS: Final = "trainshed_efa_retrans_timeout_events_total"
RULES_NAME: Final = "trainshed"


@dataclass(frozen=True, kw_only=True)
class Alert:
    """One rule. `lasting` is how long the condition must hold; `page` wakes somebody, `ticket` waits for the
    morning.
    """

    name: str
    expression: str
    lasting: str
    severity: Literal["page", "ticket"]
    summary: str


def _jobs() -> list[Alert]:
    return [
        Alert(
            name="TrainingJobFailed",
            expression=f'max by (namespace, name) ({JOBSET_STATE}{{state="Failed"}}) == 1',
            lasting="0m",
            severity="page",
            summary="Job {{ $labels.name }} failed for good: its restarts are used up",
        ),
        Alert(
            name="TrainingJobRestarted",
            expression=f"max by (namespace, name) (delta({JOBSET_RESTARTS}[15m])) > 0",
            lasting="0m",
            severity="ticket",
            summary="Job {{ $labels.name }} lost a worker and started again from its last checkpoint",
        ),
        Alert(
            name="TrainingLossNotFinite",
            # NaN is unlike itself.
            expression="(training_loss != training_loss) or (abs(training_loss) == Inf)",
            lasting="0m",
            severity="page",
            summary="The loss of {{ $labels.trainshed_io_task }} is NaN or infinite",
        ),
        Alert(
            name="TrainingThroughputCollapsed",
            expression=(
                "avg by (namespace, trainshed_io_task) (training_tokens_per_second) < 0.5 * avg by (namespace,"
                " trainshed_io_task) (avg_over_time(training_tokens_per_second[2h] offset 10m))"
            ),
            lasting="10m",
            severity="page",
            summary="{{ $labels.trainshed_io_task }} runs at less than half of its own speed of the last hours",
        ),
    ]


def _nodes() -> list[Alert]:
    return [
        Alert(
            name="NodeLost",
            expression='max by (node) (kube_node_status_condition{condition="Ready",status=~"false|unknown"}) == 1',
            lasting="2m",
            severity="page",
            summary="Node {{ $labels.node }} is not ready",
        ),
        Alert(
            name="ContainerOutOfMemory",
            expression=(
                "max by (namespace, pod, container)"
                ' (kube_pod_container_status_last_terminated_reason{reason="OOMKilled"}) == 1 and on (namespace, pod,'
                " container) increase(kube_pod_container_status_restarts_total[10m]) > 0 or max by (namespace, pod,"
                ' container) (kube_pod_container_status_terminated_reason{reason="OOMKilled"}) == 1'
            ),
            lasting="0m",
            severity="page",
            summary="{{ $labels.container }} of {{ $labels.pod }} ran out of memory",
        ),
    ]


def _fabric() -> list[Alert]:
    return [
        Alert(
            name="EfaRetransmits",
            expression=f"sum by (node) (rate({EFA_RETRANSMITS}[5m])) > 100",
            lasting="10m",
            severity="ticket",
            summary="Node {{ $labels.node }} sends {{ $value | humanize }} packets a second again over EFA",
        ),
        Alert(
            name="EfaRetransmitTimeouts",
            expression=f"sum by (node) (increase({EFA_TIMEOUTS}[10m])) > 0",
            lasting="0m",
            severity="page",
            summary="EFA of node {{ $labels.node }} waits in vain for answers",
        ),
    ]


def _faults(family: Accelerator) -> list[Alert]:
    """The codes on which a node is replaced or rebooted, in one rule."""
    hard = sorted(
        (code for code in family.health_codes if code.action in ("replace", "reboot")), key=lambda code: int(code.code)
    )
    if family.telemetry is None or not hard:
        return []
    # The gauge holds the last code: a fault shows until the exporter starts again.
    return [
        Alert(
            name="CardFault",
            expression=" or ".join(f"{family.telemetry.fault_metric} == {code.code}" for code in hard),
            lasting="0m",
            severity="page",
            summary=(
                "Card {{ $labels.gpu }} of node {{ $labels.node }} reports fault {{ $value }}: replace or reboot the"
                " node"
            ),
        )
    ]


def _cards(families: Sequence[Accelerator]) -> list[Alert]:
    found: list[Alert] = []
    for family in families:
        if family.telemetry is None:
            continue
        found += _faults(family)
        for metric in family.telemetry.memory_error_metrics:
            found.append(
                Alert(
                    name="CardMemoryErrors",
                    expression=f"sum by (node, gpu) (increase({metric}[15m])) > 0",
                    lasting="0m",
                    severity="page",
                    summary="Memory of card {{ $labels.gpu }} of node {{ $labels.node }} has uncorrectable errors",
                )
            )
        for metric in family.telemetry.link_error_metrics:
            found.append(
                Alert(
                    name="CardLinkErrors",
                    expression=f"sum by (node, gpu) (increase({metric}[15m])) > 100",
                    lasting="5m",
                    severity="ticket",
                    summary=(
                        "Links of card {{ $labels.gpu }} of node {{ $labels.node }} report {{ $value | humanize }}"
                        " errors in 15 min"
                    ),
                )
            )
        resource = family.resource_name.replace(".", "_").replace("/", "_")
        exporter = family.telemetry.name
        found.append(
            Alert(
                name="CardTelemetryAbsent",
                expression=(
                    f'(max by (node) (kube_node_status_capacity{{resource="{resource}"}}) > 0)'
                    f' unless on (node) (max by (node) (up{{job="monitoring/{exporter}"}}) == 1)'
                ),
                lasting="10m",
                severity="ticket",
                summary="No card metrics come from node {{ $labels.node }}",
            )
        )
    return found


def alerts(families: Sequence[Accelerator]) -> list[Alert]:
    """All rules for a stack with these families."""
    return [*_jobs(), *_nodes(), *_cards(families), *_fabric()]


def groups(families: Sequence[Accelerator]) -> list[dict[str, Any]]:
    """Prometheus' rule groups."""
    parts = {"jobs": _jobs(), "nodes": _nodes(), "cards": _cards(families), "fabric": _fabric()}
    return [
        {"name": f"{RULES_NAME}-{name}", "rules": [_rule(alert) for alert in found]}
        for name, found in parts.items()
        if found
    ]


def _rule(alert: Alert) -> dict[str, Any]:
    rule: dict[str, Any] = {"alert": alert.name, "expr": alert.expression}
    if alert.lasting != "0m":
        rule["for"] = alert.lasting
    return rule | {"labels": {"severity": alert.severity}, "annotations": {"summary": alert.summary}}


def prometheus_rule(families: Sequence[Accelerator], namespace: str) -> dict[str, Any]:
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": RULES_NAME, "namespace": namespace},
        "spec": {"groups": groups(families)},
    }
