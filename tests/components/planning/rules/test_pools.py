"""Every wrong combination of a pool by itself is refused with its path, the reason and the nearest right answer."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from components.catalog import Catalog
from tests.components.planning.pool_stacks import FINETUNE, IDS, PREPROCESS, PRETRAIN, reported


def test_the_three_pools_of_the_design_have_no_problems(cat: Catalog) -> None:
    assert reported(cat, PRETRAIN, FINETUNE, PREPROCESS) == []


CASES: list[tuple[str, dict[str, Any], list[str]]] = [
    (
        "an unknown type names the nearest one",
        {**PRETRAIN, "instance_type": "p5.48xlarg"},
        ['pools[0].instance_type: "p5.48xlarg" is not in the catalog; did you mean "p5.48xlarge"?'],
    ),
    (
        "both ways of naming types",
        {**PREPROCESS, "instance_type": "m7i.8xlarge", "instance_types": ["m7a.8xlarge", "m6i.8xlarge", "m6a.8xlarge"]},
        [
            "pools[0].instance_types: instance_type and instance_types are both given; keep one of the two",
            (
                "pools[0].instance_type: a spot pool of 1 type stops whenever it is short; name 3 or more alike: "
                "instance_types: [m7i.8xlarge, m6a.8xlarge, m6i.8xlarge, m7a.8xlarge]"
            ),
        ],
    ),
    (
        "a former name that is the pool's own",
        {**PRETRAIN, "previous_name": "pretrain"},
        [
            (
                'pools[0].previous_name: the resources of "pretrain" belong to the pool itself; name what this pool was'
                " called before, which no pool is called now, or take the line away"
            ),
        ],
    ),
    (
        "the name of the cluster's own nodes",
        {**PRETRAIN, "name": "system"},
        [
            (
                'pools[0].name: "system" is the name of the cluster\'s own nodes, which carry it as their label'
                " trainshed.io/pool; use another, such as services"
            ),
        ],
    ),
    (
        "a label that ends in a new line",
        {**PRETRAIN, "labels": {"team": "vision\n"}},
        [
            (
                'pools[0].labels: the label "team=vision\\n" is not one that Kubernetes takes; use letters, digits,'
                " dots, dashes and underscores, at most 63, with an optional domain and slash before a key"
            ),
        ],
    ),
    (
        "no type at all",
        {key: value for key, value in PRETRAIN.items() if key != "instance_type"},
        ['pools[0].instance_type: pool "pretrain" names no machine type; write one, such as p5.48xlarge'],
    ),
    (
        "a type listed twice",
        {**PREPROCESS, "instance_types": ["m7i.8xlarge", "m7a.8xlarge", "m7i.8xlarge", "m6i.8xlarge"]},
        ['pools[0].instance_types[2]: "m7i.8xlarge" is listed twice; take one out'],
    ),
    (
        "an UltraServer says what is missing",
        {
            **PRETRAIN,
            "instance_type": "p6e-gb200.36xlarge",
            "nodes": 18,
            "spares": 0,
            "capacity": {"kind": "reservation", "ids": [IDS[0]]},
        },
        [
            (
                "pools[0].instance_type: p6e-gb200.36xlarge is sold only as an UltraServer of 9 or 18 machines in "
                "one NVLink domain; what is "
                "missing here: UltraServer blocks that are bought and ended whole, IMEX channels and compute domains "
                "for pods, placement by "
                "NVLink clique; use p6-b200.48xlarge or p6-b300.48xlarge"
            ),
        ],
    ),
    (
        "cards that no adapter drives",
        {**PRETRAIN, "instance_type": "dl1.24xlarge", "fabric": "tcp"},
        [
            (
                "pools[0].instance_type: no adapter drives the habana cards of dl1.24xlarge; use a type with cards of"
                " neuron or nvidia"
            )
        ],
    ),
    (
        "unlike sizes in one pool",
        {**PREPROCESS, "instance_types": ["m7i.8xlarge", "m7a.8xlarge", "m6i.4xlarge"]},
        [
            (
                "pools[0].instance_types[2]: m7i.8xlarge has 32 vCPU and 128 GiB and m6i.4xlarge has 16"
                " vCPU and 64 GiB: the autoscaler and the queue assume one size; use m6a.8xlarge or"
                " m6i.8xlarge, which are of one size"
            ),
        ],
    ),
    (
        "two architectures in one pool",
        {**PREPROCESS, "instance_types": ["m7i.8xlarge", "m7a.8xlarge", "m7g.8xlarge"]},
        [
            (
                "pools[0].instance_types[2]: m7i.8xlarge is x86_64 and m7g.8xlarge is arm64: no image runs on both; "
                "make two pools"
            )
        ],
    ),
    (
        "a range upside down",
        {**FINETUNE, "nodes": {"min": 5, "max": 3}},
        ["pools[0].nodes.min: min 5 is over max 3; use at most 3"],
    ),
    (
        "spares that leave nothing",
        {**PRETRAIN, "nodes": 4, "spares": 4},
        ["pools[0].spares: 4 spares of 4 nodes leave none for jobs; use at most 3"],
    ),
    (
        "spares in a pool that may shrink",
        {**FINETUNE, "spares": 2},
        [
            (
                "pools[0].spares: warning: 2 spares of a pool that may shrink to 0 nodes are not warm; set nodes.min to"
                " at least 2"
            ),
        ],
    ),
    (
        "a label in Kubernetes' name",
        {**PRETRAIN, "labels": {"node-role.kubernetes.io/gpu": "true"}},
        [
            (
                'pools[0].labels: the label "node-role.kubernetes.io/gpu" is below kubernetes.io, which is reserved; '
                "use a prefix of your own, such as example.com/gpu"
            ),
        ],
    ),
    (
        "a label in EKS' name",
        {**PRETRAIN, "labels": {"eks.amazonaws.com/nodegroup": "x"}},
        [
            (
                'pools[0].labels: the label "eks.amazonaws.com/nodegroup" is below eks.amazonaws.com, which is'
                " reserved; use a prefix of your own, such as example.com/nodegroup"
            ),
        ],
    ),
    (
        "a label in the topology's name",
        {**PRETRAIN, "labels": {"topology.k8s.aws/network-node-layer-1": "x"}},
        [
            (
                'pools[0].labels: the label "topology.k8s.aws/network-node-layer-1" is below k8s.aws, which is'
                " reserved; use a prefix of your own, such as example.com/network-node-layer-1"
            ),
        ],
    ),
    (
        "a label in this project's name",
        {**PRETRAIN, "labels": {"trainshed.io/pool": "other"}},
        [
            (
                'pools[0].labels: the label "trainshed.io/pool" is below trainshed.io, which is reserved; '
                "use a prefix of your own, such as example.com/pool"
            ),
        ],
    ),
    (
        "a label that is none",
        {**PRETRAIN, "labels": {"team": "machine learning"}},
        [
            (
                'pools[0].labels: the label "team=machine learning" is not one that Kubernetes takes; use letters, '
                "digits, dots, dashes and "
                "underscores, at most 63, with an optional domain and slash before a key"
            ),
        ],
    ),
    (
        "a taint in Kubernetes' name",
        {**PRETRAIN, "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]},
        [
            (
                'pools[0].taints[0].key: the taint "node.kubernetes.io/unschedulable" is below kubernetes.io, which is'
                " reserved; use a prefix of your own, such as example.com/unschedulable"
            ),
        ],
    ),
    (
        "the cards' own taint again, in the other spelling",
        {**PRETRAIN, "taints": [{"key": "nvidia.com/gpu", "effect": "NO_SCHEDULE"}]},
        [
            (
                'pools[0].taints[0]: the taint "nvidia.com/gpu" with the effect NO_SCHEDULE is there twice, which '
                "every pool of nvidia cards has "
                "already; take it out"
            ),
        ],
    ),
    (
        "an own image with a release",
        {**PRETRAIN, "image_id": "ami-0a1b2c3d4e5f60718", "image_release": "1.35.2-20260714"},
        [
            (
                "pools[0].image_release: image_id and image_release are both given, and an own image has no release of"
                " EKS'; keep one of the two"
            )
        ],
    ),
    (
        "a family that ended",
        {**PRETRAIN, "image_family": "AL2_x86_64_GPU"},
        [
            (
                'pools[0].image_family: "AL2_x86_64_GPU" ended on 2025-11-26; the last was made for Kubernetes 1.32, '
                "and it ignores the NodeConfig "
                "that sets nodes up; use AL2023_x86_64_NVIDIA"
            ),
        ],
    ),
    (
        "a misspelt family",
        {**PRETRAIN, "image_family": "AL2023_x86_64_NVIDA"},
        ['pools[0].image_family: "AL2023_x86_64_NVIDA" is no EKS image family; did you mean "AL2023_x86_64_NVIDIA"?'],
    ),
    (
        "a family without the driver",
        {**PRETRAIN, "image_family": "AL2023_x86_64_STANDARD"},
        [
            (
                'pools[0].image_family: "AL2023_x86_64_STANDARD" does not run on p5.48xlarge, which is x86_64 with'
                " nvidia cards; use AL2023_x86_64_NVIDIA, BOTTLEROCKET_x86_64_NVIDIA or BOTTLEROCKET_x86_64_NVIDIA_FIPS"
            ),
        ],
    ),
    (
        "CUSTOM without an image",
        {**PRETRAIN, "image_family": "CUSTOM"},
        [
            (
                "pools[0].image_id: the family CUSTOM says nothing without an image; give the own image's id, such as"
                " ami-0a1b2c3d4e5f60718"
            ),
        ],
    ),
    (
        "a type that EKS' images have no driver for",
        {**PRETRAIN, "instance_type": "g7.2xlarge", "fabric": "tcp", "zone": "usw2-az2", "nodes": 20},
        [
            (
                "pools[0].instance_type: note: the catalog has no primary source for these facts of g7.2xlarge:"
                " network.nitro; compare with aws ec2 describe-instance-types --instance-types g7.2xlarge"
            ),
            (
                "pools[0].image_id: no image of EKS' has a driver for g7.2xlarge; build one with the driver it needs,"
                " and give its id"
            ),
        ],
    ),
    (
        "a root volume that images fill",
        {**PRETRAIN, "root_volume_gib": 50},
        [
            (
                "pools[0].root_volume_gib: 50 GiB fill up with two or three training images, and the node drains "
                "itself; use 200 or more"
            )
        ],
    ),
    (
        "throughput that the operations don't carry",
        {**PRETRAIN, "root_volume_iops": 3000, "root_volume_mib_per_s": 1000},
        [
            (
                "pools[0].root_volume_mib_per_s: 1000 MiB/s need 4000 operations a second, and the volume has 3000; "
                "set root_volume_iops: 4000"
            ),
        ],
    ),
    (
        "operations that the size doesn't carry",
        {**PREPROCESS, "root_volume_gib": 20, "root_volume_iops": 16000},
        ["pools[0].root_volume_iops: 16000 operations a second are more than gp3 gives 20 GiB; use at most 10000"],
    ),
]


@pytest.mark.parametrize(
    ("pool", "expected"), [(pool, expected) for _, pool, expected in CASES], ids=[name for name, _, _ in CASES]
)
def test_a_wrong_pool_is_told_in_full(cat: Catalog, pool: dict[str, Any], expected: list[str]) -> None:
    assert reported(cat, pool) == expected


def test_two_pools_of_one_name_name_the_first(cat: Catalog) -> None:
    twin = {**FINETUNE, "name": "pretrain"}
    assert reported(cat, PRETRAIN, twin) == [
        'pools[1].name: the name "pretrain" is taken by pools[0]; names of pools are unique in the stack'
    ]


def test_a_newer_release_is_told_and_not_applied(cat: Catalog) -> None:
    images = replace(cat.images, releases=MappingProxyType({"al2023": MappingProxyType({"1.35": "1.35.3-20260820"})}))
    later = replace(cat, images=images)
    pinned = {**PRETRAIN, "image_release": "1.35.2-20260714"}
    assert reported(later, pinned) == [
        (
            'pools[0].image_release: note: release "1.35.2-20260714" has a successor in the catalog; '
            'try image_release: "1.35.3-20260820" on one pool first'
        )
    ]
    newest = cat.images.release("AL2023_x86_64_NVIDIA", "1.35")
    assert reported(cat, {**PRETRAIN, "image_release": newest}) == []
