"""`trainshed sandbox`: a stack's queues over a local control plane with fake nodes."""

from __future__ import annotations

from typing import Annotated

import typer

from trainshed.cli.options import Stack

sandbox_app = typer.Typer(
    name="sandbox",
    help="A local cluster with fake nodes and a stack's queues: try tasks without an account.",
    no_args_is_help=True,
)


@sandbox_app.command("up")
def up(
    stack: Stack,
    nodes: Annotated[
        int | None,
        typer.Option(min=1, help="fake nodes of each pool with cards; default: as many as the stack file says"),
    ] = None,
) -> None:
    """Start it; ends with the KUBECONFIG to use."""
    from trainshed.sandbox import lifecycle

    raise typer.Exit(lifecycle.up(stack, nodes=nodes))


@sandbox_app.command("status")
def status() -> None:
    """Show its nodes, queues and jobs."""
    from trainshed.sandbox import lifecycle

    raise typer.Exit(lifecycle.status())


@sandbox_app.command("down")
def down() -> None:
    """End every process of it and remove its state, also after a crash."""
    from trainshed.sandbox import lifecycle

    raise typer.Exit(lifecycle.down())
