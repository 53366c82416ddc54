"""Kueue and JobSet as processes beside the API server.

Their webhooks are led to 127.0.0.1, with certificates made for each run.
"""

from __future__ import annotations

import base64
import os
import shutil
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from trainshed.sandbox import tools
from trainshed.sandbox.api import Api, ApiError, Object, wait_for
from trainshed.sandbox.certificates import Certificate, self_signed
from trainshed.sandbox.plane import ControlPlane, program

PROGRAMS = ("kueue", "jobset")

# A webhook of a kind whose operator is not here would refuse every Deployment or Pod: this Kueue's configuration
# doesn't serve its path.
_KUEUE_HOOKS = ("clusterqueue", "cohort", "job", "jobset", "resourceflavor", "workload")
_HOOK_KINDS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


@dataclass(frozen=True, kw_only=True)
class ClientLimits:
    """How many requests a second a controller may make; Kueue's own default is 50 with bursts of 100."""

    qps: int
    burst: int


@dataclass(frozen=True, kw_only=True)
class Hooks:
    """Where one controller's webhooks answer."""

    port: int
    certificate: Certificate

    def client_config(self, path: str) -> Object:
        authority = base64.b64encode(self.certificate.certificate.read_bytes()).decode()
        return {"url": f"https://127.0.0.1:{self.port}{path}", "caBundle": authority}


def documents(path: Path) -> Iterator[Object]:
    """The objects of a YAML file, or of every YAML file in a folder."""
    for file in sorted(path.glob("*.yaml")) if path.is_dir() else [path]:
        if file.name == "kustomization.yaml":
            continue
        for document in yaml.safe_load_all(file.read_text()):
            if document:
                yield document


def install_crds(api: Api, name: str) -> None:
    """The kinds of a tool's module, served before this returns."""
    crds = list(documents(tools.asset(name, "config/components/crd/bases")))
    for crd in crds:
        api.apply(crd, strict=False)
    for crd in crds:
        wait_for(
            lambda crd=crd: established(api, crd["metadata"]["name"]),
            what=f"{crd['metadata']['name']} served",
            seconds=120,
            pause=0.05,
        )


def established(api: Api, name: str) -> bool:
    conditions = (
        api.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", name).get("status", {}).get("conditions") or []
    )
    return any(condition["type"] == "Established" and condition["status"] == "True" for condition in conditions)


def redirected(configuration: Mapping[str, Any], hooks: Hooks, *, name: str, kept: Sequence[str] | None) -> Object:
    """A webhook configuration as the module ships it, led to a process on this machine; `kept` leaves out the
    hooks of absent kinds.
    """
    webhooks: list[Object] = []
    for webhook in configuration["webhooks"]:
        if kept is not None and not any(webhook["name"] in (f"m{kind}.kb.io", f"v{kind}.kb.io") for kind in kept):
            continue
        path = webhook["clientConfig"]["service"]["path"]
        webhooks.append({**webhook, "clientConfig": hooks.client_config(path)})
    return {**configuration, "metadata": {"name": f"{name}-{configuration['metadata']['name']}"}, "webhooks": webhooks}


def install_hooks(api: Api, tool: str, hooks: Hooks, *, kept: Sequence[str] | None = None) -> None:
    for document in documents(tools.asset(tool, "config/components/webhook")):
        if document.get("kind") in _HOOK_KINDS:
            api.apply(redirected(document, hooks, name=tool, kept=kept), strict=False)


def _listening(hooks: Hooks) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", hooks.port)) == 0


def start_jobset(plane: ControlPlane, *, limits: ClientLimits, crds: bool = True, redirect: bool = True) -> Hooks:
    hooks = Hooks(port=plane.processes.ports.take(), certificate=self_signed(plane.folder / "jobset-certificates"))
    if crds:
        install_crds(plane.api, "jobset")
    configuration = {
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"qps": limits.qps, "burst": limits.burst},
        "internalCertManagement": {"enable": False},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": f"127.0.0.1:{plane.processes.ports.take()}"},
        "webhook": {"host": "127.0.0.1", "port": hooks.port, "certDir": str(hooks.certificate.folder)},
    }
    path = plane.folder / "jobset.yaml"
    path.write_text(yaml.safe_dump(configuration))
    child = plane.processes.start("jobset", [program("jobset"), f"--config={path}", f"--kubeconfig={plane.kubeconfig}"])
    plane.processes.wait_until(lambda: _listening(hooks), what="JobSet's webhooks", child=child)
    if redirect:
        install_hooks(plane.api, "jobset", hooks)
    return hooks


