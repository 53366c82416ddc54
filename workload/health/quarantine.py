#!/usr/bin/env python3
"""The quarantine controller: sick nodes are cordoned and tainted, with reason and time, and let in again when sound.

It acts on the gate's reports, on node conditions with their health codes, and on missing cards; it also ends the pods
of nodes that stay unready, so that their gang can start elsewhere. Run one of it: a Deployment of one replica with the
strategy Recreate, on a system node, as a service account with a token and these rights and no others:

- nodes: get, list, watch, patch
- pods: list, watch; in the namespaces of jobs delete, and patch of pods/status

A quarantined node has the taint and the label `trainshed.io/quarantine`. A DaemonSet that selects the label, tolerates
the taint, has the label `trainshed.io/node-check` on its pods, and checks the node in an init container `preflight`
(`python3 -m workload.preflight.gate --health --devices 8 ...`) is how a node that the gate named comes back.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

if not __package__:  # run as a file: the folder above holds the package
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from workload.health import api, decisions
from workload.health.decisions import HISTORY, HISTORY_LENGTH, KEY, Free, HealthSettings, Pool, Take
from workload.health.evidence import CHECK, JOBSET, Evidence

STALE_SECONDS = 600.0  # a watch is renewed every four minutes; an older copy of the cluster is not acted upon
EPILOG = """\
exit codes:
  0   told to stop
  2   used wrongly
  3   no API server to talk to: neither --server nor a pod's own environment"""


def tell(**words: Any) -> None:
    """One line of JSON on standard output."""
    print(json.dumps({"at": round(time.time(), 3), **words}), flush=True)


