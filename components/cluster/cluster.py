"""The EKS cluster: control plane, key, logs, administrators, add-ons and the system pool, in the order that works.

The order must stay: log group and key first, network add-ons before any node, the rest once the system pool has room.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi
import pulumi_aws as aws

from components.catalog.limits import log_retention
from components.cluster import access, hybrid, nodes
from components.cluster import addons as cluster_addons
from components.cluster.nodes import SystemImage
from components.identity import policy_documents
from components.planning import alone
from components.planning.addons import AddonPlan
from components.refused import refuse
from components.spec.access import OidcSpec
from components.spec.cluster import ClusterSpec
from components.spec.form import RemoteNetwork

LOG_TYPES = ("api", "audit", "authenticator", "controllerManager", "scheduler")
_KEY_USE = ("kms:Encrypt", "kms:Decrypt", "kms:ListGrants", "kms:DescribeKey")


@dataclass(frozen=True, kw_only=True)
class ClusterArgs:
    """`control_subnet_ids` and `node_subnet_ids` are by zone id; `ready` is what nodes wait for (`Network.ready`).

    `admins` are administrators beside the spec's; `people` are Kubernetes groups by IAM principal; `groups_prefix`
    stands before names and groups of the identity provider `oidc`.

    `cluster_name` is the physical name, at most 100 characters. `service_cidr` meets no network the cluster can see.
    """

    spec: ClusterSpec
    cluster_name: str
    region: str
    account_id: pulumi.Input[str]
    control_subnet_ids: Mapping[str, pulumi.Input[str]]
    node_subnet_ids: Mapping[str, pulumi.Input[str]]
    management_security_group_id: pulumi.Input[str]
    compute_security_group_id: pulumi.Input[str]
    addons: tuple[AddonPlan, ...]
    system_image: SystemImage
    service_cidr: str
    remote_networks: tuple[RemoteNetwork, ...] = ()
    admins: tuple[str, ...] = ()
    people: Mapping[str, Sequence[str]] = field(default_factory=dict[str, "Sequence[str]"])
    oidc: OidcSpec | None = None
    groups_prefix: str = "oidc:"
    ready: Sequence[pulumi.Resource] = ()
    delete_protection: bool = False
    tags: Mapping[str, str] = field(default_factory=dict[str, str])


_OUTPUTS = ("name", "endpoint", "certificate_authority", "security_group_id", "version", "key_arn", "node_role_arn")


class Cluster(pulumi.ComponentResource):
    """Attributes: `name`, `endpoint`, `certificate_authority` (base64), `security_group_id` (the cluster's own group),
    `version`, `kubeconfig`, `key_arn`, `node_role_arn`, `hybrid_node_role` (its name, None without remote networks),
    `before_nodes` (what every node group waits for) and `ready` (what workloads wait for).

    They are no class annotations: the SDK would hold the spec's own `version` and `endpoint` against those.
    """

    def __init__(self, name: str, args: ClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        found = alone.of_cluster(
            args.spec,
            args.region,
            control_zones=args.control_subnet_ids,
            node_zones=args.node_subnet_ids,
            admins=args.admins,
        )
        refuse("Cluster", name, found)
        super().__init__("trainshed:cluster:Cluster", name, args.spec.model_dump(mode="json"), opts)
        self._args, self._children = args, pulumi.ResourceOptions(parent=self)
        tags, children = args.tags, self._children

        key = self._key(name)
        role, permissions = self._role(name, key)
        cluster = self._cluster(name, role, key, [self._logs(name, key), *permissions])
        node_role, node_permissions = nodes.node_role(name, region=args.region, tags=tags, children=children)

        self.name, self.endpoint, self.version = cluster.name, cluster.endpoint, args.spec.version
        self.certificate_authority = cluster.certificate_authority.apply(lambda authority: authority.data or "")
        self.security_group_id = cluster.vpc_config.apply(lambda config: config.cluster_security_group_id or "")
        self.key_arn, self.node_role_arn = key.arn, node_role.arn
        self.kubeconfig = self._kubeconfig()

        rules = self._group_rules(name)
        self.hybrid_node_role: pulumi.Output[str] | None = None
        if args.remote_networks:
            self.hybrid_node_role = hybrid.declare(
                name, region=args.region, account=args.account_id, cluster=cluster, tags=tags, children=children
            )
        admins = self._admit(name, cluster)
        network_addons = self._addons(name, [plan for plan in args.addons if plan.before_nodes], [])
        self.before_nodes = [*args.ready, *rules, *admins, *network_addons, *node_permissions]
        system = nodes.system_pool(
            name,
            args.spec.system_pool,
            args.system_image,
            version=args.spec.version,
            cluster_name=cluster.name,
            role=node_role,
            subnets=[args.node_subnet_ids[zone] for zone in sorted(args.node_subnet_ids)],
            security_group=args.management_security_group_id,
            key_arn=key.arn,
            after=self.before_nodes,
            tags=tags,
            parent=self,
        )
        self.ready = [
            system,
            *admins,
            *self._addons(name, [plan for plan in args.addons if not plan.before_nodes], [system]),
        ]
        self.register_outputs({each: getattr(self, each) for each in _OUTPUTS})

    def _logs(self, name: str, key: aws.kms.Key) -> aws.cloudwatch.LogGroup:
        return aws.cloudwatch.LogGroup(
            f"{name}-logs",
            # EKS writes here and, when it finds no such group, makes one that is kept for ever and isn't encrypted.
            name=f"/aws/eks/{self._args.cluster_name}/cluster",
            retention_in_days=log_retention(self._args.spec.logs_days),
            kms_key_id=key.arn,
            tags={**self._args.tags, "Name": f"{name}-logs"},
            opts=self._children,
        )

    def _group_rules(self, name: str) -> list[pulumi.Resource]:
        args = self._args
        return [
            *access.rules(
                name,
                cluster_group=self.security_group_id,
                management_group=args.management_security_group_id,
                compute_group=args.compute_security_group_id,
                private_cidrs=(*args.spec.endpoint.private_cidrs, *_remote_cidrs(args.remote_networks)),
                tags=args.tags,
                children=self._children,
            )
        ]

    def _admit(self, name: str, cluster: aws.eks.Cluster) -> list[pulumi.Resource]:
        """Let administrators and people in. Returns the administrators' entries, which nodes and workloads wait for."""
        args = self._args
        everyone = (*args.spec.admins, *args.admins)
        admins = access.administrators(
            name, everyone, region=args.region, cluster_name=cluster.name, tags=args.tags, children=self._children
        )
        access.people(
            name,
            {who: groups for who, groups in args.people.items() if who not in everyone},
            args.oidc,
            groups_prefix=args.groups_prefix,
            cluster_name=cluster.name,
            tags=args.tags,
            children=self._children,
        )
        return [*admins]

    def _key(self, name: str) -> aws.kms.Key:
        region, account = self._args.region, self._args.account_id
        return aws.kms.Key(
            f"{name}-key",
            description="Secrets, control-plane logs, node volumes and alerts of the cluster",
            enable_key_rotation=True,
            deletion_window_in_days=30,
            policy=policy_documents.document(
                policy_documents.key_administration(region, account),
                policy_documents.logs_use_key(region, account),
                policy_documents.alarms_use_key(account),
                *policy_documents.machines_use_key(region, account),
            ),
            tags={**self._args.tags, "Name": f"{name}-key"},
            opts=pulumi.ResourceOptions(parent=self, protect=self._args.delete_protection),
        )

    def _role(self, name: str, key: aws.kms.Key) -> tuple[aws.iam.Role, list[pulumi.Resource]]:
        role = aws.iam.Role(
            f"{name}-control-plane",
            description="The control plane of the cluster",
            assume_role_policy=policy_documents.trust("eks.amazonaws.com"),
            tags={**self._args.tags, "Name": f"{name}-control-plane"},
            opts=self._children,
        )
        return role, [
            aws.iam.RolePolicyAttachment(
                f"{name}-control-plane-AmazonEKSClusterPolicy",
                role=role.name,
                policy_arn=policy_documents.managed(self._args.region, "AmazonEKSClusterPolicy"),
                opts=self._children,
            ),
            # EKS makes its log group again when it writes after the stack's has gone: kept for ever, and not encrypted.
            aws.iam.RolePolicy(
                f"{name}-control-plane-logs",
                role=role.name,
                policy=policy_documents.document(
                    policy_documents.Statement(sid="LeaveLogGroups", effect="Deny", actions=("logs:CreateLogGroup",))
                ),
                opts=self._children,
            ),
            aws.iam.RolePolicy(
                f"{name}-control-plane-key",
                role=role.name,
                policy=policy_documents.document(
                    policy_documents.Statement(sid="EncryptSecrets", actions=_KEY_USE, resources=(key.arn,))
                ),
                opts=self._children,
            ),
        ]

    def _cluster(
        self, name: str, role: aws.iam.Role, key: aws.kms.Key, after: list[pulumi.Resource]
    ) -> aws.eks.Cluster:
        args, spec = self._args, self._args.spec
        return aws.eks.Cluster(
            f"{name}-cluster",
            name=args.cluster_name,
            version=spec.version,
            role_arn=role.arn,
            vpc_config=aws.eks.ClusterVpcConfigArgs(
                subnet_ids=[args.control_subnet_ids[zone] for zone in sorted(args.control_subnet_ids)],
                endpoint_private_access=True,
                endpoint_public_access=spec.endpoint.public,
                public_access_cidrs=sorted(set(spec.endpoint.allowed_cidrs)) if spec.endpoint.public else None,
            ),
            # With no administrator named, whoever creates the cluster becomes one: else nobody could ever enter it.
            access_config={
                "authentication_mode": "API",
                "bootstrap_cluster_creator_admin_permissions": not (spec.admins or args.admins),
            },
            bootstrap_self_managed_addons=False,  # the add-ons below are the only ones
            enabled_cluster_log_types=list(LOG_TYPES),
            encryption_config={"provider": {"key_arn": key.arn}, "resources": ["secrets"]},
            kubernetes_network_config={"service_ipv4_cidr": args.service_cidr, "ip_family": "ipv4"},
            control_plane_scaling_config={"tier": spec.control_plane_tier},
            upgrade_policy={"support_type": spec.support.upper()},
            zonal_shift_config={"enabled": spec.zonal_shift},
            remote_network_config=_remote_config(args.remote_networks),
            deletion_protection=args.delete_protection,
            tags={**args.tags, "Name": args.cluster_name},
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=after,
                protect=args.delete_protection,
                ignore_changes=[
                    # Only read when the cluster is made; a first administrator in the stack file would otherwise
                    # replace it.
                    "accessConfig.bootstrapClusterCreatorAdminPermissions",
                    # EKS refuses subnets in zones that the cluster was not made with (its user guide: "network
                    # requirements"); nodes in a zone added later reach the control plane through the VPC's own routes.
                    "vpcConfig.subnetIds",
                ],
            ),
        )

    def _addons(self, name: str, plans: list[AddonPlan], after: list[pulumi.Resource]) -> list[pulumi.Resource]:
        return cluster_addons.declare(
            name,
            plans,
            region=self._args.region,
            cluster_name=self.name,
            key_arn=self.key_arn,
            after=after,
            tags=self._args.tags,
            parent=self,
        )

    def _kubeconfig(self) -> pulumi.Output[str]:
        """For the AWS command line's token: it holds no credential, and its values only change with the cluster
        itself.
        """
        name = self._args.cluster_name
        command = ["--region", self._args.region, "eks", "get-token", "--cluster-name", name, "--output", "json"]
        user = {
            "exec": {
                "apiVersion": "client.authentication.k8s.io/v1",
                "command": "aws",
                "args": command,
                "interactiveMode": "Never",
            }
        }
        return pulumi.Output.json_dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [
                    {
                        "name": name,
                        "cluster": {"server": self.endpoint, "certificate-authority-data": self.certificate_authority},
                    }
                ],
                "users": [{"name": name, "user": user}],
                "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
                "current-context": name,
            }
        )


def _remote_cidrs(remote: tuple[RemoteNetwork, ...]) -> list[str]:
    return [cidr for each in remote for cidr in (each.node_cidr, each.pod_cidr) if cidr]


def _remote_config(remote: tuple[RemoteNetwork, ...]) -> aws.eks.ClusterRemoteNetworkConfigArgs | None:
    if not remote:
        return None
    pods = sorted(each.pod_cidr for each in remote if each.pod_cidr)
    return aws.eks.ClusterRemoteNetworkConfigArgs(
        remote_node_networks=aws.eks.ClusterRemoteNetworkConfigRemoteNodeNetworksArgs(
            cidrs=sorted(each.node_cidr for each in remote)
        ),
        remote_pod_networks=aws.eks.ClusterRemoteNetworkConfigRemotePodNetworksArgs(cidrs=pods) if pods else None,
    )
