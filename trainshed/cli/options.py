"""Arguments and options that several commands take: one wording, one spelling."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Stack = Annotated[str, typer.Argument(metavar="STACK", help="a stack's name (prod) or the path of a stack file")]
StackOption = Annotated[
    str, typer.Option("--stack", metavar="STACK", help="a stack's name (prod) or the path of a stack file")
]
Task = Annotated[str, typer.Argument(metavar="TASK", help="a task file, or the name of one in tasks/")]
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
