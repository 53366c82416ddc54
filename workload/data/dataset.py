"""The manifest of a dataset: one line of JSON a file with its path, size, checksum and number of samples.

The file is JSON lines, read as a stream, or one JSON document with `files`. Entries that could never be staged are
refused line by line.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from workload.atomic_files import PARTIAL_SUFFIX
from workload.checksums import KINDS

KEYS = ("path", "size", "sha256", "crc32c", "samples", "token_bits", "vocabulary")
TOKEN_BITS = (16, 32)
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
HEXADECIMAL = re.compile(r"[0-9a-fA-F]+\Z")
# One JSON document has to be held whole to be read; JSON lines do not, so a larger manifest has to come as lines.
LARGEST_DOCUMENT_BYTES = 32 << 20


class BadManifest(ValueError):
    """The manifest says something that can't be; the text names the file and the line."""


@dataclass(frozen=True)
class Entry:
    """One file of the dataset; `path` is relative, with `/` between its parts."""

    path: str
    size: int
    kind: str
    checksum: str
    samples: int | None = None
    token_bits: int | None = None
    vocabulary: int | None = None  # how many different tokens the tokenizer knows: every token is below it

    def as_json(self) -> dict[str, Any]:
        value: dict[str, Any] = {"path": self.path, "size": self.size, self.kind: self.checksum}
        for name in ("samples", "token_bits", "vocabulary"):
            if getattr(self, name) is not None:
                value[name] = getattr(self, name)
        return value


def _whole_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _path_fault(path: Any) -> str | None:
    if not isinstance(path, str) or not path:
        return "has no path"
    parts = path.split("/")
    if path.startswith("/") or ".." in parts or "." in parts or "" in parts:
        return f"path {path!r} must be relative, without empty, `.` or `..` parts"
    if CONTROL.search(path):
        return f"path {path!r} holds a control character"
    if path.endswith(PARTIAL_SUFFIX) and parts[-1].startswith("."):
        return f"path {path!r} looks like an unfinished copy (.*{PARTIAL_SUFFIX})"
    return None


def parse(value: Any, where: str) -> Entry:
    """One entry from its JSON value; `where` starts every complaint."""
    if not isinstance(value, dict):
        raise BadManifest(f"{where}: expected an object with {', '.join(KEYS)}, found {type(value).__name__}")
    fault = _path_fault(value.get("path"))
    if fault:
        raise BadManifest(f"{where}: {fault}")
    path = value["path"]
    if not _whole_number(value.get("size")):
        raise BadManifest(f"{where}: {path}: size must be a whole number of bytes, found {value.get('size')!r}")
    samples = value.get("samples")
    if samples is not None and not _whole_number(samples):
        raise BadManifest(f"{where}: {path}: samples must be a whole number, found {samples!r}")
    bits, vocabulary = value.get("token_bits"), value.get("vocabulary")
    if bits is not None and (isinstance(bits, bool) or bits not in TOKEN_BITS):
        raise BadManifest(f"{where}: {path}: token_bits must be 16 or 32, found {bits!r}")
    if vocabulary is not None and not (_whole_number(vocabulary) and 0 < vocabulary <= 1 << (bits or 32)):
        room = f"; {bits} bits tell at most {1 << bits} tokens apart" if bits else ""
        raise BadManifest(f"{where}: {path}: vocabulary must be a whole number above 0, found {vocabulary!r}{room}")
    for kind, (_, digits) in KINDS.items():
        if kind not in value:
            continue
        text = value[kind]
        if not isinstance(text, str) or len(text) != digits or not HEXADECIMAL.match(text):
            raise BadManifest(f"{where}: {path}: {kind} must be {digits} hexadecimal digits, found {text!r}")
        return Entry(path, value["size"], kind, text.lower(), samples, bits, vocabulary)
    raise BadManifest(f"{where}: {path}: needs a checksum, sha256 or crc32c")


def _values(file: Path) -> Iterator[tuple[str, Any]]:
    with file.open("r", encoding="utf-8") as lines:
        numbered = enumerate(lines, 1)
        for number, line in numbered:
            if not line.strip():
                continue
            try:
                value = json.loads(line)
            except ValueError as error:
                if number == 1 and line.lstrip().startswith(("{", "[")):
                    break  # not a line of its own: the first line of a document
                raise BadManifest(f"{file}:{number}: not JSON: {error}") from None
            if number == 1 and (isinstance(value, list) or (isinstance(value, dict) and "files" in value)):
                break
            yield f"{file}:{number}", value
        else:
            return
    yield from _document(file)


def _document(file: Path) -> Iterator[tuple[str, Any]]:
    size = file.stat().st_size
    if size > LARGEST_DOCUMENT_BYTES:
        raise BadManifest(
            f"{file}: {size} bytes of one JSON document; above {LARGEST_DOCUMENT_BYTES} give one object a line"
        )
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BadManifest(f"{file}: not JSON: {error}") from None
    files = value.get("files") if isinstance(value, dict) else value
    if not isinstance(files, list):
        raise BadManifest(f"{file}: expected a list of files, or an object with `files`")
    for number, item in enumerate(files):
        yield f"{file}: files[{number}]", item


def read(file: Path) -> Iterator[Entry]:
    """The entries in the manifest's order, one at a time. Raises BadManifest; OSError when the file can't be read."""
    # Eight bytes a path instead of the path: a million files stay under 100 MB.
    seen: set[bytes] = set()
    try:
        for where, value in _values(file):
            entry = parse(value, where)
            mark = blake2b(entry.path.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            if mark in seen:
                raise BadManifest(f"{where}: {entry.path} is listed twice")
            seen.add(mark)
            yield entry
    except UnicodeDecodeError as error:
        raise BadManifest(f"{file}: not UTF-8: {error}") from None


def files_below(folder: Path) -> Iterator[Path]:
    """Every file below `folder` in one fixed order; unfinished copies left out, links to folders not followed."""

    def stop(error: OSError) -> None:
        raise error

    for base, folders, names in os.walk(folder, onerror=stop):
        folders.sort()
        for name in sorted(names):
            if not (name.startswith(".") and name.endswith(PARTIAL_SUFFIX)):
                yield Path(base, name)
