"""`trainshed review`: the comment on a pull request."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from trainshed.cli.options import StackOption


def review(
    stack: StackOption,
    base: Annotated[
        str, typer.Option("--base", metavar="REF|FILE", help="a commit, or the engine's JSON: a state or a preview")
    ],
    head: Annotated[
        str | None, typer.Option("--head", metavar="REF|FILE", help="the other side; default: the working tree")
    ] = None,
    output: Annotated[
        Literal["markdown", "json"], typer.Option("--format", help="a comment to post, or one JSON object")
    ] = "markdown",
) -> None:
    """The pull-request comment: what changes, what is in danger, cost delta and policy verdicts."""
    from trainshed.review.command import review as run

    raise typer.Exit(run(stack, base=base, head=head, shape=output))
