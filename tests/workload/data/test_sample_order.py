"""The order of samples: the same for the same words, whole in every epoch, and indifferent to the number of ranks."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workload.conftest import Run
from workload.data import dataset, sample_order
from workload.data.sample_order import Cursor, Order, Permutation, ShardIndex, samples_of, share

SAMPLES = st.integers(1, 400)
SEEDS = st.integers(0, 1 << 64)
BATCHES = st.integers(1, 70)
RANKS = st.integers(1, 12)


@given(size=st.integers(1, 3000), seed=SEEDS, epoch=st.integers(0, 5))
def test_an_epoch_is_a_permutation(size: int, seed: int, epoch: int) -> None:
    permutation = Permutation(size, seed, epoch)
    assert sorted(permutation[position] for position in range(size)) == list(range(size))


def test_the_order_is_fixed_for_ever() -> None:
    # A run that outlives an upgrade must see the order it began with: these figures may never change.
    assert samples_of(1000, 42, 3, 5, 1, ranks=4, global_batch=32) == [630, 80, 779, 783, 292, 544, 211, 378]
    assert samples_of(10**12, 7, 0, 0, 0, ranks=1, global_batch=2) == [868068071401, 125035511182]


@given(samples=SAMPLES, seed=SEEDS, epoch=st.integers(0, 3), step=st.integers(0, 9), batch=BATCHES, ranks=RANKS)
def test_ranks_split_a_step_without_overlap(
    samples: int, seed: int, epoch: int, step: int, batch: int, ranks: int
) -> None:
    whole = samples_of(samples, seed, epoch, step, 0, ranks=1, global_batch=batch)
    pieces = [samples_of(samples, seed, epoch, step, rank, ranks=ranks, global_batch=batch) for rank in range(ranks)]
    assert [sample for piece in pieces for sample in piece] == whole
    assert max(map(len, pieces)) - min(map(len, pieces)) <= 1
    assert pieces == [
        samples_of(samples, seed, epoch, step, rank, ranks=ranks, global_batch=batch) for rank in range(ranks)
    ]


@given(samples=SAMPLES, seed=SEEDS, legs=st.lists(st.tuples(st.integers(1, 6), BATCHES, RANKS), min_size=1, max_size=6))
def test_a_run_that_restarts_with_other_ranks_and_batches_sees_every_sample_once_an_epoch(
    samples: int, seed: int, legs: list[tuple[int, int, int]]
) -> None:
    cursor = Cursor(samples, seed)
    seen: list[int] = []
    for steps, batch, ranks in legs:
        cursor = Cursor(samples, seed).resume(json.loads(json.dumps(cursor.as_json())))  # a restart
        for _ in range(steps):
            for rank in range(ranks):
                seen += cursor.batch(batch, rank, ranks)
            cursor = cursor.advance(batch)
    assert cursor.consumed == len(seen)
    # The line of a run that never stopped, on one rank.
    order = Order(samples, seed)
    assert seen == [order[position] for position in range(len(seen))]
    for epoch in range(len(seen) // samples):
        assert sorted(seen[epoch * samples : (epoch + 1) * samples]) == list(range(samples))
    rest = seen[len(seen) // samples * samples :]
    assert len(set(rest)) == len(rest)


def test_epochs_and_seeds_differ_and_neighbours_do_not_stay_together() -> None:
    first, second, other = (
        [Permutation(5000, seed, epoch)[position] for position in range(5000)]
        for seed, epoch in ((1, 0), (1, 1), (2, 0))
    )
    assert sum(one == two for one, two in zip(first, second, strict=True)) < 20
    assert sum(one == two for one, two in zip(first, other, strict=True)) < 20
    assert sum(abs(one - two) == 1 for one, two in pairwise(first)) < 20


@given(start=st.integers(0, 100), count=st.integers(0, 100), ranks=RANKS)
def test_shares_are_consecutive(start: int, count: int, ranks: int) -> None:
    pieces = [share(start, count, rank, ranks) for rank in range(ranks)]
    assert [place for piece in pieces for place in piece] == list(range(start, start + count))


def test_bad_numbers_are_refused() -> None:
    for wrong, said in (
        (lambda: share(0, 4, 4, 4), "rank 4 of 4: ranks run from 0 to 3"),
        (lambda: share(0, 4, -1, 4), "rank -1 of 4: ranks run from 0 to 3"),
        (lambda: Order(0, 1), "a dataset of 0 samples: at least 1 is needed"),
        (lambda: Permutation(0, 1, 1), "a permutation of 0 samples: at least 1 is needed"),
        (lambda: Order(4, 1).of_rank(0, 0, 0, 1), "a global batch of 0: at least 1 is needed"),
    ):
        with pytest.raises(ValueError, match="^" + said.replace("(", r"\(") + "$"):
            wrong()


@pytest.mark.parametrize(("name", "value"), [("samples", 11), ("seed", 2), ("data", "other")])
def test_a_cursor_of_another_dataset_is_refused(name: str, value: object) -> None:
    kept = {**Cursor(10, 1, "this", 4).as_json(), name: value}
    mine = {"samples": 10, "seed": 1, "data": "this"}[name]
    with pytest.raises(sample_order.OtherData) as raised:
        Cursor(10, 1, "this").resume(kept)
    assert str(raised.value) == f"the checkpoint's data position has {name} {value!r}, this run has {mine!r}"


@given(counts=st.lists(st.integers(0, 9), min_size=1, max_size=30).filter(any))
def test_every_sample_lies_in_its_shard(counts: list[int]) -> None:
    where = ShardIndex([f"shard-{number}" for number in range(len(counts))], counts, "")
    expected = [(f"shard-{number}", place) for number, count in enumerate(counts) for place in range(count)]
    assert [where.locate(sample) for sample in range(where.samples)] == expected
    for outside in (-1, where.samples):
        with pytest.raises(IndexError, match=f"sample {outside} is outside 0..{where.samples - 1}"):
            where.locate(outside)


def manifest(tmp_path: Path, *samples: int | None) -> Path:
    file = tmp_path / "m.jsonl"
    lines = []
    for number, count in enumerate(samples):
        entry = {"path": f"s{number}", "size": 1, "sha256": "0" * 64}
        lines.append(json.dumps(entry if count is None else {**entry, "samples": count}))
    file.write_text("\n".join(lines) + "\n")
    return file


def test_the_fingerprint_follows_order_and_counts(tmp_path: Path) -> None:
    one, two = sample_order.index(manifest(tmp_path, 3, 4)), sample_order.index(manifest(tmp_path, 4, 3))
    assert (one.samples, two.samples) == (7, 7)
    assert one.fingerprint != two.fingerprint
    with pytest.raises(dataset.BadManifest, match="s1: has no count of samples"):
        sample_order.index(manifest(tmp_path, 3, None))


def test_the_program_prints_samples_with_their_places(tmp_path: Path, run: Run) -> None:
    file = manifest(tmp_path, 3, 4)
    words = ("--manifest", file, "--seed", 1, "--step", 0, "--global-batch", 7)
    done = run("data/sample_order", *words)
    assert done.returncode == 0
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert sorted(rows) == [
        ["0", "s0", "0"],
        ["1", "s0", "1"],
        ["2", "s0", "2"],
        ["3", "s1", "0"],
        ["4", "s1", "1"],
        ["5", "s1", "2"],
        ["6", "s1", "3"],
    ]
    halves = [run("data/sample_order", *words, "--rank", rank, "--ranks", 2).stdout for rank in (0, 1)]
    assert halves[0] + halves[1] == done.stdout
    assert run("data/sample_order", *words, "--rank", 2, "--ranks", 2).returncode == 2
    assert run("data/sample_order", "--manifest", manifest(tmp_path, None), *words[2:]).returncode == 4
