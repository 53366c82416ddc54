"""Clusters that EKS would refuse, that stand open, or that nobody could enter are named before anything is declared:
each full text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from components import catalog
from components.catalog import Catalog
from components.planning.rules import cluster as rules
from components.problems import Problem, render
from components.spec.stack import StackSpec

CAT = catalog.load()
ADMIN = "arn:aws:iam::111122223333:role/platform-admin"
SOUND: dict[str, Any] = {"version": "1.35", "admins": (ADMIN,), "endpoint": {"private_cidrs": ("192.168.0.0/20",)}}


def stack(cluster: dict[str, Any] | None = None, **sections: Any) -> StackSpec:
    data: dict[str, Any] = {
        "environment": "prod",
        "network": {"zones": ("usw2-az2", "usw2-az3")},
        "cluster": {**SOUND, **(cluster or {})},
    }
    return StackSpec.model_validate({**data, **sections})


def said(rule: Callable[[StackSpec, Catalog], Iterable[Problem]], value: StackSpec, cat: Catalog = CAT) -> list[str]:
    return [render(each) for each in rule(value, cat)]


ALL = (
    rules.version_is_supported,
    rules.endpoint_is_closed,
    rules.administrators_are_roles,
    rules.addons_are_known,
    rules.tags_are_ours_to_set,
    rules.control_plane_is_large_enough,
    rules.system_pool_fits,
)


def test_a_sound_cluster_has_no_problems_and_neither_has_none() -> None:
    self_hosted = StackSpec.model_validate({"environment": "dev", "form": {"kind": "self-hosted", "kubeconfig": "x"}})
    for rule in ALL:
        assert said(rule, stack(storage={"lustre": ({"name": "train", "zone": "usw2-az3"},)})) == []
        assert said(rule, self_hosted) == []


@pytest.mark.parametrize(
    ("cluster", "text"),
    [
        (
            {"version": "1.53"},
            (
                'cluster.version: EKS has no Kubernetes 1.53 that the catalog knows; use "1.35"; EKS offers 1.32, 1.33,'
                " 1.34, 1.35, 1.36, 1.37"
            ),
        ),
        ({"version": "1.31"}, 'cluster.version: Kubernetes 1.31 is out of support: it ended on 2026-11-26; use "1.35"'),
        (
            {"version": "1.33"},
            (
                "cluster.version: Kubernetes 1.33 left standard support on 2026-07-29, and a cluster on standard"
                ' support can\'t have it; use "1.35", or set cluster.support: extended, whose hour costs several times'
                " as much, until 2027-07-29"
            ),
        ),
        (
            {"version": "1.34"},
            'cluster.version: warning: Kubernetes 1.34 leaves standard support on 2026-12-02; plan for "1.35"',
        ),
    ],
)
def test_versions_out_of_support(cluster: dict[str, Any], text: str) -> None:
    assert said(rules.version_is_supported, stack(cluster)) == [text]


def test_extended_support_takes_an_older_version() -> None:
    assert said(rules.version_is_supported, stack({"version": "1.33", "support": "extended"})) == []


def test_a_version_that_eks_does_not_have_yet() -> None:
    early = replace(CAT, as_of="2026-01-02")
    assert said(rules.version_is_supported, stack(), early) == [
        'cluster.version: Kubernetes 1.35 comes to EKS on 2026-01-27; use "1.35"'
    ]


def test_an_api_open_to_the_world() -> None:
    assert said(
        rules.endpoint_is_closed,
        stack({"endpoint": {"public": True, "allowed_cidrs": ("203.0.113.0/24", "0.0.0.0/0")}}),
    ) == [
        (
            "cluster.endpoint.allowed_cidrs[1]: 0.0.0.0/0 opens the API to the whole world; name the"
            " ranges that may reach it, or set endpoint.public: false and take them out"
        )
    ]


def test_a_public_api_without_ranges_which_eks_takes_as_the_world() -> None:
    assert said(rules.endpoint_is_closed, stack({"endpoint": {"public": True}})) == [
        (
            "cluster.endpoint.allowed_cidrs: the API is public and no range is named, which EKS takes as the whole "
            "world; name the ranges that may reach it, such as [203.0.113.0/24]"
        )
    ]


def test_ranges_for_a_public_address_that_is_not_there() -> None:
    assert said(
        rules.endpoint_is_closed,
        stack({"endpoint": {"allowed_cidrs": ("10.1.0.0/16",), "private_cidrs": ("10.2.0.0/16",)}}),
    ) == [
        (
            "cluster.endpoint.allowed_cidrs: warning: ranges are named for the public address, and endpoint.public is"
            " false; use private_cidrs for networks that reach the private address, or set endpoint.public: true"
        )
    ]


def test_more_ranges_than_eks_takes() -> None:
    cidrs = tuple(f"203.0.113.{number}/32" for number in range(41))
    assert said(rules.endpoint_is_closed, stack({"endpoint": {"public": True, "allowed_cidrs": cidrs}})) == [
        "cluster.endpoint.allowed_cidrs: 41 ranges, and EKS takes 40; join them into fewer"
    ]


def test_a_private_api_says_where_the_engine_must_run() -> None:
    assert said(rules.endpoint_is_closed, stack({"endpoint": {}})) == [
        (
            "cluster.endpoint: note: the Kubernetes API answers inside the VPC only; run `pulumi up` where it is "
            "reached, and name networks beyond the VPC (VPN, peering) in "
            "cluster.endpoint.private_cidrs; elsewhere it waits at "
            "the first Kubernetes object"
        )
    ]


def test_a_cluster_without_administrators() -> None:
    assert said(rules.administrators_are_roles, stack({"admins": ()})) == [
        (
            "cluster.admins: warning: no administrator is named, so whoever creates the cluster becomes its only one, "
            "and no stack file says who that was; "
            "name IAM roles, the deploying one among them, such as [arn:aws:iam::111122223333:role/platform-admin]"
        )
    ]


def test_an_administrator_that_is_a_session() -> None:
    assert said(
        rules.administrators_are_roles, stack({"admins": ("arn:aws:sts::111122223333:assumed-role/admin/ada",)})
    ) == [
        (
            "cluster.admins[0]: arn:aws:sts::111122223333:assumed-role/admin/ada is no IAM role or user, and access "
            "entries take no other; use the role behind the session, "
            "arn:aws:iam::111122223333:role/admin (with its path, if "
            "it has one)"
        )
    ]


def test_an_administrator_that_is_a_bare_name() -> None:
    assert said(rules.administrators_are_roles, stack({"admins": ("platform-admin",)})) == [
        (
            "cluster.admins[0]: platform-admin is no IAM role or user, and access entries take no other; "
            "use the ARN of an IAM role, such as arn:aws:iam::111122223333:role/platform-admin"
        )
    ]


@pytest.mark.parametrize("name", ["amazon-cloudwatch-observability", "kube-state-metrics", "prometheus-node-exporter"])
def test_an_addon_that_brings_a_second_exporter_is_told(name: str) -> None:
    found = said(rules.addons_bring_nothing_twice, stack({"addons": {name: {"version": "v1.0.0-eksbuild.1"}}}))
    assert len(found) == 1
    assert found[0].startswith(f"cluster.addons.{name}: warning: {name} brings a second ")


def test_addons_that_bring_nothing_twice_are_not_told() -> None:
    assert said(rules.addons_bring_nothing_twice, stack({"addons": {"vpc-cni": {}, "snapshot-controller": {}}})) == []


def test_a_misspelt_addon() -> None:
    assert said(rules.addons_are_known, stack({"addons": {"vpc_cni": {}}})) == [
        'cluster.addons.vpc_cni: "vpc_cni" is no EKS add-on; did you mean "vpc-cni"?'
    ]


def test_an_addon_without_a_pin_needs_its_version() -> None:
    assert said(rules.addons_are_known, stack({"addons": {"snapshot-controller": {}}})) == [
        (
            "cluster.addons.snapshot-controller.version: no version of the add-on snapshot-controller is known for"
            " Kubernetes 1.35; write its version"
        )
    ]
    assert (
        said(rules.addons_are_known, stack({"addons": {"snapshot-controller": {"version": "v8.3.0-eksbuild.1"}}})) == []
    )


def test_an_addon_that_came_later_than_the_kubernetes_version_names_one_that_has_it() -> None:
    known = CAT.addons.known
    fsx = known["aws-fsx-csi-driver"]
    late = replace(
        fsx, versions=MappingProxyType({version: pin for version, pin in fsx.versions.items() if version == "1.34"})
    )
    cat = replace(CAT, addons=replace(CAT.addons, known=MappingProxyType({**known, fsx.name: late})))
    value = stack(storage={"lustre": ({"name": "train", "zone": "usw2-az3"},)})
    assert said(rules.addons_are_known, value, cat) == [
        (
            "cluster.addons.aws-fsx-csi-driver.version: no version of the add-on aws-fsx-csi-driver is known for "
            "Kubernetes 1.35; write its version, or use Kubernetes 1.34"
        )
    ]


@pytest.mark.parametrize(
    ("name", "version", "text"),
    [
        ("coredns", "1.13", '"1.13" is no version of an EKS add-on; write it like v1.2.3-eksbuild.1'),
        (
            "kube-proxy",
            "v1.33.2-eksbuild.1",
            "kube-proxy v1.33.2-eksbuild.1 is not for Kubernetes 1.35; use a version that begins with v1.35.",
        ),
    ],
)
def test_an_addon_version_that_is_none_of_the_clusters(name: str, version: str, text: str) -> None:
    assert said(rules.addons_are_known, stack({"addons": {name: {"version": version}}})) == [
        f"cluster.addons.{name}.version: {text}"
    ]


def test_tags_that_aws_or_eks_sets_itself() -> None:
    assert said(
        rules.tags_are_ours_to_set,
        stack(tags={"aws:owner": "me", "kubernetes.io/cluster/prod": "owned", "owner": "me"}),
    ) == [
        'tags: the tag "aws:owner" begins with aws:, which AWS keeps for itself; choose another key',
        (
            'tags: the tag "kubernetes.io/cluster/prod" marks the security group that EKS manages; '
            "on every group a load-balancer controller finds two and stops; take it out: EKS sets it where it belongs"
        ),
    ]


def test_more_tags_than_a_resource_takes() -> None:
    assert said(rules.tags_are_ours_to_set, stack(tags={f"key-{number}": "x" for number in range(46)})) == [
        "tags: 46 tags, and a resource takes 50, 5 of them set here; keep at most 45"
    ]


@pytest.mark.parametrize(
    ("nodes", "tier", "texts"),
    [
        (297, "standard", []),
        (
            298,
            "standard",
            [
                (
                    'cluster.control_plane_tier: warning: up to 301 nodes on a control plane of "standard", '
                    "which is planned for up to 300; use control_plane_tier: tier-xl"
                )
            ],
        ),
        (998, "tier-4xl", []),
        (
            1250,
            "tier-xl",
            [
                (
                    'cluster.control_plane_tier: warning: up to 1,253 nodes on a control plane of "tier-xl", '
                    "which is planned for up to 1,000; use control_plane_tier: tier-4xl"
                )
            ],
        ),
    ],
)
def test_a_control_plane_too_small_for_its_nodes(nodes: int, tier: str, texts: list[str]) -> None:
    pool = {"name": "train", "purpose": "training", "instance_type": "p5.48xlarge", "zone": "usw2-az3", "nodes": nodes}
    assert said(rules.control_plane_is_large_enough, stack({"control_plane_tier": tier}, pools=(pool,))) == texts


@pytest.mark.parametrize(
    ("pool", "texts"),
    [
        (
            {"instance_type": "m7i.2xlarg"},
            ['cluster.system_pool.instance_type: "m7i.2xlarg" is not in the catalog; did you mean "m7i.2xlarge"?'],
        ),
        (
            {"instance_type": "p5.48xlarge"},
            [
                (
                    "cluster.system_pool.instance_type: p5.48xlarge has 8 accelerator cards, which controllers leave "
                    "idle; use a general type such as m7i.2xlarge"
                )
            ],
        ),
        (
            {"instance_type": "hpc7a.96xlarge"},
            [
                (
                    "cluster.system_pool.instance_type: hpc7a.96xlarge is not offered in us-west-2; use a general type "
                    "such as m7i.2xlarge"
                )
            ],
        ),
        (
            {"nodes": 1},
            [
                (
                    "cluster.system_pool.nodes: warning: one system node: CoreDNS and every controller stop when it "
                    "does; use at least 2"
                )
            ],
        ),
    ],
)
def test_system_pools_that_do_not_fit(pool: dict[str, Any], texts: list[str]) -> None:
    assert said(rules.system_pool_fits, stack({"system_pool": pool})) == texts
