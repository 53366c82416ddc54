"""What a change would destroy, what a service would refuse, and what gets less safe, in the comment's words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trainshed.review.comment.markdown import code, text
from trainshed.review.danger import Danger, Weaker
from trainshed.review.refusals import Refusal
from trainshed.review.values import Difference, shown

# The stack file's name for an input of the provider, where they differ.
_WORDS: Mapping[str, str] = {
    "storageCapacity": "capacity_gib",
    "perUnitStorageThroughput": "throughput_mbps_per_tib",
    "throughputCapacity": "throughput_mbps",
    "deploymentType": "deployment",
    "efaEnabled": "efa",
    "fileSystemTypeVersion": "version",
    "automaticBackupRetentionDays": "backup_days",
    "capacityType": "capacity",
    "instanceTypes": "instance_types",
    "amiType": "image_family",
    "scalingConfig.maxSize": "nodes",
    "scalingConfig.minSize": "nodes.min",
    "cidrBlock": "cidr",
    "deletionProtection": "delete_protection",
    "retentionInDays": "logs_days",
}


def danger_block(danger: Danger) -> str:
    """One stateful resource, why it goes, and what stands between it and the loss."""
    verb = "replaced" if danger.kind == "review-replaces" else "deleted"
    mark = "⚠️" if danger.acknowledged or danger.retained else "⛔"
    lines = [f"- {mark} {danger.noun} {code(danger.name)} would be **{verb}**: {danger.lost} would be lost."]
    if danger.retained:
        lines = [
            (
                f"- {mark} {danger.noun} {code(danger.name)} would leave the stack but **stay in the account**, billed "
                "and no longer managed."
            )
        ]
    lines += [f"  - {_difference(each)}" for each in danger.reasons[:8]]
    keeps = [
        "the engine refuses as long as it is protected" if danger.protected else "it is **not protected**",
        *danger.keeps,
    ]
    lines.append(f"  - {'; '.join(keeps)}")
    if danger.acknowledged:
        lines.append(f"  - acknowledged: {text(danger.acknowledged)}")
    return "\n".join(lines)


def how_to_accept(pending: Sequence[Danger]) -> str:
    """The lines that accept these dangers; empty when there are none."""
    if not pending:
        return ""
    rows = [f'    - {{id: {each.kind}, path: {each.name}, reason: "why this may happen"}}' for each in pending[:10]]
    more = ["    # … and so on for the others above"] if len(pending) > 10 else []
    first = "Whoever means it acknowledges it in the stack file, for this change only:"
    return "\n".join(["", first, "```yaml", "  trainshed:acknowledged:", *rows, *more, "```"])


def refusal_block(refusal: Refusal) -> str:
    """One change that the service doesn't make, or makes only so."""
    mark = "⛔" if refusal.certain else "⚠️"
    kind = refusal.type.rsplit(":", 1)[-1]
    doubt = " (from the documentation, not tried on AWS)" if refusal.unverified else ""
    return "\n".join(
        [
            f"- {mark} {kind} {code(refusal.name)} {_difference(refusal.difference)}: {text(refusal.why)}{doubt}",
            f"  - instead: {text(refusal.instead)}",
        ]
    )


def _difference(difference: Difference) -> str:
    word = _WORDS.get(difference.path, "")
    ours = f" ({code(word)} in the stack file)" if word else ""
    return f"{code(difference.path)}{ours}: {code(shown(difference.old))} → {code(shown(difference.new))}"


def weaker_blocks(found: Sequence[Weaker]) -> list[str]:
    """One block for all that lose the same: one switch in the stack file takes the protection of many."""
    alike: dict[tuple[str, str], list[str]] = {}
    for each in found:
        alike.setdefault((_difference(each.difference), each.means), []).append(
            f"{each.type.rsplit(':', 1)[-1]} {code(each.name, 80)}"
        )
    return [f"- {difference}: {text(means)}. On {_some(names)}." for (difference, means), names in alike.items()]


def _some(names: Sequence[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")
