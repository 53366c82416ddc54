# ruff: noqa: N802 - the methods carry the names of the gRPC services
"""A provider plugin that keeps what it is given: the engine's graph, diffs, order and failures are real, only the cloud
is not there.

What a test wants broken stands in `behaviour.json` in the folder that TRAINSHED_ECHO names; every call is written to
`calls.jsonl` there.

    {"fail_nth_create": 7}                                  the 7th create of this run is refused
    {"fail": [{"call": "delete", "urn": "::net-vpc$"}]}     calls that match are refused, with "message"
    {"slow": [{"call": "create", "urn": "NodeGroup", "seconds": 3}]}
    {"drift": {"::net-vpc$": {"enableDnsSupport": false}}}  what a refresh finds changed
    {"gone": ["::net-subnet"]}                              what a refresh no longer finds
    {"attributes": {"aws:eks/cluster:Cluster": {...}}}      what a type answers instead of its usual attributes
"""

import fcntl
import json
import os
import re
import signal
import threading
import time
import uuid
from collections.abc import Mapping
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
from aws_answers import ID_IS, REPLACING, attributes
from google.protobuf import empty_pb2, json_format, struct_pb2
from orphans import end_with_engine
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

VERSIONS = {"aws": "7.51.1", "kubernetes": "4.34.2", "random": "4.21.0"}
SECRET = "4dabf18193072939515e22adb298388d"
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
PREFIXES = {
    "vpc:Vpc": "vpc",
    "subnet:Subnet": "subnet",
    "securityGroup:SecurityGroup": "sg",
    "launchTemplate:LaunchTemplate": "lt",
    "eip:Eip": "eipalloc",
}


class Behaviour:
    """What this run should do wrong, and the record of what it was asked."""

    def __init__(self) -> None:
        folder = os.environ.get("TRAINSHED_ECHO")
        self.folder = Path(folder) if folder else None
        path = self.folder / "behaviour.json" if self.folder else None
        self.rules = json.loads(path.read_text()) if path and path.exists() else {}

    def met(self, call: str, urn: str, identity: str = "") -> str | None:
        """Write the call down, wait if it should be slow, and return why it must fail, or None."""
        number = self._note(call, urn, identity)
        for rule in self.rules.get("slow", []):
            if rule.get("call") in (None, call) and re.search(rule["urn"], urn):
                time.sleep(rule["seconds"])
        if call == "create" and number == self.rules.get("fail_nth_create"):
            return f"create number {number} was refused on purpose"
        for rule in self.rules.get("fail", []):
            if rule["call"] == call and re.search(rule["urn"], urn):
                return rule.get("message", f"this {call} was refused on purpose")
        return None

    def _note(self, call: str, urn: str, identity: str) -> int:
        if self.folder is None:
            return 0
        with (self.folder / "calls.jsonl").open("a+") as record:
            # Several provider processes serve one run: the file counts for all of them.
            fcntl.flock(record, fcntl.LOCK_EX)
            record.seek(0)
            number = 1 + sum(json.loads(line)["call"] == call for line in record)
            record.write(json.dumps({"call": call, "urn": urn, "id": identity, "at": time.time()}) + "\n")
        return number


def plain(struct: Any) -> Any:
    return json_format.MessageToDict(struct) if isinstance(struct, struct_pb2.Struct) else struct


def bare(value: Any) -> Any:
    """A value without the wrapper of secrets."""
    if isinstance(value, dict):
        return bare(value.get("value")) if SECRET in value else {key: bare(item) for key, item in value.items()}
    return [bare(item) for item in value] if isinstance(value, list) else value


def struct(values: Mapping[str, Any]) -> struct_pb2.Struct:
    made = struct_pb2.Struct()
    made.update(values)
    return made


