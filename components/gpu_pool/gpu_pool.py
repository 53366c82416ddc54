"""A pool of nodes: launch templates, placement groups and managed node groups, with what the autoscaler and the
calendar need.

Hides how a pool is bought and split: the placement plan says which groups there are, this declares them. Pools without
cards are declared here too; they differ in answers, not in kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi
import pulumi_aws as aws

from components import fabrics
from components.catalog import Catalog
from components.gpu_pool import launch_template
from components.gpu_pool.block_calendar import BlockCalendar, BlockCalendarArgs, BlockGroup
from components.gpu_pool.launch_template import ClusterWires
from components.manifests.nodes import setup as node_setup
from components.naming import fit
from components.planning import nodes, placement, turnover
from components.planning.placement import NodeGroup, Placement
from components.spec.pools import PoolSpec

# A node group's name has 63 characters, of which the engine's suffix takes 8.
_NAME = 55


@dataclass(frozen=True, kw_only=True)
class GpuPoolArgs:
    """`subnet_ids` by zone id: those of the compute network for a pool with cards, of the management network for one
    without.

    `security_group_ids` are the groups of every interface; the EFA group is added where the fabric needs it, the pool's
    own after it. `lustre_efa_interfaces`: EFA interfaces of each node that Lustre uses too. `after` is what nodes must
    wait for: routes and endpoints, the CNI, access entries.
    """

    spec: PoolSpec
    catalog: Catalog
    cluster_name: pulumi.Input[str]
    cluster_version: str
    endpoint: pulumi.Input[str]
    certificate_authority: pulumi.Input[str]
    service_cidr: pulumi.Input[str] = "172.20.0.0/16"
    node_role_arn: pulumi.Input[str]
    subnet_ids: Mapping[str, pulumi.Input[str]]
    security_group_ids: Sequence[pulumi.Input[str]]
    efa_security_group_id: pulumi.Input[str] | None = None
    key_arn: pulumi.Input[str] | None = None
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    spot_preprocessing: bool = True
    prefix_delegation: bool = True
    lustre_efa_interfaces: int = 0
    after: Sequence[pulumi.Resource] = ()


class GpuPool(pulumi.ComponentResource):
    """`placement`: the plan; `node_groups` and `node_group_names` by key; `labels` and `taints` of the nodes, in
    Kubernetes' words.
    """

    placement: Placement
    node_groups: Mapping[str, aws.eks.NodeGroup]
    node_group_names: Mapping[str, pulumi.Output[str]]

    def __init__(self, name: str, args: GpuPoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        # A former name is for the engine alone: taking it away is no change of the pool.
        super().__init__(
            "trainshed:pool:GpuPool", name, dict(args.spec.model_dump(mode="json", exclude={"formerly"})), opts
        )
        pool, cat = args.spec, args.catalog
        self._name, self._args = name, args
        self._child = pulumi.ResourceOptions(parent=self)
        self.placement = placement.plan(
            pool, cat=cat, network_zones=sorted(args.subnet_ids), spot_preprocessing=args.spot_preprocessing
        )
        self.labels = nodes.labels_of(pool, cat)
        self.taints = nodes.taints(pool, cat)
        self.fabric = fabrics.of_pool(pool, cat)
        self.accelerator = nodes.accelerator(pool, cat)

        templates: dict[str, aws.ec2.LaunchTemplate] = {}
        declared: dict[str, aws.eks.NodeGroup] = {}
        for group in self.placement.groups:
            if group.template not in templates:
                templates[group.template] = self._template(group)
            declared[group.key] = self._node_group(group, templates[group.template])
        self.node_groups = declared
        self.node_group_names = {key: group.node_group_name for key, group in declared.items()}
        if pool.autoscaled:
            for group in self.placement.groups:
                self._autoscaler_tags(group)
        self._calendar()
        self.register_outputs({"node_group_names": dict(self.node_group_names)})

    def _logical(self, role: str, key: str = "") -> str:
        return fit(f"{self._name}-{role}-{key}" if key else f"{self._name}-{role}", _NAME)

    def _template(self, group: NodeGroup) -> aws.ec2.LaunchTemplate:
        args = self._args
        pool, cat = args.spec, args.catalog
        machine = nodes.instance(pool, cat)
        groups = list(args.security_group_ids)
        if self.fabric.open_group and args.efa_security_group_id is not None:
            groups.append(args.efa_security_group_id)
        return launch_template.declare(
            self._logical("template", group.template),
            pool=pool,
            group=group,
            family=nodes.image(pool, cat),
            setup=node_setup.of_pool(
                pool, cat, prefix_delegation=args.prefix_delegation, lustre_efa_interfaces=args.lustre_efa_interfaces
            ),
            interfaces=self.fabric.interfaces(pool, machine),
            security_group_ids=[*groups, *pool.security_groups],
            placement_group=self._placement_group(group),
            cluster=ClusterWires(
                name=args.cluster_name,
                endpoint=args.endpoint,
                certificate_authority=args.certificate_authority,
                service_cidr=args.service_cidr,
            ),
            key_arn=args.key_arn,
            tags=args.tags,
            opts=self._child,
        )

    def _placement_group(self, group: NodeGroup) -> pulumi.Input[str] | None:
        if not group.own_placement_group:
            return group.placement_group
        logical = self._logical("placement", group.key)
        made = aws.ec2.PlacementGroup(
            logical, strategy="cluster", tags={**self._args.tags, "Name": logical}, opts=self._child
        )
        return made.name

    def _node_group(self, group: NodeGroup, template: aws.ec2.LaunchTemplate) -> aws.eks.NodeGroup:
        args = self._args
        pool, cat = args.spec, args.catalog
        logical = self._logical("nodes", group.key)
        own_image = pool.image_id is not None
        pace = turnover.of_group(
            group.max_nodes, wanted=pool.update_max_unavailable, has_cards=self.accelerator is not None
        )
        return aws.eks.NodeGroup(
            logical,
            cluster_name=args.cluster_name,
            node_role_arn=args.node_role_arn,
            subnet_ids=[args.subnet_ids[zone] for zone in group.zones],
            # EKS itself picks the spot allocation strategy of a managed group (price-capacity-optimised): nothing to
            # choose here.
            capacity_type=group.capacity_type,
            instance_types=list(group.types) if group.capacity_type != "CAPACITY_BLOCK" else None,
            # With an image id in the template EKS takes neither a family nor a version of its own.
            ami_type=None if own_image else nodes.image(pool, cat).name,
            version=None if own_image else args.cluster_version,
            release_version=None if own_image else pool.image_release,
            launch_template=aws.eks.NodeGroupLaunchTemplateArgs(
                id=template.id, version=template.latest_version.apply(str)
            ),
            scaling_config=aws.eks.NodeGroupScalingConfigArgs(
                min_size=group.min_nodes, max_size=group.max_nodes, desired_size=group.desired_nodes
            ),
            update_config=aws.eks.NodeGroupUpdateConfigArgs(
                max_unavailable=pace.at_once, update_strategy="MINIMAL" if turnover.old_first(pool) else None
            ),
            # Pods that don't leave in time stop an update instead of losing their step: jobs are drained through the
            # queue first.
            force_update_version=False,
            node_repair_config=_repair(pool, has_cards=self.accelerator is not None),
            labels=nodes.labels_of(
                pool, cat, capacity=group.capacity_word, block=group.reservation if group.window else None
            ),
            taints=[
                aws.eks.NodeGroupTaintArgs(key=taint.key, value=taint.value, effect=taint.eks_effect)
                for taint in self.taints
            ],
            tags={**args.tags, "Name": logical},
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=list(args.after),
                protect=pool.protect,
                ignore_changes=_owned_elsewhere(group),
                custom_timeouts=pulumi.CustomTimeouts(
                    create=pace.waits.create, update=pace.waits.update, delete=pace.waits.delete
                ),
            ),
        )

    def _autoscaler_tags(self, group: NodeGroup) -> None:
        args = self._args
        # Unknown in a first preview, which must not drop the tags: the name is a wire, and the tags themselves are from
        # the plan.
        name = self.node_groups[group.key].resources.apply(_scaling_group)
        node = nodes.labels_of(
            args.spec, args.catalog, capacity=group.capacity_word, block=group.reservation if group.window else None
        )
        for key, value in nodes.autoscaler_tags(args.spec, args.catalog, node).items():
            short = key.removeprefix("k8s.io/cluster-autoscaler/node-template/")
            aws.autoscaling.Tag(
                f"{self._name}-tag-{group.key}-{short}",
                autoscaling_group_name=name,
                tag=aws.autoscaling.TagTagArgs(key=key, value=value, propagate_at_launch=False),
                opts=self._child,
            )

    def _calendar(self) -> None:
        found = [
            BlockGroup(
                key=group.key,
                window=group.window,
                min_nodes=min(self._args.spec.min_nodes, group.max_nodes),
                node_group_name=self.node_groups[group.key].node_group_name,
                node_group_arn=self.node_groups[group.key].arn,
            )
            for group in self.placement.groups
            if group.window
        ]
        if found:
            args = BlockCalendarArgs(cluster_name=self._args.cluster_name, groups=found, tags=self._args.tags)
            BlockCalendar(f"{self._name}-calendar", args, opts=self._child)


def _scaling_group(resources: Sequence[aws.eks.outputs.NodeGroupResource]) -> str:
    """The auto-scaling group that EKS made for a node group."""
    found = [group.name for resource in resources for group in resource.autoscaling_groups or () if group.name]
    return found[0]


def _owned_elsewhere(group: NodeGroup) -> list[str]:
    """What a live value may differ in: the autoscaler moves the desired size, a block's calendar the smallest
    one too.
    """
    if group.window:
        return ["scalingConfig.desiredSize", "scalingConfig.minSize"]
    return ["scalingConfig.desiredSize"] if group.sized_elsewhere else []


def _repair(pool: PoolSpec, *, has_cards: bool) -> aws.eks.NodeGroupNodeRepairConfigArgs:
    """On for pools with cards, whose faults end a job anyway; off elsewhere, where the autoscaler replaces nodes.

    The node monitoring agent tells EKS about cards, kernel and network; without it only the kubelet's own conditions
    count.
    """
    enabled = has_cards if pool.node_repair is None else pool.node_repair
    overrides = [
        aws.eks.NodeGroupNodeRepairConfigNodeRepairConfigOverrideArgs(
            node_monitoring_condition=repair.condition,
            node_unhealthy_reason=repair.reason,
            min_repair_wait_time_mins=repair.wait_minutes,
            repair_action=repair.action,
        )
        for repair in sorted(pool.repairs, key=lambda repair: (repair.condition, repair.reason))
    ]
    return aws.eks.NodeGroupNodeRepairConfigArgs(
        enabled=enabled, node_repair_config_overrides=overrides if enabled and overrides else None
    )
