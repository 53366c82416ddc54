"""Lustre: legal sizes and throughputs of every deployment type."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components import catalog
from components.catalog.lustre import DeploymentType, StorageType

LUSTRE = catalog.load().lustre
EVERY_SIZES = [
    sizes
    for deployment in LUSTRE.deployments.values()
    for throughput in deployment.throughputs or (None,)
    for efa in (False, True)
    if (sizes := deployment.sizes_for(throughput, efa=efa)) is not None
]


@pytest.mark.parametrize(
    ("deployment", "storage", "throughput", "legal", "illegal"),
    [
        ("SCRATCH_1", "SSD", None, (1200, 2400, 3600, 7200), (0, 4800, 6000)),
        ("SCRATCH_2", "SSD", None, (1200, 2400, 4800, 7200), (0, 1201, 3600)),
        ("PERSISTENT_1", "SSD", 100, (1200, 2400, 4800), (3600,)),
        ("PERSISTENT_1", "HDD", 12, (6000, 12000), (1800, 3000)),
        ("PERSISTENT_1", "HDD", 40, (1800, 3600), (1200, 6000)),
        ("PERSISTENT_2", "SSD", 500, (1200, 2400, 76800), (5000, 3600, -2400)),
    ],
)
def test_sizes_follow_the_deployment_type(
    deployment: DeploymentType,
    storage: StorageType,
    throughput: int | None,
    legal: tuple[int, ...],
    illegal: tuple[int, ...],
) -> None:
    found = LUSTRE.deployment(deployment, storage)
    assert found is not None
    sizes = found.sizes_for(throughput, efa=False)
    assert sizes is not None
    assert [size for size in legal if not sizes.legal(size)] == []
    assert [size for size in illegal if sizes.legal(size)] == []


@pytest.mark.parametrize(("throughput", "step"), [(125, 38400), (250, 19200), (500, 9600), (1000, 4800)])
def test_efa_asks_for_a_step_of_its_own_that_is_also_the_least(throughput: int, step: int) -> None:
    found = LUSTRE.deployment("PERSISTENT_2")
    assert found is not None
    sizes = found.sizes_for(throughput, efa=True)
    assert sizes is not None
    assert (sizes.step, sizes.minimum, sizes.small) == (step, step, ())
    assert sizes.at_least(5000) == (step if step >= 5000 else 9600)


def test_only_persistent_2_ssd_takes_efa_and_metadata_settings() -> None:
    assert [key for key, found in LUSTRE.deployments.items() if found.efa_steps] == [("PERSISTENT_2", "SSD")]
    assert [key for key, found in LUSTRE.deployments.items() if found.metadata_iops] == [("PERSISTENT_2", "SSD")]


def test_a_throughput_that_is_not_offered_has_no_sizes() -> None:
    found = LUSTRE.deployment("PERSISTENT_2")
    assert found is not None
    assert found.sizes_for(300, efa=False) is None
    assert found.sizes_for(300, efa=True) is None
    assert found.sizes_for(None, efa=False) is None


def test_pairs_that_fsx_does_not_offer_are_unknown() -> None:
    assert LUSTRE.deployment("SCRATCH_2", "HDD") is None
    assert LUSTRE.deployment("PERSISTENT_2", "HDD") is None


@pytest.mark.parametrize("name", ["SCRATCH_1", "SCRATCH_2"])
def test_scratch_has_fixed_throughput_and_no_backups(name: DeploymentType) -> None:
    found = LUSTRE.deployment(name)
    assert found is not None
    assert (found.throughputs, found.fixed_throughput, found.backups, found.replicated) == ((), 200, False, False)


def test_associations_attach_to_all_but_the_first_scratch_type() -> None:
    assert [key for key, found in LUSTRE.deployments.items() if not found.associations] == [("SCRATCH_1", "SSD")]
    assert LUSTRE.associations_max == 8


def test_old_lustre_is_offered_on_old_types_only() -> None:
    assert {found.deployment for found in LUSTRE.deployments.values() if "2.10" in found.versions} == {
        "SCRATCH_1",
        "SCRATCH_2",
        "PERSISTENT_1",
    }


def test_metadata_operations_come_in_the_documented_steps() -> None:
    found = LUSTRE.deployment("PERSISTENT_2")
    assert found is not None
    assert found.metadata_iops[:5] == (1500, 3000, 6000, 12000, 24000)
    assert found.metadata_iops[-1] == 192000
    assert LUSTRE.intelligent_tiering.metadata_iops == (6000, 12000)
    assert LUSTRE.intelligent_tiering.throughput_step_mbps == 4000


@pytest.mark.parametrize(
    ("gib", "iops"),
    [
        (1200, 1500),
        (2400, 3000),
        (4800, 6000),
        (9600, 6000),
        (12000, 12000),
        (45600, 12000),
        (48000, 24000),
        (76800, 36000),
    ],
)
def test_metadata_left_automatic_grows_with_capacity(gib: int, iops: int) -> None:
    assert LUSTRE.automatic_metadata_iops(gib) == iops


def test_throughput_bought_is_capacity_times_the_rate() -> None:
    persistent, scratch = LUSTRE.deployment("PERSISTENT_2"), LUSTRE.deployment("SCRATCH_2")
    assert persistent is not None
    assert scratch is not None
    assert persistent.total_mbps(76800, 500) == 37500
    assert scratch.total_mbps(2048, None) == 400


def test_only_disks_take_a_read_cache() -> None:
    assert {key: found.drive_caches for key, found in LUSTRE.deployments.items() if found.drive_caches} == {
        ("PERSISTENT_1", "HDD"): ("NONE", "READ")
    }


@given(sizes=st.sampled_from(EVERY_SIZES), need=st.floats(min_value=0.1, max_value=5_000_000))
def test_the_size_to_take_is_legal_large_enough_and_the_least_such(sizes: catalog.Sizes, need: float) -> None:
    taken = sizes.at_least(need)
    assert sizes.legal(taken)
    assert taken >= need
    below = sizes.at_most(taken - 1)
    assert below is None or (sizes.legal(below) and below < need)


@given(sizes=st.sampled_from(EVERY_SIZES), room=st.integers(min_value=0, max_value=5_000_000))
def test_the_largest_size_within_a_room_is_legal_and_none_is_between(sizes: catalog.Sizes, room: int) -> None:
    found = sizes.at_most(room)
    if found is None:
        assert room < sizes.minimum
    else:
        assert sizes.legal(found)
        assert found <= room < sizes.at_least(found + 1)