class EchoProvider(provider_pb2_grpc.ResourceProviderServicer):
    def __init__(self, package: str) -> None:
        self.package = package
        self.behaviour = Behaviour()

    # -- being a plugin --
    def Handshake(self, request: Any, context: Any) -> Any:
        return provider_pb2.ProviderHandshakeResponse(accept_secrets=True, accept_resources=True, accept_outputs=True)

    def GetPluginInfo(self, request: Any, context: Any) -> Any:
        return plugin_pb2.PluginInfo(version=VERSIONS[self.package])

    def GetSchema(self, request: Any, context: Any) -> Any:
        return provider_pb2.GetSchemaResponse(schema="{}")

    def CheckConfig(self, request: Any, context: Any) -> Any:
        return provider_pb2.CheckResponse(inputs=request.news)

    def DiffConfig(self, request: Any, context: Any) -> Any:
        return provider_pb2.DiffResponse(changes=provider_pb2.DiffResponse.DIFF_NONE)

    def Configure(self, request: Any, context: Any) -> Any:
        return provider_pb2.ConfigureResponse(
            acceptSecrets=True, supportsPreview=True, acceptResources=True, acceptOutputs=True
        )

    def Invoke(self, request: Any, context: Any) -> Any:
        return provider_pb2.InvokeResponse(**{"return": request.args})

    def Cancel(self, request: Any, context: Any) -> Any:
        return empty_pb2.Empty()

    # -- resources --
    def Check(self, request: Any, context: Any) -> Any:
        """Inputs come back as they are, except that a Kubernetes object without a name keeps or gets one, as the
        real provider gives it.
        """
        news = plain(request.news)
        # A Helm release is named by its own `name`: it is no object of the API.
        if self.package == "kubernetes" and "helm.sh/v3:Release" not in request.urn:
            meta = bare(news.get("metadata") or {})
            if isinstance(meta, dict) and not meta.get("name") and not meta.get("generateName"):
                olds = bare(plain(request.olds)).get("metadata") or {}
                name = olds.get("name") or f"{request.name}-{uuid.uuid4().hex[:8]}"
                news["metadata"] = {**(news.get("metadata") or {}), "name": name}
                return provider_pb2.CheckResponse(inputs=struct(news))
        return provider_pb2.CheckResponse(inputs=request.news)

    def Diff(self, request: Any, context: Any) -> Any:
        olds, news = bare(plain(request.old_inputs)), bare(plain(request.news))
        ignored = set(request.ignoreChanges)
        changed = sorted(
            key
            for key in {*olds, *news}
            if olds.get(key) != news.get(key) and not key.startswith("__") and key not in ignored
        )
        replaces = [key for key in changed if key in REPLACING.get(request.type, ())]
        if self.package == "kubernetes":
            replaces = [
                key
                for key in changed
                if key in ("apiVersion", "kind") or (key == "metadata" and _moved(olds[key], news[key]))
            ]
        some = provider_pb2.DiffResponse.DIFF_SOME if changed else provider_pb2.DiffResponse.DIFF_NONE
        return provider_pb2.DiffResponse(changes=some, diffs=changed, replaces=replaces)

    def Create(self, request: Any, context: Any) -> Any:
        inputs = plain(request.properties)
        if request.preview:
            return provider_pb2.CreateResponse(properties=request.properties)
        identity = self._identity(request.type, inputs)
        self._fail_if_wanted("create", request.urn, identity, context)
        return provider_pb2.CreateResponse(
            id=identity, properties=struct({**inputs, **self._attributes(request.type, identity, inputs, request.urn)})
        )

    def Read(self, request: Any, context: Any) -> Any:
        """What the cloud has now: the state's own values, but for the drift that a test has ordered."""
        self._fail_if_wanted("read", request.urn, request.id, context)
        if any(re.search(pattern, request.urn) for pattern in self.behaviour.rules.get("gone", [])):
            return provider_pb2.ReadResponse()
        properties, inputs = plain(request.properties), plain(request.inputs)
        for pattern, values in self.behaviour.rules.get("drift", {}).items():
            if re.search(pattern, request.urn):
                properties |= values
                inputs |= values
        return provider_pb2.ReadResponse(id=request.id, properties=struct(properties), inputs=struct(inputs))

    def Update(self, request: Any, context: Any) -> Any:
        if not request.preview:
            self._fail_if_wanted("update", request.urn, request.id, context)
        olds, old_inputs, news = plain(request.olds), plain(request.old_inputs), plain(request.news)
        computed = {key: value for key, value in olds.items() if key not in old_inputs and key not in news}
        if request.type == "aws:ec2/launchTemplate:LaunchTemplate":
            # Every change makes a version; node groups read the newest one's number.
            computed["latestVersion"] = UNKNOWN if request.preview else bare(olds).get("latestVersion", 1) + 1
        if request.type == "aws:eks/cluster:Cluster" and "vpcConfig" in olds:
            news["vpcConfig"] = {**olds["vpcConfig"], **(news.get("vpcConfig") or {})}
        return provider_pb2.UpdateResponse(properties=struct({**computed, **news}))

    def Delete(self, request: Any, context: Any) -> Any:
        self._fail_if_wanted("delete", request.urn, request.id, context)
        return empty_pb2.Empty()

    # -- how it answers --
    def _identity(self, kind: str, inputs: dict[str, Any]) -> str:
        wanted = bare(inputs.get(ID_IS.get(kind, ""))) if kind in ID_IS else None
        if self.package == "kubernetes":
            meta = bare(inputs.get("metadata") or {})
            return "/".join(part for part in (meta.get("namespace"), meta.get("name")) if part) or uuid.uuid4().hex[:8]
        tail = kind.split("/")[-1]
        return (
            str(wanted) if wanted else f"{PREFIXES.get(tail, tail.rsplit(':', 1)[-1].lower())}-{uuid.uuid4().hex[:12]}"
        )

    def _attributes(self, kind: str, identity: str, inputs: dict[str, Any], urn: str) -> dict[str, Any]:
        if self.package == "kubernetes":
            return {"status": {}} if "status" not in inputs else {}
        known = {**attributes(kind, identity, bare(inputs)), **self.behaviour.rules.get("attributes", {}).get(kind, {})}
        if "name" not in inputs and not kind.endswith(("Vpc", "Subnet")):
            known["name"] = f"{urn.rsplit('::', 1)[-1]}-{identity[-7:]}"
        return known

    def _fail_if_wanted(self, call: str, urn: str, identity: str, context: Any) -> None:
        reason = self.behaviour.met(call, urn, identity)
        if reason:
            context.abort(grpc.StatusCode.UNKNOWN, reason)


def _moved(olds: Mapping[str, Any] | None, news: Mapping[str, Any] | None) -> bool:
    return any((olds or {}).get(key) != (news or {}).get(key) for key in ("name", "namespace"))


def serve(package: str) -> None:
    server = grpc.server(futures.ThreadPoolExecutor(32), options=[("grpc.max_receive_message_length", -1)])
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(EchoProvider(package), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    # The engine ends its plugins with this, and waits five seconds for one that doesn't listen. A person's Ctrl-C never
    # comes here: the engine puts each plugin in a group of its own.
    signal.signal(signal.SIGINT, lambda *_: os._exit(0))
    end_with_engine()
    threading.Event().wait()
