"""`trainshed image`: promotes an image from one environment to the next, and brings other publishers' images into the
account's registry.

Exit codes: 1 when the registry holds something else, 3 when something needed is missing.
"""

from __future__ import annotations

from typing import Annotated

import typer

from trainshed.cli.options import Json, Region, Stack

image_app = typer.Typer(
    name="image", help="The account's image registry: promote an image, fill the mirror.", no_args_is_help=True
)


@image_app.command("promote")
def promote(
    image: Annotated[
        str,
        typer.Argument(
            metavar="IMAGE", help="repository:TAG with an environment's tag (trainer:dev-1.4), or repository@sha256:…"
        ),
    ],
    to: Annotated[str, typer.Option("--to", metavar="ENVIRONMENT", help="dev, staging, prod or standby")],
    version: Annotated[
        str | None,
        typer.Option(
            "--version", metavar="VERSION", help="what follows the environment in the new tag; that of IMAGE's tag"
        ),
    ] = None,
    region: Region = None,
    json_output: Json = False,
) -> None:
    """Give an image that exists the tag of another environment. Nothing is built: both tags mean the same digest."""
    from trainshed.images.promote import run

    raise typer.Exit(run(image, to=to, version=version, region=region, json_output=json_output))


@image_app.command("mirror")
def mirror(
    stack: Stack,
    run: Annotated[
        bool, typer.Option("--run", help="copy and fetch them now, with crane, skopeo or docker, whichever is found")
    ] = False,
    account: Annotated[
        str | None, typer.Option("--account", metavar="ID", help="the account of the registry; asked of AWS for --run")
    ] = None,
    json_output: Json = False,
) -> None:
    """The images of others that the stack's nodes pull from its own registry, and how each gets there."""
    from trainshed.images.mirror import mirror as act

    raise typer.Exit(act(stack, run=run, account=account, json_output=json_output))
