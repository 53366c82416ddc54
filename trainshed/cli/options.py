"""Arguments and options that several commands take: one wording, one spelling."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def _stacks(incomplete: str) -> list[str]:
    """For the shell's completion: the names of the stack files in stacks/."""
    names = (each.stem.removeprefix("Pulumi.") for each in Path("stacks").glob("Pulumi.*.yaml"))
    return sorted(each for each in names if each.startswith(incomplete))


def _tasks(incomplete: str) -> list[str]:
    """For the shell's completion: the names of the task files in tasks/."""
    return sorted(each.stem for each in Path("tasks").glob("*.yaml") if each.stem.startswith(incomplete))


_STACK_HELP = "a stack's name (prod) or the path of a stack file"
Stack = Annotated[str, typer.Argument(metavar="STACK", help=_STACK_HELP, autocompletion=_stacks)]
StackOption = Annotated[str, typer.Option("--stack", metavar="STACK", help=_STACK_HELP, autocompletion=_stacks)]
Task = Annotated[
    str, typer.Argument(metavar="TASK", help="a task file, or the name of one in tasks/", autocompletion=_tasks)
]
Json = Annotated[bool, typer.Option("--json", help="print one JSON object and nothing else on standard output")]
Kubeconfig = Annotated[
    Path | None,
    typer.Option(
        "--kubeconfig", metavar="FILE", help="the cluster's kubeconfig; default: KUBECONFIG or ~/.kube/config"
    ),
]
Context = Annotated[
    str | None, typer.Option("--context", metavar="NAME", help="context of the kubeconfig; default: its current one")
]
Region = Annotated[
    str | None,
    typer.Option("--region", metavar="REGION", help="the registry's region; default: that of the AWS configuration"),
]
