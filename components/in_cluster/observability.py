"""Metrics, alerts and logs of a stack: Prometheus with its receivers, exporters on the nodes with cards, retained log
groups.

Alertmanager publishes alerts to a topic through the identity of its own service account, and the topic sends mail.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pulumi
import pulumi_aws as aws

from components.catalog import Catalog, ChartPin
from components.catalog.limits import log_retention
from components.identity.pod_identity import PodIdentity, PodIdentityArgs, ServiceAccount
from components.identity.policy_documents import Statement
from components.in_cluster.helm_release import HelmRelease, HelmReleaseArgs
from components.in_cluster.kubernetes_object import declare
from components.in_cluster.sealed import sealed, webhooks
from components.manifests import device_plugins, namespaces
from components.manifests.observability import alerts, exporters, prometheus
from components.planning import alone, images
from components.refused import refuse
from components.spec.form import SelfHosted
from components.spec.stack import StackSpec


@dataclass(frozen=True, kw_only=True)
class ObservabilityArgs:
    """`registry_prefix`: the account's registry. `cluster_name` and the keys are left out where nothing runs on AWS.

    `topic_key_arn` encrypts the topic of alerts, `log_key_arn` the log group; without them AWS' own keys do, and that
    of SNS keeps CloudWatch alarms from publishing: their topics need a key with `iam.alarms_use_key`. `namespaces`: the
    namespaces by name. `after`: what the cluster's pods must wait for.
    """

    spec: StackSpec
    catalog: Catalog
    namespaces: Mapping[str, pulumi.Resource]
    registry_prefix: pulumi.Input[str]
    cluster_name: pulumi.Input[str] | None = None
    topic_key_arn: pulumi.Input[str] | None = None
    log_key_arn: pulumi.Input[str] | None = None
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    after: Sequence[pulumi.Resource] = ()
    charts: Mapping[str, str] = field(default_factory=dict[str, str])


class Observability(pulumi.ComponentResource):
    """Attributes: `release`, `topic_arn` and `log_group_name` (None where nothing runs on AWS), `ready`."""

    release: HelmRelease
    topic_arn: pulumi.Output[str] | None
    log_group_name: pulumi.Output[str] | None
    ready: list[pulumi.Resource]

    def __init__(self, name: str, args: ObservabilityArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        refuse("Observability", name, alone.of_stack(args.spec, args.catalog))
        self._secrets = webhooks(args.spec.observability.alerts_to)
        recorded = sealed(args.spec.observability.model_dump(mode="json"), self._secrets)
        super().__init__("trainshed:observability:Observability", name, recorded, opts)
        self._name, self._args = name, args
        self._child = pulumi.ResourceOptions(parent=self)
        self._in_cluster = pulumi.ResourceOptions(parent=self, depends_on=[*args.after, *self._namespace()])
        self.topic_arn, self.log_group_name, identity = None, None, []
        self.ready = []
        if args.spec.on_aws:
            topic, group = self._topic(), self._log_group()
            self.topic_arn, self.log_group_name = topic.arn, group.name
            identity = self._identity(topic)
            self.ready.append(self._logs(group))
        self.release = self._release(identity)
        self.ready += [self.release, *self._exporters()]
        self.register_outputs({"topic_arn": self.topic_arn, "log_group_name": self.log_group_name})

    def _namespace(self) -> list[pulumi.Resource]:
        found = self._args.namespaces.get(namespaces.MONITORING)
        return [found] if found else []

    def _tags(self, role: str) -> dict[str, str]:
        return {**self._args.tags, "Name": f"{self._name}-{role}"}

    def _topic(self) -> aws.sns.Topic:
        args = self._args
        topic = aws.sns.Topic(
            f"{self._name}-alerts",
            display_name="Trainshed alerts",
            kms_master_key_id=args.topic_key_arn if args.topic_key_arn is not None else "alias/aws/sns",
            tags=self._tags("alerts"),
            opts=self._child,
        )
        for key, (protocol, endpoint) in sorted(prometheus.topic_subscriptions(args.spec).items()):
            # Whoever is subscribed by mail must answer one to confirm it; a webhook's URL lets anyone post there who
            # reads it.
            shown = pulumi.Output.secret(endpoint) if protocol == "https" else endpoint
            aws.sns.TopicSubscription(
                f"{self._name}-alert-{key}", topic=topic.arn, protocol=protocol, endpoint=shown, opts=self._child
            )
        return topic

    def _log_group(self) -> aws.cloudwatch.LogGroup:
        args = self._args
        return aws.cloudwatch.LogGroup(
            f"{self._name}-pods",
            name=pulumi.Output.concat("/trainshed/", args.cluster_name or "", "/pods"),
            retention_in_days=log_retention(args.spec.observability.logs_days),
            kms_key_id=args.log_key_arn,
            tags=self._tags("pods"),
            opts=self._child,
        )

    def _identity(self, topic: aws.sns.Topic) -> list[pulumi.Resource]:
        args = self._args
        if args.cluster_name is None:
            return []
        topics = [topic.arn, *prometheus.topics(args.spec)]
        statements = [Statement(sid="Publish", actions=("sns:Publish",), resources=topics)]
        if args.topic_key_arn is not None:
            statements.append(
                Statement(
                    sid="Encrypt", actions=("kms:Decrypt", "kms:GenerateDataKey"), resources=(args.topic_key_arn,)
                )
            )
        account = ServiceAccount(
            namespace=namespaces.MONITORING,
            name=prometheus.ALERTMANAGER_ACCOUNT,
            purpose="publishes alerts to the topic",
        )
        given = PodIdentityArgs(spec=account, cluster_name=args.cluster_name, statements=statements, tags=args.tags)
        return PodIdentity(f"{self._name}-alertmanager", given, self._child).ready

    def _logs(self, group: aws.cloudwatch.LogGroup) -> pulumi.Resource:
        """The shipper of every pod's log, on every node, by the identity of its own account."""
        args = self._args
        pin = args.catalog.charts[prometheus.LOGS_RELEASE]
        before: list[pulumi.Resource] = [*args.after, *self._namespace()]
        if args.cluster_name is not None:
            write = ("logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents")
            streams = pulumi.Output.concat(group.arn, ":*")
            statement = Statement(sid="Write", actions=write, resources=[group.arn, streams])
            account = ServiceAccount(
                namespace=namespaces.MONITORING, name=prometheus.LOGS_RELEASE, purpose="writes the pods' logs"
            )
            given = PodIdentityArgs(
                spec=account, cluster_name=args.cluster_name, statements=[statement], tags=args.tags
            )
            before += PodIdentity(f"{self._name}-logs", given, self._child).ready
        image = args.catalog.charts.image("fluent-bit")
        repository = pulumi.Output.concat(args.registry_prefix, "/", images.repository(image))
        values = prometheus.log_values(args.spec, group=group.name, repository=repository, tag=image.tag)
        return self._helm("logs", prometheus.LOGS_RELEASE, pin, values, before)

    def _release(self, identity: Sequence[pulumi.Resource]) -> HelmRelease:
        args = self._args
        pin = args.catalog.charts[prometheus.RELEASE]
        form = args.spec.form
        before: list[pulumi.Resource] = [*args.after, *self._namespace(), *identity]
        if isinstance(form, SelfHosted):
            storage_class = form.metrics_storage_class
        else:
            storage_class = prometheus.STORAGE_CLASS
            before.append(self._storage_class())
        mirror = {each: self._mirrored(each) for each in prometheus.images(args.spec)}
        values = prometheus.values(args.spec, topic=self.topic_arn, storage_class=storage_class, mirror=mirror)
        return self._helm("prometheus", prometheus.RELEASE, pin, sealed(values, self._secrets), before)

    def _helm(
        self, role: str, release: str, pin: ChartPin, values: dict[str, Any], after: Sequence[pulumi.Resource]
    ) -> HelmRelease:
        local = self._args.charts.get(release)
        args = HelmReleaseArgs(
            release=release,
            chart=local or pin.name,
            repository=None if local else pin.repository,
            version=None if local else pin.version,
            namespace=namespaces.MONITORING,
            values=values,
        )
        return HelmRelease(
            f"{self._name}-release-{role}", args, pulumi.ResourceOptions(parent=self, depends_on=list(after))
        )

    def _storage_class(self) -> pulumi.Resource:
        manifest: dict[str, Any] = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": prometheus.STORAGE_CLASS},
            "provisioner": "ebs.csi.aws.com",
            "parameters": {"type": "gp3", "encrypted": "true"},
            "volumeBindingMode": "WaitForFirstConsumer",
            "allowVolumeExpansion": True,
        }
        return declare(f"{self._name}-metrics-storage", manifest, self._in_cluster)

    def _exporters(self) -> list[pulumi.Resource]:
        args, name, where = self._args, self._name, namespaces.MONITORING
        families = device_plugins.families(args.spec, args.catalog)
        defined = pulumi.ResourceOptions(parent=self, depends_on=[self.release])
        found: list[pulumi.Resource] = [declare(f"{name}-rules", alerts.prometheus_rule(families, where), defined)]
        jobs = namespaces.job_namespaces(args.spec)
        found.append(declare(f"{name}-monitor-jobs", exporters.job_monitor(where, jobs), defined))
        for family in families:
            if family.telemetry is None:
                continue
            daemon = exporters.telemetry(family, self._image(family.telemetry.image), where)
            if daemon is None:
                continue
            found.append(declare(f"{name}-counters-{family.vendor}", exporters.counters(where), self._in_cluster))
            found.append(declare(f"{name}-telemetry-{family.vendor}", daemon, self._in_cluster))
            found.append(
                declare(
                    f"{name}-monitor-{family.vendor}", exporters.exporter_monitor(family.telemetry.name, where), defined
                )
            )
        if any(each.plugin is device_plugins.EFA_PLUGIN for each in device_plugins.daemons(args.spec, args.catalog)):
            found.append(declare(f"{name}-program-efa", exporters.efa_program(where), self._in_cluster))
            found.append(
                declare(f"{name}-telemetry-efa", exporters.efa_daemon(self._image("python"), where), self._in_cluster)
            )
            found.append(
                declare(f"{name}-monitor-efa", exporters.exporter_monitor(exporters.EFA_COUNTERS, where), defined)
            )
        return found

    def _mirrored(self, key: str) -> dict[str, pulumi.Input[str]]:
        """An image as charts name one, so that what runs is what was mirrored, whatever tag the chart would choose."""
        pin = self._args.catalog.charts.image(key)
        registry = pulumi.Output.concat(self._args.registry_prefix, "/", images.folder(pin.registry))
        return {"registry": registry, "repository": pin.repository, "tag": pin.tag}

    def _image(self, key: str) -> pulumi.Output[str]:
        return pulumi.Output.concat(self._args.registry_prefix, "/", images.path(self._args.catalog.charts.image(key)))
