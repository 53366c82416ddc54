"""The pipeline's steps over a shared folder, each in units that are whole or absent: clean, shard, merge.

Units are claimed by their number alone: worker N of COUNT does units N, N + COUNT, and so on, so no worker waits for
another within a step, and one that starts again passes over what it finished. Layout of the output folder:

    plan.json               inputs with sizes, units, sequence, tokenizer: what a later run must agree with
    tokenizer.json
    clean/UNIT.jsonl        cleaned documents of a unit, the first of each kind within it; UNIT.marks tells them apart
    shards/UNIT.bin         samples; UNIT.json beside it says how many, and what was dropped as a duplicate
    manifest.jsonl          written by the last worker to finish: every shard is there and verified
"""

from __future__ import annotations

import json
import os
import sys
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from workload import checksums
from workload.atomic_files import write_file, write_json
from workload.data.dataset import Entry
from workload.data.preprocess import cleaning
from workload.data.preprocess.tokenizing import Tokenizer
from workload.data.token_shards import CODES, bits_for, sample_bytes


class PipelineRefused(Exception):
    """The run can't go on: inputs or an earlier plan say otherwise."""


@dataclass(frozen=True)
class PipelinePlan:
    """What is made of which inputs: fixed by the first worker, checked by all."""

    inputs: tuple[tuple[str, int], ...]
    units: int
    sequence: int
    vocabulary: int

    def as_json(self) -> dict[str, Any]:
        return {
            "inputs": [list(each) for each in self.inputs],
            "units": self.units,
            "sequence": self.sequence,
            "vocabulary": self.vocabulary,
        }

    def of_unit(self, unit: int) -> list[str]:
        """Round robin over the inputs: a unit's files don't depend on who works."""
        return [name for name, _ in self.inputs[unit :: self.units]]


def find_inputs(folder: Path) -> tuple[tuple[str, int], ...]:
    found = [path for path in folder.rglob("*") if path.is_file() and path.name.endswith(cleaning.SUFFIXES)]
    if not found:
        raise PipelineRefused(f"{folder}: holds no {', '.join(cleaning.SUFFIXES)}")
    return tuple(sorted((path.relative_to(folder).as_posix(), path.stat().st_size) for path in found))


def place(path: Path, data: bytes, worker: int) -> None:
    """`write_file` for what several workers may write at once: each under a name of its own first."""
    own = path.with_name(f"{path.name}.{worker}")
    write_file(own, data)
    os.replace(own, path)


def agree(output: Path, plan: PipelinePlan, worker: int) -> None:
    """Write the plan, or compare it with the one that stands: all workers and restarts make the same shards."""
    file = output / "plan.json"
    output.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        place(file, json.dumps(plan.as_json()).encode(), worker)
    kept = json.loads(file.read_text())
    for name, value in plan.as_json().items():
        if kept.get(name) != value:
            shown = f"{kept.get(name)!r:.80} there, {value!r:.80} now"
            raise PipelineRefused(
                f"{file}: {name} differs ({shown}): give the same input and options, or another output folder"
            )


def clean_unit(source: Path, output: Path, plan: PipelinePlan, unit: int) -> bool:
    """Clean a unit's documents; False when it was done before."""
    target = output / "clean" / f"{unit:05}.jsonl"
    if target.exists():
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    seen: set[bytes] = set()
    lines: list[str] = []
    marks: list[bytes] = []
    for name in plan.of_unit(unit):
        try:
            for text in cleaning.documents(source / name):
                kept = cleaning.clean(text)
                mark = cleaning.mark(kept)
                if kept and mark not in seen:
                    seen.add(mark)
                    marks.append(mark)
                    lines.append(json.dumps({"mark": mark.hex(), "text": kept}))
        except (ValueError, OSError, EOFError) as error:
            raise PipelineRefused(f"{source / name}: {error}") from None
    write_file(target.with_suffix(".marks"), b"".join(marks))
    write_file(target, "".join(f"{line}\n" for line in lines).encode())  # last: it says that the unit is done
    return True


def cleaned(output: Path, unit: int) -> Iterator[dict[str, str]]:
    with (output / "clean" / f"{unit:05}.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def missing_clean(output: Path, plan: PipelinePlan) -> list[int]:
    return [unit for unit in range(plan.units) if not (output / "clean" / f"{unit:05}.jsonl").exists()]


class EarlierMarks:
    """The documents of the units before one, which keep them; each unit's are read once, in order. It takes some 100
    bytes a document in every worker: a corpus of billions is split into several runs.
    """

    def __init__(self, output: Path) -> None:
        self._output, self._marks, self._read = output, set[bytes](), 0

    def before(self, unit: int) -> set[bytes]:
        if unit < self._read:
            raise ValueError(f"unit {unit} after {self._read}: units are asked for in order")
        for number in range(self._read, unit):
            data = (self._output / "clean" / f"{number:05}.marks").read_bytes()
            size = cleaning.MARK_BYTES
            self._marks.update(data[place : place + size] for place in range(0, len(data), size))
        self._read = unit
        return self._marks


def shard_unit(output: Path, plan: PipelinePlan, tokenizer: Tokenizer, unit: int, before: set[bytes]) -> bool:
    """Tokenize a unit's documents that no earlier unit has, into samples; False when it was done before."""
    facts, target = output / "shards" / f"{unit:05}.json", output / "shards" / f"{unit:05}.bin"
    if facts.exists():
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    bits = bits_for(tokenizer.vocabulary)
    tokens, documents, dropped = array(CODES[bits]), 0, 0
    for document in cleaned(output, unit):
        if bytes.fromhex(document["mark"]) in before:
            dropped += 1
            continue
        documents += 1
        tokens.extend(tokenizer.encode(document["text"]))
        tokens.append(tokenizer.end)
    samples = len(tokens) // (plan.sequence + 1)
    data = tokens[: samples * (plan.sequence + 1)]
    if sys.byteorder == "big":
        data.byteswap()
    whole = data.tobytes()
    write_file(target, whole)
    written = {"samples": samples, "tokens": len(tokens), "documents": documents, "duplicates": dropped, "bits": bits}
    # Last: a shard without its facts is made again.
    write_json(facts, {**written, "sha256": sha256(whole).hexdigest()})
    return True


def missing_shards(output: Path, plan: PipelinePlan) -> list[int]:
    return [unit for unit in range(plan.units) if not (output / "shards" / f"{unit:05}.json").exists()]


def write_manifest(output: Path, plan: PipelinePlan, tokenizer: Tokenizer, worker: int) -> dict[str, int]:
    """Read every shard back and list it; any worker may do this again, with the same result. Raises Refused."""
    lines, totals = [], {"samples": 0, "tokens": 0, "documents": 0, "duplicates": 0}
    bits = bits_for(tokenizer.vocabulary)
    for unit in range(plan.units):
        facts = json.loads((output / "shards" / f"{unit:05}.json").read_text())
        name = f"shards/{unit:05}.bin"
        size, checksum = checksums.of_file(output / name, "sha256")
        if checksum != facts["sha256"] or size != facts["samples"] * sample_bytes(plan.sequence, bits):
            raise PipelineRefused(f"{output / name}: is not what was written; delete it and its .json, and run again")
        totals = {key: totals[key] + facts[key] for key in totals}
        if facts["samples"]:
            entry = Entry(name, size, "sha256", checksum, facts["samples"], bits, tokenizer.vocabulary)
            lines.append(json.dumps(entry.as_json()))
    place(output / "manifest.jsonl", "".join(f"{line}\n" for line in lines).encode(), worker)
    return totals
