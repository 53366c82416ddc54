"""What the policy packs said, in the comment's words: violations with fixes, doubts, and exemptions that were used.

A violation which the base had already is shown less prominently than one that the change brings.
"""

from __future__ import annotations

from collections.abc import Sequence

from policies.packs.evaluation import NotJudged
from trainshed.preview.policies import Exempted
from trainshed.review.comment.markdown import Section, code, text
from trainshed.review.danger import Acknowledgement
from trainshed.review.verdict import Finding


def violations(found: Sequence[Finding]) -> list[Section]:
    """Mandatory and new ones open, with their fix; the rest folded."""
    mandatory = [each for each in found if each.mandatory]
    advisory = [each for each in found if not each.mandatory and each.new is not False]
    old = [each for each in found if not each.mandatory and each.new is False]
    return [
        Section(title=f"Mandatory policy violations ({len(mandatory)})", blocks=_blocks(mandatory)),
        Section(title=f"Advice of the policies ({len(advisory)})", blocks=_blocks(advisory), most=8_000),
        Section(
            title=f"Advice that held before this change ({len(old)})", blocks=_blocks(old), folded=True, most=6_000
        ),
    ]


def _blocks(found: Sequence[Finding]) -> list[str]:
    """One block for all resources of which a rule says the same."""
    alike: dict[tuple[str, ...], list[Finding]] = {}
    for each in found:
        message, _, _ = each.violation.message.partition(" Exemption: ")
        alike.setdefault((each.violation.rule, message, str(each.new)), []).append(each)
    return [_violation(each) for each in alike.values()]


def _violation(alike: Sequence[Finding]) -> str:
    first = alike[0].violation
    message, _, exemption = first.message.partition(" Exemption: ")
    wrong, _, fix = message.partition(" Fix: ")
    severity = f" ({text(first.severity)})" if first.severity else ""
    names = [code(_name(each.violation.urn), 80) for each in alike if each.violation.urn]
    where = f" on {', '.join(names[:8])}" if names else ""
    more = f" and {len(names) - 8:,} more" if len(names) > 8 else ""
    mandatory = alike[0].mandatory
    age = " — held before this change" if mandatory and alike[0].new is False else ""
    lines = [f"- {code(first.rule)}{severity}{where}{more}{age}: {text(wrong, 600)}"]
    if fix:
        lines.append(f"  - Fix: {text(fix, 600)}")
    if exemption and mandatory:
        one = ", one entry for each" if len(alike) > 1 else ""
        lines.append(f"  - To be excused, in the pack's configuration{one}: {code(exemption, 600)}")
    return "\n".join(lines)


def not_judged(found: Sequence[NotJudged]) -> Section:
    """One block a rule and reason: most doubts are one unknown value seen by many rules."""
    groups: dict[tuple[str, str, str], list[NotJudged]] = {}
    for each in found:
        groups.setdefault((each.rule, each.path, each.why), []).append(each)
    blocks: list[str] = []
    for (rule, path, why), alike in groups.items():
        names = sorted({_name(each.urn) for each in alike if each.urn})
        more = f" and {len(names) - 4} more" if len(names) > 4 else ""
        at = f" on {', '.join(code(name, 80) for name in names[:4])}{more}" if names else ""
        blocks.append(f"- {code(rule)}{at}: {code(path) if path else 'the resource'} {text(why, 200)}")
    return Section(title=f"What could not be judged ({len(found)})", blocks=blocks, folded=True, most=8_000)


def excused(found: Sequence[Exempted], accepted: Sequence[Acknowledgement], idle: Sequence[Acknowledgement]) -> Section:
    """Exemptions that took a violation away, and acknowledgements, those that answer to nothing included."""
    blocks = [_exemption(each) for each in found]
    for each in accepted:
        if each not in idle:
            since = " (it stood there before this change: make sure it means this one)" if each.old else ""
            blocks.append(f"- acknowledged {code(each.id)} of {code(each.path)}: {text(each.reason)}{since}")
    blocks += [
        f"- {code(each.id)} of {code(each.path)} answers to nothing in this change: take it out of the stack file"
        for each in idle
    ]
    return Section(title=f"Exemptions and acknowledgements ({len(blocks)})", blocks=blocks, folded=True, most=6_000)


def _exemption(used: Exempted) -> str:
    exemption = used.exemption
    where = code(_name(used.urn) or exemption.urn_glob)
    until = f"until {exemption.expires.isoformat()}, owned by {text(exemption.owner)}"
    return f"- {code(exemption.rule)} on {where}, {until}: {text(exemption.reason)}"


def _name(urn: str) -> str:
    return urn.rsplit("::", 1)[-1]
