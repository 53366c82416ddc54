"""The catalog as a whole: unknown names, offers, and what a test may add."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from types import MappingProxyType

import pytest

from components import catalog

CAT = catalog.load()


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("p5.48xlarg", '"p5.48xlarg" is not in the catalog; did you mean "p5.48xlarge"?'),
        ("P5.48XLARGE", '"P5.48XLARGE" is not in the catalog; did you mean "p5.48xlarge"?'),
        ("p6b200.48xlarge", '"p6b200.48xlarge" is not in the catalog; did you mean "p6-b200.48xlarge"?'),
        (
            "quantum",
            (
                '"quantum" is not in the catalog; use a type such as p5.48xlarge, p5en.48xlarge, trn1.32xlarge,'
                " g6e.48xlarge or m7i.8xlarge"
            ),
        ),
    ],
)
def test_unknown_type_names_the_nearest(said: str, text: str) -> None:
    with pytest.raises(catalog.UnknownInstanceType) as caught:
        CAT.instance(said)
    assert str(caught.value) == text


def test_offers_are_zone_ids_and_empty_where_nothing_is_sold() -> None:
    assert CAT.zones_offering("p5e.48xlarge", "us-west-2") == ("usw2-az3",)
    assert CAT.zones_offering("p5e.48xlarge", "us-east-1") == ()
    assert CAT.zones_offering("p6-b300.48xlarge", "us-west-2") == ("usw2-az1", "usw2-az2")
    assert CAT.regions_offering("trn2u.48xlarge") == ("ap-south-2",)


def test_nothing_in_the_catalog_can_be_changed() -> None:
    with pytest.raises(AttributeError):
        CAT.as_of = "2020-01-01"  # pyright: ignore[reportAttributeAccessIssue] - the point of the test
    with pytest.raises(AttributeError):
        CAT.instance("p5.48xlarge").vcpu = 1  # pyright: ignore[reportAttributeAccessIssue] - the point of the test
    with pytest.raises(TypeError):
        CAT.instance("p5.48xlarge").zones["us-west-2"] = ()  # pyright: ignore[reportIndexIssue] - the point of the test


def test_a_made_up_family_joins_a_copy_and_leaves_the_catalog_alone() -> None:
    known = CAT.instance("p5.48xlarge")
    assert known.accelerator is not None
    made_up = replace(
        known,
        name="z9.48xlarge",
        family="z9",
        accelerator=replace(known.accelerator, model="Z9", memory_gib=256, usable_memory_gib=254),
        zones=MappingProxyType({"us-west-2": ("usw2-az1",)}),
    )
    widened = CAT.with_instance(made_up)
    assert widened.instance("z9.48xlarge") is made_up
    assert widened.zones_offering("z9.48xlarge", "us-west-2") == ("usw2-az1",)
    assert widened.instance("p5.48xlarge") == known
    assert len(widened.instances) == len(CAT.instances) + 1
    with pytest.raises(catalog.UnknownInstanceType):
        CAT.instance("z9.48xlarge")


def test_every_section_says_when_it_was_collected() -> None:
    assert date.fromisoformat(CAT.as_of) == date(2026, 11, 30)
    assert all(CAT.sources.values())
    assert CAT.prices.as_of == date(2026, 11, 30)
