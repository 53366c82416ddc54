"""This project's program on a real API server: AWS is the echo provider, the cluster it announces is the local control plane.

Hides what stands for AWS (the cluster's address, the token command) and where charts that need a registry come from.
"""

from __future__ import annotations

import json
import shutil
import textwrap
from pathlib import Path

import yaml

from tests.live.support.engine import Engine
from trainshed.control_plane import tools
from trainshed.control_plane.api import Object
from trainshed.control_plane.plane import ControlPlane

# Charts of others can't be fetched here: an empty chart takes their place, and their kinds are served without a schema.
OPERATOR_KINDS = {
    "monitoring.coreos.com/v1": ("PodMonitor", "PrometheusRule", "ServiceMonitor", "Alertmanager", "Prometheus", "Probe"),
    "monitoring.coreos.com/v1alpha1": ("AlertmanagerConfig", "ScrapeConfig"),
}

PROGRAM = '''
"""The project's own program, with charts from folders: the transformation changes nothing else."""

import json
import os
from pathlib import Path

import pulumi

CHARTS = json.loads(os.environ["TRAINSHED_TEST_CHARTS"])


def from_folder(args):
    if args.type_ != "kubernetes:helm.sh/v3:Release":
        return None
    props = dict(args.props)
    folder = CHARTS.get(props.get("name")) or CHARTS["empty"]
    changed = {**props, "chart": folder}
    for key in ("version", "repository_opts", "repositoryOpts"):
        changed.pop(key, None)
    return pulumi.ResourceTransformationResult(changed, args.opts)


pulumi.runtime.register_stack_transformation(from_folder)

from infra.build import build
from infra.settings import from_engine

build(from_engine())
'''


def operator_crds() -> list[Object]:
    """Stand-ins for the kinds of operators that are not here: they are stored and served, their fields are not checked."""
    made: list[Object] = []
    for api_version, kinds in OPERATOR_KINDS.items():
        group, version = api_version.split("/")
        for kind in kinds:
            plural = f"{kind.lower()}s" if not kind.endswith("s") else kind.lower()
            schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
            made.append(
                {
                    "apiVersion": "apiextensions.k8s.io/v1",
                    "kind": "CustomResourceDefinition",
                    "metadata": {"name": f"{plural}.{group}"},
                    "spec": {
                        "group": group,
                        "scope": "Namespaced",
                        "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()},
                        "versions": [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
                    },
                }
            )
    return made


def empty_chart(folder: Path) -> Path:
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text(yaml.safe_dump({"apiVersion": "v2", "name": "empty", "version": "0.0.1"}))
    (folder / "values.yaml").write_text("{}\n")
    return folder


def engine_on(plane: ControlPlane, place: Path, stack: str) -> Engine:
    """The stack's project whose Kubernetes half goes to this control plane through the real provider."""
    engine = Engine.of_checkout(place, stack, real_kubernetes=True)
    (engine.folder / "infra" / "__main__.py").write_text(textwrap.dedent(PROGRAM))
    charts: dict[str, str] = {"empty": str(empty_chart(place / "charts" / "empty"))}
    for name in ("kueue", "jobset"):
        # Helm writes nothing there, but reads permissions of the owner: a copy of the test's own.
        shutil.copytree(tools.asset(name, f"charts/{name}"), place / "charts" / name)
        charts[name] = str(place / "charts" / name)
    engine.environment["TRAINSHED_TEST_CHARTS"] = json.dumps(charts)
    token = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": plane.token}}
    command = place / "bin" / "aws"
    command.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(token)}\nEND\n")
    command.chmod(0o700)
    announced = {"endpoint": plane.endpoint, "certificateAuthority": {"data": plane.certificate_authority}}
    engine.behave(attributes={"aws:eks/cluster:Cluster": announced})
    if "onprem" in stack:
        # A stack on machines of one's own has its kubeconfig as a secret.
        words = ("config", "set", "--stack", stack, "--secret", "--path", "trainshed:form.kubeconfig", "--", plane.kubeconfig.read_text())
        engine.run(*words).must()
        engine.run("config", "set", "--stack", stack, "--path", "trainshed:form.context", "local").must()
    return engine
