"""How a component refuses what its rules refuse: before it declares anything, with every reason at once."""

from __future__ import annotations

from collections.abc import Iterable

import pulumi

from components.problems import Problem, in_file_order, render


def refuse(component: str, name: str, problems: Iterable[Problem]) -> None:
    """Raises pulumi.RunError, which the engine shows without a traceback, when there are any problems."""
    found = in_file_order(problems)
    if found:
        lines = [f'{component} "{name}" can\'t be declared:', *(f"  {render(each)}" for each in found)]
        raise pulumi.RunError("\n".join(lines))
