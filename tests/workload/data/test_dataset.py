"""A dataset's manifest: what it may say, and each complaint."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from workload import checksums
from workload.data import dataset

SUM = "0" * 64
GOOD = {"path": "a/b.bin", "size": 3, "sha256": SUM, "samples": 2}


def entries(tmp_path: Path, text: str) -> list[dataset.Entry]:
    file = tmp_path / "m.jsonl"
    file.write_text(text)
    return list(dataset.read(file))


def complaint(tmp_path: Path, text: str) -> str:
    with pytest.raises(dataset.BadManifest) as raised:
        entries(tmp_path, text)
    return str(raised.value).replace(str(tmp_path) + "/", "")


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(GOOD) + "\n",
        json.dumps(GOOD) + "\n\n" + json.dumps({**GOOD, "path": "c"}) + "\n",
        json.dumps([GOOD]),
        json.dumps({"files": [GOOD]}),
        json.dumps({"name": "corpus", "files": [GOOD]}, indent=2),
        json.dumps([GOOD], indent=2),
    ],
    ids=["lines", "blank-line", "list", "object", "indented-object", "indented-list"],
)
def test_lines_and_documents_say_the_same(tmp_path: Path, text: str) -> None:
    assert entries(tmp_path, text)[0] == dataset.Entry("a/b.bin", 3, "sha256", SUM, 2)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({**GOOD, "path": ""}, "has no path"),
        ({"size": 1}, "has no path"),
        ({**GOOD, "path": "/etc/passwd"}, "path '/etc/passwd' must be relative, without empty, `.` or `..` parts"),
        ({**GOOD, "path": "a/../../b"}, "path 'a/../../b' must be relative, without empty, `.` or `..` parts"),
        ({**GOOD, "path": "a//b"}, "path 'a//b' must be relative, without empty, `.` or `..` parts"),
        ({**GOOD, "path": "a\nb"}, "path 'a\\nb' holds a control character"),
        ({**GOOD, "path": "a/.b.partial"}, "path 'a/.b.partial' looks like an unfinished copy (.*.partial)"),
        ({**GOOD, "size": -1}, "a/b.bin: size must be a whole number of bytes, found -1"),
        ({**GOOD, "size": "3"}, "a/b.bin: size must be a whole number of bytes, found '3'"),
        ({**GOOD, "size": True}, "a/b.bin: size must be a whole number of bytes, found True"),
        ({**GOOD, "samples": 1.5}, "a/b.bin: samples must be a whole number, found 1.5"),
        ({**GOOD, "sha256": "12"}, "a/b.bin: sha256 must be 64 hexadecimal digits, found '12'"),
        ({"path": "x", "size": 1, "crc32c": "0000000g"}, "x: crc32c must be 8 hexadecimal digits, found '0000000g'"),
        ({"path": "x", "size": 1}, "x: needs a checksum, sha256 or crc32c"),
        (7, "expected an object with path, size, sha256, crc32c, samples, token_bits, vocabulary, found int"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, value: object, said: str) -> None:
    text = json.dumps({**GOOD, "path": "first"}) + "\n" + json.dumps(value) + "\n"
    assert complaint(tmp_path, text) == f"m.jsonl:2: {said}"


def test_a_file_listed_twice_is_named(tmp_path: Path) -> None:
    assert complaint(tmp_path, (json.dumps(GOOD) + "\n") * 2) == "m.jsonl:2: a/b.bin is listed twice"


def test_what_is_not_json_is_named(tmp_path: Path) -> None:
    text = json.dumps(GOOD) + "\n" + "path,size\n"
    assert complaint(tmp_path, text) == "m.jsonl:2: not JSON: Expecting value: line 1 column 1 (char 0)"
    assert complaint(tmp_path, '{"files": [') == "m.jsonl: not JSON: Expecting value: line 1 column 12 (char 11)"
    assert complaint(tmp_path, '{"files": 3}') == "m.jsonl: expected a list of files, or an object with `files`"


def test_a_large_document_must_come_as_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset, "LARGEST_DOCUMENT_BYTES", 10)
    text = json.dumps([GOOD])
    assert (
        complaint(tmp_path, text) == f"m.jsonl: {len(text)} bytes of one JSON document; above 10 give one object a line"
    )


def test_crc32c_of_the_standard_check_string() -> None:
    # The check value of CRC-32C (iSCSI, RFC 3720): the digits 1 to 9.
    assert checksums.crc32c_in_python(b"123456789") == 0xE3069283
    running = checksums.Crc32c()
    running.update(b"1234")
    running.update(b"56789")
    assert running.hexdigest() == "e3069283"
