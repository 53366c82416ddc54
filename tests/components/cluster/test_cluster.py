"""The cluster as declared: closed, encrypted, logged, and put together in the order that works."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from components import catalog
from components.cluster import Cluster, ClusterArgs
from components.cluster.nodes import system_image
from components.network import Network, NetworkArgs
from components.planning import addons
from components.spec.cluster import ClusterSpec
from components.spec.form import RemoteNetwork
from components.spec.network import NetworkSpec
from tests.declared import Record, named, of_type, one, record

CAT = catalog.load()
TAGS = {"owner": "ml-platform", "team": "pretraining"}
ADMINS = ("arn:aws:iam::111122223333:role/platform-admin", "arn:aws:iam::111122223333:role/eng/platform-admin")
REMOTE = RemoteNetwork(name="rack", node_cidr="192.168.0.0/20", pod_cidr="192.168.16.0/20")
UNTAGGED = {"RolePolicy", "RolePolicyAttachment", "AccessPolicyAssociation"}


@cache
def declared(known: bool = True, protection: bool = False, remote: bool = False, **spec: Any) -> tuple[Record, ...]:
    cluster = ClusterSpec.model_validate({"admins": ADMINS, **spec})

    def program() -> None:
        network = Network(
            "network", NetworkArgs(spec=NetworkSpec(zones=("usw2-az2", "usw2-az3")), region="us-west-2", tags=TAGS)
        )
        Cluster(
            "cluster",
            ClusterArgs(
                spec=cluster,
                cluster_name="trainshed-prod",
                region="us-west-2",
                account_id=network.account_id,
                control_subnet_ids={
                    zone: network.subnet_ids("control", zone) for zone in network.plan.zones("control")
                },
                node_subnet_ids={zone: network.subnet_ids("nodes", zone) for zone in network.plan.zones("nodes")},
                management_security_group_id=network.management_security_group_id,
                compute_security_group_id=network.compute_security_group_id,
                addons=addons.of_cluster(cluster, (*addons.ALWAYS, "aws-fsx-csi-driver"), CAT),
                system_image=system_image(cluster.system_pool, cluster.version, CAT),
                service_cidr="172.20.0.0/16",
                remote_networks=(REMOTE,) if remote else (),
                ready=network.ready,
                delete_protection=protection,
                tags=TAGS,
            ),
        )

    return tuple(each for each in record(program, known=known) if "Network" not in each.type and "$aws" in each.urn)


def eks() -> Mapping[str, Any]:
    return one(declared(), "eks/cluster:Cluster").inputs


def before(records: tuple[Record, ...], name: str) -> set[str]:
    """Everything that must be there before the named resource, through all steps."""
    by_urn = {each.urn: each for each in records}
    waiting = [
        each
        for each in records
        if each.name == name and each.type.rsplit(":", 1)[-1] in ("Addon", "NodeGroup", "Cluster")
    ]
    seen: set[str] = set()
    while waiting:
        for urn in waiting.pop().depends_on:
            if urn not in seen:
                seen.add(urn)
                if urn in by_urn:
                    waiting.append(by_urn[urn])
    return {urn.rsplit("::", 1)[-1] for urn in seen}


def test_a_first_preview_declares_what_an_update_declares() -> None:
    assert sorted((each.type, each.name) for each in declared(known=False)) == sorted(
        (each.type, each.name) for each in declared()
    )


def test_the_control_plane_is_private_logged_and_encrypted() -> None:
    inputs = eks()
    assert (inputs["vpcConfig"]["endpointPrivateAccess"], inputs["vpcConfig"]["endpointPublicAccess"]) == (True, False)
    assert "publicAccessCidrs" not in inputs["vpcConfig"]
    assert inputs["enabledClusterLogTypes"] == ["api", "audit", "authenticator", "controllerManager", "scheduler"]
    assert inputs["encryptionConfig"] == {
        "resources": ["secrets"],
        "provider": {"keyArn": "arn:aws:kms:us-west-2:111122223333:cluster-key"},
    }
    assert inputs["kubernetesNetworkConfig"] == {"serviceIpv4Cidr": "172.20.0.0/16", "ipFamily": "ipv4"}
    assert inputs["upgradePolicy"] == {"supportType": "STANDARD"}
    assert inputs["controlPlaneScalingConfig"] == {"tier": "standard"}


def test_a_public_api_answers_the_named_ranges() -> None:
    inputs = one(
        declared.__wrapped__(endpoint={"public": True, "allowed_cidrs": ("203.0.113.0/24", "198.51.100.0/24")}),
        "eks/cluster:Cluster",
    ).inputs
    assert inputs["vpcConfig"]["publicAccessCidrs"] == ["198.51.100.0/24", "203.0.113.0/24"]


def test_logs_go_to_a_group_made_beforehand_and_kept_as_long_as_asked() -> None:
    group = named(declared(), "cluster-logs")
    assert group.inputs["name"] == "/aws/eks/trainshed-prod/cluster"
    assert group.inputs["retentionInDays"] == 90
    assert "cluster-logs" in before(declared(), "cluster-cluster")


def test_who_creates_the_cluster_is_no_administrator_when_others_are_named() -> None:
    assert eks()["accessConfig"] == {"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": False}


def test_with_no_administrator_named_the_creator_is_one_and_naming_one_later_replaces_nothing() -> None:
    cluster = one(declared(admins=()), "eks/cluster:Cluster")
    assert cluster.inputs["accessConfig"]["bootstrapClusterCreatorAdminPermissions"] is True
    assert "accessConfig.bootstrapClusterCreatorAdminPermissions" in cluster.ignore_changes


def test_a_zone_added_later_leaves_the_clusters_own_subnets_since_eks_refuses_new_zones() -> None:
    assert "vpcConfig.subnetIds" in one(declared(), "eks/cluster:Cluster").ignore_changes


def test_every_administrator_has_an_entry_even_with_names_alike() -> None:
    entries = {each.name: each.inputs["principalArn"] for each in of_type(declared(), "AccessEntry")}
    assert entries == {
        "cluster-admin-111122223333-role-platform-admin": ADMINS[0],
        "cluster-admin-111122223333-role-eng-platform-admin": ADMINS[1],
    }
    for each in of_type(declared(), "AccessPolicyAssociation"):
        assert each.inputs["policyArn"] == "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
        assert each.inputs["accessScope"] == {"type": "cluster"}


def test_the_key_serves_logs_and_volumes_and_names_no_role_that_an_empty_account_lacks() -> None:
    key = named(declared(), "cluster-key")
    assert key.inputs["enableKeyRotation"] is True
    statements = {each["Sid"]: each for each in json.loads(key.inputs["policy"])["Statement"]}
    assert set(statements) == {
        "AccountAdministers",
        "LogsEncrypt",
        "AlarmsPublish",
        "MachinesEncryptVolumes",
        "MachinesGrantVolumes",
    }
    for sid in ("MachinesEncryptVolumes", "MachinesGrantVolumes"):
        condition = statements[sid]["Condition"]
        assert condition["StringEquals"] == {"kms:CallerAccount": "111122223333"}
        assert [each.rsplit("/aws-service-role/")[1] for each in condition["ArnLike"]["aws:PrincipalArn"]] == [
            "autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling*",
            "spot.amazonaws.com/AWSServiceRoleForEC2Spot",
        ]
    assert statements["MachinesGrantVolumes"]["Condition"]["Bool"] == {"kms:GrantIsForAWSResource": "true"}


def test_network_addons_and_their_roles_come_before_any_node() -> None:
    """A node that is there first keeps the settings it started with (prefix delegation, pods a node)."""
    needed = before(declared(), "cluster-system")
    assert {
        "cluster-vpc-cni",
        "cluster-kube-proxy",
        "cluster-eks-pod-identity-agent",
        "cluster-vpc-cni-identity-association",
    } <= needed
    assert not {"cluster-coredns", "cluster-aws-ebs-csi-driver", "cluster-metrics-server"} & needed


def test_nodes_wait_for_the_way_to_the_api_and_for_their_permissions() -> None:
    needed = before(declared(), "cluster-system")
    assert {
        "cluster-in-management-api",
        "cluster-out-management-api",
        "cluster-in-control-kubelet",
        "cluster-node-AmazonEKSWorkerNodePolicy",
        "network-endpoint-s3",
        "network-endpoint-eks-auth",
        "network-nodes-usw2-az2-nat",
    } <= needed


@pytest.mark.parametrize(
    "name", ["coredns", "aws-ebs-csi-driver", "aws-fsx-csi-driver", "metrics-server", "eks-node-monitoring-agent"]
)
def test_other_addons_come_after_the_system_pool_and_the_agent(name: str) -> None:
    assert {"cluster-system", "cluster-eks-pod-identity-agent"} <= before(declared(), f"cluster-{name}")


def test_an_addon_waits_for_the_role_of_its_account() -> None:
    assert "cluster-aws-ebs-csi-driver-identity-association" in before(declared(), "cluster-aws-ebs-csi-driver")
    assert "cluster-vpc-cni-identity-association" in before(declared(), "cluster-vpc-cni")


def test_addons_take_over_at_first_and_keep_later_changes_made_by_hand() -> None:
    pins = CAT.addons.pins("1.35")
    found = of_type(declared(), "Addon")
    assert len(found) == 8
    for each in found:
        assert (each.inputs["resolveConflictsOnCreate"], each.inputs["resolveConflictsOnUpdate"]) == (
            "OVERWRITE",
            "PRESERVE",
        )
        assert each.inputs["addonVersion"] == pins[each.inputs["addonName"]].version


def test_addons_get_their_settings_through_configuration_values() -> None:
    values = {
        each.inputs["addonName"]: json.loads(each.inputs.get("configurationValues", "{}"))
        for each in of_type(declared(), "Addon")
    }
    assert values["vpc-cni"]["env"]["ENABLE_PREFIX_DELEGATION"] == "true"
    assert values["eks-pod-identity-agent"] == {"tolerations": [{"operator": "Exists"}]}
    assert values["eks-node-monitoring-agent"] == {"dcgmAgent": {"tolerations": [{"operator": "Exists"}]}}
    assert values["coredns"]["nodeSelector"] == {"trainshed.io/purpose": "system"}


def test_a_users_version_and_settings_are_laid_over_the_pins() -> None:
    spec = {
        "addons": {"vpc-cni": {"version": "v1.21.0-eksbuild.1", "configuration": {"env": {"WARM_PREFIX_TARGET": "2"}}}}
    }
    [plan] = addons.of_cluster(ClusterSpec.model_validate(spec), ("vpc-cni",), CAT)
    assert plan.version == "v1.21.0-eksbuild.1"
    assert (plan.configuration["env"]["WARM_PREFIX_TARGET"], plan.configuration["env"]["ENABLE_PREFIX_DELEGATION"]) == (
        "2",
        "true",
    )


def test_nodes_may_join_and_pull_images_only() -> None:
    policies = {
        each.inputs["policyArn"]
        for each in of_type(declared(), "RolePolicyAttachment")
        if each.inputs["role"] == "cluster-node"
    }
    assert policies == {
        "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy",
        "arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly",
    }


def test_the_file_system_driver_only_looks_file_systems_up() -> None:
    [statement] = json.loads(
        named_of(declared(), "RolePolicy", "cluster-aws-fsx-csi-driver-identity-policy").inputs["policy"]
    )["Statement"]
    assert statement["Action"] == ["fsx:DescribeFileSystems", "fsx:ListTagsForResource"]


def named_of(records: tuple[Record, ...], token: str, name: str) -> Record:
    [found] = [each for each in of_type(records, token) if each.name == name]
    return found


def test_the_system_pool_is_untainted_over_all_zones_and_in_the_management_group_only() -> None:
    group = one(declared(), "NodeGroup").inputs
    assert "taints" not in group
    assert group["subnetIds"] == ["network-nodes-usw2-az2-id", "network-nodes-usw2-az3-id"]
    assert group["scalingConfig"] == {"desiredSize": 3, "minSize": 3, "maxSize": 3}
    assert (group["amiType"], group["version"]) == ("AL2023_x86_64_STANDARD", "1.35")
    template = one(declared(), "LaunchTemplate").inputs
    assert template["vpcSecurityGroupIds"] == ["network-management-id"]


def test_the_system_pool_is_waited_for_while_it_is_updated_node_by_node() -> None:
    group = one(declared(), "NodeGroup")
    assert group.inputs["updateConfig"] == {"maxUnavailable": 1}
    # Three nodes of up to 31 minutes each and half an hour: more than the provider's own hour.
    assert group.timeouts == {"create": "1h", "update": "3h", "delete": "1h"}


def test_system_nodes_on_arm_get_the_image_for_it() -> None:
    group = one(declared.__wrapped__(system_pool={"instance_type": "m7g.2xlarge", "nodes": 2}), "NodeGroup").inputs
    assert group["amiType"] == "AL2023_ARM_64_STANDARD"


def test_pods_cannot_take_the_nodes_role_and_disks_are_encrypted() -> None:
    template = one(declared(), "LaunchTemplate").inputs
    assert (template["metadataOptions"]["httpTokens"], template["metadataOptions"]["httpPutResponseHopLimit"]) == (
        "required",
        1,
    )
    [disk] = template["blockDeviceMappings"]
    assert (disk["ebs"]["encrypted"], disk["ebs"]["volumeType"], disk["ebs"]["kmsKeyId"]) == (
        "true",
        "gp3",
        "arn:aws:kms:us-west-2:111122223333:cluster-key",
    )
    assert [each["resourceType"] for each in template["tagSpecifications"]] == [
        "instance",
        "volume",
        "network-interface",
    ]
    for each in template["tagSpecifications"]:
        # Who owns a machine may change without its being made anew.
        assert each["tags"]["team"] == "pretraining" and "owner" not in each["tags"]


def test_the_node_group_follows_the_templates_version() -> None:
    group = one(declared(), "NodeGroup")
    assert group.inputs["launchTemplate"] == {"id": "cluster-system-id", "version": "1"}


def test_protection_reaches_the_cluster_and_its_key_themselves() -> None:
    protected = {each.name for each in declared(protection=True) if each.protect}
    assert protected == {"cluster-cluster", "cluster-key"}
    assert one(declared(protection=True), "eks/cluster:Cluster").inputs["deletionProtection"] is True
    assert not any(each.protect for each in declared())


def test_hybrid_networks_are_told_to_the_control_plane_and_reach_the_api() -> None:
    records = declared(remote=True)
    assert one(records, "eks/cluster:Cluster").inputs["remoteNetworkConfig"] == {
        "remoteNodeNetworks": {"cidrs": ["192.168.0.0/20"]},
        "remotePodNetworks": {"cidrs": ["192.168.16.0/20"]},
    }
    found = {
        each.inputs["cidrIpv4"] for each in of_type(records, "SecurityGroupIngressRule") if "cidrIpv4" in each.inputs
    }
    assert found >= {"192.168.0.0/20", "192.168.16.0/20"}


def hybrid_statements(records: tuple[Record, ...]) -> dict[str, Any]:
    policy = json.loads(named_of(records, "RolePolicy", "cluster-hybrid-node").inputs["policy"])
    return {each["Sid"]: each for each in policy["Statement"]}


def test_machines_on_the_premises_find_and_deregister_themselves_and_those_of_no_other_cluster() -> None:
    found = hybrid_statements(declared(remote=True))
    assert (found["FindItself"]["Action"], found["FindItself"]["Resource"]) == (
        ["ssm:DescribeInstanceInformation"],
        ["*"],
    )
    assert found["Leave"] == {
        "Sid": "Leave",
        "Effect": "Allow",
        "Action": ["ssm:DeregisterManagedInstance"],
        "Resource": ["arn:aws:ssm:us-west-2:111122223333:managed-instance/*"],
        "Condition": {
            "StringEquals": {"ssm:resourceTag/EKSClusterARN": "arn:aws:eks:us-west-2:111122223333:cluster-cluster"}
        },
    }


def test_machines_on_the_premises_join_through_a_role_of_this_account_and_cluster() -> None:
    records = declared(remote=True)
    role = named_of(records, "Role", "cluster-hybrid-node")
    [trust] = json.loads(role.inputs["assumeRolePolicy"])["Statement"]
    assert (trust["Principal"], trust["Condition"]) == (
        {"Service": "ssm.amazonaws.com"},
        {"StringEquals": {"aws:SourceAccount": "111122223333"}},
    )
    join = hybrid_statements(records)["Join"]
    assert join["Resource"] == ["arn:aws:eks:us-west-2:111122223333:cluster-cluster"]
    assert named_of(records, "AccessEntry", "cluster-hybrid-node").inputs["type"] == "HYBRID_LINUX"
    assert not any("hybrid" in each.name for each in declared())


def test_the_control_plane_reaches_kubelets_and_what_answers_for_the_api_on_management_nodes() -> None:
    found = [
        each.inputs
        for each in of_type(declared(known=True), "SecurityGroupIngressRule")
        if each.name.startswith("cluster-in-control")
    ]
    ports = {(each["securityGroupId"], each["fromPort"]) for each in found}
    management = {("network-management-id", port) for port in (10250, 443, 8082, 9443, 10251)}
    assert ports == {*management, ("network-compute-nodes-id", 10250)}
    assert len({each["referencedSecurityGroupId"] for each in found}) == 1


@pytest.mark.parametrize("role", ["management", "compute"])
def test_nodes_reach_the_api_without_being_in_the_clusters_group(role: str) -> None:
    records = declared(known=True)
    into = named_of(records, "SecurityGroupIngressRule", f"cluster-in-{role}-api").inputs
    out = named_of(records, "SecurityGroupEgressRule", f"cluster-out-{role}-api").inputs
    assert (into["fromPort"], into["toPort"], out["fromPort"], out["toPort"]) == (443, 443, 443, 443)
    assert into["securityGroupId"] == out["referencedSecurityGroupId"]
    assert into["referencedSecurityGroupId"] == out["securityGroupId"]


def test_every_resource_that_can_carry_tags_carries_them() -> None:
    for each in declared():
        if each.name.startswith("cluster") and each.type.rsplit(":", 1)[-1] not in UNTAGGED:
            assert TAGS.items() <= each.inputs["tags"].items(), each.name
            assert not any(key.startswith("kubernetes.io/cluster/") for key in each.inputs["tags"])
