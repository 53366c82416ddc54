"""Values of the monitoring stack's chart: sizes, retention, receivers, and what it can't see on EKS.

Prometheus is sized from nodes and days of retention. The words of `alerts_to` become Alertmanager's receivers.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Any, Final

from components import node_labels
from components.manifests import quantities
from components.manifests.observability import alerts
from components.planning.images import MONITORING
from components.spec.base import SEALED
from components.spec.form import SelfHosted
from components.spec.operations import topic_region
from components.spec.stack import StackSpec

RELEASE: Final = "kube-prometheus-stack"
ALERTMANAGER_ACCOUNT: Final = f"{RELEASE}-alertmanager"
LOGS_RELEASE: Final = "aws-for-fluent-bit"
STORAGE_CLASS: Final = "trainshed-metrics"
# Series that one node brings (its own, its kubelet's, eight cards', 32 fabric devices'), samples a day at one each 30
# s, and bytes a sample on disk (Prometheus' documentation: 1 to 2).
_SERIES_PER_NODE: Final = 1500
_SAMPLES_PER_DAY: Final = 2880
_BYTES_PER_SAMPLE: Final = 1.7
_BYTES_OF_MEMORY_PER_SERIES: Final = 4096


def _nodes(stack: StackSpec) -> int:
    return sum(pool.max_nodes for pool in stack.pools) + 3


def disk_gib(stack: StackSpec) -> int:
    """Disk of Prometheus for all nodes at their most over the days of retention, with a third more for the write-ahead
    log.
    """
    size = _nodes(stack) * _SERIES_PER_NODE * _SAMPLES_PER_DAY * stack.observability.metrics_days * _BYTES_PER_SAMPLE
    return max(20, math.ceil(size * 4 / 3 / 2**30 / 10) * 10)


def memory_mib(stack: StackSpec) -> int:
    """Memory of Prometheus: the series of the head block, twice for queries, and a GiB of its own."""
    return 1024 + int(2 * _nodes(stack) * _SERIES_PER_NODE * _BYTES_OF_MEMORY_PER_SERIES / 2**20)


def topic_subscriptions(stack: StackSpec) -> dict[str, tuple[str, str]]:
    """SNS protocol and endpoint by a stable key, of the addresses and URLs that get alerts.

    A webhook's URL is its password, so that its key is a digest, which tells nothing; what is encrypted in the file is
    such a URL.
    """
    found: dict[str, tuple[str, str]] = {}
    for target in stack.observability.alerts_to:
        if target.startswith("mailto:"):
            found[target.removeprefix("mailto:")] = ("email", target.removeprefix("mailto:"))
        elif target.startswith("https://") or target == SEALED:
            found[f"webhook-{hashlib.sha256(target.encode()).hexdigest()[:8]}"] = ("https", target)
    return found


def topics(stack: StackSpec, region: str | None = None) -> list[str]:
    """ARNs of topics that exist already, all of them or those of one region."""
    named = [target for target in stack.observability.alerts_to if target.startswith("arn:")]
    return [arn for arn in named if region in (None, topic_region(arn))]


def alertmanager(stack: StackSpec, own_topic: Any | None) -> dict[str, Any]:
    """Alertmanager's configuration. Receivers are topics on AWS, and webhooks elsewhere: mail needs a relay that nobody
    named.
    """
    arns = [
        *([(own_topic, stack.region)] if own_topic is not None else []),
        *((arn, topic_region(arn)) for arn in topics(stack)),
    ]
    receiver: dict[str, Any] = {"name": "people"}
    if arns:
        subject = (
            '{{ .CommonLabels.alertname }} {{ .Status }} in {{ .CommonLabels.severity }} of "' + stack.environment + '"'
        )
        receiver["sns_configs"] = [
            {"topic_arn": arn, "sigv4": {"region": region}, "subject": subject, "send_resolved": True}
            for arn, region in arns
        ]
    if isinstance(stack.form, SelfHosted):
        urls = [target for target in stack.observability.alerts_to if target.startswith("https://")]
        if urls:
            receiver["webhook_configs"] = [{"url": url, "send_resolved": True} for url in urls]
    return {
        "route": {
            "receiver": "people",
            "group_by": ["alertname", "namespace"],
            "group_wait": "30s",
            "group_interval": "5m",
            "repeat_interval": "4h",
            # The chart's own dead man's switch fires always, by design, and is not for people.
            "routes": [{"receiver": "nobody", "matchers": ['alertname = "Watchdog"']}],
        },
        "receivers": [receiver, {"name": "nobody"}],
    }


def _state_metrics() -> dict[str, Any]:
    """JobSets' end and restarts, which kube-state-metrics reads from their status."""
    where = {"name": ["metadata", "name"], "namespace": ["metadata", "namespace"]}
    prefix = "trainshed_jobset"
    metrics = [
        {
            "name": alerts.JOBSET_STATE.removeprefix(f"{prefix}_"),
            "help": "Whether a JobSet ended, and how",
            "each": {
                "type": "StateSet",
                "stateSet": {
                    "labelName": "state",
                    "path": ["status", "terminalState"],
                    "list": ["Completed", "Failed"],
                },
            },
        },
        {
            "name": alerts.JOBSET_RESTARTS.removeprefix(f"{prefix}_"),
            "help": "How often a JobSet started anew",
            "each": {"type": "Gauge", "gauge": {"path": ["status", "restarts"], "nilIsZero": True}},
        },
    ]
    resource = {
        "groupVersionKind": {"group": "jobset.x-k8s.io", "version": "v1alpha2", "kind": "JobSet"},
        "metricNamePrefix": prefix,
        "labelsFromPath": where,
        "metrics": metrics,
    }
    return {
        "customResourceState": {
            "enabled": True,
            "config": {"kind": "CustomResourceStateMetrics", "spec": {"resources": [resource]}},
        },
        "rbac": {
            "extraRules": [{"apiGroups": ["jobset.x-k8s.io"], "resources": ["jobsets"], "verbs": ["list", "watch"]}]
        },
    }


