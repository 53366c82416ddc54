"""`trainshed access`: a kubeconfig for one of a stack's people, and the table of who may do what."""

from __future__ import annotations

from typing import Annotated

import typer

from trainshed.cli.options import Stack

access_app = typer.Typer(name="access", help="Who gets into a stack's cluster, and as what.", no_args_is_help=True)


@access_app.command("kubeconfig")
def kubeconfig(
    stack: Stack,
    role: Annotated[
        str | None, typer.Option(help="IAM role to enter as; the environment's own credentials when left out")
    ] = None,
) -> None:
    """Print a kubeconfig for the cluster; it holds no credential, only how to ask for a token."""
    from trainshed.access import kubeconfig as made

    raise typer.Exit(made.show(stack, role))


@access_app.command("table")
def table() -> None:
    """Print who may do what, as Markdown."""
    from components.manifests import access

    typer.echo(access.table(), nl=False)
