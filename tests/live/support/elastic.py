"""A control plane on which Karpenter buys machines: an account on 127.0.0.1, and pods that wait for nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from trainshed.sandbox import nodes
from trainshed.sandbox.api import Api, Object, wait_for
from trainshed.sandbox.cloud import account, karpenter
from trainshed.sandbox.cloud.account import Account, Market
from trainshed.sandbox.plane import ControlPlane

JOBS = "default"
POOL = "trainshed.io/pool"


@dataclass(kw_only=True)
class Elastic:
    """`with Elastic.started(...) as elastic` has Karpenter watching, without any node pool yet."""

    plane: ControlPlane
    account: Account

    @classmethod
    def started(cls, *, region: str, zones: Sequence[str], market: Market) -> Elastic:
        plane = ControlPlane.started()
        try:
            nodes.start_kwok(plane)
            karpenter.install_crds(plane.api)
            made = account.start(plane, region=region, cluster="trainshed-dev", zones=zones, market=market)
            # Short: the pods of a test all come at once.
            quick = karpenter.KarpenterSettings(memory_overhead=0.03, batch_idle_seconds=0.5, batch_max_seconds=2)
            karpenter.start(plane, made, quick)
        except BaseException:
            plane.stop()
            raise
        return cls(plane=plane, account=made)

    @property
    def api(self) -> Api:
        return self.plane.api

    def declare(self, objects: Iterable[Object]) -> None:
        """Node classes and node pools, ready before this returns."""
        karpenter.declare(self.plane, objects)

    # -- pods that wait --
    def submit(
        self, name: str, *, pool: str, pods: int, requests: Mapping[str, str], more: Mapping[str, Any] | None = None
    ) -> None:
        """A job of so many pods for a pool's nodes; a pod that is evicted comes again."""
        limits = {key: value for key, value in requests.items() if key not in ("cpu", "memory")}
        spec: Object = {
            "restartPolicy": "Never",
            "nodeSelector": {POOL: pool},
            "tolerations": [{"key": f"pool-{pool}", "operator": "Exists"}],
            "containers": [
                {"name": "work", "image": "work", "resources": {"requests": dict(requests), "limits": limits}}
            ],
            **(more or {}),
        }
        self.api.create(
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {"name": name, "namespace": JOBS},
                "spec": {
                    "parallelism": pods,
                    "completions": pods,
                    "backoffLimit": 6,
                    "template": {"metadata": {"labels": {"job": name}}, "spec": spec},
                },
            }
        )

    def pods(self, name: str) -> list[Object]:
        found = self.api.all("v1", "Pod", JOBS, labels=f"job={name}")
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def running(self, name: str) -> list[Object]:
        return [pod for pod in self.pods(name) if pod["status"].get("phase") == "Running"]

    def wait_running(self, name: str, count: int, *, seconds: float = 90) -> float:
        try:
            return wait_for(
                lambda: len(self.running(name)) == count, what=f"{count} pods of {name} running", seconds=seconds
            )
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{self.plane.processes.child('karpenter').tail()}") from error

    def events(self, name: str) -> list[str]:
        """What was said about a job's pods."""
        pods = {pod["metadata"]["name"] for pod in self.pods(name)}
        found = self.api.all("v1", "Event", JOBS)
        return [str(each.get("message")) for each in found if each["involvedObject"].get("name") in pods]

    def end(self, name: str) -> None:
        self.api.delete("batch/v1", "Job", name, JOBS)
        wait_for(lambda: not self.api.all("v1", "Pod", JOBS, labels=f"job={name}"), what=f"{name} gone", seconds=60)

    # -- what was bought --
    def machines(self, pool: str) -> list[Mapping[str, Any]]:
        """Machines of a pool that have not ended, as EC2 tells them."""
        return [each for each in self.account.machines() if tags(each).get("karpenter.sh/nodepool") == pool]

    def nodes_of(self, name: str) -> list[Object]:
        """The nodes that a job's pods run on."""
        wanted = {pod["spec"]["nodeName"] for pod in self.running(name)}
        return [node for node in self.api.all("v1", "Node") if node["metadata"]["name"] in wanted]

    def wait_left(self, pool: str, *, seconds: float = 120) -> float:
        """Until no machine of the pool, no node and no claim for one is left."""

        def left() -> bool:
            claims = self.api.all("karpenter.sh/v1", "NodeClaim", labels=f"{POOL}={pool}")
            nodes = self.api.all("v1", "Node", labels=f"{POOL}={pool}")
            return not claims and not nodes and not self.machines(pool)

        return wait_for(left, what=f"no machine of {pool} left", seconds=seconds)

    def interfaces(self, machine: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """The network interfaces in the launch template that a machine was made from."""
        ec2 = self.account.client("ec2")
        wanted = {key: tags(machine)[key] for key in ("karpenter.sh/nodepool", "karpenter.k8s.aws/ec2nodeclass")}
        [template] = [
            each for each in ec2.describe_launch_templates()["LaunchTemplates"] if wanted.items() <= tags(each).items()
        ]
        found = ec2.describe_launch_template_versions(LaunchTemplateId=template["LaunchTemplateId"])
        [version] = found["LaunchTemplateVersions"]
        return version["LaunchTemplateData"]["NetworkInterfaces"]

    def __enter__(self) -> Elastic:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.plane.stop()


def tags(machine: Mapping[str, Any]) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in machine.get("Tags", [])}
