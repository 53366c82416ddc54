"""Shards of 16 and 32 bits a token: read as they were written, and refused where sizes say that they weren't."""

from __future__ import annotations

import json
from array import array
from pathlib import Path

import pytest

from tests.workload.conftest import Run
from workload.data import dataset, sample_order
from workload.data.token_shards import TokenShards, bits_for, sample_bytes

SEQUENCE = 7


def shards(folder: Path, run: Run, code: str, *words: object) -> Path:
    """Two shards of two samples each, and their manifest."""
    (folder / "data").mkdir()
    for number in range(2):
        tokens = array(code, range(number * 16, number * 16 + 16))
        (folder / "data" / f"shard-{number}").write_bytes(tokens.tobytes())
    bits = 8 * array(code).itemsize
    done = run(
        "data/stage",
        "manifest",
        folder / "data",
        "--output",
        folder / "m",
        "--sample-bytes",
        sample_bytes(SEQUENCE, bits),
        *words,
    )
    assert done.returncode == 0, done.stderr
    return folder / "m"


@pytest.mark.parametrize(("code", "bits"), [("H", 16), ("I", 32)])
def test_samples_come_back_at_either_width(tmp_path: Path, run: Run, code: str, bits: int) -> None:
    manifest = shards(tmp_path, run, code, "--token-bits", bits, "--vocabulary", 32)
    where = sample_order.index(manifest)
    read = TokenShards(tmp_path / "data", where, SEQUENCE)
    assert (read.bits, where.vocabulary) == (bits, 32)
    assert [list(read[sample]) for sample in range(4)] == [list(range(8 * start, 8 * start + 8)) for start in range(4)]
    read.close()


def test_wide_tokens_are_not_read_as_narrow_ones(tmp_path: Path, run: Run) -> None:
    where = sample_order.index(shards(tmp_path, run, "I"))
    said = "samples have 32 bytes, 7 tokens of 16 bits and one more take 16; its own fit a sequence of 15, or another"
    with pytest.raises(dataset.BadManifest, match=said):
        TokenShards(tmp_path / "data", where, SEQUENCE)


def test_another_sequence_is_refused(tmp_path: Path, run: Run) -> None:
    where = sample_order.index(shards(tmp_path, run, "H", "--token-bits", 16))
    with pytest.raises(dataset.BadManifest, match="its own fit a sequence of 7"):
        TokenShards(tmp_path / "data", where, 15)


def test_files_of_different_widths_or_sizes_are_no_dataset(tmp_path: Path, run: Run) -> None:
    manifest = shards(tmp_path, run, "H", "--token-bits", 16)
    lines = [json.loads(line) for line in manifest.read_text().splitlines()]
    for change, said in (
        ({"token_bits": 32}, "shard-1: token_bits is 32, the files before it have 16"),
        ({"samples": 4}, "shard-1: 32 bytes are no 4 samples of 16 bytes, as the files before it have"),
        ({"token_bits": 24}, "shard-1: token_bits must be 16 or 32, found 24"),
        (
            {"vocabulary": 70000},
            "shard-1: vocabulary must be a whole number above 0, found 70000; 16 bits tell at most",
        ),
    ):
        manifest.write_text("\n".join(json.dumps(line) for line in (lines[0], {**lines[1], **change})))
        with pytest.raises(dataset.BadManifest, match=said):
            sample_order.index(manifest)


def test_samples_of_different_sizes_are_no_tokens(tmp_path: Path, run: Run) -> None:
    manifest = shards(tmp_path, run, "H")
    lines = [json.loads(line) for line in manifest.read_text().splitlines()]
    manifest.write_text("\n".join(json.dumps(line) for line in (lines[0], {**lines[1], "samples": 3})))
    where = sample_order.index(manifest)
    assert where.samples == 5
    with pytest.raises(dataset.BadManifest, match="samples of different sizes: these are no shards of tokens"):
        TokenShards(tmp_path / "data", where, SEQUENCE)


def test_the_sample_models_vocabulary_takes_32_bits() -> None:
    assert [bits_for(count) for count in (1, 65_536, 65_537, 128_256)] == [16, 16, 32, 32]
