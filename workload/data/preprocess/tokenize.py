#!/usr/bin/env python3
"""The reference preprocessing program: text files in, token shards and their manifest out, by many workers.

Each worker is a pod of an indexed job: JOB_COMPLETION_INDEX says which of PREPROCESS_WORKERS it is, and its part of the
units is its own. What is finished is a whole file on shared storage, so a worker that spot takes away costs the unit in
hand and no more; the pod that replaces it has the same index and goes on. What the job renders:

- a Job with `completionMode: Indexed`, `completions` = `parallelism` = the nodes, and `backoffLimitPerIndex`, not a
  gang; `podFailurePolicy` ignores the condition DisruptionTarget, so that spot's losses don't count;
- the environment PREPROCESS_WORKERS (as `completions`), and JOB_COMPLETION_INDEX by Kubernetes itself;
- the input mounted read-only, the output on a writable claim that all workers share, not an emptyDir.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

if not __package__:  # run as a file: the folder above holds the package
    sys.path[0] = str(Path(__file__).resolve().parents[3])

from workload.atomic_files import write_json
from workload.data import faults
from workload.data.preprocess import cleaning, pipeline, tokenizing
from workload.data.preprocess.pipeline import PipelinePlan, PipelineRefused

LEARN_BYTES = 4 << 20
EPILOG = f"""\
exit codes:
  {faults.DONE}    this worker's part is done; the last one has written the manifest
  {faults.FAILED}    another worker's part was not finished within --wait
  {faults.USAGE}    used wrongly
  {faults.BAD_DATA}    an input is malformed, or the output folder belongs to another run
  143  stopped by SIGTERM; the next start goes on with the next unit"""


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="tokenize",
        description="Clean, deduplicate, tokenize and shard text files.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = top.add_argument
    add("--input", type=Path, required=True, help=f"folder of {', '.join(cleaning.SUFFIXES)}")
    add("--output", type=Path, required=True, help="folder on shared storage")
    add("--sequence", type=int, default=2048, help="tokens of a sample (default 2048)")
    add("--units", type=int, default=64, help="pieces of work, and shards; more than workers (default 64)")
    add("--tokenizer", type=Path, help="a tokenizer file; without one the first worker learns byte pairs")
    add("--end-token", default=tokenizing.END, help="the token of a Hugging Face tokenizer that ends a document")
    add("--vocabulary", type=int, default=4096, help="size of a learned vocabulary (default 4096)")
    add("--worker", type=int, default=int(os.environ.get("JOB_COMPLETION_INDEX", "0")))
    add("--workers", type=int, default=int(os.environ.get("PREPROCESS_WORKERS", "1")))
    add("--wait", type=float, default=6 * 3600.0, help="seconds to wait for other workers' part (default 6 h)")
    add("--poll", type=float, default=2.0, help="seconds between two looks for it (default 2)")
    return top


class TokenizeWorker:
    """One worker's way through the steps."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.stop = threading.Event()
        self.plan = PipelinePlan(
            pipeline.find_inputs(arguments.input), arguments.units, arguments.sequence, arguments.vocabulary
        )
        self.mine = range(arguments.worker, arguments.units, arguments.workers)

    def run(self) -> int:
        output: Path = self.arguments.output
        pipeline.agree(output, self.plan, self.arguments.worker)
        for unit in self.mine:
            if self.stop.is_set():
                return 143
            if pipeline.clean_unit(self.arguments.input, output, self.plan, unit):
                self._say("cleaned", unit)
        # A document belongs to the first unit that has it, so all units are cleaned before one is sharded.
        code = self._wait(lambda: pipeline.missing_clean(output, self.plan), "cleaned")
        if code:
            return code
        tokenizer = self._tokenizer(output)
        if tokenizer is None:
            return 143 if self.stop.is_set() else faults.FAILED
        marks = pipeline.EarlierMarks(output)
        for unit in self.mine:
            if self.stop.is_set():
                return 143
            if pipeline.shard_unit(output, self.plan, tokenizer, unit, marks.before(unit)):
                self._say("sharded", unit)
        missing = pipeline.missing_shards(output, self.plan)
        if missing:  # another worker is not done; the last one writes the manifest
            self._say("left to others", len(missing))
            return faults.DONE
        totals = pipeline.write_manifest(output, self.plan, tokenizer, self.arguments.worker)
        print(json.dumps({"event": "manifest", "vocabulary": tokenizer.vocabulary, **totals}), flush=True)
        return faults.DONE

    def _say(self, event: str, number: int) -> None:
        print(json.dumps({"event": event, "worker": self.arguments.worker, "unit": number}), flush=True)

    def _wait(self, missing: Callable[[], Sequence[int]], what: str) -> int:
        deadline = time.monotonic() + self.arguments.wait
        while True:
            left = missing()
            if not left:
                return faults.DONE
            if self.stop.is_set():
                return 143
            if time.monotonic() >= deadline:
                print(f"tokenize: {len(left)} units were not {what} within {self.arguments.wait:g} s", file=sys.stderr)
                return faults.FAILED
            self.stop.wait(self.arguments.poll)

    def _tokenizer(self, output: Path) -> tokenizing.Tokenizer | None:
        if self.arguments.tokenizer is not None:
            return tokenizing.load(self.arguments.tokenizer, self.arguments.end_token)
        file = output / "tokenizer.json"
        if not file.exists() and self.arguments.worker == 0:
            write_json(file, tokenizing.learn(self._some_text(output), self.arguments.vocabulary).as_json())
        if self._wait(lambda: [] if file.exists() else [0], "given a tokenizer"):
            return None
        return tokenizing.load(file)

    def _some_text(self, output: Path) -> list[str]:
        """The beginning of every unit, some 4 MiB together: the same for every run."""
        share, texts = LEARN_BYTES // self.plan.units, []
        for unit in range(self.plan.units):
            size = 0
            for document in pipeline.cleaned(output, unit):
                texts.append(document["text"][: share - size])
                size += len(texts[-1])
                if size >= share:
                    break
        return texts


def main(words: list[str] | None = None) -> int:
    top = parser()
    arguments = top.parse_args(words)
    if arguments.units < 1 or arguments.sequence < 1 or not 0 <= arguments.worker < arguments.workers:
        top.error("--units and --sequence start at 1, --worker runs from 0 to --workers - 1")
    if arguments.vocabulary < 257:
        top.error("--vocabulary: 256 bytes and the end of a document take 257 at least")
    if not arguments.input.is_dir():
        top.error(f"--input {arguments.input} is no folder")
    try:
        worker = TokenizeWorker(arguments)
        signal.signal(signal.SIGTERM, lambda *_: worker.stop.set())
        return worker.run()
    except (PipelineRefused, ValueError) as error:
        print(f"tokenize: {error}", file=sys.stderr)
        return faults.BAD_DATA


if __name__ == "__main__":
    sys.exit(main())
