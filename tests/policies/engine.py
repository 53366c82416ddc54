"""A pack driven as the engine drives it: its own process, its port read from standard output, the analyzer
protocol over gRPC.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import grpc
from google.protobuf import empty_pb2, struct_pb2
from pulumi.runtime.proto import analyzer_pb2, analyzer_pb2_grpc

ROOT = Path(__file__).resolve().parents[2]
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
SECRET = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270"}
LEVELS = {
    "advisory": analyzer_pb2.ADVISORY,
    "mandatory": analyzer_pb2.MANDATORY,
    "disabled": analyzer_pb2.DISABLED,
    "remediate": analyzer_pb2.REMEDIATE,
}
LIMIT = [("grpc.max_receive_message_length", 1 << 28), ("grpc.max_send_message_length", 1 << 28)]


def wired(value: Any) -> Any:
    """A record's value as the wire writes it."""
    if value == "<unknown>":
        return UNKNOWN
    if isinstance(value, Mapping):
        return {key: wired(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [wired(part) for part in value]
    return value


def struct(values: Mapping[str, Any]) -> struct_pb2.Struct:
    message = struct_pb2.Struct()
    message.update(wired(values))
    return message


@dataclass
class Analyzer:
    """The client's side of one running pack."""

    stub: analyzer_pb2_grpc.AnalyzerStub
    process: subprocess.Popen[bytes]

    def info(self) -> analyzer_pb2.AnalyzerInfo:
        return self.stub.GetAnalyzerInfo(empty_pb2.Empty())

    def configure(self, levels: Mapping[str, str], values: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        """Fills in the schemas' defaults first, as the engine does."""
        request = analyzer_pb2.ConfigureAnalyzerRequest()
        for policy in self.info().policies:
            defaults = {
                name: schema["default"]
                for name, schema in cast(Any, policy.configSchema.properties).items()
                if "default" in schema
            }
            entry = analyzer_pb2.PolicyConfig(
                enforcementLevel=LEVELS.get(levels.get(policy.name, ""), policy.enforcementLevel)
            )
            for name, value in {**defaults, **(values or {}).get(policy.name, {})}.items():
                if isinstance(value, struct_pb2.ListValue | struct_pb2.Struct):
                    target: Any = (
                        entry.properties.get_or_create_struct
                        if isinstance(value, struct_pb2.Struct)
                        else entry.properties.get_or_create_list
                    )
                    target(name).MergeFrom(value)
                else:
                    entry.properties.update({name: value})
            request.policyConfig[policy.name].CopyFrom(entry)
        self.stub.Configure(request)

    def analyze(self, record: Mapping[str, Any]) -> list[analyzer_pb2.AnalyzeDiagnostic]:
        return list(self.stub.Analyze(self.request(record)).diagnostics)

    def remediate(self, record: Mapping[str, Any]) -> list[analyzer_pb2.Remediation]:
        return list(self.stub.Remediate(self.request(record)).remediations)

    def analyze_stack(self, records: Iterable[Mapping[str, Any]]) -> list[analyzer_pb2.AnalyzeDiagnostic]:
        request = analyzer_pb2.AnalyzeStackRequest()
        for record in records:
            options = analyzer_pb2.AnalyzerResourceOptions(protect=record["protect"])
            resource = request.resources.add(
                type=record["type"], urn=record["urn"], name=record["name"], options=options
            )
            resource.properties.CopyFrom(struct(record["inputs"]))
            resource.dependencies.extend(record["depends_on"])
            for key, urns in (record.get("property_dependencies") or {}).items():
                resource.propertyDependencies[key].urns.extend(urns)
        return list(self.stub.AnalyzeStack(request).diagnostics)

    def everything(self, records: Iterable[Mapping[str, Any]]) -> list[analyzer_pb2.AnalyzeDiagnostic]:
        """All that the engine asks in one preview."""
        listed = list(records)
        return [diagnostic for record in listed for diagnostic in self.analyze(record)] + self.analyze_stack(listed)

    @staticmethod
    def request(record: Mapping[str, Any]) -> analyzer_pb2.AnalyzeRequest:
        options = analyzer_pb2.AnalyzerResourceOptions(protect=record["protect"], parent=record.get("parent") or "")
        properties = struct(record["inputs"])
        return analyzer_pb2.AnalyzeRequest(
            type=record["type"], urn=record["urn"], name=record["name"], properties=properties, options=options
        )


@contextmanager
def running(pack: str, *, stderr: Any = None) -> Generator[Analyzer]:
    """A pack started as `pulumi` starts it, ended by the protocol's own Cancel."""
    command = [sys.executable, "-u", "-m", "pulumi.policy", "127.0.0.1:0", str(ROOT / "policies" / pack)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, cwd=ROOT / "policies" / pack)
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        with grpc.insecure_channel(f"127.0.0.1:{port}", options=LIMIT) as channel:
            analyzer = Analyzer(analyzer_pb2_grpc.AnalyzerStub(channel), process)
            yield analyzer
            analyzer.stub.Cancel(empty_pb2.Empty())
        process.wait(10)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
