"""`trainshed job`: renders and submits a task's Kubernetes objects, and shows its state and logs.

Exit codes: 1 for a task that does not fit its stack or a cluster that refuses it, 3 when something needed is missing.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from components.problems import errors, in_file_order
from components.spec.stack import StackSpec
from components.spec.task import TaskReading, TaskSpec
from trainshed.cli.options import Context, Json, Kubeconfig, StackOption, Task
from trainshed.cli.terminal import say

job_app = typer.Typer(
    name="job", help="A task's Kubernetes objects, and the task on a live cluster.", no_args_is_help=True
)

# The checkout's own tasks; where the package is installed from a wheel, those of the folder it is used in.
_CHECKOUT_TASKS = Path(__file__).resolve().parents[2] / "tasks"
_TASKS = _CHECKOUT_TASKS if _CHECKOUT_TASKS.is_dir() else Path("tasks")
_JOBSET, _WORKLOAD = ("jobset.x-k8s.io/v1alpha2", "JobSet"), ("kueue.x-k8s.io/v1beta2", "Workload")


@dataclass(frozen=True, kw_only=True)
class Fitting:
    """A task that fits its stack, and its objects."""

    task: TaskSpec
    stack: StackSpec
    objects: list[dict[str, Any]]
    namespace: str


def task_path(name: str) -> Path:
    """A path as it is; a bare name means a file of that name under tasks/."""
    path = Path(name)
    if path.suffix in (".yaml", ".yml", ".json") or len(path.parts) > 1:
        return path
    return _TASKS / f"{name}.yaml"


def _fitting(task_name: str, stack_name: str) -> Fitting:
    """The rendered task; ends the command with 1 and every problem when stack or task are wrong."""
    from components.manifests.jobs import jobset
    from components.planning.rules.task import check_task
    from components.spec.task import read_task
    from infra.settings import from_file
    from trainshed.cli.terminal import counted, lines

    settings = from_file(stack_name)
    wrong = errors(settings.problems)
    for line in lines(wrong, settings.document, carets=sys.stderr.isatty()):
        say(line)
    reading: TaskReading = read_task(task_path(task_name), task_name)
    found = list(reading.problems)
    if reading.task is not None and settings.stack is not None:
        stack = settings.stack if wrong else settings.valid
        found = in_file_order([*found, *reading.placed(check_task(reading.task, stack, settings.catalog))])
    for line in lines(found, reading.document, carets=sys.stderr.isatty()):
        say(line)
    if wrong or reading.task is None or errors(found):
        told = [f"{settings.name}: {counted(wrong)}"] if wrong else []
        told += [f"{task_name}: {counted(found)}"] if errors(found) else []
        say(f"{'; '.join(told)}; nothing was rendered")
        raise typer.Exit(1)
    objects = jobset.render(reading.task, settings.valid, settings.catalog)
    namespace = jobset.namespace_of(reading.task, settings.valid)
    return Fitting(task=reading.task, stack=settings.valid, objects=objects, namespace=namespace)


def _connect(kubeconfig: Path | None, context: str | None) -> Any:
    from trainshed.job.cluster import NeededError, connect

    try:
        return connect(kubeconfig, context)
    except NeededError as error:
        say(str(error))
        raise typer.Exit(3) from error


@job_app.command()
def render(task: Task, stack: StackOption, json_output: Json = False) -> None:
    """The Kubernetes objects of a task, as YAML documents."""
    import yaml

    found = _fitting(task, stack)
    if json_output:
        print(json.dumps({"apiVersion": "v1", "kind": "List", "items": found.objects}, ensure_ascii=False))
        return
    print(yaml.safe_dump_all(found.objects, sort_keys=False, allow_unicode=True, width=140), end="")


@job_app.command()
def submit(
    task: Task,
    stack: StackOption,
    replace: Annotated[bool, typer.Option("--replace", help="end and remove a job of this name first")] = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Hand the task to its queue on a live cluster."""
    from trainshed.job.cluster import NeededError, RefusedError

    found = _fitting(task, stack)
    cluster = _connect(kubeconfig, context)
    name = found.task.task
    try:
        if cluster.find(*_JOBSET, name, found.namespace) is not None:
            if not replace:
                where = f"{found.namespace} of {cluster.name}"
                say(f"job {name} is there already in {where}: look with `trainshed job status`, or use --replace")
                raise typer.Exit(1)
            _remove(cluster, name, found.namespace)
        for manifest in found.objects:
            cluster.apply(manifest)
    except NeededError as error:
        say(str(error))
        raise typer.Exit(3) from error
    except RefusedError as error:
        say(f"{cluster.name} refused {error}")
        raise typer.Exit(1) from error
    queue = found.objects[-1]["metadata"]["labels"].get("kueue.x-k8s.io/queue-name")
    print(
        f"{name}: submitted to {f'queue {queue}' if queue else 'the cluster, without a queue'} in {found.namespace} of"
        f" {cluster.name}"
    )


