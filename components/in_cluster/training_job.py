"""One task as Kubernetes objects that the engine keeps.

The objects come from the same code as those of `trainshed job render`; only their order is decided here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi

from components.catalog import Catalog
from components.in_cluster.kubernetes_object import declare
from components.manifests.jobs import jobset, programs
from components.planning import alone
from components.refused import refuse
from components.spec.stack import StackSpec
from components.spec.task import TaskSpec

_START_SECONDS = 60


@dataclass(frozen=True, kw_only=True)
class TrainingJobArgs:
    """`stack` is where the task runs; it fits, as `planning/rules_task.py` says. `after`: the queues and claims it
    needs.
    """

    spec: TaskSpec
    stack: StackSpec
    catalog: Catalog
    after: Sequence[pulumi.Resource] = ()


class TrainingJob(pulumi.ComponentResource):
    """Attributes: `job_name`, `namespace`, `jobset` (the resource)."""

    job_name: str
    namespace: str
    jobset: pulumi.CustomResource

    def __init__(self, name: str, args: TrainingJobArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        refuse("TrainingJob", name, alone.of_task(args.spec, args.stack, args.catalog))
        record = args.spec.model_dump(mode="json", exclude_none=True, by_alias=True)
        super().__init__("trainshed:training_job:TrainingJob", name, record, opts)
        *first, last = jobset.render(args.spec, args.stack, args.catalog)
        child = pulumi.ResourceOptions(parent=self, depends_on=list(args.after))
        before = [declare(f"{name}-{_role(each, args.spec)}", each, child) for each in first]
        timeouts = pulumi.CustomTimeouts(delete=f"{args.spec.recovery.grace_seconds + _START_SECONDS}s")
        after = pulumi.ResourceOptions(parent=self, depends_on=[*args.after, *before], custom_timeouts=timeouts)
        self.jobset = declare(f"{name}-jobset", last, after)
        self.job_name, self.namespace = args.spec.task, jobset.namespace_of(args.spec, args.stack)
        self.register_outputs({"job_name": self.job_name, "namespace": self.namespace})


def _role(manifest: Mapping[str, Any], task: TaskSpec) -> str:
    """What an object of the task is, in its resource's name: of the two ConfigMaps one holds the programs."""
    return "programs" if manifest["metadata"]["name"] == programs.name(task) else str(manifest["kind"]).lower()
