"""The shapes of the contract's rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Setter = Literal["job", "launcher"]
# What the job does when a worker ends with a code: done; never again; again and counted; again and not counted.
Verdict = Literal["succeed", "end", "restart", "disruption"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """One environment variable. `when` says which task has it; `value` is what the job renders or the launcher sets."""

    name: str
    set_by: Setter
    value: str
    meaning: str
    when: str = "always"
    default: str = ""  # what a program assumes where the variable is not set


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """One file or folder that both sides know."""

    name: str
    path: str
    written_by: str
    read_by: str
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One signal and what the receiver does."""

    name: str
    receiver: str
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitCode:
    """One exit code. `in_place` says that the launcher may start the processes again without a new pod."""

    code: int
    name: str
    meaning: str
    verdict: Verdict
    in_place: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractMetric:
    """One metric of the program. `word` is its name in the task file's `monitor.metrics`."""

    name: str
    word: str
    kind: Literal["gauge", "counter"]
    help: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """A tag on objects in object storage."""

    key: str
    value: str
    meaning: str