class Controller:
    """Looks at the cluster again and again; each look is complete in itself."""

    def __init__(self, server: api.Server, settings: HealthSettings, pods: str) -> None:
        self.server, self.settings = server, settings
        self.evidence = Evidence()
        self.nodes = api.Mirror(server, "/api/v1/nodes", {}, tell=self._trouble)
        self.workers = api.Mirror(server, "/api/v1/pods", {"labelSelector": pods}, self.evidence.hear, self._trouble)
        self.checks = api.Mirror(server, "/api/v1/pods", {"labelSelector": CHECK}, self.evidence.hear, self._trouble)
        self._held: tuple[str, ...] = ()

    @staticmethod
    def _trouble(said: str) -> None:
        tell(event="trouble", said=said)

    def start(self) -> None:
        for mirror in (self.nodes, self.workers, self.checks):
            mirror.start()

    def look(self) -> None:
        if any(mirror.age() > STALE_SECONDS for mirror in (self.nodes, self.workers, self.checks)):
            return
        nodes = self.nodes.all()
        passed = {node["metadata"]["name"]: self.evidence.passed(node["metadata"]["name"]) for node in nodes}
        plan = decisions.plan(nodes, self.evidence.accusations(), passed, self.settings, time.time())
        by_name = {node["metadata"]["name"]: node for node in nodes}
        for free in plan.free:
            self._try("released", free.node, free.said, lambda free=free: self._free(by_name[free.node], free))
        for take in plan.take:
            self._try("quarantined", take.node, take.said, lambda take=take: self._take(by_name[take.node], take))
        if plan.held != self._held:
            self._held = plan.held
            for said in plan.held:
                tell(event="held", said=said)
        for pod in self.workers.all():
            if pod["spec"].get("nodeName") in plan.lost and (pod.get("status") or {}).get("phase") in (
                "Running",
                "Pending",
            ):
                name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
                self._try("pod-ended", pod["spec"]["nodeName"], name, lambda pod=pod: self._end(pod))

    def _try(self, event: str, node: str, said: str, act: Any) -> None:
        try:
            act()
        except api.ApiError as error:
            # 404: it is gone. 409: somebody changed the node meanwhile; the next look sees it as it is.
            if error.status not in (404, 409):
                tell(event="failed", node=node, said=f"{event}: {error}")
        except (OSError, http.client.HTTPException) as error:
            tell(event="failed", node=node, said=f"{event}: {error}")
        else:
            tell(event=event, node=node, said=said)

    def _patch(self, node: api.Object, metadata: api.Object, spec: api.Object) -> None:
        """With the version seen: a change by somebody else in between makes it fail instead of being undone."""
        metadata = {**metadata, "resourceVersion": node["metadata"]["resourceVersion"]}
        body = {"metadata": metadata, "spec": spec}
        self.server.call("PATCH", f"/api/v1/nodes/{node['metadata']['name']}", body, kind=api.MERGE)

    def _take(self, node: api.Object, take: Take) -> None:
        now = time.time()
        mark = {
            "reason": take.reason,
            "said": take.said[:500],
            "since": round(now, 3),
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)),
            "was_cordoned": bool(node["spec"].get("unschedulable")),
        }
        value = re.sub(r"[^A-Za-z0-9._-]", "-", take.reason)[:63].strip("-_.")
        taints = [each for each in node["spec"].get("taints") or [] if each["key"] != KEY]
        taints.append({"key": KEY, "value": value, "effect": "NoSchedule", "timeAdded": mark["time"]})
        metadata = {"annotations": {KEY: json.dumps(mark)}, "labels": {KEY: value}}
        self._patch(node, metadata, {"unschedulable": True, "taints": taints})

    def _free(self, node: api.Object, free: Free) -> None:
        mark = decisions.mark_of(node) or {}
        past = {"since": mark.get("since"), "until": round(time.time(), 3), "reason": mark.get("reason")}
        history = [*decisions.history_of(node), past][-HISTORY_LENGTH:]
        taints = [each for each in node["spec"].get("taints") or [] if each["key"] != KEY]
        spec: api.Object = {"taints": taints or None}
        if not mark.get("was_cordoned"):
            spec["unschedulable"] = None
        metadata = {"annotations": {KEY: None, HISTORY: json.dumps(history)}, "labels": {KEY: None}}
        self._patch(node, metadata, spec)

    def _end(self, pod: api.Object) -> None:
        """Without grace: no kubelet is there to grant it. The identity keeps a new pod of the same name alive.

        The pod is marked as failed by a disruption first, as Kubernetes' own garbage collector does. A pod that is only
        deleted would be replaced alone, and its gang would go on without it.
        """
        meta = pod["metadata"]
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
        said = f"node {pod['spec']['nodeName']} does not answer"
        condition = {"type": "DisruptionTarget", "status": "True", "reason": "NodeLost", "message": said}
        failed = {
            "metadata": {"uid": meta["uid"]},
            "status": {"phase": "Failed", "reason": "NodeLost", "message": said, "conditions": [condition]},
        }
        self.server.call("PATCH", f"{path}/status", failed, kind="application/strategic-merge-patch+json")
        self.server.call("DELETE", path, {"gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}})


def pools(text: str) -> dict[str, Pool]:
    """A file such as {"train": {"labels": {"trainshed.io/pool": "train"}, "cards": {"nvidia.com/gpu": 8}}}."""
    try:
        read = json.loads(Path(text).read_text())
        return {
            name: Pool(dict(each["labels"]), {key: int(count) for key, count in each.get("cards", {}).items()})
            for name, each in read.items()
        }
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{text} can't be read: {error.strerror}") from None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise argparse.ArgumentTypeError(f"{text} names no pools with labels and cards: {error!r}") from None


def words(text: str) -> tuple[str, ...]:
    return tuple(word for word in text.split(",") if word)


def parser() -> argparse.ArgumentParser:
    usual = HealthSettings()
    top = argparse.ArgumentParser(
        prog="quarantine",
        description="Take sick nodes out of service and let sound ones in again.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = top.add_argument
    add("--server", help="URL of the API server (default: the pod's own cluster)")
    add("--token-file", type=Path, default=api.ACCOUNT / "token")
    add("--ca-file", type=Path, default=api.ACCOUNT / "ca.crt")
    add("--every", type=float, default=5.0, help="seconds between two looks (default 5)")
    add("--pods", default=JOBSET, help=f"label selector of jobs' workers (default {JOBSET})")
    add("--most-percent", type=float, default=usual.most_percent, help="share of a pool out at once (default 5)")
    add("--lost-after", type=float, default=usual.lost_after, help="seconds unready before pods are ended (default 60)")
    add(
        "--most-lost-percent", type=float, default=usual.most_lost_percent, help="above it no pod is ended (default 50)"
    )
    add("--settle", type=float, default=usual.settle, help="seconds a new node has to show its cards (default 600)")
    add(
        "--steady", type=float, default=usual.steady, help="seconds a node must be good before it returns (default 300)"
    )
    add("--strikes", type=int, default=usual.strikes, help="quarantines after which a person decides (default 3)")
    add("--strike-days", type=float, default=usual.strike_days, help="days in which they count (default 7)")
    add(
        "--conditions", type=words, default=usual.conditions, help="node conditions, with commas, that may not be false"
    )
    add("--ignore-reasons", type=words, default=usual.ignored_reasons, help="their reasons to leave alone")
    add("--health-codes", type=words, default=(), help="Xid codes to act on (default: all that become a condition)")
    add("--pools", type=pools, default={}, metavar="FILE", help="JSON: labels of each pool's nodes, and their cards")
    return top


def server_of(arguments: argparse.Namespace) -> api.Server | None:
    url = arguments.server
    if url is None:
        host, port = os.environ.get("KUBERNETES_SERVICE_HOST"), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
        if not host:
            return None
        url = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    return api.Server(url, arguments.token_file, arguments.ca_file if url.startswith("https") else None)


def main(given: list[str] | None = None) -> int:
    top = parser()
    arguments = top.parse_args(given)
    server = server_of(arguments)
    if server is None or not arguments.token_file.is_file():
        missing = "an API server: give --server, or run in a pod" if server is None else f"{arguments.token_file}"
        print(f"quarantine: no {missing}", file=sys.stderr)
        return 3
    settings = HealthSettings(
        most_percent=arguments.most_percent,
        lost_after=arguments.lost_after,
        most_lost_percent=arguments.most_lost_percent,
        settle=arguments.settle,
        steady=arguments.steady,
        strikes=arguments.strikes,
        strike_days=arguments.strike_days,
        conditions=arguments.conditions,
        ignored_reasons=arguments.ignore_reasons,
        health_codes=arguments.health_codes,
        pools=arguments.pools,
    )
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    controller = Controller(server, settings, arguments.pods)
    controller.start()
    while not stop.wait(arguments.every):
        controller.look()
    return 0


if __name__ == "__main__":
    sys.exit(main())
