"""Real text made into shards by several workers: the same shards however often workers are taken away."""

from __future__ import annotations

import json
import pydoc_data
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.workload.conftest import ROOT, Run, pythons
from workload.data import sample_order
from workload.data.preprocess import cleaning, tokenizing
from workload.data.token_shards import TokenShards

SEQUENCE = 127


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Text that ships with Python, a license, and a copy of it in other case and spacing."""
    folder = tmp_path_factory.mktemp("corpus")
    topics = (Path(pydoc_data.__file__).parent / "topics.py").read_text(encoding="utf-8")
    pieces = [topics[place : place + 8000] for place in range(0, 160_000, 8000)]
    for number, piece in enumerate(pieces):
        (folder / f"topic-{number:02}.txt").write_text(piece, encoding="utf-8")
    license_text = (ROOT / "LICENSE").read_text()
    (folder / "license.txt").write_text(license_text)
    documents = [
        {"text": license_text.upper().replace("\n", "\r\n")},
        {"text": "too short"},
        {"text": "one two three four five"},
    ]
    (folder / "more.jsonl").write_text("\n".join(map(json.dumps, documents)))
    return folder


def words(corpus: Path, output: Path, worker: int, workers: int, *more: object) -> list[str]:
    fixed = ["--input", corpus, "--output", output, "--sequence", SEQUENCE, "--units", 6, "--vocabulary", 400]
    return [
        str(word) for word in [*fixed, "--worker", worker, "--workers", workers, "--poll", 0.05, "--wait", 60, *more]
    ]


def start(corpus: Path, output: Path, worker: int, workers: int) -> subprocess.Popen[str]:
    program = ROOT / "workload/data/preprocess/tokenize.py"
    command = [pythons()[-1], str(program), *words(corpus, output, worker, workers)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def shards(output: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((output / "shards").glob("*.bin"))}


@pytest.fixture(scope="module")
def alone(corpus: Path, tmp_path_factory: pytest.TempPathFactory, run: Run) -> Path:
    """What one worker alone makes."""
    output = tmp_path_factory.mktemp("alone")
    done = run("data/preprocess/tokenize", *words(corpus, output, 0, 1))
    assert done.returncode == 0, done.stderr
    last = json.loads(done.stdout.splitlines()[-1])
    assert (last["event"], last["documents"], last["duplicates"], last["vocabulary"]) == ("manifest", 22, 1, 400)
    return output


def test_the_shards_read_back_as_the_cleaned_text(corpus: Path, alone: Path) -> None:
    tokenizer = tokenizing.load(alone / "tokenizer.json")
    assert isinstance(tokenizer, tokenizing.BytePairs)
    where = sample_order.index(alone / "manifest.jsonl")
    assert (where.token_bits, where.vocabulary) == (16, 400)
    read = TokenShards(alone, where, SEQUENCE)
    tokens = [token for sample in range(where.samples) for token in read[sample]]
    read.close()
    text = tokenizer.decode(tokens)
    assert max(tokens) < tokenizer.vocabulary
    assert tokens.count(tokenizer.end) > 10
    whole = cleaning.clean((corpus / "topic-00.txt").read_text(encoding="utf-8"))
    assert whole[:4000] in text
    assert len(tokens) < len(text.encode()) * 0.7, "merges shorten the text"


def test_workers_that_are_taken_away_leave_the_same_shards(corpus: Path, alone: Path, tmp_path: Path) -> None:
    for number, sign in enumerate((signal.SIGKILL, signal.SIGTERM, signal.SIGKILL)):
        workers = [start(corpus, tmp_path, worker, 3) for worker in range(3)]
        taken = workers[number]
        assert taken.stdout is not None
        taken.stdout.readline()  # a unit is done, the next is in hand
        taken.send_signal(sign)
        for process in workers:
            if process is not taken:
                process.kill()
            process.communicate()
    workers = [start(corpus, tmp_path, worker, 3) for worker in range(3)]
    for process in workers:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
    assert shards(tmp_path) == shards(alone)
    assert (tmp_path / "manifest.jsonl").read_text() == (alone / "manifest.jsonl").read_text()


def test_what_is_done_is_not_done_again(corpus: Path, alone: Path, tmp_path: Path, run: Run) -> None:
    shutil.copytree(alone, tmp_path / "again")
    done = run("data/preprocess/tokenize", *words(corpus, tmp_path / "again", 0, 1))
    assert [json.loads(line)["event"] for line in done.stdout.splitlines()] == ["manifest"]


def test_another_input_or_option_needs_another_folder(corpus: Path, alone: Path, tmp_path: Path, run: Run) -> None:
    shutil.copytree(alone, tmp_path / "again")
    done = run("data/preprocess/tokenize", *words(corpus, tmp_path / "again", 0, 1, "--units", 7))
    assert done.returncode == 4
    assert "plan.json: units differs (6 there, 7 now): give the same input and options" in done.stderr


def test_a_shard_that_changed_on_the_disk_is_refused(corpus: Path, alone: Path, tmp_path: Path, run: Run) -> None:
    shutil.copytree(alone, tmp_path / "again")
    shard = tmp_path / "again/shards/00002.bin"
    shard.write_bytes(shard.read_bytes()[:-2] + b"xx")
    done = run("data/preprocess/tokenize", *words(corpus, tmp_path / "again", 0, 1))
    assert done.returncode == 4
    assert done.stderr.endswith("shards/00002.bin: is not what was written; delete it and its .json, and run again\n")


def test_a_worker_waits_no_longer_than_it_is_told(corpus: Path, tmp_path: Path, run: Run) -> None:
    done = run("data/preprocess/tokenize", *words(corpus, tmp_path, 1, 2, "--wait", "0.2"))
    assert (done.returncode, done.stderr) == (1, "tokenize: 3 units were not cleaned within 0.2 s\n")


def test_a_malformed_input_is_named_with_its_line(tmp_path: Path, run: Run) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/x.jsonl").write_text('{"text": "fine"}\n{"txt": 1}\n')
    done = run("data/preprocess/tokenize", *words(tmp_path / "in", tmp_path / "out", 0, 1))
    assert done.returncode == 4
    assert done.stderr.startswith(f"tokenize: {tmp_path}/in/x.jsonl: line 2 is no JSON object with `text`: ")
    (tmp_path / "in/x.jsonl").unlink()
    done = run("data/preprocess/tokenize", *words(tmp_path / "in", tmp_path / "out", 0, 1))
    assert "holds no .txt, .md" in done.stderr


def test_cleaning_keeps_the_text_and_drops_what_no_model_should_see() -> None:
    assert cleaning.clean("a\u0301 b\x00 \tc\r\nd  \n\n\n\ne\ufeff") == "\u00e1 b \tc\nd\n\ne"
    assert cleaning.clean("four words are few") == ""
    assert cleaning.mark("One,  TWO three") == cleaning.mark("one two\nthree!")
    assert cleaning.mark("one two") != cleaning.mark("one three")


def test_learned_merges_decode_to_what_went_in() -> None:
    pairs = tokenizing.learn(["low lower lowest " * 20, "na\u00efve \U0001f642 \udcff"], 300)
    for text in ("lowest", "na\u00efve \U0001f642\n\ttabs  and  blanks", ""):
        assert pairs.decode(pairs.encode(text)) == text
    assert len(pairs.encode(" lower")) < 4
