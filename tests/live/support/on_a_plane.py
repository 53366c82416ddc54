"""This project's program on a real API server, with the local control plane as the cluster that its AWS half would have
made.

Stand-ins give what that half would: the cluster's address, the token command and file systems; charts come from local
copies. The AWS half itself meets the engine in `tests/live/engine/`.
"""

from __future__ import annotations

import json
import shutil
import textwrap
from pathlib import Path

import yaml

from tests.live.support.engine import Engine
from trainshed.sandbox import tools
from trainshed.sandbox.api import Object
from trainshed.sandbox.plane import ControlPlane

# Charts of others can't be fetched here: an empty chart takes their place, and their kinds are served without a schema.
OPERATOR_KINDS = {
    "monitoring.coreos.com/v1": (
        "PodMonitor",
        "PrometheusRule",
        "ServiceMonitor",
        "Alertmanager",
        "Prometheus",
        "Probe",
    ),
    "monitoring.coreos.com/v1alpha1": ("AlertmanagerConfig", "ScrapeConfig"),
}

PROGRAM = '''
"""The project's own program: charts come from folders, and what the AWS half would have made is there already."""

import json
import os
from types import SimpleNamespace as There

import pulumi

CHARTS = json.loads(os.environ["TRAINSHED_TEST_CHARTS"])
SERVER = json.loads(os.environ["TRAINSHED_TEST_SERVER"])


def from_folder(args):
    if args.type_ != "kubernetes:helm.sh/v3:Release":
        return None
    props = dict(args.props)
    changed = {**props, "chart": CHARTS.get(props.get("name")) or CHARTS["empty"]}
    for key in ("version", "repositoryOpts"):
        changed.pop(key, None)
    return pulumi.ResourceTransformationResult(changed, args.opts)


pulumi.runtime.register_stack_transformation(from_folder)

from components.cluster import Cluster
from infra import on_aws
from infra.build import build
from infra.settings import from_engine


class ClusterThere(pulumi.ComponentResource):
    def __init__(self, name, region):
        super().__init__("test:index:Cluster", "cluster-there")
        self._args = There(cluster_name=name, region=region)
        self.name = pulumi.Output.from_input(name)
        self.endpoint = pulumi.Output.from_input(SERVER["endpoint"])
        self.certificate_authority = pulumi.Output.from_input(SERVER["authority"])
        self.key_arn = pulumi.Output.from_input("arn:aws:kms:us-west-2:111122223333:key/one")
        self.ready = []
        self.kubeconfig = Cluster._kubeconfig(self)


settings = from_engine()
on_aws.network = lambda *given: There(vpc_id="vpc-1")
on_aws.registry = lambda *given: There(prefix=pulumi.Output.from_input("111122223333.dkr.ecr.us-west-2.amazonaws.com/trainshed"))
on_aws.cluster = lambda *given: ClusterThere("there", settings.valid.region)
on_aws.governance = lambda *given: None
on_aws.object_store = lambda *given: There(bucket_names={})
on_aws.lustre = lambda settings, name, *given: There(file_system_id=f"fs-{name}", dns_name=f"{name}.fsx.local", mount_name="m", ready=[])
on_aws.gpu_pool = lambda *given: There(node_group_names=[])
on_aws.queue_identities = lambda *given: {}
# Its objects meet the real controller and its definitions in test_karpenter.py and test_sandbox.py.
on_aws.karpenter = lambda *given: None
build(settings)
'''


def operator_crds() -> list[Object]:
    """Stand-ins for the kinds of operators that are not here: they are stored and served, their fields are not
    checked.
    """
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
                        "versions": [
                            {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
                        ],
                    },
                }
            )
    return made


def empty_chart(folder: Path) -> Path:
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text(yaml.safe_dump({"apiVersion": "v2", "name": "empty", "version": "0.0.1"}))
    (folder / "values.yaml").write_text("{}\n")
    return folder


def volume_of_a_class(storage_class: str, name: str) -> Object:
    """A volume as the driver of a cluster's own storage class would make it: no such driver runs here."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"of-the-cluster-{name}"},
        "spec": {
            "capacity": {"storage": "1Pi"},
            "accessModes": ["ReadWriteMany"],
            "storageClassName": storage_class,
            "csi": {"driver": "test.example.com", "volumeHandle": name},
        },
    }


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
    token = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": plane.token},
    }
    command = place / "bin" / "aws"
    command.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(token)}\nEND\n")
    command.chmod(0o700)
    engine.environment["TRAINSHED_TEST_SERVER"] = json.dumps(
        {"endpoint": plane.endpoint, "authority": plane.certificate_authority}
    )
    if "onprem" in stack:
        for name in ("datasets", "checkpoints"):
            plane.api.create(volume_of_a_class(engine.config()["trainshed:form"]["storage_class"], name))
        # A stack on machines of one's own has its kubeconfig as a secret.
        words = (
            "config",
            "set",
            "--stack",
            stack,
            "--secret",
            "--path",
            "trainshed:form.kubeconfig",
            "--",
            plane.kubeconfig.read_text(),
        )
        engine.run(*words).must()
        engine.run("config", "set", "--stack", stack, "--path", "trainshed:form.context", "local").must()
    return engine
