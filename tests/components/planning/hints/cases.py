"""Stacks with one thing wrong, and what its hint says to do.

A row is the problem's id, the edit that makes it, and the edits that follow its hint. Where the hint names keys and
values, it is read (see `following`) and the row has no third part.
"""

from __future__ import annotations

from typing import Any

from tests.components.planning.hints.following import GONE

P, L, Q, C, N = "pools[0]", "storage.lustre[0]", "queues[0]", "cluster", "network"
LINK: dict[str, Any] = {"path": "/checkpoints", "bucket": "checkpoints", "export": ["new", "changed"]}
DATA: dict[str, Any] = {"path": "/datasets", "bucket": "datasets", "import": ["new"]}
TOPIC = "arn:aws:sns:us-west-2:111122223333:a"
POLICY = "arn:aws:iam::111122223333:policy/dns"
ADMIN = "arn:aws:iam::111122223333:role/platform-admin"
IDS = ["cr-0a1b2c3d4e5f60718", "cr-1a1b2c3d4e5f60718"]
BLOCK: dict[str, Any] = {
    "kind": "block",
    "id": "cr-3a1b2c3d4e5f60718",
    "start": "2026-12-10T11:30:00Z",
    "end": "2026-12-24T11:30:00Z",
}
PART: dict[str, Any] = {"start": BLOCK["start"], "end": BLOCK["end"]}
PREP: dict[str, Any] = {
    "name": "prep",
    "purpose": "preprocessing",
    "instance_types": ["m7i.8xlarge", "m7a.8xlarge", "m6i.8xlarge"],
    "nodes": {"min": 0, "max": 4},
}
OTHER: dict[str, Any] = {
    "name": "other",
    "purpose": "training",
    "instance_type": "p5.48xlarge",
    "zone": "usw2-az3",
    "nodes": 4,
    "fabric": "efa",
    "capacity": {"kind": "reservation", "ids": ["cr-2a1b2c3d4e5f60718"]},
}
HDD: dict[str, Any] = {
    "name": "train",
    "zone": "usw2-az3",
    "deployment": "PERSISTENT_2",
    "storage": "HDD",
    "capacity_gib": 6000,
    "throughput_mbps_per_tib": 12,
}
TIER: dict[str, Any] = {"name": "train", "zone": "usw2-az3", "storage": "INTELLIGENT_TIERING", "throughput_mbps": 4000}
S2: dict[str, Any] = {
    "name": "train",
    "zone": "usw2-az3",
    "deployment": "SCRATCH_2",
    "capacity_gib": 2400,
    "links": [LINK],
}
S1: dict[str, Any] = {
    "name": "train",
    "zone": "usw2-az3",
    "deployment": "SCRATCH_1",
    "capacity_gib": 3600,
    "expendable": True,
    "version": "2.12",
}
P1: dict[str, Any] = {
    "name": "train",
    "zone": "usw2-az3",
    "deployment": "PERSISTENT_1",
    "capacity_gib": 2400,
    "throughput_mbps_per_tib": 100,
}
P2: dict[str, Any] = {
    "name": "train",
    "zone": "usw2-az3",
    "deployment": "PERSISTENT_2",
    "capacity_gib": 4800,
    "throughput_mbps_per_tib": 500,
}
NFS: dict[str, Any] = {
    "name": "x",
    "kind": "csi",
    "settings": {"driver": "nfs.csi.k8s.io", "datasets": {"handle": "d"}, "checkpoints": {"handle": "c"}},
}
UNSAID: dict[str, Any] = {key: value for key, value in P2.items() if key != "throughput_mbps_per_tib"}
UNSAID_TIER: dict[str, Any] = {key: value for key, value in TIER.items() if key != "throughput_mbps"}
ROWS: list[tuple[Any, ...]] = [
    (
        "access-no-oidc",
        {"access.operators": ["group:ops"]},
        {"access.oidc": {"issuer": "https://login.example.com", "client_id": "x"}},
        {"access.operators[0]": ADMIN},
    ),
    (
        "access-queue-unknown",
        {"access.researchers": [{"who": ["arn:aws:iam::111122223333:role/r"], "queues": ["tran"]}]},
    ),
    (
        "budget-alerts-too-many",
        {"budget.alert_at_percent": [10, 20, 30, 40, 50, 60]},
        {"budget.alert_at_percent": [10, 20, 30, 40, 50]},
    ),
    (
        "budget-mails-too-many",
        {"observability.alerts_to": [f"mailto:a{i}@b.com" for i in range(11)]},
        {"observability.alerts_to": ["mailto:list@b.com"]},
    ),
    ("budget-stops-nobody", {"budget.stop_at_percent": 120}),
    ("budget-stop-without-share", {"budget.stop_roles": ["x"]}),
    (
        "budget-stop-tells-nobody",
        {
            "budget.stop_at_percent": 120,
            "budget.stop_roles": ["x"],
            "observability.alerts_to": ["https://x.example.com"],
        },
        {"observability.alerts_to": ["mailto:a@b.com"]},
        {"observability.alerts_to": [TOPIC]},
    ),
    ("budget-tag-inactive", {"budget.counts": "tag"}, {"budget.counts": "account"}),
    (
        "anomalies-tell-nobody",
        {"governance.anomalies": "services", "observability.alerts_to": ["https://x.example.com"]},
        {"observability.alerts_to": ["mailto:a@b.com"]},
        {"observability.alerts_to": [TOPIC]},
    ),
    ("reservation-preference", {f"{P}.capacity.preference": "none"}),
    (
        "reservation-twice",
        {f"{P}.capacity.resource_group_arn": "arn:aws:resource-groups:us-west-2:111122223333:group/reserved"},
        {f"{P}.capacity.ids": GONE},
        {f"{P}.capacity.resource_group_arn": GONE},
    ),
    ("reservation-missing", {f"{P}.capacity": {"kind": "reservation"}}),
    ("reservation-id-twice", {f"{P}.capacity.ids": [IDS[0], IDS[0]]}, {f"{P}.capacity.ids": [IDS[0]]}),
    (
        "reservation-idle",
        {f"{P}.capacity.ids": [*IDS, *(f"cr-{i}b1b2c3d4e5f60718" for i in range(4))]},
        {f"{P}.nodes": 6},
        {f"{P}.capacity.ids": IDS},
    ),
    ("reservation-sizes", {f"{P}.capacity.sizes": {IDS[1]: 4}}, {f"{P}.capacity.sizes": {IDS[0]: 4}}),
    ("reservation-sizes", {f"{P}.capacity.sizes": {IDS[0]: 4}, f"{P}.capacity.reserved_nodes": 5}),
    (
        "reservation-too-small",
        {f"{P}.capacity.reserved_nodes": 3},
        {f"{P}.nodes": 3},
        {f"{P}.capacity.ids": IDS, f"{P}.capacity.reserved_nodes": 4},
    ),
    (
        "reservation-idle",
        {f"{P}.capacity.reserved_nodes": 5},
        {f"{P}.nodes": 5, f"{P}.spares": 1},
        {f"{P}.capacity.reserved_nodes": 4},
    ),
    (
        "reservation-shared",
        {
            "pools[1]": {**OTHER, "capacity": {"kind": "reservation", "ids": [IDS[0]]}},
            "queues[1]": {"name": "other", "pool": "other", "cards": 32},
        },
        {"pools[1].capacity.ids": [IDS[1]]},
    ),
    ("block-incomplete", {f"{P}.capacity": {"kind": "block"}}),
    (
        "block-type",
        {
            f"{P}.capacity": BLOCK,
            f"{P}.instance_type": "g5.48xlarge",
            f"{P}.fabric": GONE,
            f"{P}.nodes": {"min": 0, "max": 4},
        },
        {f"{P}.capacity": {"kind": "on-demand"}},
        {f"{P}.capacity": {"kind": "reservation", "ids": [IDS[0]]}},
        {f"{P}.instance_type": "p5.48xlarge"},
    ),
    (
        "block-times",
        {f"{P}.capacity": {**BLOCK, "start": BLOCK["end"], "end": BLOCK["start"]}, f"{P}.nodes": {"min": 0, "max": 4}},
        {f"{P}.capacity": BLOCK},
    ),
    (
        "block-times",
        {f"{P}.capacity": {**BLOCK, "end": "2226-12-24T11:30:00Z"}, f"{P}.nodes": {"min": 0, "max": 4}},
        {f"{P}.capacity": BLOCK},
    ),
    (
        "block-too-large",
        {f"{P}.capacity": BLOCK, f"{P}.nodes": {"min": 0, "max": 80}, f"{Q}.cards": 320},
        {
            f"{P}.capacity": {
                "kind": "block",
                "blocks": [{**PART, "id": IDS[0], "nodes": 40}, {**PART, "id": IDS[1], "nodes": 40}],
            }
        },
    ),
    (
        "block-twice",
        {
            f"{P}.capacity": {
                **BLOCK,
                "blocks": [{"id": IDS[0], "start": BLOCK["start"], "end": BLOCK["end"], "nodes": 4}],
            },
            f"{P}.nodes": {"min": 0, "max": 4},
        },
        {
            f"{P}.capacity": {
                "kind": "block",
                "blocks": [{**PART, "id": IDS[0], "nodes": 2}, {**PART, "id": BLOCK["id"], "nodes": 2}],
            }
        },
    ),
    (
        "block-overlap",
        {
            f"{P}.capacity": {
                "kind": "block",
                "blocks": [{"id": i, "start": BLOCK["start"], "end": BLOCK["end"], "nodes": 4} for i in IDS],
            },
            f"{P}.nodes": {"min": 0, "max": 4},
        },
        {f"{P}.nodes": {"min": 0, "max": 8}},
        {f"{P}.capacity.blocks": [{**PART, "id": IDS[0], "nodes": 4}]},
    ),
    (
        "block-nodes",
        {
            f"{P}.capacity": {
                "kind": "block",
                "blocks": [{"id": IDS[0], "start": BLOCK["start"], "end": BLOCK["end"], "nodes": 4}],
            },
            f"{P}.nodes": {"min": 0, "max": 8},
        },
        {f"{P}.nodes": {"min": 0, "max": 4}},
    ),
    (
        "spot-unfit",
        {f"{P}.capacity": {"kind": "spot"}},
        {f"{P}.capacity": {"kind": "reservation", "ids": [IDS[0]]}},
        {f"{P}.capacity": {"kind": "on-demand"}, f"{P}.nodes": {"min": 0, "max": 4}},
        {f"{P}.capacity": BLOCK, f"{P}.nodes": {"min": 0, "max": 4}},
    ),
    (
        "spot-few-types",
        {"pools[1]": {**PREP, "instance_types": ["m7i.8xlarge"]}},
        {"pools[1].instance_types": ["m7i.8xlarge", "m6a.8xlarge", "m6i.8xlarge", "m7a.8xlarge"]},
    ),
    ("on-demand-at-once", {f"{P}.capacity": {"kind": "on-demand"}}),
    (
        "node-groups-too-many",
        {f"{P}.capacity.ids": [f"cr-{i:08x}" for i in range(31)], f"{P}.nodes": 31},
        {f"{P}.capacity.ids": IDS},
    ),
    ("version-unknown", {f"{C}.version": "1.20"}),
    ("version-out-of-support", {f"{C}.version": "1.32"}),
    ("endpoint-open", {f"{C}.endpoint": {"public": True}}),
    (
        "endpoint-open",
        {f"{C}.endpoint": {"public": True, "allowed_cidrs": ["0.0.0.0/0"]}},
        {f"{C}.endpoint": {"public": False}},
        {f"{C}.endpoint.allowed_cidrs": ["203.0.113.0/24"]},
    ),
    ("allowed-cidrs-without-use", {f"{C}.endpoint": {"allowed_cidrs": ["203.0.113.0/24"]}}),
    (
        "allowed-cidrs-too-many",
        {f"{C}.endpoint": {"public": True, "allowed_cidrs": [f"203.0.113.{i}/32" for i in range(41)]}},
        {f"{C}.endpoint.allowed_cidrs": ["203.0.113.0/24"]},
    ),
    ("admins-empty", {f"{C}.admins": []}),
    (
        "admin-not-a-role",
        {f"{C}.admins": ["arn:aws:sts::111122223333:assumed-role/platform-admin/me"]},
        {f"{C}.admins": [ADMIN]},
    ),
    ("addon-unknown", {f"{C}.addons": {"coredn": {}}}, {f"{C}.addons": {"coredns": {}}}),
    (
        "addon-version-unknown",
        {f"{C}.addons": {"coredns": {"version": "1"}}},
        {f"{C}.addons.coredns.version": "v1.2.3-eksbuild.1"},
    ),
    (
        "addon-version-unknown",
        {f"{C}.addons": {"kube-proxy": {"version": "v1.30.1-eksbuild.1"}}},
        {f"{C}.addons.kube-proxy.version": "v1.35.3-eksbuild.1"},
    ),
    ("addon-without-identity", {f"{C}.addons": {"external-dns": {}}}, {f"{C}.addons.external-dns.policies": [POLICY]}),
    ("addon-version-missing", {f"{C}.addons": {"adot": {}}}, {f"{C}.addons.adot.version": "v0.109.0-eksbuild.2"}),
    ("addon-policies-unused", {f"{C}.addons": {"coredns": {"policies": ["AmazonS3ReadOnlyAccess"]}}}),
    ("addon-logs-for-ever", {f"{C}.addons": {"amazon-cloudwatch-observability": {}}}),
    ("addon-twice", {f"{C}.addons": {"prometheus-node-exporter": {}}}),
    ("tag-reserved", {"tags.aws:x": "y"}, {"tags": {"x": "y"}}),
    ("tag-reserved", {"tags.kubernetes.io/cluster/x": "y"}),
    ("tag-taken", {"tags.stack": "y"}),
    ("tags-too-many", {"tags": {f"k{i}": "v" for i in range(50)}}, {"tags": {f"k{i}": "v" for i in range(45)}}),
    (
        "control-plane-small",
        {
            "pools[1]": {
                **PREP,
                "nodes": {"min": 0, "max": 300},
            }
        },
    ),
    ("instance-type-unknown", {f"{C}.system_pool": {"instance_type": "m7i.2xlarg"}}),
    ("system-pool-accelerated", {f"{C}.system_pool": {"instance_type": "p5.48xlarge"}}),
    ("system-pool-single", {f"{C}.system_pool": {"nodes": 1}}),
    ("fabric-unknown", {f"{P}.fabric": "efaa"}),
    ("fabric-unfit", {f"{P}.fabric": "infiniband"}),
    ("efa-count", {f"{P}.efa_interfaces": 33}),
    ("efa-count", {f"{P}.fabric": "tcp", f"{P}.efa_interfaces": 3}),
    ("efa-partial", {f"{P}.efa_interfaces": 8}),
    (
        "efa-families-apart",
        {f"{P}.instance_type": GONE, f"{P}.instance_types": ["p5.48xlarge", "p4d.24xlarge"]},
        {f"{P}.instance_types": GONE, f"{P}.instance_type": "p5.48xlarge"},
    ),
    (
        "security-groups-too-many",
        {f"{P}.security_groups": [f"sg-{i:08x}" for i in range(4)]},
        {f"{P}.security_groups": ["sg-00000000", "sg-00000001"]},
    ),
    ("image-family-unknown", {f"{P}.image_family": "AL2023_x86_64_NVIDI"}),
    ("image-family-unfit", {f"{P}.image_family": "AL2023_x86_64_STANDARD"}),
    ("image-family-ended", {f"{P}.image_family": "AL2_x86_64_GPU"}),
    ("image-missing", {f"{P}.image_family": "CUSTOM"}),
    (
        "image-twice",
        {f"{P}.image_id": "ami-0a1b2c3d4e5f60718", f"{P}.image_release": "1.35.2-20260714"},
        {f"{P}.image_id": GONE},
        {f"{P}.image_release": GONE},
    ),
    ("root-volume-small", {f"{P}.root_volume_gib": 50}),
    ("root-volume-iops", {f"{P}.root_volume_gib": 20, f"{P}.root_volume_iops": 16000}),
    ("root-volume-throughput", {f"{P}.root_volume_mib_per_s": 1000, f"{P}.root_volume_iops": 3000}),
    ("image-release-malformed", {"pools[1]": {**PREP, "image_release": "newest"}}),
    (
        "repairs-unused",
        {
            f"{P}.node_repair": False,
            f"{P}.repairs": [{"condition": "KernelReady", "reason": "x", "wait_minutes": 5, "action": "Reboot"}],
        },
    ),
    (
        "reservation-group-sizes-itself",
        {
            f"{P}.capacity": {
                "kind": "reservation",
                "resource_group_arn": "arn:aws:resource-groups:us-west-2:111122223333:group/reserved",
            },
            f"{P}.nodes": {"min": 0, "max": 4},
        },
        {f"{P}.capacity": {"kind": "reservation", "ids": IDS}},
        {f"{P}.nodes": 4},
    ),
    ("lustre-storage", {"storage.lustre": [HDD]}),
    ("lustre-storage", {"storage.lustre": [{**S2, "storage": "INTELLIGENT_TIERING"}]}),
    ("lustre-drive-cache", {"storage.lustre": [{**P2, "drive_cache": True}]}),
    ("lustre-throughput-fixed", {"storage.lustre": [{**S2, "throughput_mbps_per_tib": 200}]}),
    ("lustre-throughput-missing", {"storage.lustre": [UNSAID]}),
    ("lustre-throughput", {"storage.lustre": [{**P2, "throughput_mbps_per_tib": 300}]}),
    ("lustre-throughput-kind", {"storage.lustre": [{**P2, "throughput_mbps": 4000}]}),
    ("lustre-throughput-kind", {"storage.lustre": [{**S2, "throughput_mbps": 4000}]}),
    ("lustre-throughput-kind", {"storage.lustre": [{**TIER, "throughput_mbps_per_tib": 500}]}),
    ("lustre-capacity-step", {"storage.lustre": [{**P2, "capacity_gib": 5000}]}),
    ("lustre-efa", {"storage.lustre": [{**P1, "efa": True}]}),
    (
        "lustre-efa",
        {"storage.lustre": [{**P2, "efa": True, "version": "2.12", "capacity_gib": 9600}]},
        {f"{L}.version": "2.15"},
        {f"{L}.efa": False},
    ),
    (
        "lustre-metadata",
        {"storage.lustre": [{**P2, "metadata_iops": 3000, "version": "2.12"}]},
        {f"{L}.version": "2.15"},
        {f"{L}.metadata_iops": GONE},
    ),
    ("lustre-metadata", {"storage.lustre": [{**P1, "metadata_iops": 3000}]}),
    ("lustre-metadata", {"storage.lustre": [{**P2, "metadata_iops": 5000}]}),
    ("lustre-read-cache", {"storage.lustre": [{**P2, "read_cache": {}}]}),
    ("lustre-read-cache", {"storage.lustre": [{**TIER, "read_cache": {"mode": "NO_CACHE", "size_gib": 100}}]}),
    ("lustre-read-cache", {"storage.lustre": [{**TIER, "read_cache": {"mode": "USER_PROVISIONED"}}]}),
    ("lustre-read-cache", {"storage.lustre": [{**TIER, "read_cache": {"mode": "USER_PROVISIONED", "size_gib": 1}}]}),
    ("lustre-capacity-kind", {"storage.lustre": [{**TIER, "capacity_gib": 4800}]}),
    ("lustre-throughput-missing", {"storage.lustre": [UNSAID_TIER]}),
    ("lustre-throughput", {"storage.lustre": [{**TIER, "throughput_mbps": 4500}]}),
    ("lustre-version", {"storage.lustre": [{**TIER, "version": "2.12"}]}),
    ("lustre-version", {"storage.lustre": [{**P2, "version": "2.10"}]}),
    ("lustre-version", {"storage.lustre": [{**S2, "version": "2.10"}]}),
    ("lustre-version", {"storage.lustre": [{**P1, "version": "2.10"}]}),
    ("lustre-backup-days", {"storage.lustre": [{**P2, "backup_days": 100}]}),
    ("lustre-backups", {"storage.lustre": [{**P2, "backup_days": 7, "links": [LINK]}]}),
    ("lustre-backups", {"storage.lustre": [{**P2, "final_backup": True, "links": [LINK]}]}),
    ("lustre-links", {"storage.lustre": [{**TIER, "links": [LINK]}]}),
    ("lustre-links", {"storage.lustre": [{**S1, "links": [LINK]}]}),
    (
        "lustre-links-many",
        {
            "storage.lustre": [
                {**P2, "links": [LINK, *({**LINK, "path": f"/c{i}", "prefix": f"/p{i}"} for i in range(8))]}
            ]
        },
        {f"{L}.links": [LINK]},
    ),
    (
        "lustre-links-overlap",
        {"storage.lustre": [{**P2, "links": [LINK, {**DATA, "path": "/checkpoints/x"}]}]},
        {f"{L}.links[1].path": "/datasets"},
    ),
    (
        "lustre-links-overlap",
        {"storage.lustre": [{**P2, "links": [LINK, {**LINK, "path": "/y"}]}]},
        {f"{L}.links[0].prefix": "/a", f"{L}.links[1].prefix": "/b"},
    ),
    (
        "lustre-link-idle",
        {
            "storage.lustre": [
                {**P2, "links": [LINK, {"path": "/datasets", "bucket": "datasets", "batch_import": False}]}
            ]
        },
        {f"{L}.links[1].import": ["new"]},
        {f"{L}.links[1].batch_import": True},
    ),
    (
        "lustre-link-writes",
        {"storage.lustre": [{**P2, "links": [LINK, {**DATA, "export": ["new"]}]}]},
        {f"{L}.links[1].export": GONE},
        {f"{L}.links[0].prefix": "/runs", f"{L}.links[1].bucket": "checkpoints", f"{L}.links[1].prefix": "/more"},
    ),
    (
        "lustre-scratch-unsaved",
        {"storage.lustre": [{**S2, "links": []}]},
        {f"{L}.links": [LINK]},
        {f"{L}.deployment": "PERSISTENT_2", f"{L}.throughput_mbps_per_tib": 125},
        {f"{L}.expendable": True},
    ),
    (
        "lustre-scratch-unsaved",
        {"storage.lustre": [{**S2, "links": [DATA]}]},
        {f"{L}.links": [DATA, LINK]},
        {f"{L}.expendable": True},
    ),
    (
        "lustre-unsaved",
        {"storage.lustre": [{**P2, "links": [DATA]}]},
        {f"{L}.links": [DATA, LINK]},
        {f"{L}.expendable": True},
    ),
    (
        "lustre-exports-meet",
        {"storage.lustre": [{**P2, "links": [{**LINK}]}, {**P2, "name": "two", "links": [{**LINK}]}]},
        {f"{L}.links[0].prefix": "/train", "storage.lustre[1].links[0].prefix": "/two"},
    ),
    ("lustre-zone", {"storage.lustre": [{**P2, "zone": "usw2-az2"}]}),
    ("zone-unknown", {"storage.lustre": [{**P2, "zone": "usw2-az1"}]}),
    ("lustre-too-small", {"storage.lustre": [P2], "storage.datasets.size_gib": 9000}),
    (
        "file-system-unused",
        {"storage.lustre": [P2, {**P2, "name": "two", "zone": "usw2-az4"}]},
        {"storage.lustre": [P2]},
    ),
    ("copy-region", {"storage.checkpoints.replicate_to": "us-west-2"}),
    ("region-unknown", {"storage.checkpoints.replicate_to": "us-est-1"}),
    (
        "registry-credential",
        {
            "storage.registry.credentials": {
                "public.ecr.aws": "arn:aws:secretsmanager:us-west-2:111122223333:secret:ecr-pullthroughcache/x-AbCdEf"
            }
        },
        {"storage.registry.credentials": {}},
    ),
    (
        "preload-registry",
        {"storage.registry.preload": ["ghcr.io/x/trainer:1"]},
        {"storage.registry.preload": ["x/trainer:1"]},
    ),
    ("preload-tag", {"storage.registry.preload": ["trainer"]}, {"storage.registry.preload": ["trainer:prod-1.0"]}),
    ("endpoint-duplicate", {f"{N}.extra_endpoints": ["ec2"]}),
    (
        "pin-outside",
        {f"{N}.compute_subnets": {"usw2-az3": "10.64.0.0/18"}},
        {f"{N}.compute_subnets": {"usw2-az3": "100.64.0.0/18"}},
    ),
    ("range-restricted", {f"{N}.compute_cidrs": ["172.20.0.0/16"]}),
    ("range-size", {f"{N}.cidr": "10.0.0.0/12"}, {f"{N}.cidr": "10.0.0.0/16"}),
    ("range-too-small", {f"{N}.cidr": "10.0.0.0/22"}),
    ("range-unusable", {f"{N}.cidr": "127.0.0.0/16"}),
    ("ranges-overlap", {f"{N}.compute_cidrs": ["10.0.0.0/17"]}),
    ("ranges-overlap", {f"{C}.service_cidr": "10.0.0.0/20"}),
    (
        "ranges-too-many",
        {f"{N}.compute_cidrs": [f"100.{64 + i}.0.0/16" for i in range(5)]},
        {f"{N}.compute_cidrs": ["100.64.0.0/16"]},
    ),
    ("service-range-size", {f"{C}.service_cidr": "172.20.0.0/28"}, {f"{C}.service_cidr": "172.20.0.0/16"}),
    (
        "subnet-too-small",
        {f"{N}.compute_cidrs": ["100.64.0.0/26"]},
        {f"{N}.compute_cidrs": ["100.64.0.0/26", "100.65.0.0/16"]},
    ),
    ("zone-duplicate", {f"{N}.zones": ["usw2-az2", "usw2-az3", "usw2-az3"]}, {f"{N}.zones": ["usw2-az2", "usw2-az3"]}),
    ("zone-of-another-region", {f"{N}.zones": ["usw2-az2", "usw2-az3", "use1-az1"]}),
    (
        "zones-too-few",
        {f"{N}.zones": ["usw2-az3"]},
        {f"{N}.zones": ["usw2-az3", "usw2-az1"]},
        {f"{N}.zones": ["usw2-az3", "usw2-az2"]},
        {f"{N}.zones": ["usw2-az3", "usw2-az4"]},
    ),
    ("alerts-to-nobody", {"observability.alerts_to": []}),
    (
        "alarms-without-topic",
        {"observability.alerts_to": ["arn:aws:sns:us-east-1:111122223333:a"]},
        {"observability.alerts_to": [TOPIC]},
        {"observability.alerts_to": ["mailto:a@b.com"]},
    ),
    ("instance-type-missing", {f"{P}.instance_type": GONE}),
    (
        "instance-type-twice",
        {f"{P}.instance_types": ["p5.48xlarge"]},
        {f"{P}.instance_types": GONE},
        {f"{P}.instance_type": GONE},
    ),
    ("instance-type-unknown", {f"{P}.instance_type": "p5.48xlarg"}),
    (
        "duplicate-name",
        {"pools[1]": {**OTHER, "name": "train"}},
        {"pools[1].name": "other", "queues[1]": {"name": "other", "pool": "other"}},
    ),
    ("name-taken", {f"{P}.name": "system", f"{Q}.pool": "system"}, {f"{P}.name": "services", f"{Q}.pool": "services"}),
    ("nodes-range", {f"{P}.nodes": {"min": 5, "max": 4}}),
    ("spares-too-many", {f"{P}.spares": 4}),
    (
        "spares-cold",
        {
            f"{P}.spares": 1,
            f"{P}.nodes": {"min": 0, "max": 4},
            f"{P}.capacity": {"kind": "on-demand"},
            f"{Q}.cards": 24,
        },
        {f"{P}.nodes": {"min": 1, "max": 4}},
    ),
    ("label-reserved", {f"{P}.labels": {"kubernetes.io/x": "y"}}, {f"{P}.labels": {"example.com/x": "y"}}),
    ("label-malformed", {f"{P}.labels": {"a b": "y"}}, {f"{P}.labels": {"a-b": "y"}}),
    ("taint-twice", {f"{P}.taints": [{"key": "a", "effect": "NoSchedule"}] * 2}),
    ("types-unlike", {"pools[1]": {**PREP, "instance_types": ["m7i.8xlarge", "m7i.4xlarge", "m6i.8xlarge"]}}),
    (
        "former-name-taken",
        {f"{P}.previous_name": "train"},
        {f"{P}.previous_name": GONE},
        {f"{P}.previous_name": "before"},
    ),
    (
        "accelerator-unsupported",
        {f"{P}.instance_type": "dl1.24xlarge", f"{P}.fabric": "tcp"},
        {f"{P}.instance_type": "p5.48xlarge"},
    ),
    (
        "cohort-over-pools",
        {
            "pools[1]": OTHER,
            "queues[1]": {"name": "other", "pool": "other", "cards": 32, "cohort": "a"},
            f"{Q}.cohort": "a",
        },
        {"queues[1].cohort": "b"},
    ),
    (
        "duplicate-name",
        {"queues[1]": {"name": "train", "pool": "train", "cards": 8}, f"{Q}.cards": 24},
        {"queues[1].name": "second"},
    ),
    ("namespace-taken", {f"{Q}.namespace": "kube-system"}),
    ("pool-without-queue", {"pools[1]": OTHER}, {"queues[1]": {"name": "other", "pool": "other"}}),
    (
        "queue-cards-without-cards",
        {"pools[1]": PREP, "queues[1]": {"name": "prep", "pool": "prep", "cards": 8}},
        {"queues[1]": {"name": "prep", "pool": "prep", "nodes": 4}},
    ),
    (
        "queue-nodes-of-cards",
        {"queues[0]": {"name": "train", "pool": "train", "nodes": 4}},
        {"queues[0]": {"name": "train", "pool": "train", "cards": 32}},
    ),
    ("queue-over-pool", {f"{Q}.cards": 40}, {f"{Q}.cards": 32}, {f"{P}.nodes": 5}),
    ("queue-partial-node", {f"{Q}.cards": 30}),
    ("queue-under-node", {f"{Q}.cards": 4}),
    ("queue-pool-unknown", {f"{Q}.pool": "tran"}),
    ("region-unknown", {"aws:region": "us-wst-2"}),
    (
        "hosts-without-use",
        {f"{P}.hosts": {"accelerator": "h100", "cards": 8, "vcpu": 192, "memory_gib": 2048}},
        {f"{P}.hosts": GONE},
    ),
    ("zone-missing", {f"{P}.zone": GONE}),
    ("zone-twice", {f"{P}.zones": ["usw2-az3"]}, {f"{P}.zones": GONE}, {f"{P}.zone": GONE}),
    ("zone-unknown", {f"{P}.zone": "usw2-az1"}),
    ("zone-without-type", {f"{P}.instance_type": "trn1.32xlarge"}),
    (
        "zones-apart",
        {f"{P}.zone": GONE, f"{P}.zones": ["usw2-az2", "usw2-az3"]},
        {f"{P}.zones": ["usw2-az3"]},
        {f"{P}.zones": ["usw2-az2"]},
    ),
    (
        "placement-group-over-zones",
        {"pools[1]": {**PREP, "capacity": {"kind": "on-demand", "placement_group": "x"}}},
        {"pools[1].zone": "usw2-az2"},
    ),
    (
        "block-several-types",
        {
            f"{P}.capacity": BLOCK,
            f"{P}.instance_type": GONE,
            f"{P}.instance_types": ["p5.48xlarge", "p5en.48xlarge"],
            f"{P}.purpose": "finetuning",
            f"{P}.nodes": {"min": 0, "max": 4},
        },
        {f"{P}.instance_types": GONE, f"{P}.instance_type": "p5.48xlarge"},
    ),
    (
        "types-several",
        {f"{P}.instance_type": GONE, f"{P}.instance_types": ["p5.48xlarge", "p5en.48xlarge"]},
        {f"{P}.instance_types": GONE, f"{P}.instance_type": "p5.48xlarge"},
    ),
    (
        "efa-interfaces-unsaid",
        {
            f"{P}.capacity": {"kind": "on-demand"},
            f"{P}.nodes": {"min": 0, "max": 4},
            f"{P}.efa_layout": "efa",
            f"{P}.efa_interfaces": 32,
        },
    ),
    (
        "key-without-group",
        {"pools[1]": {**PREP, "node_repair": True}},
        {"pools[1]": PREP},
        {"pools[1].nodes": {"min": 1, "max": 4}},
    ),
    (
        "taints-too-many",
        {f"{P}.taints": [{"key": f"a{i}", "effect": "NoSchedule"} for i in range(60)]},
        {f"{P}.taints": [{"key": "a", "effect": "NoSchedule"}]},
    ),
    (
        "no-pools",
        {"pools": [], "queues": []},
        {"pools": [{**OTHER, "name": "train"}], "queues": [{"name": "train", "pool": "train"}]},
    ),
    (
        "pool-far-from-storage",
        {
            "storage.lustre": [P2],
            "pools[1]": {**OTHER, "zone": "usw2-az2"},
            "queues[1]": {"name": "other", "pool": "other"},
        },
        {"pools[1].zone": "usw2-az3"},
        {"storage.lustre": [P2, {**P2, "name": "two", "zone": "usw2-az2"}]},
    ),
    (
        "zone-not-in-network",
        {f"{N}.compute_subnets": {"usw2-az1": "100.64.0.0/18"}},
        {f"{N}.zones": ["usw2-az1", "usw2-az2", "usw2-az3"]},
        {f"{N}.compute_subnets": {"usw2-az3": "100.64.0.0/18"}},
    ),
    ("file-system-kind", {"storage.file_systems": [{"name": "x", "kind": "csii"}]}, {"storage.file_systems": [NFS]}),
    (
        "ultraserver-unsupported",
        {f"{P}.instance_type": "p6e-gb200.36xlarge"},
        {f"{P}.instance_type": "p6-b200.48xlarge", f"{P}.zone": "usw2-az2"},
    ),
    (
        "update-outlives-wait",
        {f"{P}.nodes": 400, f"{P}.update_max_unavailable": 1},
        {f"{P}.update_max_unavailable": GONE},
    ),
]
