"""The engine's side: a pack served over the analyzer protocol, one resource converted once for all its rules.

The SDK's own `PolicyPack` converts every resource anew for every policy (8.6 ms a resource at 40 policies, 0.1 s a
stack policy over 300 resources), puts its own text in place of a rule that met an unknown value, and ends the whole
preview when one rule fails. This servicer speaks the same protocol over the same stubs, asks only the rules of the
resource's type, and keeps each rule a policy with its own name and level.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from typing import Any

import grpc
from google.protobuf import empty_pb2, struct_pb2
from google.protobuf.json_format import MessageToDict
from pulumi.runtime.proto import analyzer_pb2, analyzer_pb2_grpc, plugin_pb2

from policies.declared.resources import Resource, Stack, plain_type
from policies.packs.configuration import Configuration
from policies.packs.evaluation import Evaluator, NotJudged, Report
from policies.packs.exemptions import Exemption
from policies.packs.pack import Pack
from policies.packs.policy_rule import Level, PolicyRule

_LEVELS: Mapping[Level, Any] = {
    "advisory": analyzer_pb2.ADVISORY,
    "mandatory": analyzer_pb2.MANDATORY,
    "remediate": analyzer_pb2.REMEDIATE,
    "disabled": analyzer_pb2.DISABLED,
}
_SEVERITIES: Mapping[str, Any] = {
    "low": analyzer_pb2.POLICY_SEVERITY_LOW,
    "medium": analyzer_pb2.POLICY_SEVERITY_MEDIUM,
    "high": analyzer_pb2.POLICY_SEVERITY_HIGH,
    "critical": analyzer_pb2.POLICY_SEVERITY_CRITICAL,
}
# A custom resource definition alone may have 170 KB; the protocol's default limit is 4 MB for a whole stack.
_OPTIONS = [("grpc.max_receive_message_length", 1024 * 1024 * 400)]


def plain(message: struct_pb2.Struct) -> dict[str, Any]:
    """A struct of the wire as plain values; whole numbers come as floats there and are integers again here."""
    return {key: _plain(value) for key, value in message.fields.items()}


def _plain(value: struct_pb2.Value) -> Any:
    match value.WhichOneof("kind"):
        case "string_value":
            return value.string_value
        case "number_value":
            number = value.number_value
            return int(number) if number.is_integer() else number
        case "bool_value":
            return value.bool_value
        case "struct_value":
            return plain(value.struct_value)
        case "list_value":
            return [_plain(element) for element in value.list_value.values]
        case _:
            return None


class Analyzer(analyzer_pb2_grpc.AnalyzerServicer):
    """Answers the engine for one pack."""

    def __init__(self, pack: Pack, today: Callable[[], date] | None = None) -> None:
        self._pack = pack
        self._today = today
        self._evaluator = self._configured(Configuration())
        self._said: set[str] = set()
        self._lock = threading.Lock()
        self.cancelled = threading.Event()

    def _configured(self, configuration: Configuration) -> Evaluator:
        return Evaluator(self._pack, configuration, self._today() if self._today else None)

    def GetPluginInfo(self, request: Any, context: Any) -> plugin_pb2.PluginInfo:  # noqa: N802
        return plugin_pb2.PluginInfo(version=self._pack.version)

    def Handshake(self, request: Any, context: Any) -> analyzer_pb2.AnalyzerHandshakeResponse:  # noqa: N802
        return analyzer_pb2.AnalyzerHandshakeResponse()

    def ConfigureStack(self, request: Any, context: Any) -> analyzer_pb2.AnalyzerStackConfigureResponse:  # noqa: N802
        return analyzer_pb2.AnalyzerStackConfigureResponse()

    def Cancel(self, request: Any, context: Any) -> empty_pb2.Empty:  # noqa: N802
        self.cancelled.set()
        return empty_pb2.Empty()

    def GetAnalyzerInfo(self, request: Any, context: Any) -> analyzer_pb2.AnalyzerInfo:  # noqa: N802
        info = analyzer_pb2.AnalyzerInfo(
            name=self._pack.name, version=self._pack.version, supportsConfig=True, description=self._pack.summary
        )
        info.policies.extend(_described(rule) for rule in self._pack.rules)
        return info

    def Configure(self, request: analyzer_pb2.ConfigureAnalyzerRequest, context: Any) -> empty_pb2.Empty:  # noqa: N802
        names: dict[Any, Level] = {number: level for level, number in _LEVELS.items()}
        levels: dict[str, Level] = {name: names[entry.enforcementLevel] for name, entry in request.policyConfig.items()}
        values = {name: plain(entry.properties) for name, entry in request.policyConfig.items()}
        self._evaluator = self._configured(Configuration(levels, values))
        return empty_pb2.Empty()

    def Analyze(self, request: analyzer_pb2.AnalyzeRequest, context: Any) -> analyzer_pb2.AnalyzeResponse:  # noqa: N802
        if not self._pack.applying_to(plain_type(request.type)):
            return analyzer_pb2.AnalyzeResponse()
        return self._response(self._evaluator.resource(_resource(request)))

    def AnalyzeStack(self, request: analyzer_pb2.AnalyzeStackRequest, context: Any) -> analyzer_pb2.AnalyzeResponse:  # noqa: N802
        stack = Stack(tuple(_resource(resource) for resource in request.resources))
        return self._response(self._evaluator.stack(stack))

    def Remediate(self, request: analyzer_pb2.AnalyzeRequest, context: Any) -> analyzer_pb2.RemediateResponse:  # noqa: N802
        response = analyzer_pb2.RemediateResponse()
        level = self._evaluator.configuration.level
        asked = [
            rule
            for rule in self._pack.applying_to(plain_type(request.type))
            if rule.remedy is not None and level(rule) == "remediate"
        ]
        if not asked:
            return response
        broken = {violation.rule for violation in self._evaluator.resource(_resource(request)).violations}
        # The inputs stay as the wire wrote them, so that unknown and secret values pass through unchanged.
        inputs: dict[str, Any] = MessageToDict(request.properties)
        for rule in asked:
            if rule.remedy is None or rule.name not in broken or not rule.remedy(inputs):
                continue
            properties = struct_pb2.Struct()
            properties.update(inputs)
            response.remediations.append(
                analyzer_pb2.Remediation(
                    policyName=rule.name,
                    policyPackName=self._pack.name,
                    policyPackVersion=self._pack.version,
                    description=rule.summary,
                    properties=properties,
                )
            )
        return response

    def _response(self, report: Report) -> analyzer_pb2.AnalyzeResponse:
        response = analyzer_pb2.AnalyzeResponse()
        for violation in report.violations:
            rule = self._pack.rule(violation.rule)
            response.diagnostics.append(self._diagnostic(rule, violation.level, violation.urn, violation.message))
        for doubt in report.could_not_judge:
            response.diagnostics.append(self._doubt(doubt))
        for exemption, urn in report.exemptions_used:
            if not exemption.shipped:
                self._tell(exemption, urn)
        return response

    def _doubt(self, doubt: NotJudged) -> analyzer_pb2.AnalyzeDiagnostic:
        return self._diagnostic(self._pack.rule(doubt.rule), "advisory", doubt.urn, str(doubt))

    def _diagnostic(self, rule: PolicyRule, level: Level, urn: str, text: str) -> analyzer_pb2.AnalyzeDiagnostic:
        return analyzer_pb2.AnalyzeDiagnostic(
            policyName=rule.name,
            policyPackName=self._pack.name,
            policyPackVersion=self._pack.version,
            description=rule.summary,
            message=f"{rule.summary}\n{text}",
            urn=urn,
            enforcementLevel=_LEVELS[level],
            severity=_SEVERITIES[rule.severity],
        )

    def _tell(self, exemption: Exemption, urn: str) -> None:
        """Prints a used exemption once: the engine shows what a pack writes on its standard error."""
        line = f"exemption used in {self._pack.name}: {exemption} for {urn}"
        with self._lock:
            if line in self._said:
                return
            self._said.add(line)
        print(line, file=sys.stderr, flush=True)


def _described(rule: PolicyRule) -> analyzer_pb2.PolicyInfo:
    info = analyzer_pb2.PolicyInfo(
        name=rule.name,
        description=rule.summary,
        enforcementLevel=_LEVELS[rule.level],
        policy_type=analyzer_pb2.POLICY_TYPE_RESOURCE if rule.scope == "resource" else analyzer_pb2.POLICY_TYPE_STACK,
        severity=_SEVERITIES[rule.severity],
        remediation_steps=rule.fix,
        tags=list(rule.ids),
    )
    info.configSchema.properties.update({name: dict(schema) for name, schema in rule.parameters.items()})
    return info


def _resource(request: analyzer_pb2.AnalyzeRequest | analyzer_pb2.AnalyzerResource) -> Resource:
    whole = isinstance(request, analyzer_pb2.AnalyzerResource)
    return Resource(
        urn=request.urn,
        type=plain_type(request.type),
        name=request.name,
        inputs=plain(request.properties),
        parent=request.parent if whole else request.options.parent,
        protect=request.options.protect,
        provider=request.provider.urn,
        depends_on=tuple(request.dependencies) if whole else (),
        property_depends_on={key: tuple(value.urns) for key, value in request.propertyDependencies.items()}
        if whole
        else {},
        provider_inputs=plain(request.provider.properties) if request.HasField("provider") else None,
        dependencies_known=whole,
        left_out=whole and not request.properties.fields,
    )


def serve(pack: Pack, *, today: Callable[[], date] | None = None) -> None:
    """Serves the pack until the engine cancels it or ends the process, after printing the port as the engine
    expects.
    """
    server = grpc.server(ThreadPoolExecutor(max_workers=4), options=_OPTIONS)
    analyzer = Analyzer(pack, today)
    analyzer_pb2_grpc.add_AnalyzerServicer_to_server(analyzer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    sys.stdout.buffer.write(f"{port}\n".encode())
    sys.stdout.buffer.flush()
    with contextlib.suppress(KeyboardInterrupt):
        analyzer.cancelled.wait()
    server.stop(grace=1).wait()
