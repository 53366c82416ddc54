"""The table of commands. Each module imports its libraries when its command runs, so that no command pays for
another's.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from trainshed.cli import access, image, job, preview, review, sandbox, schema, size


class _Commands(TyperGroup):
    """A pipe that its reader closed ends a command; by itself typer would make it exit code 1, "the stack is wrong"."""

    def invoke(self, ctx: Any) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise SystemExit(141) from None


app = typer.Typer(
    name="trainshed",
    cls=_Commands,
    help="Clusters that train large language models: declared, previewed, sized, reviewed and watched.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print(f"trainshed {version('trainshed')}")
        except PackageNotFoundError:
            print("trainshed, from a checkout that is not installed")
        raise typer.Exit


@app.callback()
def trainshed(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="print the version and exit")
    ] = False,
) -> None:
    """Each command has its own --help."""


app.command("preview")(preview.preview)
app.command("review")(review.review)
app.command("size")(size.size_command)
app.add_typer(access.access_app)
app.command("schema")(schema.schema)
app.add_typer(job.job_app)
app.add_typer(image.image_app)
app.add_typer(sandbox.sandbox_app)
