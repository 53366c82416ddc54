"""A resource as a rule sees it, and the stack of all of them.

A resource comes from a preview's record or from the engine. Resources refer to each other by a known value where there
is one, and by the recorded dependency where the value is only known after the update.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache, cached_property
from typing import Any

from policies.declared.values import LEFT_OUT_PROPERTIES, Node, Unjudged

WORKLOAD_KINDS = frozenset(
    {
        "Pod",
        "PodTemplate",
        "Deployment",
        "DaemonSet",
        "StatefulSet",
        "ReplicaSet",
        "ReplicationController",
        "Job",
        "CronJob",
    }
)
# Custom resources of Kubernetes' own groups (`jobset.x-k8s.io` has a dot more, so it is custom by its name).
CUSTOM_WORKLOADS = frozenset({"JobSet", "LeaderWorkerSet"})
POD_HOLDERS = frozenset(
    {"spec", "template", "podTemplate", "jobTemplate", "replicatedJobs", "containers", "initContainers"}
)


def plain_type(token: str) -> str:
    """`aws:s3/bucketV2:BucketV2` is the same thing as `aws:s3/bucket:Bucket`."""
    if not token.startswith("aws:") or not token.endswith("V2"):
        return token
    module, _, name = token.rpartition(":")
    return f"{module.removesuffix('V2')}:{name.removesuffix('V2')}"


@cache
def type_of(urn: str) -> str:
    """The type token that a URN ends with: `urn:pulumi:STACK::PROJECT::PARENT$TYPE::NAME`."""
    parts = urn.split("::")
    return plain_type(parts[2].split("$")[-1]) if len(parts) >= 4 else ""


@dataclass(frozen=True, kw_only=True)
class Resource:
    """One declared resource with its inputs as they are, unknown and secret values included."""

    urn: str
    type: str
    name: str
    inputs: Mapping[str, Any]
    parent: str = ""
    protect: bool = False
    provider: str = ""
    depends_on: tuple[str, ...] = ()
    property_depends_on: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    provider_inputs: Mapping[str, Any] | None = None
    # The engine sends a single resource without its dependencies.
    dependencies_known: bool = True
    # The engine names a resource that `--target` leaves out of the update, but sends no property of it.
    left_out: bool = False

    @staticmethod
    def from_record(record: Mapping[str, Any]) -> Resource:
        """A resource from a preview's record: a mapping with the keys of `trainshed preview --json`."""
        return Resource(
            urn=record["urn"],
            type=plain_type(record["type"]),
            name=record["name"],
            inputs=record.get("inputs") or {},
            parent=record.get("parent") or "",
            protect=bool(record.get("protect")),
            provider=record.get("provider") or "",
            depends_on=tuple(record.get("depends_on") or ()),
            property_depends_on={key: tuple(urns) for key, urns in (record.get("property_dependencies") or {}).items()},
        )

    @cached_property
    def node(self) -> Node:
        return Node(LEFT_OUT_PROPERTIES, "") if self.left_out else Node.of(self.inputs, "")

    def at(self, *keys: str | int) -> Node:
        return self.node.at(*keys)

    def computed(self, key: str) -> bool:
        """Whether a value is unknown because the provider computes it: the engine sends that beside the inputs."""
        return bool(self.property_depends_on) and key not in self.property_depends_on and self.at(key).unknown

    def targets(self, key: str, type_: str) -> list[str]:
        """The URNs of that type that the input was computed from."""
        urns = self.property_depends_on.get(key) if self.property_depends_on else None
        return [urn for urn in (self.depends_on if urns is None else urns) if type_of(urn) == type_]

    def holds(self, key: str, *types: str, node: Node | None = None) -> bool:
        """Whether the input is set: a text that isn't empty, or one that a resource of these types will give."""
        node = self.at(key) if node is None else node
        if node.unknown and any(self.targets(key, type_) for type_ in types):
            return True
        return bool(node.text())

    @cached_property
    def hidden_pods(self) -> tuple[str, ...]:
        """The paths under which a workload's pods can't be seen, because they are unknown or because there are
        none where some must be.
        """
        if not self.type.startswith("kubernetes:"):
            return ()
        _, version, kind = self.type.split(":", 2)
        group = version.rpartition("/")[0]
        built_in = "." not in group or (
            group.endswith(".k8s.io") and "." not in group.removesuffix(".k8s.io") and kind not in CUSTOM_WORKLOADS
        )
        if built_in and kind not in WORKLOAD_KINDS:
            return ()
        unknown = tuple(
            node.path for node in self.node.walk() if node.opaque and node.path.rpartition(".")[2] in POD_HOLDERS
        )
        return unknown or (("spec",) if built_in and not self.pods else ())

    @cached_property
    def pods(self) -> tuple[Node, ...]:
        """Every pod spec in the inputs, wherever it hides: a pod, a template, a custom resource's replicas."""
        if not self.type.startswith("kubernetes:") or self.type.endswith(":CustomResourceDefinition"):
            return ()
        return tuple(node for node in self.node.walk() if isinstance(node.value, dict) and "containers" in node.value)


