"""Kubernetes versions: the verdict on a day."""

from __future__ import annotations

from datetime import date

import pytest

from components import catalog

KUBERNETES = catalog.load().kubernetes
TODAY = date(2026, 11, 30)


@pytest.mark.parametrize(
    ("version", "on", "verdict"),
    [
        ("1.31", TODAY, "ended"),
        ("1.31", date(2026, 11, 25), "extended"),
        ("1.32", TODAY, "extended"),
        ("1.33", TODAY, "extended"),
        ("1.33", date(2026, 7, 28), "standard"),
        ("1.34", TODAY, "standard"),
        ("1.34", date(2026, 12, 1), "standard"),
        ("1.34", date(2026, 12, 2), "extended"),
        ("1.34", date(2027, 12, 2), "ended"),
        ("1.35", TODAY, "standard"),
        ("1.35", date(2026, 1, 26), "not yet"),
        ("1.36", TODAY, "standard"),
    ],
)
def test_support_changes_on_the_day_that_eks_announced(version: str, on: date, verdict: str) -> None:
    assert KUBERNETES.version(version).support(on) == verdict


@pytest.mark.parametrize("entry", KUBERNETES.versions.values(), ids=lambda entry: entry.version)
def test_states_follow_each_other_and_support_lasts_14_and_12_months(entry: catalog.KubernetesVersion) -> None:
    assert entry.released < entry.standard_ends < entry.extended_ends
    assert 410 <= (entry.standard_ends - entry.released).days <= 430
    assert entry.extended_ends == entry.standard_ends.replace(year=entry.standard_ends.year + 1)
    assert entry.origin.source


def test_versions_are_listed_oldest_first_and_minors_count_up() -> None:
    minors = [entry.minor for entry in KUBERNETES.versions.values()]
    assert minors == list(range(minors[0], minors[0] + len(minors)))


def test_versions_offered_today_leave_out_the_ended_one() -> None:
    assert KUBERNETES.offered(TODAY) == ("1.32", "1.33", "1.34", "1.35", "1.36", "1.37")


def test_dates_from_memory_say_so() -> None:
    assert [name for name, entry in KUBERNETES.versions.items() if entry.origin.unverified] == ["1.36", "1.37"]


def test_default_is_in_standard_support_and_read_from_a_source() -> None:
    default = KUBERNETES.version(KUBERNETES.default)
    assert default.support(TODAY) == "standard"
    assert not default.origin.unverified


def test_unknown_version_names_those_that_are_known() -> None:
    with pytest.raises(catalog.UnknownKubernetesVersion) as caught:
        KUBERNETES.version("2.0")
    assert (
        str(caught.value)
        == 'Kubernetes "2.0" is not in the catalog; use one of: 1.31, 1.32, 1.33, 1.34, 1.35, 1.36, 1.37'
    )
    with pytest.raises(catalog.UnknownKubernetesVersion) as caught:
        KUBERNETES.version("1.355")
    assert str(caught.value) == 'Kubernetes "1.355" is not in the catalog; did you mean "1.35"?'
