"""Rules over people: everyone named can get in, and reaches a queue that is there."""

from __future__ import annotations

from collections.abc import Iterator

from components.catalog import Catalog
from components.naming import did_you_mean, listed
from components.planning.rules.registry import rule
from components.problems import Problem
from components.spec.stack import StackSpec


def _people(stack: StackSpec) -> Iterator[tuple[str, str]]:
    """Everybody with the path at which they are named."""
    access = stack.access
    for key, names in (("admins", access.admins), ("operators", access.operators)):
        for index, who in enumerate(names):
            yield f"access.{key}[{index}]", who
    for place, each in enumerate(access.researchers):
        for index, who in enumerate(each.who):
            yield f"access.researchers[{place}].who[{index}]", who


@rule()
def people_can_get_in(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Roles of IAM where there is IAM, groups where somebody vouches for them."""
    for path, who in _people(stack):
        group = who.startswith("group:")
        if not stack.on_aws and not group:
            said = f"{who} is a role of IAM, which a cluster of one's own doesn't know"
            yield Problem(
                id="access-no-iam", path=path, said=said, hint="name a group of its identity provider: group:NAME"
            )
        elif stack.on_aws and group and stack.access.oidc is None:
            said = f"nobody tells the cluster who is in {who.partition(':')[2]}"
            hint = "set access.oidc, or name the IAM role of the permission set"
            yield Problem(id="access-no-oidc", path=path, said=said, hint=hint)
    if stack.access.oidc and not stack.on_aws:
        said = "the identity provider of a cluster that exists is set on its API server"
        yield Problem(id="access-oidc-elsewhere", path="access.oidc", said=said, hint="take oidc out")


@rule()
def researchers_have_a_queue(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """The queues that people submit to exist; those in one namespace see each other's jobs."""
    names = [queue.name for queue in stack.queues]
    spaces = {queue.name: queue.namespace for queue in stack.queues}
    users: dict[str, set[str]] = {}
    for place, each in enumerate(stack.access.researchers):
        for index, name in enumerate(each.queues):
            if name not in names:
                yield Problem(
                    id="access-queue-unknown",
                    path=f"access.researchers[{place}].queues[{index}]",
                    said=f'no queue is named "{name}"',
                    hint=did_you_mean(name, names),
                )
            else:
                users.setdefault(spaces[name], set()).add(name)
    for namespace, queues in sorted(users.items()):
        if len(queues) > 1:
            said = f'researchers of {listed(sorted(queues))} read each other\'s logs: all run in "{namespace}"'
            hint = "give each queue a namespace of its own, if that matters"
            yield Problem(
                id="access-shared-namespace", path="access.researchers", said=said, hint=hint, severity="note"
            )
