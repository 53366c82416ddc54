"""The table of commands. Each module imports its libraries when its command runs, so that no command pays for
another's.
"""

from __future__ import annotations

import typer

from trainshed.cli import access, image, job, preview, review, sandbox, size

app = typer.Typer(
    name="trainshed",
    help="Clusters that train large language models: declared, previewed, sized, reviewed and watched.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=False,
)


@app.callback()
def trainshed() -> None:
    """Each command has its own --help."""


app.command("preview")(preview.preview)
app.command("review")(review.review)
app.command("size")(size.size_command)
app.add_typer(access.access_app)
app.add_typer(job.job_app)
app.add_typer(image.image_app)
app.add_typer(sandbox.sandbox_app)
