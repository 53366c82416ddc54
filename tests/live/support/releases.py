"""Kueue's and JobSet's charts on a control plane without containers: their controllers run as processes, led to by what
the charts install.

A controller's pod becomes ready only once its process answers the chart's webhooks, as in a real installation.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from trainshed.sandbox import controllers
from trainshed.sandbox.api import ApiError, Object
from trainshed.sandbox.controllers import ClientLimits, Hooks
from trainshed.sandbox.plane import ControlPlane

LIMITS = ClientLimits(qps=500, burst=1000)
FIRST_KIND = {"jobset": "jobsets.jobset.x-k8s.io", "kueue": "workloads.kueue.x-k8s.io"}
NAMESPACES = {"jobset": "jobset-system", "kueue": "kueue-system"}
VISIBILITY = ("v1beta1.visibility.kueue.x-k8s.io", "v1beta2.visibility.kueue.x-k8s.io")


@dataclass(kw_only=True)
class Understudies:
    """Processes that stand where a chart's pods would; `step()` is called again and again while the charts are
    installed.
    """

    plane: ControlPlane
    hooks: dict[str, Hooks] = field(default_factory=dict)
    ready: set[str] = field(default_factory=set)

    def step(self) -> bool:
        """Do what can be done now; always False, as a command's `meanwhile` wants it."""
        for name in FIRST_KIND:
            if name not in self.hooks and self._served(name):
                self._start(name)
            if name in self.hooks and self._webhooks(name):
                self._lead(name)
                self._make_ready(name)
        return False

    def _served(self, name: str) -> bool:
        try:
            return controllers.established(self.plane.api, FIRST_KIND[name])
        except ApiError as error:
            if error.status == 404:
                return False
            raise

    def _start(self, name: str) -> None:
        starter = controllers.start_jobset if name == "jobset" else controllers.start_kueue
        self.hooks[name] = starter(self.plane, limits=LIMITS, crds=False, redirect=False)

    def _webhooks(self, name: str) -> list[Object]:
        found: list[Object] = []
        for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
            for configuration in self.plane.api.all("admissionregistration.k8s.io/v1", kind):
                if name in configuration["metadata"]["name"]:
                    found.append(configuration)
        return found if len(found) == 2 else []

    def _lead(self, name: str) -> None:
        """Lead webhooks and conversions to the process, and take out the hooks of kinds that this configuration
        leaves out.
        """
        hooks = self.hooks[name]
        controllers.hooks_led_here(self.plane.api, name, hooks)
        controllers.conversions_led_here(self.plane.api, name, hooks)
        if name == "kueue":
            for service in VISIBILITY:
                # Nothing answers behind it here, and an aggregated API that is down keeps every namespace from being
                # deleted.
                with suppress(ApiError):
                    self.plane.api.delete("apiregistration.k8s.io/v1", "APIService", service)

    def _make_ready(self, name: str) -> None:
        for pod in self.plane.api.all("v1", "Pod", NAMESPACES[name]):
            if pod["status"].get("phase") == "Running" or not pod["spec"].get("nodeName"):
                continue
            conditions = [
                {"type": kind, "status": "True"} for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
            ]
            statuses: list[dict[str, Any]] = [
                {
                    "name": container["name"],
                    "image": container["image"],
                    "imageID": "",
                    "ready": True,
                    "restartCount": 0,
                    "state": {"running": {}},
                }
                for container in pod["spec"]["containers"]
            ]
            change = {
                "status": {
                    "phase": "Running",
                    "conditions": conditions,
                    "containerStatuses": statuses,
                    "podIP": "10.0.0.9",
                }
            }
            self.plane.api.patch(pod, change, subresource="/status")
            self.ready.add(name)