def _remove(cluster: Any, name: str, namespace: str) -> None:
    import time

    cluster.delete(*_JOBSET, name, namespace)
    while cluster.find(*_JOBSET, name, namespace) is not None:
        if sys.stderr.isatty():
            say(f"waiting for the workers of {name} to end")
        time.sleep(2)


def _state(cluster: Any, found: Fitting) -> Any:
    from trainshed.job.state import state

    name = found.task.task
    job = cluster.find(*_JOBSET, name, found.namespace)
    workload = None
    if job is not None:
        owned = cluster.listed(*_WORKLOAD, found.namespace, f"kueue.x-k8s.io/job-uid={job['metadata']['uid']}")
        workload = owned[0] if owned else None
    pods = cluster.listed("v1", "Pod", found.namespace, f"jobset.sigs.k8s.io/jobset-name={name}")
    return state(name, found.namespace, job, workload, pods)


@job_app.command()
def status(
    task: Task, stack: StackOption, json_output: Json = False, kubeconfig: Kubeconfig = None, context: Context = None
) -> None:
    """Where the task stands: waiting and why, starting, running, ended; and the node of each worker."""
    from trainshed.job.cluster import NeededError, RefusedError

    found = _fitting(task, stack)
    cluster = _connect(kubeconfig, context)
    try:
        now = _state(cluster, found)
    except NeededError as error:
        say(str(error))
        raise typer.Exit(3) from error
    except RefusedError as error:
        say(f"{cluster.name} refused {error}")
        raise typer.Exit(1) from error
    if json_output:
        print(json.dumps(now.as_json(), ensure_ascii=False))
    else:
        print(f"{now.task} in {now.namespace} of {cluster.name}: {now.phase}, {now.why}; {now.restarts} restarts")
        for each in now.workers:
            print(f"  {each.rank:>5}  {each.phase:<10} {each.node or '-':<40} {each.pod}")
    if now.phase in ("absent", "failed"):
        raise typer.Exit(1)


@job_app.command()
def logs(
    task: Task,
    stack: StackOption,
    rank: Annotated[int, typer.Option("--rank", min=0, help="the node's rank")] = 0,
    container: Annotated[str, typer.Option("--container", help="worker, or preflight for the gate")] = "worker",
    follow: Annotated[bool, typer.Option("--follow", "-f", help="go on as lines come")] = False,
    tail: Annotated[int | None, typer.Option("--tail", min=1, help="only the last lines")] = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """The log of one worker."""
    from trainshed.job.cluster import NeededError, RefusedError

    found = _fitting(task, stack)
    cluster = _connect(kubeconfig, context)
    try:
        workers = _state(cluster, found).workers
        pod = next((each.pod for each in workers if each.rank == rank), None)
        if pod is None:
            ranks = f"it has ranks 0 to {workers[-1].rank}" if workers else "it has no workers now"
            say(f"{found.task.task} has no worker of rank {rank}: {ranks}")
            raise typer.Exit(1)
        for line in cluster.log(pod, found.namespace, container=container, follow=follow, tail=tail):
            print(line, flush=follow)
    except NeededError as error:
        say(str(error))
        raise typer.Exit(3) from error
    except RefusedError as error:
        say(f"{cluster.name} refused {error}")
        raise typer.Exit(1) from error
