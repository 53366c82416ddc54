"""Cards by the names people give them, and the reach of their fast links."""

from __future__ import annotations

import pytest

from components.sizing.machine import profiles
from tests.components.sizing.asked import CAT


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("h100", "h100"),
        ("H100", "h100"),
        ("NVIDIA A100-SXM4-80GB", "a100-80"),
        ("a100_40gb", "a100-40"),
        ("A100", "a100-80"),
        ("h100-sxm5", "h100"),
        ("TPU v4", "tpu-v4"),
        ("tpu_v3", "tpu-v3"),
        ("trainium2", "trainium2"),
        ("trn1", "trainium"),
        ("v100", "v100"),
        ("b200", "b200"),
        ("h800", "h800"),
    ],
)
def test_a_card_goes_by_many_names(written: str, name: str) -> None:
    found = profiles.card_named(written)
    assert found is not None and found.name == name


def test_an_unknown_card_is_none_and_has_a_nearest_one() -> None:
    assert profiles.card_named("h1000") is None
    assert profiles.closest("h1000") == "h100"


def test_fast_links_end_with_the_node_or_the_rack() -> None:
    reach = {
        name: profiles.of_instance(CAT.instance(name))
        for name in ("p5.48xlarge", "p5.4xlarge", "p6e-gb200.36xlarge", "g5.8xlarge")
    }
    assert {name: made.domain for name, made in reach.items() if made} == {
        "p5.48xlarge": 8,
        "p5.4xlarge": 1,
        "p6e-gb200.36xlarge": 72,
        "g5.8xlarge": 1,
    }
    nvl = profiles.card_named("h100-nvl")
    assert nvl is not None and profiles.of_accelerator(nvl, 8, None).domain == 2


def test_every_machine_of_the_catalog_with_a_known_speed_plans_from_its_own_figures() -> None:
    for instance in CAT.instances.values():
        made = profiles.of_instance(instance) if instance.accelerator else None
        if made is None or instance.accelerator is None:
            continue
        assert made.cards == instance.cards and made.card.usable_gib == instance.accelerator.usable_memory_gib
        assert made.network_gbps == instance.network.gbps


def test_the_network_of_a_node_is_shared_by_its_cards() -> None:
    card = profiles.card_named("h100")
    assert card is not None
    assert profiles.of_accelerator(card, 8, 3200).network_bytes_per_card == 50e9
    assert profiles.of_accelerator(card, 4, None).network_gbps == 1600
