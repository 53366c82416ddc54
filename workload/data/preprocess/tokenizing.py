"""Tokenizers: bytes with learned merges (byte-level BPE), in the standard library, or a Hugging Face tokenizer file
where the image has that library.

A tokenizer is a file: workers that share it make the same tokens, whichever of them reads which document.
"""

from __future__ import annotations

import importlib
import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

END = "<|endoftext|>"
PIECE = re.compile(r" ?\w+| ?[^\w\s]+|\s+")
FORM = "trainshed-bpe"


class Tokenizer(Protocol):
    """`end` is put after every document; every token is below `vocabulary`."""

    vocabulary: int
    end: int

    def encode(self, text: str) -> list[int]: ...


class BytePairs:
    """Tokens 0 to 255 are bytes, then one a merge, then the end of a document."""

    def __init__(self, merges: list[tuple[int, int]]) -> None:
        self.merges = merges
        self._rank = {pair: number for number, pair in enumerate(merges)}
        self.end = 256 + len(merges)
        self.vocabulary = self.end + 1
        self._known: dict[str, list[int]] = {}
        pieces = [bytes([value]) for value in range(256)]
        for left, right in merges:
            pieces.append(pieces[left] + pieces[right])
        self._pieces = pieces

    def encode(self, text: str) -> list[int]:
        tokens: list[int] = []
        for piece in PIECE.findall(text):
            known = self._known.get(piece)
            if known is None:
                known = self._merged(list(piece.encode("utf-8", "surrogatepass")))
                if len(self._known) < 1 << 18:
                    self._known[piece] = known
            tokens += known
        return tokens

    def _merged(self, tokens: list[int]) -> list[int]:
        while len(tokens) > 1:
            pairs = zip(tokens, tokens[1:])
            first = min(pairs, key=lambda pair: self._rank.get(pair, len(self._rank)))
            number = self._rank.get(first)
            if number is None:
                return tokens
            tokens = joined(tokens, first, 256 + number)
        return tokens

    def decode(self, tokens: Iterable[int]) -> str:
        return b"".join(self._pieces[token] for token in tokens if token != self.end).decode("utf-8", "replace")

    def as_json(self) -> dict[str, Any]:
        return {"form": FORM, "merges": self.merges}


def joined(tokens: list[int], pair: tuple[int, int], token: int) -> list[int]:
    made, place = [], 0
    while place < len(tokens):
        if place + 1 < len(tokens) and (tokens[place], tokens[place + 1]) == pair:
            made.append(token)
            place += 2
        else:
            made.append(tokens[place])
            place += 1
    return made


def learn(texts: Iterable[str], vocabulary: int) -> BytePairs:
    """Merge the most frequent pair again and again; ties go to the lower pair, so that a corpus has one tokenizer."""
    counts = Counter(piece for text in texts for piece in PIECE.findall(text))
    words = {piece: list(piece.encode("utf-8", "surrogatepass")) for piece in counts}
    merges: list[tuple[int, int]] = []
    while 257 + len(merges) < vocabulary:
        pairs: Counter[tuple[int, int]] = Counter()
        for piece, tokens in words.items():
            for pair in zip(tokens, tokens[1:]):
                pairs[pair] += counts[piece]
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        if pairs[best] < 2:
            break
        token = 256 + len(merges)
        merges.append(best)
        for piece, tokens in words.items():
            if best[0] in tokens:
                words[piece] = joined(tokens, best, token)
    return BytePairs(merges)


class HuggingFace:
    """A `tokenizer.json`, by the `tokenizers` library."""

    def __init__(self, path: Path, end: str) -> None:
        self._tokenizer = importlib.import_module("tokenizers").Tokenizer.from_file(str(path))
        found = self._tokenizer.token_to_id(end)
        if found is None:
            raise ValueError(f"{path}: has no token {end!r}; name the one that ends a document")
        self.end = int(found)
        self.vocabulary = int(self._tokenizer.get_vocab_size())

    def encode(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)


def load(path: Path, end: str = END) -> Tokenizer:
    """Raises ValueError for a file that is no tokenizer, or one whose library the image lacks."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: is no tokenizer: {error}") from None
    if isinstance(value, dict) and value.get("form") == FORM:
        return BytePairs([(int(left), int(right)) for left, right in value["merges"]])
    if isinstance(value, dict) and "model" in value:
        try:
            return HuggingFace(path, end)
        except ImportError:
            raise ValueError(f"{path}: is a Hugging Face tokenizer, and this image has no `tokenizers`") from None
    raise ValueError(f"{path}: is no tokenizer of ours and none of Hugging Face's")
