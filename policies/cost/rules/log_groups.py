"""Cost rules of logs: how long they are kept, and that no service makes a log group that keeps them for ever."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from policies.declared.resources import Resource, Stack
from policies.declared.types import CLUSTER, FUNCTION, LOG_GROUP, LUSTRE
from policies.packs.policy_rule import Doubt, Finding, Outcome, Settings, each_resource, missing, rule


@rule(
    "logs-end",
    types=(LOG_GROUP,),
    severity="medium",
    level="mandatory",
    ids=("CKV_AWS_66", "CKV_AWS_338"),
    says="Logs are kept for a while and not for ever; audit logs for at least a year.",
    fix="set retentionInDays",
    parameters={
        "most_days": {"type": "integer", "default": 400},
        "audit_days": {"type": "integer", "default": 365},
        "audit_names": {"type": "array", "items": {"type": "string"}, "default": ["*audit*", "*trail*"]},
    },
)
def logs_end(group: Resource, settings: Settings) -> Iterator[Outcome]:
    retention = group.at("retentionInDays")
    days = retention.number()
    name = group.at("name")
    names = (group.name, name.value if isinstance(name.value, str) else "")
    audit = any(fnmatchcase(text.lower(), pattern) for text in names for pattern in settings["audit_names"])
    if not days:
        yield Finding(
            retention, f"a number of days up to {settings['most_days']}; left out or 0, logs are kept for ever"
        )
    elif audit and days < settings["audit_days"]:
        yield Finding(retention, f"at least {settings['audit_days']} for an audit log")
    elif not audit and days > settings["most_days"]:
        yield Finding(retention, f"at most {settings['most_days']}")


@rule(
    "log-groups-declared",
    types=(CLUSTER, FUNCTION, LUSTRE, LOG_GROUP),
    scope="stack",
    severity="medium",
    level="mandatory",
    says="The log group of a cluster, function or file system is declared; else the service makes one without end.",
    fix="add an aws.cloudwatch.LogGroup of that name with retentionInDays and kmsKeyId; the resource depends on it",
)
def log_groups_declared(stack: Stack, _: Settings) -> Iterator[Outcome]:
    def cluster(resource: Resource) -> Iterator[Outcome]:
        if resource.at("enabledClusterLogTypes").elements():
            yield from _group(stack, resource, "/aws/eks/{}/cluster")

    def function(resource: Resource) -> Iterator[Outcome]:
        if resource.at("loggingConfig", "logGroup").absent:
            yield from _group(stack, resource, "/aws/lambda/{}")

    def lustre(resource: Resource) -> Iterator[Outcome]:
        logs = resource.at("logConfiguration")
        if not logs.absent and logs.at("level").text() != "DISABLED" and logs.at("destination").absent:
            yield Finding(logs.at("destination"), "the ARN of a log group that is declared")

    yield from each_resource(stack.of(CLUSTER), cluster)
    yield from each_resource(stack.of(FUNCTION), function)
    yield from each_resource(stack.of(LUSTRE), lustre)


def _group(stack: Stack, owner: Resource, pattern: str) -> Iterator[Outcome]:
    """Checks whether the group that a service writes to is declared, by its name or else by a dependency."""
    groups = list(stack.of(LOG_GROUP))
    name = owner.at("name")
    if isinstance(name.value, str) and not name.opaque:
        wanted = pattern.format(name.value)
        if any(group.at("name").value == wanted for group in groups):
            return
        # A group whose name is still unknown may be the one.
        near = [group for group in groups if group.at("name").opaque]
    else:
        wanted = pattern.format("NAME")
        near = [group for group in groups if _joined(group, owner)]
    if near:
        yield Doubt("name", f"is not known, so it can't be told whether {near[0].name} is its log group")
    else:
        yield Finding(missing(f"log group {wanted}"), "an aws.cloudwatch.LogGroup of this name")


def _joined(group: Resource, owner: Resource) -> bool:
    return owner.urn in group.depends_on or group.urn in owner.depends_on
