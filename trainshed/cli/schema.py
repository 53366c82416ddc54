"""`trainshed schema`: what a stack file and a task file may hold, for an editor or for a reader."""

from __future__ import annotations

import json
from typing import Annotated, Literal

import typer


def schema(
    file: Annotated[Literal["stack", "task"], typer.Argument(help="the file to describe")],
    form: Annotated[
        Literal["json", "markdown"], typer.Option("--format", help="a JSON schema, or a page of all keys")
    ] = "json",
) -> None:
    """Describe the keys of a stack file or a task file."""
    from components.spec import reference

    if form == "markdown":
        print(reference.page(file), end="")
    else:
        print(json.dumps(reference.schema(file), indent=1, ensure_ascii=False))