def start_kueue(
    plane: ControlPlane,
    *,
    limits: ClientLimits,
    settings: Mapping[str, Any] | None = None,
    gates: Mapping[str, bool] | None = None,
    crds: bool = True,
    redirect: bool = True,
) -> Hooks:
    """`settings` are further keys of Kueue's own configuration, `gates` its feature gates, as a stack's release
    gives them.
    """
    hooks = Hooks(port=plane.processes.ports.take(), certificate=self_signed(plane.folder / "kueue-certificates"))
    if crds:
        install_crds(plane.api, "kueue")
    configuration = {
        **(settings or {}),
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "clientConnection": {"qps": limits.qps, "burst": limits.burst},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": f"127.0.0.1:{plane.processes.ports.take()}"},
        "webhook": {"host": "127.0.0.1", "port": hooks.port, "certDir": str(hooks.certificate.folder)},
        "integrations": {"frameworks": ["batch/job", "jobset.x-k8s.io/jobset"]},
    }
    path = plane.folder / "kueue.yaml"
    path.write_text(yaml.safe_dump(configuration))
    # The visibility server would listen on every address.
    chosen = {**(gates or {}), "VisibilityOnDemand": False}
    wanted = ",".join(f"{name}={str(on).lower()}" for name, on in sorted(chosen.items()))
    child = plane.processes.start(
        "kueue",
        [
            *_with_metrics_certificate(plane.folder, hooks.certificate),
            program("kueue"),
            f"--config={path}",
            f"--feature-gates={wanted}",
        ],
        environment={"KUBECONFIG": str(plane.kubeconfig)},
    )
    plane.processes.wait_until(lambda: _listening(hooks), what="Kueue's webhooks", child=child)
    if redirect:
        install_hooks(plane.api, "kueue", hooks, kept=_KUEUE_HOOKS)
    return hooks


def _with_metrics_certificate(folder: Path, certificate: Certificate) -> list[str]:
    """Words before Kueue's command that give it a view of /etc with the certificate it looks for there.

    Without its own certificate management Kueue reads /etc/kueue/metrics/certs even where metrics are off. Its own
    management would write the address of a Service into the webhooks. So it runs in a mount namespace of its own, and
    this machine's /etc stays as it is.
    """
    etc = folder / "kueue-etc"
    certificates = etc / "kueue" / "metrics" / "certs"
    certificates.mkdir(parents=True)
    for source in (certificate.certificate, certificate.key):
        shutil.copyfile(source, certificates / source.name)
    (etc / "hosts").write_text("127.0.0.1 localhost\n")
    namespaces = ["--mount"] if os.geteuid() == 0 else ["--user", "--map-root-user", "--mount"]
    return ["unshare", *namespaces, "sh", "-c", 'mount --bind "$0" /etc && exec "$@"', str(etc)]


def hooks_led_here(api: Api, tool: str, hooks: Hooks) -> bool:
    """Lead what a chart installed (webhooks, CRD conversion) to the local process; True once nothing names a
    Service any more.
    """
    complete = True
    for kind in _HOOK_KINDS:
        for configuration in api.all("admissionregistration.k8s.io/v1", kind):
            if not any(_of(tool, webhook) for webhook in configuration["webhooks"]):
                continue
            webhooks = [
                {**webhook, "clientConfig": hooks.client_config(webhook["clientConfig"]["service"]["path"])}
                if _of(tool, webhook)
                else webhook
                for webhook in configuration["webhooks"]
            ]
            complete = False
            try:
                api.patch(configuration, {"webhooks": webhooks})
            except ApiError as error:
                if error.status not in (404, 409):
                    raise
    return complete


def conversions_led_here(api: Api, tool: str, hooks: Hooks) -> None:
    """Lead the version conversion of a chart's kinds to the local process."""
    for crd in api.all("apiextensions.k8s.io/v1", "CustomResourceDefinition"):
        client = ((crd["spec"].get("conversion") or {}).get("webhook") or {}).get("clientConfig") or {}
        service = client.get("service")
        if service and tool in service["name"]:
            led = hooks.client_config(service.get("path") or "/convert")
            # A merge patch adds to what is there: the service is taken out by name, as a webhook has one or the other.
            api.patch(crd, {"spec": {"conversion": {"webhook": {"clientConfig": {**led, "service": None}}}}})


def _of(tool: str, webhook: Mapping[str, Any]) -> bool:
    service = webhook["clientConfig"].get("service")
    return bool(service) and tool in service["name"]
