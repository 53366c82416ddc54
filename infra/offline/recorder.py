"""Runs a Pulumi program without an engine and keeps what it declares as plain records.

Two runs in one process don't meet: the SDK's settings, its loop and what is patched for a run are put back after it.
"""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pulumi
from google.protobuf import struct_pb2
from pulumi.runtime import mocks, resource, settings
from pulumi.runtime.proto import resource_pb2, source_pb2
from pulumi.runtime.stack import Stack, run_pulumi_func

from components.record import SECRET, STACK_TYPE, UNKNOWN, Record

_UNKNOWN_WIRE = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
_SIGNATURE = "4dabf18193072939515e22adb298388d"
_SECRET_WIRE = "1b47061264138c4ac30d75fd1eb44270"
_OUTPUT_WIRE = "d0e6a833031e9bbcd3f4e8bde6ca49a4"


@dataclass(kw_only=True)
class Recording:
    """All records sorted by URN, and the program's exports."""

    records: list[Record] = field(default_factory=list[Record])
    outputs: dict[str, Any] = field(default_factory=dict[str, Any])


class DuplicateUrn(ValueError):
    """Two resources of one program have the same URN, which the engine refuses."""


def plain(value: object) -> Any:
    """A wire value as plain Python: whole floats become integers, unknowns and secrets their markers."""
    if isinstance(value, struct_pb2.Struct):
        fields = value.fields
        if _SIGNATURE in fields:
            kind = fields[_SIGNATURE].string_value
            if kind == _SECRET_WIRE:
                return SECRET
            if kind == _OUTPUT_WIRE:
                return plain(fields["value"]) if "value" in fields else UNKNOWN
        return {key: plain(fields[key]) for key in fields}
    if isinstance(value, struct_pb2.ListValue):
        return [plain(item) for item in value.values]
    if isinstance(value, struct_pb2.Value):
        kind = value.WhichOneof("kind")
        if kind in (None, "null_value"):
            return None
        if kind == "number_value":
            number = value.number_value
            return int(number) if number.is_integer() else number
        if kind == "string_value":
            text = value.string_value
            return UNKNOWN if text == _UNKNOWN_WIRE else text.replace(_UNKNOWN_WIRE, UNKNOWN)
        return plain(getattr(value, kind))
    return value


class _Answers(mocks.Mocks):
    """Gives a resource its inputs back; ids and computed outputs only when `known`."""

    def __init__(self, known: bool, outputs: Callable[[str, str, dict[str, Any]], Mapping[str, Any]] | None) -> None:
        self._known, self._outputs = known, outputs

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[Any, Any]]:
        if not self._known:
            return None, args.inputs
        computed = self._outputs(args.typ, args.name, args.inputs) if self._outputs else {}
        return f"{args.name}-id", _over(args.inputs, {**_computed(args.typ, args.name), **computed})

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[Any, Any], list[tuple[str, str]] | None]:
        raise LookupError(f"the program looked up {args.token}: a preview has no account to ask")


def _over(top: Any, below: Any) -> Any:
    """Mappings laid over each other at every depth: what the program set stands, the rest is filled in."""
    if isinstance(top, dict) and isinstance(below, dict):
        return {**below, **{key: _over(value, below.get(key)) for key, value in top.items()}}
    return top


def _computed(kind: str, name: str) -> dict[str, Any]:
    """What AWS would fill in: enough of it that no output which the program reads is missing."""
    return {
        "arn": f"arn:aws:{kind.split(':')[1].split('/')[0]}:us-west-2:111122223333:{name}",
        "name": name,
        "url": f"https://{name}.example",
        "bucket": name,
        "keyId": f"{name}-key",
        "dnsName": f"{name}.example",
        "mountName": "mount",
        "endpoint": f"https://{name}.example",
        "certificateAuthority": {"data": "Y2E="},
        "certificateAuthorities": [{"data": "Y2E="}],
        "vpcConfig": {"clusterSecurityGroupId": f"{name}-security-group"},
        "kubernetesNetworkConfig": {"serviceIpv4Cidr": "172.20.0.0/16"},
        "latestVersion": 1,
        "version": "1",
        "repositoryUrl": f"111122223333.dkr.ecr.us-west-2.amazonaws.com/{name}",
        "registryId": "111122223333",
        "ownerId": "111122223333",
        "bucketRegionalDomainName": f"{name}.s3.example",
        "cidrBlocks": ["192.0.2.0/24"],
        "prefixListId": f"{name}-prefixes",
        "resources": [{"autoscalingGroups": [{"name": f"{name}-asg"}], "remoteAccessSecurityGroupId": ""}],
        "associationId": f"{name}-association",
        "uniqueId": name,
        "result": f"{name}-result",
    }


