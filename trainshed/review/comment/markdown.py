"""Markdown that shows values as they are: nothing that a user wrote can become markup, a mention or a link.

It uses the escapes that both GitHub and GitLab accept, and cuts a text to a limit without leaving a fold open.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#|~!$])")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def code(value: object, limit: int = 200) -> str:
    """A code span that its content can't leave."""
    text = _CONTROL.sub(" ", str(value)).strip() or " "
    if len(text) > limit:
        text = f"{text[: limit - 1]}…"
    ticks = "`" * (max((len(run) for run in re.findall(r"`+", text)), default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def text(value: object, limit: int = 1200) -> str:
    """Plain words: no markup, and no mention or reference that would notify somebody."""
    plain = _CONTROL.sub(" ", str(value))
    if len(plain) > limit:
        plain = f"{plain[: limit - 1]}…"
    escaped = _SPECIAL.sub(r"\\\1", plain)
    for letter, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("@", "&#64;"), ("://", "&#58;//")):
        escaped = escaped.replace(letter, entity)
    return escaped


def count(number: int, noun: str) -> str:
    """`1 node`, `2 nodes`, `3 policies`."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun[:-1]}ies" if noun.endswith("y") else f"{number:,} {noun}s"


@dataclass(frozen=True, kw_only=True)
class Section:
    """A heading over blocks that each stand alone; `folded` hides them behind a click, `most` bounds their length."""

    title: str
    blocks: Sequence[str]
    folded: bool = False
    after: str = ""
    most: int = 12_000


def written(head: str, sections: Sequence[Section], foot: str, limit: int) -> str:
    """All of it within `limit` characters: each section is cut at a block, and says how many are left out."""
    shown = [each for each in sections if each.blocks]
    # What every section needs at least: its title, its fold and the word of what is left out.
    reserve = [len(each.title) + len(each.after) + 200 for each in shown]
    left = limit - len(head) - len(foot) - sum(reserve) - 10
    parts = [head]
    for each in shown:
        kept: list[str] = []
        room = min(each.most, left)
        for block in each.blocks:
            if len(block) + 1 > room:
                break
            kept.append(block)
            room -= len(block) + 1
            left -= len(block) + 1
        parts.append(_section(each, kept, len(each.blocks) - len(kept)))
    return "\n".join([*parts, foot])


def _section(section: Section, kept: Sequence[str], lost: int) -> str:
    more = [f"\n… and {lost:,} more, left out to stay within what one comment may hold."] if lost else []
    body = "\n".join([*kept, *more, *([section.after] if section.after else [])])
    if section.folded:
        return f"\n<details><summary>{section.title}</summary>\n\n{body}\n\n</details>"
    return f"\n### {section.title}\n\n{body}"
