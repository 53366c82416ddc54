"""The README of the live tests, made from the tests' own marks and from the record of a run.

python tests/live/catalogue.py            writes tests/live/README.md
python tests/live/catalogue.py --check    exits with 1 where it is not up to date
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LIVE = Path(__file__).resolve().parent
ROOT = LIVE.parents[1]
README = LIVE / "README.md"
OUTCOMES = LIVE / "outcomes.json"

HEAD = """# What the live tests prove

Made by `python tests/live/catalogue.py` from the tests; don't edit it by hand. "Held" is the last recorded run
(`TRAINSHED_RECORD_LIVE=1 make test`): *yes*, *no*, or *not run*.

The engine is the real Pulumi CLI; AWS is an echo provider that keeps what it is given, and nothing is asserted on it but what it stands in
for: order, failure, slowness, drift. API server, controller manager, scheduler, Kueue and JobSet are the real programs; nodes are kwok's.
Everything listens on 127.0.0.1 only, and every process ends with the test that started it.
"""


@dataclass(frozen=True, kw_only=True)
class Proof:
    """One test that breaks something on purpose, or shows that a promise holds."""

    module: str
    test: str
    broken: str
    promised: str

    @property
    def key(self) -> str:
        return f"{self.module}::{self.test}"


def proofs() -> Iterator[Proof]:
    """Every test with a `proves` mark, in the files' order."""
    for path in sorted(LIVE.rglob("test_*.py")):
        module = path.relative_to(ROOT).as_posix()
        for function in ast.walk(ast.parse(path.read_text())):
            if not isinstance(function, ast.FunctionDef):
                continue
            for mark in function.decorator_list:
                if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Attribute) and mark.func.attr == "proves":
                    said = {keyword.arg: ast.literal_eval(keyword.value) for keyword in mark.keywords if keyword.arg}
                    yield Proof(module=module, test=function.name, broken=said["broken"], promised=said["promised"])


def readme() -> str:
    outcomes = json.loads(OUTCOMES.read_text()) if OUTCOMES.exists() else {}
    held = {"passed": "yes", "failed": "no"}
    lines = [HEAD]
    module = ""
    for proof in proofs():
        if proof.module != module:
            module = proof.module
            title = ast.get_docstring(ast.parse((ROOT / module).read_text())) or module
            lines += [
                "",
                f"## {title.splitlines()[0]}",
                "",
                f"`{module}`",
                "",
                "| broken on purpose | promised | held |",
                "|---|---|---|",
            ]
        lines.append(f"| {proof.broken} | {proof.promised} | {held.get(outcomes.get(proof.key, ''), 'not run')} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    made = readme()
    if "--check" in sys.argv:
        if README.exists() and README.read_text() == made:
            return 0
        print("tests/live/README.md is not up to date: python tests/live/catalogue.py")
        return 1
    README.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
