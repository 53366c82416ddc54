"""The quarantine controller as a stack declares it: its own command, programs and service account, as a process."""

from __future__ import annotations

import base64
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from components.manifests import node_health
from tests.live.support.cluster import Cluster


@contextmanager
def running(cluster: Cluster, folder: Path, *more: object) -> Generator[Path]:
    """Runs what the Deployment would, with the rights of its account and `more` words after its own; gives its log."""
    api = cluster.api
    program = folder / "program"
    program.mkdir(parents=True)
    stored = api.get("v1", "ConfigMap", node_health.PROGRAMS, node_health.NAMESPACE)
    for name, text in stored["data"].items():
        (program / name).write_text(text)
    for name, text in stored["binaryData"].items():
        (program / name).write_bytes(base64.b64decode(text))
    deployment = api.get("apps/v1", "Deployment", node_health.NAME, node_health.NAMESPACE)
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    account = deployment["spec"]["template"]["spec"]["serviceAccountName"]
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = f"/api/v1/namespaces/{node_health.NAMESPACE}/serviceaccounts/{account}/token"
    (folder / "token").write_text(str(api.call("POST", path, body)["status"]["token"]))
    where = ["--server", cluster.plane.endpoint, "--ca-file", cluster.plane.ca, "--token-file", folder / "token"]
    command = [*_here(container["command"], program), *map(str, [*where, *more])]
    log = folder / "log"
    with log.open("w") as written:
        process = subprocess.Popen(command, stdout=written, stderr=subprocess.STDOUT, cwd=folder)
    try:
        yield log
    finally:
        process.terminate()
        process.wait(20)


def _here(command: Sequence[str], program: Path) -> list[str]:
    """The container's command with this machine's Python, its mount in a folder of the test."""
    words = [word.replace("/program/", f"{program}/") for word in command]
    return [sys.executable, *words[1:]]