class _Monitor(mocks.MockMonitor):
    def __init__(self, answers: mocks.Mocks) -> None:
        super().__init__(answers)
        self.seen: dict[str, Record] = {}
        self.outputs: dict[str, Any] = {}
        self.duplicates: list[str] = []

    def make_urn(self, parent: str, type_: str, name: str) -> str:
        """As the engine makes it: the whole chain of parents' types, without the stack's."""
        chain = parent.split("::")[2] if parent else ""
        qualified = type_ if chain in ("", STACK_TYPE) else f"{chain}${type_}"
        return f"urn:pulumi:{pulumi.get_stack()}::{pulumi.get_project()}::{qualified}::{name}"

    def RegisterResource(self, request: resource_pb2.RegisterResourceRequest) -> Any:  # noqa: N802 - the gRPC method's name
        response = super().RegisterResource(request)
        urn = self.make_urn(request.parent, request.type, request.name)
        if urn in self.seen:
            self.duplicates.append(urn)
        self.seen[urn] = _record(urn, request)
        return response

    def RegisterResourceOutputs(self, request: resource_pb2.RegisterResourceOutputsRequest) -> Any:  # noqa: N802
        if STACK_TYPE in request.urn:
            self.outputs = plain(request.outputs)
        return super().RegisterResourceOutputs(request)


_POSITIONS = "_get_stack_trace"


@contextmanager
def _without_positions() -> Generator[None]:
    """The SDK reads the source lines of the whole call stack for every resource, and nobody reads them in a recording:
    its private function answers with nothing for as long as one runs.
    """
    real = getattr(resource, _POSITIONS, None)
    if real is None:
        yield
        return
    setattr(resource, _POSITIONS, source_pb2.StackTrace)
    try:
        yield
    finally:
        setattr(resource, _POSITIONS, real)


_loops: list[asyncio.AbstractEventLoop] = []


def _close_loops() -> None:
    # Left to the garbage collector at exit, a loop complains of its own closed sockets.
    for loop in _loops:
        if not loop.is_running():
            loop.close()


atexit.register(_close_loops)


def _record(urn: str, request: resource_pb2.RegisterResourceRequest) -> Record:
    return Record(
        urn=urn,
        type=request.type,
        name=request.name,
        custom=request.custom,
        parent=request.parent,
        inputs=plain(request.object),
        depends_on=tuple(sorted(request.dependencies)),
        property_dependencies={
            key: tuple(sorted(value.urns)) for key, value in sorted(request.propertyDependencies.items())
        },
        protect=request.protect,
        ignore_changes=tuple(request.ignoreChanges),
        aliases=tuple(alias.urn or alias.spec.name for alias in request.aliases),
        provider=request.provider.rsplit("::", 1)[0] if request.provider else "",
        retain_on_delete=request.retainOnDelete,
        delete_before_replace=request.deleteBeforeReplace,
        secret_outputs=tuple(request.additionalSecretOutputs),
        timeouts={name.name: value for name, value in request.customTimeouts.ListFields()},
    )


def run(
    program: Callable[[], object],
    *,
    project: str = "trainshed",
    stack: str = "dev",
    config: Mapping[str, str] | None = None,
    secret_keys: tuple[str, ...] = (),
    known: bool = False,
    outputs: Callable[[str, str, dict[str, Any]], Mapping[str, Any]] | None = None,
) -> Recording:
    """Run `program` as a first preview (`known=False`) or as an update whose outputs `outputs(type, name, inputs)`
    gives.

    Raises DuplicateUrn when two resources share a URN, and whatever the program raises.
    """
    pulumi.runtime.set_all_config(dict(config or {}), list(secret_keys))
    answers = _Answers(known, outputs)
    monitor = _Monitor(answers)
    mocks.set_mocks(answers, project=project, stack=stack, preview=not known, monitor=monitor)
    # The SDK made its outputs' loop on import; a fresh one breaks whatever was made before.
    loop = asyncio.get_event_loop()
    if loop not in _loops:
        _loops.append(loop)

    def whole() -> None:
        program()
        root = settings.get_root_resource()
        if isinstance(root, Stack):
            root.register_outputs(root.outputs)

    try:
        with _without_positions():
            loop.run_until_complete(run_pulumi_func(whole))
    finally:
        settings.reset_options(project=project, stack=stack)
    if monitor.duplicates:
        raise DuplicateUrn(f"declared twice: {', '.join(sorted(set(monitor.duplicates)))}")
    # The SDK registers concurrently, in an order of its own: sorted, two runs of one program read alike.
    return Recording(records=[monitor.seen[urn] for urn in sorted(monitor.seen)], outputs=monitor.outputs)


def record(program: Callable[[], object], *, stack: str = "dev", known: bool = False, **options: Any) -> list[Record]:
    """The records of `program`, without the stack itself."""
    return [each for each in run(program, stack=stack, known=known, **options).records if each.type != STACK_TYPE]
