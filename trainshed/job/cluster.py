"""A live cluster as the job commands see it: apply, read, stream logs.

The Kubernetes client is an optional extra. Without it, without a kubeconfig or without an answer the commands end with
what is missing and how to get it.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FIELD_MANAGER = "trainshed"
_TIMEOUT_SECONDS = 30


class NeededError(Exception):
    """Something the command needs is missing; the text says what and how to get it."""


class RefusedError(Exception):
    """The cluster said no; the text is its reason."""


@dataclass(frozen=True, kw_only=True)
class TaskCluster:
    """One cluster. `name` is the context that was chosen, for a person to see where a job goes."""

    name: str
    dynamic: Any = field(repr=False)
    core: Any = field(repr=False)
    errors: tuple[type[Exception], type[Exception]] = field(repr=False)

    def _resource(self, api_version: str, kind: str) -> Any:
        not_found: type[Exception] = importlib.import_module("kubernetes.dynamic.exceptions").ResourceNotFoundError
        try:
            return self.dynamic.resources.get(api_version=api_version, kind=kind)
        except not_found as error:
            raise NeededError(
                f"the cluster {self.name} does not know {kind} ({api_version}): deploy the stack's queueing first"
            ) from error

    def apply(self, manifest: dict[str, Any]) -> None:
        """Server-side apply. Raises RefusedError with the API server's words."""
        resource = self._resource(manifest["apiVersion"], manifest["kind"])
        metadata = manifest["metadata"]
        try:
            self.dynamic.server_side_apply(
                resource,
                body=manifest,
                name=metadata["name"],
                namespace=metadata.get("namespace"),
                field_manager=FIELD_MANAGER,
                force_conflicts=True,
            )
        except self.errors[0] as error:
            raise RefusedError(f"{manifest['kind']} {metadata['name']}: {reason(error)}") from error

    def find(self, api_version: str, kind: str, name: str, namespace: str) -> dict[str, Any] | None:
        """The object as it stands, or None."""
        try:
            return self._resource(api_version, kind).get(name=name, namespace=namespace).to_dict()
        except self.errors[0] as error:
            if getattr(error, "status", None) == 404:
                return None
            raise RefusedError(f"{kind} {name}: {reason(error)}") from error

    def listed(self, api_version: str, kind: str, namespace: str, selector: str) -> list[dict[str, Any]]:
        try:
            found = self._resource(api_version, kind).get(namespace=namespace, label_selector=selector)
        except self.errors[0] as error:
            raise RefusedError(f"{kind}: {reason(error)}") from error
        return [item.to_dict() for item in found.items]

    def delete(self, api_version: str, kind: str, name: str, namespace: str) -> None:
        try:
            self._resource(api_version, kind).delete(
                name=name, namespace=namespace, body={"propagationPolicy": "Foreground"}
            )
        except self.errors[0] as error:
            if getattr(error, "status", None) != 404:
                raise RefusedError(f"{kind} {name}: {reason(error)}") from error

    def log(self, pod: str, namespace: str, *, container: str, follow: bool, tail: int | None) -> Iterator[str]:
        """Lines of a container's log, as they come when `follow`."""
        try:
            answer = self.core.read_namespaced_pod_log(
                pod, namespace, container=container, follow=follow, tail_lines=tail, _preload_content=False
            )
        except self.errors[0] as error:
            raise RefusedError(f"pod {pod}: {reason(error)}") from error
        rest = b""
        for chunk in answer.stream():
            *whole, rest = (rest + chunk).split(b"\n")
            yield from (line.decode(errors="replace") for line in whole)
        if rest:
            yield rest.decode(errors="replace")


def reason(error: Exception) -> str:
    """The message of an API error, without the client's dump of headers."""
    body = getattr(error, "body", None)
    if body:
        import json

        try:
            return str(json.loads(body)["message"])
        except (ValueError, KeyError, TypeError):
            pass
    return str(getattr(error, "reason", None) or error)


def connect(kubeconfig: Path | None = None, context: str | None = None) -> TaskCluster:
    """The cluster of a kubeconfig. Raises NeededError when the client, the file or the cluster isn't there."""
    try:
        client: Any = importlib.import_module("kubernetes.client")
        config: Any = importlib.import_module("kubernetes.config")
        dynamic: Any = importlib.import_module("kubernetes.dynamic")
    except ImportError as error:
        raise NeededError('this command needs the Kubernetes client: pip install "trainshed[live]"') from error
    file = str(kubeconfig) if kubeconfig else None
    try:
        contexts, active = config.list_kube_config_contexts(config_file=file)
        api: Any = config.new_client_from_config(config_file=file, context=context)
    except config.ConfigException as error:
        where = f"{kubeconfig}" if kubeconfig else "KUBECONFIG or ~/.kube/config"
        raise NeededError(
            f"no cluster in {where}: {error}; `aws eks update-kubeconfig --name CLUSTER` writes one"
        ) from error
    known = [each["name"] for each in contexts]
    name = context or active["name"]
    if context and context not in known:
        raise NeededError(f'the kubeconfig has no context "{context}"; it has {", ".join(known)}')
    unreachable: type[Exception] = importlib.import_module("urllib3.exceptions").HTTPError
    refused: type[Exception] = client.ApiException
    api.rest_client.pool_manager.connection_pool_kw["retries"] = False
    api.rest_client.pool_manager.connection_pool_kw["timeout"] = _TIMEOUT_SECONDS
    try:
        found: Any = dynamic.DynamicClient(api)
    except unreachable as error:
        raise NeededError(f"the cluster {name} does not answer at {api.configuration.host}: is the VPN up?") from error
    except refused as error:
        raise NeededError(f"the cluster {name} refuses this user: {reason(error)}") from error
    return TaskCluster(name=name, dynamic=found, core=client.CoreV1Api(api), errors=(refused, unreachable))
