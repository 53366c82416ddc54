"""The table of commands.

Hides what each command imports: only the one that runs pays for its libraries.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from trainshed.image import image_app
from trainshed.job import job_app
from trainshed.size import size_command

app = typer.Typer(
    name="trainshed",
    help="Clusters that train large language models: declared, previewed, sized, reviewed and watched.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Stack = Annotated[str, typer.Argument(metavar="STACK", help="a stack's name (prod) or the path of a stack file")]
Json = Annotated[bool, typer.Option("--json", help="print one JSON object and nothing else on standard output")]


@app.callback()
def trainshed() -> None:
    """Each command has its own --help."""


@app.command()
def preview(
    stack: Stack,
    json_output: Json = False,
    report: Annotated[Path | None, typer.Option("--report", metavar="FILE.html", help="write a report to look at in a browser")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="list every default that the stack file leaves to Trainshed, and why")] = False,
) -> None:
    """Everything `pulumi preview` would declare, offline: tree, plans, cost and policy verdicts."""
    from trainshed.preview import preview as run

    raise typer.Exit(run(stack, json_output=json_output, report=report, explain=explain))


@app.command()
def review(
    stack: Annotated[str, typer.Option("--stack", metavar="STACK", help="a stack's name (prod) or the path of a stack file")],
    base: Annotated[str, typer.Option("--base", metavar="REF|FILE", help="a commit, or the engine's JSON: an exported state or a preview")],
    head: Annotated[str | None, typer.Option("--head", metavar="REF|FILE", help="the other one; the working tree when left out")] = None,
    form: Annotated[Literal["markdown", "json"], typer.Option("--format", help="a comment to post, or one JSON object")] = "markdown",
) -> None:
    """The pull-request comment: what changes, what is in danger, cost delta and policy verdicts."""
    from trainshed.review import review as run

    raise typer.Exit(run(stack, base=base, head=head, shape=form))


app.command("size")(size_command)
app.add_typer(job_app)
app.add_typer(image_app)


sandbox = typer.Typer(help="A local cluster with fake nodes and a stack's queues: try tasks without an account.", no_args_is_help=True)
app.add_typer(sandbox, name="sandbox")


@sandbox.command("up")
def sandbox_up(
    stack: Stack,
    nodes: Annotated[
        int | None, typer.Option(min=1, help="fake nodes of each pool with cards; without it, as many as the stack file says")
    ] = None,
) -> None:
    """Start it; ends with the KUBECONFIG to use."""
    from trainshed.sandbox import up

    raise typer.Exit(up(stack, nodes=nodes))


@sandbox.command("status")
def sandbox_status() -> None:
    """Show its nodes, queues and jobs."""
    from trainshed.sandbox import status

    raise typer.Exit(status())


@sandbox.command("down")
def sandbox_down() -> None:
    """End every process of it and remove its state, also after a crash."""
    from trainshed.sandbox import down

    raise typer.Exit(down())