@dataclass(frozen=True)
class Stack:
    """All resources of a stack."""

    resources: tuple[Resource, ...]

    @cached_property
    def _by_type(self) -> dict[str, list[Resource]]:
        found: dict[str, list[Resource]] = {}
        for resource in self.resources:
            found.setdefault(resource.type, []).append(resource)
        return found

    @cached_property
    def by_urn(self) -> dict[str, Resource]:
        return {resource.urn: resource for resource in self.resources}

    def of(self, *types: str) -> Iterator[Resource]:
        """The resources of these types; a type may be a pattern."""
        for type_ in types:
            if "*" not in type_:
                yield from self._by_type.get(type_, ())
            else:
                yield from (
                    resource for known, many in self._by_type.items() if fnmatchcase(known, type_) for resource in many
                )

    def companions(self, owner: Resource, type_: str, key: str, *names: str) -> list[Resource]:
        """The resources of a type whose input `key` refers to `owner`, which may be named by any of `names` or by its
        URN's dependency.

        Raises Unjudged when none surely does and one may.
        """
        sure: list[Resource] = []
        doubtful: list[Resource] = []
        for other in self.of(type_):
            match refers(other, key, owner, *names):
                case True:
                    sure.append(other)
                case None:
                    doubtful.append(other)
                case _:
                    pass
        if not sure and doubtful:
            raise Unjudged(
                key, f"of {doubtful[0].name} is not known, so it can't be told whether it belongs to {owner.name}"
            )
        return sure


def refers(resource: Resource, key: str, owner: Resource, *names: str) -> bool | None:
    """Whether the resource's input names the owner; None when it can't be told."""
    node = resource.at(key)
    if node.absent:
        return False
    sources = resource.targets(key, owner.type)
    if not node.opaque:
        known = names_of(owner, *names)
        if not isinstance(node.value, str):
            return False
        # An owner whose names are only known later is told by the dependency.
        return node.value in known if known else owner.urn in sources or node.value == owner.name
    return owner.urn in sources if sources else None


def names_of(owner: Resource, *names: str) -> set[str]:
    """The values by which others may name this resource, as far as they are known: its id, arn and name inputs."""
    return {
        value
        for name in ("id", "arn", *names)
        if isinstance(value := owner.at(name).value, str) and not owner.at(name).opaque
    }


def resources_from(records: Iterable[Mapping[str, Any]]) -> Stack:
    """The stack of a preview's records, each resource with the inputs of its provider beside it."""
    resources = [Resource.from_record(record) for record in records]
    providers = {
        resource.urn: resource.inputs for resource in resources if resource.type.startswith("pulumi:providers:")
    }
    return Stack(tuple(_with_provider(resource, providers) for resource in resources))


def _with_provider(resource: Resource, providers: Mapping[str, Mapping[str, Any]]) -> Resource:
    # A provider is written as its URN, with or without `::ID` after it.
    inputs = providers.get(resource.provider) or providers.get(resource.provider.rpartition("::")[0])
    if inputs is None:
        return resource
    return replace(resource, provider_inputs=inputs)