def closed(stack: StackSpec) -> bool:
    """Whether no node reaches a publisher's registry, so that every image comes from the mirror."""
    if isinstance(stack.form, SelfHosted):
        return stack.form.registry is not None
    return stack.network is not None and stack.network.egress == "isolated"


# Where the chart's values name each of its images.
_PARTS: Final = {
    "kube-state-metrics": ("kube-state-metrics",),
    "prometheus-operator": ("prometheusOperator",),
    "prometheus-config-reloader": ("prometheusOperator", "prometheusConfigReloader"),
    "kube-webhook-certgen": ("prometheusOperator", "admissionWebhooks", "patch"),
    "alertmanager": ("alertmanager", "alertmanagerSpec"),
    "prometheus": ("prometheus", "prometheusSpec"),
}
_ON_EVERY_NODE: Final = {"node-exporter": ("prometheus-node-exporter",)}


def images(stack: StackSpec) -> dict[str, tuple[str, ...]]:
    """The chart's images that come from the mirror, each with the path of its part in the values.

    On compute nodes of AWS, which run the node exporter, always; the rest where no node reaches a publisher.
    """
    if closed(stack):
        return {**{name: _PARTS[name] for name in MONITORING}, **_ON_EVERY_NODE}
    return dict(_ON_EVERY_NODE) if stack.on_aws else {}


def _mirrored(stack: StackSpec, mirror: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, path in images(stack).items():
        part: dict[str, Any] = {"image": dict(mirror[name])}
        for step in reversed(path):
            part = {step: part}
        found = _joined(found, part)
    return found


def _joined(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Both trees in one; where both hold a mapping, joined again."""
    out = dict(first)
    for key, value in second.items():
        here = out.get(key)
        # Pyright: ignore[reportUnknownArgumentType] - trees of anything
        out[key] = _joined(here, value) if isinstance(here, dict) and isinstance(value, dict) else value
    return out


def values(
    stack: StackSpec, *, topic: Any | None, storage_class: str | None, mirror: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Values of kube-prometheus-stack. `mirror` holds registry, repository and tag of each image that `images`
    names.
    """
    place: dict[str, Any] = {"nodeSelector": {node_labels.PURPOSE: "system"}} if stack.on_aws else {}
    disk, memory = disk_gib(stack), quantities.mebi(memory_mib(stack))
    claim = {
        "volumeClaimTemplate": {
            "spec": {
                # A shared file system is no place for a database of samples: without a class, the cluster's default.
                **({"storageClassName": storage_class} if storage_class else {}),
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": f"{disk}Gi"}},
            }
        }
    }
    hidden = {part: {"enabled": False} for part in ("kubeControllerManager", "kubeScheduler", "kubeEtcd", "kubeProxy")}
    everything = {f"{kind}SelectorNilUsesHelmValues": False for kind in ("rule", "podMonitor", "serviceMonitor")}
    chosen: dict[str, Any] = {
        **hidden,  # EKS runs them where nobody can scrape them
        "grafana": {"enabled": False},
        "kube-state-metrics": {**_state_metrics(), **place},
        "prometheus-node-exporter": {"tolerations": [{"operator": "Exists"}]},
        "prometheusOperator": {**place, "admissionWebhooks": {"patch": dict(place)}},
        "alertmanager": {"config": alertmanager(stack, topic), "alertmanagerSpec": {**place}},
        "prometheus": {
            "prometheusSpec": {
                "retention": f"{stack.observability.metrics_days}d",
                "retentionSize": f"{int(disk * 0.85)}GiB",
                "scrapeInterval": "30s",
                "resources": {"requests": {"cpu": "500m", "memory": memory}, "limits": {"memory": memory}},
                "storageSpec": claim,
                **everything,
                **place,
            }
        },
    }
    return _joined(chosen, _mirrored(stack, mirror))


def log_values(stack: StackSpec, *, group: Any, repository: Any, tag: str) -> dict[str, Any]:
    """Values of the log shipper's chart. A stream is named `NAMESPACE.POD.CONTAINER`, and a worker's pod begins with
    its task's name.
    """
    stream = "$kubernetes['namespace_name'].$kubernetes['pod_name'].$kubernetes['container_name']"
    return {
        "image": {"repository": repository, "tag": tag},
        "serviceAccount": {"name": LOGS_RELEASE},
        "cloudWatchLogs": {
            "enabled": True,
            "region": stack.region,
            "logGroupName": group,
            "logStreamPrefix": "pods-",  # of a record without pod
            "logStreamTemplate": stream,
            "autoCreateGroup": False,  # the group is declared, with its retention
        },
        "tolerations": [{"operator": "Exists"}],
        "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}},
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}},
    }
