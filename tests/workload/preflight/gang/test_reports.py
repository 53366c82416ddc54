"""The gate's report in 4,096 bytes, what several workers' reports name together, and the baselines on disk."""

from __future__ import annotations

from pathlib import Path

from workload.preflight import report
from workload.preflight.gang import baseline
from workload.preflight.report import Link, Named, Report


def of(by: int, *, blamed: tuple[Named, ...] = (), accused: Named | None = None, nodes: int = 8) -> dict[str, object]:
    return Report("t", "0", nodes, by, f"node-{by}", 1.0, blamed=blamed, accused=accused).as_json()


FIRST = Named(0, "node-0", "silent", 20, "said nothing for 30 s")


def test_a_report_of_a_thousand_names_fits_a_termination_message() -> None:
    blamed = tuple(Named(rank, f"ip-10-0-{rank}.ec2.internal", "pair", 22, "slow " * 100) for rank in range(1000))
    links = (Link(("a", "b"), "slow"),)
    text = report.short(Report("task", "3", 1232, 0, "node-0", 1.0, blamed=blamed, links=links, said=("x" * 999,)))
    value = report.read(text)
    assert len(text.encode()) <= 4096
    assert value is not None
    assert value["blamed"][0]["node"] == "ip-10-0-0.ec2.internal"
    assert len(value["blamed"]) + len(value["links"]) + value["more"] == 1001


def test_what_is_no_report_is_read_as_none() -> None:
    for text in (None, "", "Error: x", "[]", '{"report": "other"}', '{"report": "trainshed-preflight", "version": 2}'):
        assert report.read(text) is None


def test_the_first_workers_names_count() -> None:
    bad = Named(3, "node-3", "pair", 22, "slow")
    assert [each["rank"] for each in report.agreed([of(0, blamed=(bad,))])] == [3]


def test_the_first_worker_is_named_when_most_others_accuse_it() -> None:
    accusers = [of(rank, accused=FIRST) for rank in range(1, 5)]
    assert [each["node"] for each in report.agreed(accusers)] == ["node-0"]
    assert report.agreed(accusers[:3]) == []


def test_one_worker_that_lost_the_first_accuses_in_vain() -> None:
    bad = Named(5, "node-5", "silent", 20, "gave no answer")
    found = report.agreed([of(0, blamed=(bad,)), of(5, accused=FIRST)])
    assert [each["rank"] for each in found] == [5]


def test_a_baseline_is_kept_unless_a_new_one_is_asked_for(tmp_path: Path) -> None:
    key = baseline.Key("p5.48xlarge", "efa", 16)
    figures = {"all_reduce_gb_per_s": 480.0, "pair_gb_per_s": 390.0, "slowest_pair_gb_per_s": 380.0}
    assert baseline.record(tmp_path / "b", key, figures, at=1.0, task="t", replace=False)
    assert not baseline.record(tmp_path / "b", key, {"pair_gb_per_s": 1.0}, at=2.0, task="t", replace=False)
    assert baseline.read(tmp_path / "b", key) == {"all_reduce_gb_per_s": 480.0, "pair_gb_per_s": 390.0}
    assert baseline.record(tmp_path / "b", key, {"pair_gb_per_s": 1.0}, at=2.0, task="t", replace=True)
    assert baseline.read(tmp_path / "b", key) == {"pair_gb_per_s": 1.0}


def test_another_size_of_gang_borrows_what_doesn_t_depend_on_size(tmp_path: Path) -> None:
    for nodes, rate in ((4, 100.0), (64, 390.0)):
        key = baseline.Key("p5.48xlarge", "efa", nodes)
        baseline.record(
            tmp_path, key, {"pair_gb_per_s": rate, "all_reduce_gb_per_s": 1.0}, at=1.0, task="t", replace=False
        )
    assert baseline.read(tmp_path, baseline.Key("p5.48xlarge", "efa", 60)) == {"pair_gb_per_s": 390.0}
    assert baseline.read(tmp_path, baseline.Key("p5en.48xlarge", "efa", 60)) == {}


def test_a_broken_baseline_is_no_baseline(tmp_path: Path) -> None:
    key = baseline.Key("p5.48xlarge", "efa", 2)
    for text in ("", "{", "[]", '{"figures": {"pair_gb_per_s": "fast"}}', '{"figures": {"pair_gb_per_s": -1}}'):
        (tmp_path / key.name).write_text(text)
        assert baseline.read(tmp_path, key) == {}
    assert baseline.record(tmp_path, key, {"pair_gb_per_s": 2.0}, at=1.0, task="t", replace=False)
