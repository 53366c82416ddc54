"""File systems that exist already, mounted by their CSI driver, on AWS and on machines of one's own."""

from __future__ import annotations

from components import file_systems
from components.manifests.storage import claims
from components.planning import mounted_folders
from components.planning.pool import Pool
from tests.given import CAT, stack_of

POOLS = "[{name: train, purpose: training, instance_type: p5.48xlarge, zone: usw2-az3, nodes: 2}]"
NAS = """  trainshed:storage:
    file_systems:
      - kind: csi
        name: nas
        settings:
          driver: nfs.csi.k8s.io
          datasets: {handle: nas-data, attributes: {server: nas.example.com, share: /data}}
          checkpoints: {handle: nas-saved, attributes: {server: nas.example.com, share: /saved}}
          mount_options: [nfsvers=4.1]
"""


def test_each_folder_is_mounted_in_the_drivers_own_words() -> None:
    given = stack_of(pools=POOLS, rest=NAS)
    mounts = {each.name: each for each in mounted_folders.of_stack(given, CAT)}
    assert set(mounts) == {"datasets", "checkpoints"}
    kind = file_systems.KINDS["csi"]
    source = kind.source(mounts["datasets"].system, "datasets", "/datasets", "team:datasets", given, {})
    volume = claims.volume(mounts["datasets"], "team", source)
    assert volume["spec"]["csi"]["driver"] == "nfs.csi.k8s.io"
    assert volume["spec"]["csi"]["volumeHandle"] == ["nas-data"]
    assert volume["spec"]["csi"]["volumeAttributes"] == {"server": ["nas.example.com"], "share": ["/data"]}
    assert volume["spec"]["mountOptions"] == ["nfsvers=4.1", "ro"]


def test_nothing_of_fsx_is_needed_for_it() -> None:
    given = stack_of(pools=POOLS, rest=NAS)
    assert file_systems.addons(given) == {}
    assert file_systems.endpoints(given) == []
    assert file_systems.addresses(given, CAT) == []


def test_a_pool_in_each_zone_mounts_the_file_system_beside_it() -> None:
    given = stack_of(
        pools=(
            "[{name: one, purpose: training, instance_type: p5.48xlarge, zone: usw2-az2, nodes: 2}, "
            "{name: two, purpose: training, instance_type: p5.48xlarge, zone: usw2-az3, nodes: 2}]"
        ),
        rest=(
            "  trainshed:storage: {lustre: ["
            "{name: a, zone: usw2-az2, capacity_gib: 1200, throughput_mbps_per_tib: 125}, "
            "{name: b, zone: usw2-az3, capacity_gib: 1200, throughput_mbps_per_tib: 125}]}\n"
        ),
    )
    names = {
        pool.name: [mounted_folders.claim_name(content, Pool(pool, CAT), given) for content in file_systems.CONTENTS]
        for pool in given.pools
    }
    assert names == {"one": ["datasets", "checkpoints"], "two": ["datasets-b", "checkpoints-b"]}


def test_claims_keep_one_size_however_large_the_file_system_is() -> None:
    texts = []
    for capacity in (1200, 96000):
        lustre = f"{{name: a, zone: usw2-az3, capacity_gib: {capacity}, throughput_mbps_per_tib: 125}}"
        given = stack_of(pools=POOLS, rest=f"  trainshed:storage: {{lustre: [{lustre}]}}\n")
        wires = {"file_system_id": "fs-1", "dns_name": "fs", "mount_name": "m"}
        for mount in mounted_folders.of_stack(given, CAT):
            kind = file_systems.KINDS[mount.system.kind]
            source = kind.source(mount.system, mount.content, mount.folder, "k", given, wires)
            texts.append((capacity, mount.name, claims.volume(mount, "jobs", source), claims.claim(mount, "jobs")))
    small = [each[1:] for each in texts if each[0] == 1200]
    large = [each[1:] for each in texts if each[0] == 96000]
    assert small == large
