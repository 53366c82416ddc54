"""A hint read as an edit of the stack file: the values and keys that it names, put where the problem stands."""

from __future__ import annotations

import copy
import re
from typing import Any

import yaml

from components.problems import Problem

GONE = object()
Edit = dict[str, Any]
_VALUE = r'\{[^}]*\}|\[[^\]]*\]|"[^"]*"|[\w./-]+'
_ALTERNATIVE = re.compile(r",? or (?:use |set |say )?|, use (?=\w+:)")
_PAIR = re.compile(rf"([a-z_]+): ({_VALUE})")


def put(config: dict[str, Any], path: str, value: Any) -> None:
    """Set, append to or (with GONE) take out what is at a path such as `pools[0].labels`."""
    head, _, rest = path.partition(".")
    parts = [head, rest] if head == "tags" or head.startswith("aws:") else re.findall(r"\[\d+\]|[^.\[\]]+", path)
    steps = [int(each[1:-1]) if each.startswith("[") else each for each in parts if each]
    holder: Any = config
    for step in steps[:-1]:
        holder = holder[step] if isinstance(step, int) else holder.setdefault(step, {})
    last = steps[-1]
    if value is GONE:
        if isinstance(last, int) or last in holder:
            del holder[last]
    elif isinstance(last, int) and last == len(holder):
        holder.append(copy.deepcopy(value))
    else:
        holder[last] = copy.deepcopy(value)


def edits(problem: Problem, now: object) -> list[Edit]:
    """One edit for each alternative that the hint names; none for a hint in words alone. `now` is what stands there."""
    path, hint = problem.path, problem.hint.split(";")[0]
    if asked := re.search(r'did you mean "([^"]+)"', hint):
        return [{path: asked[1]}]
    found: list[Edit] = []
    for part in _ALTERNATIVE.split(hint.rpartition(": use ")[2] if ": use " in hint else hint):
        found += _of_part(path, part.strip(), now)
    return found


def _of_part(path: str, part: str, now: object) -> list[Edit]:
    parent = re.sub(r"(\.[^.\[\]]+|\[\d+\])$", "", path)
    if taken := re.match(r"take (\w+) out", part):
        return [{path if taken[1] in ("it", "them") else f"{parent}.{taken[1]}": GONE}]
    if part.startswith("leave it out"):
        return [{path: GONE}]
    if pairs := _PAIR.findall(part):
        edit: Edit = {f"{parent}.{key}": yaml.safe_load(value) for key, value in pairs}
        if without := re.search(r"without (.+)$", part):
            edit |= {f"{parent}.{key}": GONE for key in re.split(r", | and ", without[1])}
        return [edit]
    if such := re.search(rf"such as ({_VALUE})$", part):
        return [{path: yaml.safe_load(such[1])}]
    if isinstance(now, list | dict):
        return []
    words = re.sub(r"^(use|keep) ", "", part)
    words = re.sub(r"(at most |at least |version | at most$| nodes$| to [\d,]+( GiB)?( at .*)?$)", "", words)
    return [
        {path: yaml.safe_load(each)}
        for each in words.split(", ")
        if re.fullmatch(r'[\d]+|"[^"]+"|[a-z0-9]+(-[a-z0-9]+)+|[A-Za-z0-9_.]+[._][A-Za-z0-9_.]+|efa|tcp', each)
    ]
