"""The gate's report, and how the reports of a gang's workers become names of nodes.

The first worker writes the whole report to a file and its short form to the container's termination message, which
Kubernetes keeps in the pod's status (4,096 bytes): no worker needs a token for the API server. A worker that loses the
first one can only accuse it, so such an accusation counts when more than half of the others make it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workload.atomic_files import write_json

KIND = "trainshed-preflight"
VERSION = 1
MESSAGE_BYTES = 4096


@dataclass(frozen=True)
class Named:
    """A worker that the gate blames. `node` is None for one that never came: the controller knows its pod by rank."""

    rank: int
    node: str | None
    check: str
    code: int
    said: str

    def as_json(self) -> dict[str, Any]:
        return {"rank": self.rank, "node": self.node, "check": self.check, "code": self.code, "said": self.said}


@dataclass(frozen=True)
class Link:
    """A connection between two sound nodes that failed twice."""

    nodes: tuple[str, str]
    said: str

    def as_json(self) -> dict[str, Any]:
        return {"nodes": list(self.nodes), "said": self.said}


@dataclass(frozen=True)
class Report:
    """What one gate has to say. `accused` names the first worker, by one that lost it."""

    task: str
    attempt: str
    nodes: int
    by: int
    node: str
    at: float
    blamed: tuple[Named, ...] = ()
    links: tuple[Link, ...] = ()
    said: tuple[str, ...] = ()
    accused: Named | None = None
    figures: dict[str, Any] = field(default_factory=dict)
    members: dict[str, str] = field(default_factory=dict)

    @property
    def open(self) -> bool:
        return not (self.blamed or self.links or self.said or self.accused)

    def as_json(self) -> dict[str, Any]:
        return {
            "report": KIND,
            "version": VERSION,
            "task": self.task,
            "attempt": self.attempt,
            "nodes": self.nodes,
            "by": {"rank": self.by, "node": self.node},
            "at": round(self.at, 3),
            "verdict": "open" if self.open else "closed",
            "blamed": [each.as_json() for each in self.blamed],
            "links": [each.as_json() for each in self.links],
            "said": list(self.said),
            "accused": self.accused.as_json() if self.accused else None,
            "figures": self.figures,
            "members": self.members,
        }

    def lines(self) -> list[str]:
        """What a person reads in the log."""
        found = [f"FAIL  {each.check}  {each.node or f'worker {each.rank}'}: {each.said}" for each in self.blamed]
        found += [f"FAIL  link  {each.nodes[0]} and {each.nodes[1]}: {each.said}" for each in self.links]
        found += [f"FAIL  gang  {each}" for each in self.said]
        if self.accused:
            found.append(f"FAIL  gang  {self.accused.node or 'worker 0'}: {self.accused.said}")
        figures = ", ".join(f"{name} {value}" for name, value in self.figures.items() if isinstance(value, float))
        return found or [f"ok  gang  {self.nodes} nodes; {figures or 'no figures'}"]


def write(report: Report, file: Path | None, message: Path | None) -> None:
    """The whole report to the file, the short one to the termination message. A full disk must not hide the verdict, so
    a report that can't be written is only mentioned.
    """
    if message is not None:
        try:
            message.write_text(short(report))
        except OSError as error:
            print(f"the termination message {message} can't be written: {error.strerror}", flush=True)
    if file is not None:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_json(file, report.as_json(), sync=False)
        except OSError as error:
            print(f"the report {file} can't be written: {error.strerror}", flush=True)


def short(report: Report, limit: int = MESSAGE_BYTES) -> str:
    """The report in at most `limit` bytes: figures go first, then sentences are cut, then the last names."""
    value = report.as_json()
    del value["members"], value["figures"]
    for cut in (300, 120, 40):
        for each in [*value["blamed"], *value["links"]]:
            each["said"] = each["said"][:cut]
        value["said"] = [each[:cut] for each in value["said"][:5]]
        text = json.dumps(value, separators=(",", ":"))
        if len(text.encode()) <= limit:
            return text
    while value["blamed"] or value["links"]:
        (value["links"] or value["blamed"]).pop()
        value["more"] = value.get("more", 0) + 1
        text = json.dumps(value, separators=(",", ":"))
        if len(text.encode()) <= limit:
            break
    return text


def read(text: str | None) -> dict[str, Any] | None:
    """A report from a termination message; None when it is none, or of another version."""
    try:
        value = json.loads(text or "")
    except ValueError:
        return None
    if not isinstance(value, dict) or value.get("report") != KIND or value.get("version") != VERSION:
        return None
    return value


def agreed(reports: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The workers that the reports of one attempt name together: rank, node, check, said."""
    found: dict[int, dict[str, Any]] = {}
    accusers: dict[int, dict[str, Any]] = {}
    nodes = 0
    for value in reports:
        nodes = max(nodes, int(value.get("nodes") or 0))
        for each in value.get("blamed") or []:
            found.setdefault(int(each["rank"]), each)
        if value.get("accused"):
            accusers[int(value["by"]["rank"])] = value["accused"]
    if accusers and 2 * len(accusers) > nodes - 1:
        found.setdefault(0, _fullest(list(accusers.values())))
    return [found[rank] for rank in sorted(found)]


def _fullest(accusations: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return next((each for each in accusations if each.get("node")), accusations[0])
