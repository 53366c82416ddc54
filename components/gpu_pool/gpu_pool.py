"""A pool of nodes: launch templates, placement groups and managed node groups, and the calendar of its blocks.

The placement plan says which groups there are; this declares them. What Karpenter buys of the pool beside them is
declared in `components/karpenter`, in the placement group made here. Pools without cards are declared here too; they
differ in answers, not in kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi
import pulumi_aws as aws

from components.catalog import Catalog
from components.gpu_pool import launch_template
from components.gpu_pool.block_calendar import BlockCalendar, BlockCalendarArgs, BlockGroup
from components.gpu_pool.launch_template import ClusterWires
from components.manifests.nodes import setup as node_setup
from components.naming import fit
from components.planning import alone, placement, turnover
from components.planning.placement import NodeGroup, Placement
from components.planning.pool import Pool
from components.refused import refuse
from components.spec.pools import PoolSpec, RepairSpec

# A node group's name has 63 characters, of which the engine's suffix takes 8.
_NAME = 55
# Purposes whose jobs stop when they lose a single node.
_GANGS = ("training", "finetuning")


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
    Kubernetes' words; `security_group_ids` of every interface; `elastic_placement_group`: the name of the one that
    Karpenter's nodes are put in, if any.
    """

    placement: Placement
    node_groups: Mapping[str, aws.eks.NodeGroup]
    node_group_names: Mapping[str, pulumi.Output[str]]

    def __init__(self, name: str, args: GpuPoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        found = alone.of_pool(
            args.spec,
            args.catalog,
            zones=sorted(args.subnet_ids),
            cluster_version=args.cluster_version,
            has_efa_group=args.efa_security_group_id is not None,
        )
        refuse("GpuPool", name, found)
        # A former name is for the engine alone: taking it away is no change of the pool.
        super().__init__(
            "trainshed:pool:GpuPool", name, dict(args.spec.model_dump(mode="json", exclude={"previous_name"})), opts
        )
        pool = Pool(args.spec, args.catalog)
        self._name, self._args, self._pool = name, args, pool
        self._child = pulumi.ResourceOptions(parent=self)
        self.placement = placement.plan(
            pool, network_zones=sorted(args.subnet_ids), spot_preprocessing=args.spot_preprocessing
        )
        self.labels = pool.labels()
        self.taints = pool.taints
        self.fabric = pool.fabric
        self.accelerator = pool.accelerator
        efa = [args.efa_security_group_id] if self.fabric.open_group and args.efa_security_group_id is not None else []
        self.security_group_ids = [*args.security_group_ids, *efa, *pool.spec.security_groups]
        self.elastic_placement_group: pulumi.Input[str] | None = None

        templates: dict[str, aws.ec2.LaunchTemplate] = {}
        declared: dict[str, aws.eks.NodeGroup] = {}
        for group in self.placement.groups:
            if group.template not in templates:
                templates[group.template] = self._template(group)
            declared[group.key] = self._node_group(group, templates[group.template])
        self.node_groups = declared
        self.node_group_names = {key: group.node_group_name for key, group in declared.items()}
        self.elastic_placement_group = self._elastic_placement_group()
        self._calendar()
        self.register_outputs({"node_group_names": dict(self.node_group_names)})

    def _logical(self, role: str, key: str = "") -> str:
        return fit(f"{self._name}-{role}-{key}" if key else f"{self._name}-{role}", _NAME)

    def _template(self, group: NodeGroup) -> aws.ec2.LaunchTemplate:
        args, pool = self._args, self._pool
        return launch_template.declare(
            self._logical("template", group.template),
            pool=pool.spec,
            group=group,
            family=pool.image,
            setup=node_setup.of_pool(
                pool, prefix_delegation=args.prefix_delegation, lustre_efa_interfaces=args.lustre_efa_interfaces
            ),
            interfaces=self.fabric.interfaces(pool.spec, pool.instance),
            security_group_ids=self.security_group_ids,
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
        return self._made_placement_group(group.key) if group.own_placement_group else group.placement_group

    def _elastic_placement_group(self) -> pulumi.Input[str] | None:
        elastic = self.placement.elastic
        if elastic is None:
            return None
        return self._made_placement_group("elastic") if elastic.own_placement_group else elastic.placement_group

    def _made_placement_group(self, key: str) -> pulumi.Output[str]:
        logical = self._logical("placement", key)
        made = aws.ec2.PlacementGroup(
            logical, strategy="cluster", tags={**self._args.tags, "Name": logical}, opts=self._child
        )
        return made.name

    def _node_group(self, group: NodeGroup, template: aws.ec2.LaunchTemplate) -> aws.eks.NodeGroup:
        args, pool = self._args, self._pool
        logical = self._logical("nodes", group.key)
        own_image = pool.spec.image_id is not None
        pace = turnover.of_group(
            group.max_nodes, wanted=pool.spec.update_max_unavailable, has_cards=self.accelerator is not None
        )
        return aws.eks.NodeGroup(
            logical,
            cluster_name=args.cluster_name,
            node_role_arn=args.node_role_arn,
            subnet_ids=[args.subnet_ids[zone] for zone in group.zones],
            capacity_type=group.capacity_type,
            instance_types=list(group.types) if group.capacity_type != "CAPACITY_BLOCK" else None,
            # With an image id in the template EKS takes neither a family nor a version of its own.
            ami_type=None if own_image else pool.image.name,
            version=None if own_image else args.cluster_version,
            release_version=None if own_image else pool.spec.image_release,
            launch_template=aws.eks.NodeGroupLaunchTemplateArgs(
                id=template.id, version=template.latest_version.apply(str)
            ),
            scaling_config=aws.eks.NodeGroupScalingConfigArgs(
                min_size=group.min_nodes, max_size=group.max_nodes, desired_size=group.desired_nodes
            ),
            update_config=aws.eks.NodeGroupUpdateConfigArgs(
                max_unavailable=pace.at_once, update_strategy="MINIMAL" if turnover.old_first(pool.spec) else None
            ),
            # Pods that don't leave in time stop an update instead of losing their step: jobs are drained through the
            # queue first.
            force_update_version=False,
            node_repair_config=_repair(pool),
            labels=pool.labels(capacity=group.capacity_word, block=group.reservation if group.window else None),
            taints=[
                aws.eks.NodeGroupTaintArgs(key=taint.key, value=taint.value, effect=taint.eks_effect)
                for taint in self.taints
            ],
            tags={**args.tags, "Name": logical},
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=list(args.after),
                protect=pool.spec.protect,
                ignore_changes=_owned_elsewhere(group),
                # A second group would wait for machines that the first one holds.
                delete_before_replace=pool.spec.capacity.kind in ("reservation", "block") or None,
                custom_timeouts=pulumi.CustomTimeouts(
                    create=pace.waits.create, update=pace.waits.update, delete=pace.waits.delete
                ),
            ),
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


def _owned_elsewhere(group: NodeGroup) -> list[str]:
    """What a live value may differ in: a block's calendar moves its sizes. Other groups' are the file's."""
    return ["scalingConfig.desiredSize", "scalingConfig.minSize"] if group.sized_elsewhere else []


def _repair(pool: Pool) -> aws.eks.NodeGroupNodeRepairConfigArgs:
    """The node monitoring agent tells EKS about cards, kernel and network; without it only the kubelet's own
    conditions count.
    """
    if not pool.repaired:
        return aws.eks.NodeGroupNodeRepairConfigArgs(enabled=False)
    answers = {(each.condition, each.reason): each for each in repairs(pool)}
    overrides = [
        aws.eks.NodeGroupNodeRepairConfigNodeRepairConfigOverrideArgs(
            node_monitoring_condition=answer.condition,
            node_unhealthy_reason=answer.reason,
            min_repair_wait_time_mins=answer.wait_minutes,
            repair_action=answer.action,
        )
        for _, answer in sorted(answers.items())
    ]
    return aws.eks.NodeGroupNodeRepairConfigArgs(enabled=True, node_repair_config_overrides=overrides or None)


def repairs(pool: Pool) -> tuple[RepairSpec, ...]:
    """The answers to single reasons: ours for pools whose jobs need all their nodes, then the user's, which win."""
    family = pool.accelerator
    reasons = family.left_alone if family and pool.spec.purpose in _GANGS else ()
    ours = [
        RepairSpec(condition="AcceleratedHardwareReady", reason=reason, wait_minutes=10, action="NoAction")
        for reason in reasons
    ]
    return (*ours, *pool.spec.repairs)
