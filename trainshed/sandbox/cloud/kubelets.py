"""A stand-in for the kubelets of bought machines: each running machine joins as a kwok node, and leaves when it ends.

What a node says of itself comes from where a real one has it: labels and taints from the machine's user data, zone and
type from EC2. What it can hold is what Karpenter computed, as nothing else here knows it.

Run as `python -m trainshed.sandbox.cloud.kubelets KUBECONFIG ENDPOINT REGION`.
"""

from __future__ import annotations

import base64
import email
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from trainshed.sandbox.api import Api, ApiError, Object
from trainshed.sandbox.cloud.account import bought, client
from trainshed.sandbox.nodes import ANNOTATION

NODE_CLAIM = "karpenter.sh/v1"
_PAUSE_SECONDS = 0.5
_ARCHITECTURES = {"x86_64": "amd64", "arm64": "arm64"}


@dataclass(frozen=True, kw_only=True)
class Registration:
    """What a kubelet registers its node with, by its own flags."""

    labels: Mapping[str, str]
    taints: tuple[Mapping[str, str], ...]


def registration(user_data: str) -> Registration:
    """The labels and taints in a machine's user data: nodeadm's configurations, or Bottlerocket's settings."""
    labels: dict[str, str] = {}
    taints: list[Mapping[str, str]] = []
    for flags in _kubelet_flags(user_data):
        for flag in flags:
            name, _, quoted = str(flag).lstrip("-").partition("=")
            value = quoted.strip('"')
            if name == "node-labels":
                labels |= dict(_pair(each) for each in value.split(",") if each)
            elif name == "register-with-taints":
                taints += [_taint(each) for each in value.split(",") if each]
    return Registration(labels=labels, taints=tuple(taints))


def _pair(text: str) -> tuple[str, str]:
    key, _, value = text.partition("=")
    return key, value


def _taint(text: str) -> Mapping[str, str]:
    """`key=value:Effect` or `key:Effect`."""
    before, _, effect = text.rpartition(":")
    key, value = _pair(before)
    return {"key": key, "value": value, "effect": effect} if value else {"key": key, "effect": effect}


def _kubelet_flags(user_data: str) -> Iterator[list[str]]:
    """The flags of each NodeConfig in a (multi-part) user data; Bottlerocket's tables as such flags."""
    if user_data.lstrip().startswith(("[", "#")) and "settings.kubernetes" in user_data:
        yield from _bottlerocket_flags(user_data)
        return
    message = email.message_from_string(user_data)
    for part in message.walk():
        if part.is_multipart():
            continue
        text = str(part.get_payload()) if message.is_multipart() else user_data
        try:
            documents = [each for each in yaml.safe_load_all(text) if isinstance(each, dict)]
        except yaml.YAMLError:
            continue  # a shell script
        for document in documents:
            if document.get("kind") == "NodeConfig":
                yield list(((document.get("spec") or {}).get("kubelet") or {}).get("flags") or [])


def _bottlerocket_flags(user_data: str) -> Iterator[list[str]]:
    import tomllib

    kubernetes: Mapping[str, Any] = tomllib.loads(user_data)["settings"]["kubernetes"]
    yield [f"--node-labels={','.join(f'{key}={value}' for key, value in kubernetes.get('node-labels', {}).items())}"]
    for key, values in kubernetes.get("node-taints", {}).items():
        for value in values if isinstance(values, list) else [values]:
            yield [f"--register-with-taints={key}={value}"]


def node(machine: Mapping[str, Any], claim: Mapping[str, Any], register: Registration, region: str) -> Object:
    """The Node that the machine's kubelet would create."""
    name = machine["PrivateDnsName"] or machine["InstanceId"]
    status = claim["status"]
    zone = machine["Placement"]["AvailabilityZone"]
    own = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": _ARCHITECTURES[machine.get("Architecture", "x86_64")],
        "node.kubernetes.io/instance-type": machine["InstanceType"],
        "topology.kubernetes.io/region": region,
        "topology.kubernetes.io/zone": zone,
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "annotations": dict(ANNOTATION), "labels": {**register.labels, **own}},
        "spec": {"providerID": status["providerID"], "taints": [dict(each) for each in register.taints]},
        "status": {"capacity": dict(status["capacity"]), "allocatable": dict(status["allocatable"])},
    }


def step(api: Api, ec2: Any, region: str) -> None:
    """Let every machine without a node join, and take away the nodes of machines that have ended."""
    machines = {each["InstanceId"]: each for each in bought(ec2)}
    claims = {
        _machine_of(each["status"].get("providerID", "")): each
        for each in api.all(NODE_CLAIM, "NodeClaim")
        if "status" in each
    }
    joined = {
        _machine_of(each["spec"]["providerID"]): each
        for each in api.all("v1", "Node")
        if each["spec"].get("providerID")
    }
    for name, machine in machines.items():
        # A kubelet needs a minute to start: by then Karpenter has written down what it bought.
        if name in joined or name not in claims or "capacity" not in claims[name]["status"]:
            continue
        reported = ec2.describe_instance_attribute(InstanceId=name, Attribute="userData")["UserData"].get("Value", "")
        api.create(node(machine, claims[name], registration(base64.b64decode(reported).decode()), region))
    for name, each in joined.items():
        if name not in machines and "deletionTimestamp" not in each["metadata"]:
            api.delete("v1", "Node", each["metadata"]["name"])


def _machine_of(provider_id: str) -> str:
    """`aws:///us-west-2a/i-123` names the machine last."""
    return provider_id.rsplit("/", 1)[-1]


def main(kubeconfig: Path, endpoint: str, region: str) -> None:
    config = yaml.safe_load(kubeconfig.read_text())
    port = int(config["clusters"][0]["cluster"]["server"].rsplit(":", 1)[1])
    authority = kubeconfig.parent / "certificates" / "apiserver.crt"
    api = Api(port, config["users"][0]["user"]["token"], ca=str(authority))
    ec2 = client("ec2", region, endpoint)
    while True:
        try:
            step(api, ec2, region)
        except ApiError as error:
            # Another writer was faster; the next look is half a second away.
            print(error, file=sys.stderr, flush=True)
        time.sleep(_PAUSE_SECONDS)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
