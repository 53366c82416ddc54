"""Writes docs/job-contract.md and workload/contract.py from the contract's table. Run it after a change; both are
committed.

`--check` writes nothing and fails where one of them differs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from textwrap import fill

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from components.catalog import contract  # noqa: E402

PAGE = ROOT / "docs" / "job-contract.md"
MODULE = ROOT / "workload" / "contract.py"
VERDICTS = {
    "succeed": "the worker is done",
    "end": "the job fails at once",
    "restart": "restart, counted",
    "disruption": "restart, not counted",
}
INTRODUCTION = (ROOT / "docs" / "job_contract_text.md").read_text(encoding="utf-8")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows), ""]


def page() -> str:
    """The document: the hand-written text, with each table where the text has its mark."""
    marks = {
        "environment": table(
            ("variable", "set by", "value", "when", "without it", "meaning"),
            (
                (f"`{one.name}`", one.set_by, one.value, one.when, one.default or "-", one.meaning)
                for one in contract.VARIABLES
            ),
        ),
        "files": table(
            ("file", "path", "written by", "read by", "meaning"),
            ((one.name, f"`{one.path}`", one.written_by, one.read_by, one.meaning) for one in contract.FILES),
        ),
        "signals": table(
            ("signal", "receiver", "meaning"),
            ((f"`{one.name}`", one.receiver, one.meaning) for one in contract.SIGNALS),
        ),
        "exit codes": table(
            ("code", "name", "meaning", "the job's answer", "in place first"),
            (
                (str(one.code), f"`{one.name}`", one.meaning, VERDICTS[one.verdict], "yes" if one.in_place else "no")
                for one in contract.EXIT_CODES
            ),
        ),
        "metrics": table(
            ("metric", "word in `monitor.metrics`", "kind", "meaning"),
            ((f"`{one.name}`", f"`{one.word}`", one.kind, one.help) for one in contract.METRICS),
        ),
    }
    text = INTRODUCTION
    for mark, lines in marks.items():
        placeholder = f"<!-- table: {mark} -->\n"
        if placeholder not in text:
            raise SystemExit(f"docs/job_contract_text.md has no place for the table of {mark}")
        text = text.replace(placeholder, "\n".join(lines))
    return text


def constants(title: str, rows: Iterable[tuple[str, object]]) -> list[str]:
    return ["", f"# {title}", *(f"{name} = {value!r}".replace("'", '"') for name, value in rows)]


def mapping(name: str, kind: str, rows: Iterable[tuple[str, str]]) -> list[str]:
    return ["", f"{name}: {kind} = {{", *(f"    {key}: {value}," for key, value in rows), "}"]


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def meanings(rows: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [
        (key, quoted(value) if len(key) + len(value) < 110 else f"(\n        {split(value)}\n    )")
        for key, value in rows
    ]


def split(text: str) -> str:
    lines = fill(text, 100).split("\n")
    return "\n        ".join(
        quoted(line + (" " if number < len(lines) - 1 else "")) for number, line in enumerate(lines)
    )


def module() -> str:
    """`workload/contract.py`: the names as constants, for programs that import nothing of the project."""
    lines = [
        '"""The contract between a job and the programs in its containers, as constants.',
        "",
        "Written by docs/job_contract.py from components/catalog/contract, never by hand; docs/job-contract.md says",
        "what each name means.",
        '"""',
        "",
        "from __future__ import annotations",
    ]
    lines += constants("Environment variables.", ((one.name, one.name) for one in contract.VARIABLES))
    lines += constants("Exit codes.", ((one.name, one.code) for one in contract.EXIT_CODES))
    lines += mapping(
        "EXIT_MEANINGS", "dict[int, str]", meanings((one.name, one.meaning) for one in contract.EXIT_CODES)
    )
    lines += [
        "# What the job does: end at once, restart and count, or restart without counting.",
        "VERDICTS: dict[int, str] = {",
        *(f'    {one.name}: "{one.verdict}",' for one in contract.EXIT_CODES),
        "}",
        "# Faults of a process alone: the launcher starts the processes again before the gang is placed anew.",
        "IN_PLACE: tuple[int, ...] = (",
        *(f"    {one.name}," for one in contract.EXIT_CODES if one.in_place),
        ")",
        "",
        "# Tag of objects that a lifecycle rule may expire.",
        f'CONDEMNED_TAG = ("{contract.CONDEMNED_TAG.key}", "{contract.CONDEMNED_TAG.value}")',
        "",
        "# Metrics by the word of `monitor.metrics`: name, kind, help.",
        "METRICS: dict[str, tuple[str, str, str]] = {",
    ]
    for one in contract.METRICS:
        lines += [
            f'    "{one.word}": (',
            f'        "{one.name}",',
            f'        "{one.kind}",',
            f"        {quoted(one.help)},",
            "    ),",
        ]
    return "\n".join([*lines, "}", ""])


def main(words: Sequence[str]) -> int:
    wanted = {PAGE: page(), MODULE: module()}
    if "--check" not in words:
        for path, text in wanted.items():
            path.write_text(text, encoding="utf-8")
        return 0
    stale = [path for path, text in wanted.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        print(f"{path.relative_to(ROOT)} differs from the table: run python docs/job_contract.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
