"""Keeps the queues of a block pool in step with its calendar: held outside its blocks, drained before each one ends.

Runs alone in a small Python image, from a config map, every few minutes: it imports the standard library only. It looks
at the calendar and the clock, says what should be, and asks the API server for just that; a run that was missed is made
up by the next one.
"""

from __future__ import annotations

import json
import os
import ssl
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

Object = dict[str, Any]

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
MANAGER = "trainshed-block-clock"
QUEUES = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/"
BLOCK_LABEL = "trainshed.io/block"
RETRY_SECONDS = 10
GIVE_UP_SECONDS = 240  # the next run goes on


def moment(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


def wanted(blocks: list[Object], now: datetime) -> tuple[str, list[str], list[str]]:
    """(stop policy of the queues, blocks whose nodes take no more pods, blocks whose pods must leave)."""
    running = [block for block in blocks if moment(block["start"]) <= now < moment(block["end"])]
    opened = [block for block in running if now < moment(block["queue_held"])]
    closing = [block for block in running if moment(block["queue_held"]) <= now]
    reported = [block for block in closing if moment(block["jobs_told"]) <= now]
    if opened:
        policy = "None"
    else:
        # HoldAndDrain gives running jobs SIGTERM and puts them back into the queue.
        policy = "HoldAndDrain" if reported and len(reported) == len(closing) else "Hold"
    return policy, sorted(block["reservation"] for block in closing), sorted(block["reservation"] for block in reported)


class Api:
    """The API server as this pod's service account."""

    def __init__(self) -> None:
        host, port = os.environ.get("KUBERNETES_SERVICE_HOST", ""), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
        self.base = os.environ.get("API_SERVER") or f"https://{f'[{host}]' if ':' in host else host}:{port}"
        secure = self.base.startswith("https:")
        self.context = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt")) if secure else None
        self.token = (ACCOUNT / "token").read_text() if secure else ""

    def call(self, method: str, path: str, body: Object | None = None, kind: str = "application/json") -> Object:
        data = json.dumps(body).encode() if body is not None else None
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json", "Content-Type": kind}
        request = urllib.request.Request(self.base + path, data=data, method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=30, context=self.context) as answer:
            return json.loads(answer.read() or b"{}")

    def merge(self, path: str, body: Object) -> Object:
        return self.call("PATCH", f"{path}?fieldManager={MANAGER}", body, "application/merge-patch+json")


def nodes_of(api: Api, block: str) -> list[Object]:
    selector = urllib.parse.quote(f"{BLOCK_LABEL}={block}")
    return api.call("GET", f"/api/v1/nodes?labelSelector={selector}")["items"]


def leaves(pod: Object) -> bool:
    """Whether a pod has to go: daemons stay with their node, and what has ended is gone already."""
    owners = {owner["kind"] for owner in pod["metadata"].get("ownerReferences", [])}
    static = "kubernetes.io/config.mirror" in pod["metadata"].get("annotations", {})
    return (
        not static and "DaemonSet" not in owners and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")
    )


def evict(api: Api, node: str, until: float) -> int:
    """Ask every pod of the node to leave; returns how many could not be asked before `until`."""
    selector = urllib.parse.quote(f"spec.nodeName={node}")
    left = [pod for pod in api.call("GET", f"/api/v1/pods?fieldSelector={selector}")["items"] if leaves(pod)]
    while left:
        refused: list[Object] = []
        for pod in left:
            name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
            body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": namespace}}
            try:
                api.call("POST", f"/api/v1/namespaces/{namespace}/pods/{name}/eviction", body)
            except urllib.error.HTTPError as error:
                if error.code == 404:
                    continue
                if error.code != 429:  # 429: a disruption budget says not yet
                    raise
                refused.append(pod)
        left = refused
        if left and time.monotonic() + RETRY_SECONDS > until:
            break
        if left:
            time.sleep(RETRY_SECONDS)
    return len(left)


def main(arguments: list[str]) -> int:
    """CALENDAR: a JSON file {"queues": [...], "blocks": [...]}. 0 when everything is as wanted, 1 when pods are
    still to leave.
    """
    plan = json.loads(Path(arguments[0]).read_text())
    now = moment(os.environ["NOW"]) if os.environ.get("NOW") else datetime.now(UTC)
    policy, closing, reported = wanted(plan["blocks"], now)
    api, until, waiting = Api(), time.monotonic() + GIVE_UP_SECONDS, 0
    for queue in plan["queues"]:
        api.merge(QUEUES + queue, {"spec": {"stopPolicy": policy}})
    for block in closing:
        for node in nodes_of(api, block):
            name = node["metadata"]["name"]
            if not node.get("spec", {}).get("unschedulable"):
                api.merge(f"/api/v1/nodes/{name}", {"spec": {"unschedulable": True}})
            if block in reported:
                waiting += evict(api, name, until)
    print(
        json.dumps(
            {"now": now.isoformat(), "policy": policy, "closing": closing, "told": reported, "pods_waiting": waiting}
        )
    )
    return 1 if waiting else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
