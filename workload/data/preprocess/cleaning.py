"""Documents out of files, cleaned, and what makes two of them the same."""

from __future__ import annotations

import gzip
import json
import re
import unicodedata
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

CONTROL = re.compile(r"[^\S\n\t ]|[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff\ufffd]")
BLANKS = re.compile(r"[ \t]+(?=\n|$)")
LINES = re.compile(r"\n{3,}")
MARK_BYTES = 16
WORD = re.compile(r"\w+")
SUFFIXES = (".txt", ".md", ".rst", ".jsonl", ".txt.gz", ".jsonl.gz")


def documents(path: Path) -> Iterator[str]:
    """A text file is a document; a line of JSON with `text` is one each. Raises ValueError, which names the line."""
    name = path.name[:-3] if path.name.endswith(".gz") else path.name
    with gzip.open(path, "rb") if path.name.endswith(".gz") else path.open("rb") as file:
        if not name.endswith(".jsonl"):
            yield file.read().decode("utf-8", "replace")
            return
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                yield str(json.loads(line)["text"])
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"line {number} is no JSON object with `text`: {error!r}") from None


def clean(text: str, least_words: int = 5) -> str:
    """Canonical characters, no control characters, no blanks at ends of lines; empty when too few words are left."""
    text = unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))
    text = LINES.sub("\n\n", BLANKS.sub("", CONTROL.sub("", text))).strip()
    return text if len(WORD.findall(text)) >= least_words else ""


def mark(text: str) -> bytes:
    """Equal for documents that differ only in case, punctuation or spacing."""
    words = " ".join(WORD.findall(text.lower()))
    return blake2b(words.encode("utf-8", "surrogatepass"), digest_size=MARK_BYTES).digest()
