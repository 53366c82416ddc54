"""Karpenter: its controller with role, queue and node identity, and a node class and node pool for each pool.

Order is what counts: definitions before the controller, the controller and all its rights before the first node pool;
so a destroy takes the node pools first, and their machines with them, while there is still somebody to end them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pulumi
import pulumi_aws as aws

from components.catalog import Catalog
from components.cluster import node_role
from components.identity.pod_identity import PodIdentity, PodIdentityArgs, ServiceAccount
from components.in_cluster.helm_release import HelmRelease, HelmReleaseArgs
from components.karpenter import interruptions, permissions
from components.karpenter.pools import BoughtPool, Shared, declare_pool
from components.manifests.karpenter import controller
from components.planning import alone, images
from components.refused import refuse
from components.spec.stack import StackSpec


@dataclass(frozen=True, kw_only=True)
class KarpenterArgs:
    """`cluster_name` is the physical name. `pools` are those that size themselves. `before_nodes` is what every node
    waits for, `after` what the controller waits for: a system pool with room for it.

    `mirror`: the account's registry when images must not come from their publishers (no way out at all).
    `charts`: a chart's folder or archive on this machine by chart name, in place of the publisher's.
    """

    spec: StackSpec
    catalog: Catalog
    account_id: pulumi.Input[str]
    cluster_name: str
    cluster_version: str
    endpoint: pulumi.Input[str]
    key_arn: pulumi.Input[str] | None
    pools: Sequence[BoughtPool]
    before_nodes: Sequence[pulumi.Resource] = ()
    after: Sequence[pulumi.Resource] = ()
    mirror: pulumi.Input[str] | None = None
    charts: Mapping[str, str] = field(default_factory=dict[str, str])
    tags: Mapping[str, str] = field(default_factory=dict[str, str])


class Karpenter(pulumi.ComponentResource):
    """Attributes: `node_role_arn`, `queue_name`, `release`, `node_pools` (names) and `ready` (what a job waits for)."""

    def __init__(self, name: str, args: KarpenterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        refuse("Karpenter", name, alone.of_stack(args.spec, args.catalog))
        self.node_pools = [pool.pool.name for pool in args.pools]
        super().__init__("trainshed:karpenter:Karpenter", name, {"pools": self.node_pools}, opts)
        self._name, self._args = name, args
        children = pulumi.ResourceOptions(parent=self)
        role, profile, rights = self._node_identity(children)
        queue, reported = interruptions.declare(name, tags=args.tags, children=children)
        identity = self._controller_identity(role, profile, queue)
        definitions = self._release("karpenter-crd", {}, list(args.after))
        self.release = self._release(
            "karpenter",
            controller.values(
                args.spec,
                cluster_name=args.cluster_name,
                endpoint=args.endpoint,
                queue=queue.name,
                image=self._image(),
            ),
            [*args.after, *identity, *reported, definitions],
        )
        shared = Shared(
            kubernetes_version=args.cluster_version,
            instance_profile=profile.name,
            key_arn=args.key_arn,
            tags=dict(args.tags),
        )
        made: list[pulumi.Resource] = []
        for pool in args.pools:
            made += declare_pool(name, pool, shared, parent=self, after=[self.release, *rights, *args.before_nodes])
        self.node_role_arn, self.queue_name = role.arn, queue.name
        self.ready: list[pulumi.Resource] = [self.release, *made]
        self.register_outputs({"node_role_arn": self.node_role_arn, "queue_name": self.queue_name})

    def _node_identity(
        self, children: pulumi.ResourceOptions
    ) -> tuple[aws.iam.Role, aws.iam.InstanceProfile, list[pulumi.Resource]]:
        """A role of their own: EKS makes the access entry of a role that managed node groups have, by itself."""
        args = self._args
        role, attachments = node_role(self._name, region=args.spec.region, tags=args.tags, children=children)
        profile = aws.iam.InstanceProfile(
            f"{self._name}-node", role=role.name, tags={**args.tags, "Name": f"{self._name}-node"}, opts=children
        )
        entry = aws.eks.AccessEntry(
            f"{self._name}-node",
            cluster_name=args.cluster_name,
            principal_arn=role.arn,
            type="EC2_LINUX",
            tags={**args.tags, "Name": f"{self._name}-node"},
            opts=pulumi.ResourceOptions(parent=self, depends_on=list(args.after)),
        )
        return role, profile, [*attachments, profile, entry]

    def _controller_identity(
        self, role: aws.iam.Role, profile: aws.iam.InstanceProfile, queue: aws.sqs.Queue
    ) -> list[pulumi.Resource]:
        args = self._args
        account = ServiceAccount(
            namespace=controller.NAMESPACE, name=controller.SERVICE_ACCOUNT, purpose="buys and ends nodes"
        )
        identity = PodIdentity(
            f"{self._name}-controller",
            PodIdentityArgs(
                spec=account,
                cluster_name=args.cluster_name,
                statements=permissions.statements(
                    region=args.spec.region,
                    account=args.account_id,
                    cluster_name=args.cluster_name,
                    node_role_arn=role.arn,
                    instance_profile_arn=profile.arn,
                    queue_arn=queue.arn,
                    key_arn=args.key_arn,
                ),
                tags=args.tags,
            ),
            # An association needs its cluster, whose name is plain text here.
            pulumi.ResourceOptions(parent=self, depends_on=list(args.after)),
        )
        return identity.ready

    def _image(self) -> dict[str, Any] | None:
        if self._args.mirror is None:
            return None
        pin = self._args.catalog.charts.image("karpenter")
        return {
            "repository": pulumi.Output.concat(self._args.mirror, "/", images.repository(pin)),
            "tag": pin.tag,
        }

    def _release(self, chart: str, values: dict[str, Any], after: Sequence[pulumi.Resource]) -> HelmRelease:
        pin, local = self._args.catalog.charts[chart], self._args.charts.get(chart)
        release = HelmReleaseArgs(
            release=chart,
            chart=local or pin.repository,
            version=None if local else pin.version,
            namespace=pin.namespace,
            values=values,
        )
        opts = pulumi.ResourceOptions(parent=self, depends_on=list(after))
        return HelmRelease(f"{self._name}-release-{chart}", release, opts)
