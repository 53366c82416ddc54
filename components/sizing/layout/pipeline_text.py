"""Reads Megatron's text form of a pipeline layout, such as `Et*3|(tt|)*29m|L`.

E is the embedding, t a transformer layer, m a prediction module, L the output layer and loss; | ends a chunk.
"""

from __future__ import annotations

import re

_TERM = re.compile(r"([EtmL|])(?:\*(\d+))?|\(([EtmL|*\d]*)\)\*(\d+)|,")
_MOST = 100_000


def chunks(text: str) -> tuple[str, ...]:
    """The letters of each chunk in the model's order. Raises ValueError with the reason."""
    letters, at = "", 0
    compact = re.sub(r"\s+", "", text)
    while at < len(compact):
        match = _TERM.match(compact, at)
        if match is None:
            raise ValueError(f'"{compact[at]}" at place {at + 1} can\'t be read')
        if match[3] is not None:
            letters += "".join(f"{chunk}|" for chunk in chunks(match[3]))[:-1] * int(match[4]) if match[3] else ""
        elif match[1]:
            letters += match[1] * int(match[2] or 1)
        if len(letters) > _MOST:
            raise ValueError(f"it unfolds to more than {_MOST:,} letters")
        at = match.end()
    return tuple(letters.split("|"))


def layers(text: str) -> tuple[int, ...]:
    """Transformer layers of each chunk."""
    return tuple(chunk.count("t") for chunk in chunks(text))


def predictions(text: str) -> int:
    return sum(chunk.count("m") for chunk in chunks(text))
