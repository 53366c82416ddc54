"""The first screen of a preview: verdict, cards and nodes, money, problems, quotas to ask for, and where to look next.

It is at most 40 lines of 100 columns, however large the stack is: what doesn't fit is counted, with the option that
shows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from components.planning.placement import Placement
from components.planning.quotas import QuotaRow
from components.problems import Problem
from components.record import owners
from trainshed.preview.run import Preview
from trainshed.preview.words import budgeted, many, money, verdict

LINES, WIDTH = 40, 100
_POOLS, _QUOTAS, _PROBLEM_LINES, _COSTS = 6, 6, 10, 3
_LOOK = (
    ("--problems", "warnings and notes whole"),
    ("--policies", "advice, exemptions, doubts"),
    ("--cost", "every line of the cost"),
    ("--quotas", "every limit that counts"),
    ("--addresses", "subnets and pools"),
    ("--tree", "every resource"),
    ("--explain", "defaults and their reasons"),
    ("--report FILE.html", "all of it in a browser"),
)


def first_screen(made: Preview) -> list[str]:
    """Plain text lines."""
    return [
        *_verdict(made),
        *_nodes(made),
        *_money(made),
        *_problems(made),
        *_quotas(made.plan.quotas),
        *_look(),
    ]


def _verdict(made: Preview) -> Iterator[str]:
    stack = made.settings.valid
    region = f", {stack.region}" if stack.on_aws else ""
    resources = many(sum(each.custom for each in made.records), "resource")
    yield _cut(f"{made.settings.name} ({stack.environment}, {stack.form.kind}{region}) is {verdict(made)}")
    yield _cut(f"{made.plan.cards:,} cards on {many(made.plan.nodes, 'node')}; {resources}")


def _nodes(made: Preview) -> Iterator[str]:
    pools = sorted(made.plan.pools, key=lambda each: (-each.max_nodes * each.cards_per_node, -each.max_nodes))
    shown = pools[:_POOLS]
    width = max((len(each.pool) for each in shown), default=0)
    for pool in shown:
        spares = f", {many(pool.spares, 'spare')}" if pool.spares else ""
        cards = f"{pool.max_nodes * pool.cards_per_node:>7,} cards" if pool.cards_per_node else f"{'':13}"
        size = f"{pool.max_nodes:>6,} nodes {cards}"
        yield _cut(f"  {pool.pool:<{width}} {size}  {_bought(pool)}{spares}".rstrip())
    if len(pools) > len(shown):
        yield f"  and {many(len(pools) - len(shown), 'pool')} more (--addresses)"


def _bought(pool: Placement) -> str:
    """How its machines are bought, and of which types."""
    words = list(dict.fromkeys(each.capacity_word for each in pool.groups))
    types = list(dict.fromkeys(name for each in pool.groups for name in each.types))
    if pool.elastic:
        words.append(f"{' or '.join(pool.elastic.buys)} when jobs wait")
        types = list(pool.elastic.types)
    named = ", ".join(types[:2]) + (" …" if len(types) > 2 else "")
    return " ".join(each for each in (" and ".join(words), named) if each)


def _money(made: Preview) -> Iterator[str]:
    month, share = made.cost.monthly, budgeted(made)
    if not made.cost.lines and not made.cost.unpriced:
        yield "nothing here costs money that a price list knows"
        return
    between = f"{money(month.low)} to {money(month.high)}"
    yield _cut(f"{money(month.expected)} USD a month ({between}){f': {share}' if share else ''}")
    holder, by_owner = owners(made.records), dict[str, float]()
    for line in made.cost.lines:
        name = holder.get(line.urn) or "the rest"
        by_owner[name] = by_owner.get(name, 0.0) + line.expected
    largest = sorted(by_owner.items(), key=lambda each: -each[1])[:_COSTS]
    words = [f"mostly {', '.join(f'{name} {money(usd)}' for name, usd in largest if usd >= 1)}"] if by_owner else []
    if made.cost.unpriced:
        words.append(f"{many(len(made.cost.without_price), 'thing')} without a known price (--cost)")
    yield _cut(f"  {'; '.join(words)}")


def _problems(made: Preview) -> Iterator[str]:
    """Errors and violations first; each as long as it needs to be while there is room, then cut, then counted."""
    warnings = [each for each in made.problems if each.severity == "warning"]
    notes = [each for each in made.problems if each.severity == "note"]
    counts = [
        *([many(len(made.verdict.mandatory), "mandatory policy violation")] if made.verdict.mandatory else []),
        *([many(len(warnings), "warning")] if warnings else []),
        *([many(len(notes), "note")] if notes else []),
        *([f"{many(len(made.verdict.advisory), 'piece')} of policy advice"] if made.verdict.advisory else []),
    ]
    yield ""
    yield "Problems: " + (", ".join(counts) or "none")
    entries = [*(_violation(each.rule, each.urn, each.message) for each in made.verdict.mandatory)]
    entries += [f"warning {_problem(each)}" for each in warnings]
    entries += [f"note {_problem(each)}" for each in notes]
    yield from _fitted(entries)


def _problem(problem: Problem) -> str:
    line = f" (line {problem.where.line})" if problem.where else ""
    hint = f"; {problem.hint}" if problem.hint else ""
    return f"{problem.path}{line}: {problem.said}{hint}"


def _violation(rule: str, urn: str, message: str) -> str:
    return f"mandatory {rule} on {urn.rsplit('::', 1)[-1] or 'the stack'}: {message.partition(' Exemption:')[0]}"


def _fitted(entries: Sequence[str]) -> Iterator[str]:
    """At most so many lines: the first entries get two lines each, later ones one, the rest is counted."""
    left = _PROBLEM_LINES
    for place, entry in enumerate(entries):
        after = len(entries) - place - 1
        if left < 1 or (left == 1 and after):
            yield f"  and {after + 1} more (--problems, --policies)"
            return
        lines = wrap(entry, WIDTH - 4, break_long_words=False, break_on_hyphens=False)
        room = 3 if left >= 3 + after else 2 if left >= 2 + after else 1
        kept = lines[:room]
        if len(lines) > room:
            kept[-1] = _cut(f"{kept[-1]} …", WIDTH - 4)
        yield f"  {kept[0]}"
        yield from (f"    {line}" for line in kept[1:])
        left -= len(kept)


def _quotas(rows: Sequence[QuotaRow]) -> Iterator[str]:
    """What a new account doesn't have: to be asked for, or impossible."""
    asked = [each for each in rows if each.verdict == "request"]
    over = [each for each in rows if each.verdict == "over"]
    yield ""
    if not asked and not over:
        yield f"Quotas: a new account's are enough for all {len(rows)} that count" if rows else "Quotas: none apply"
        return
    yield f"{'Quotas to ask for':<68} {'needed':>14} {'by default':>14}"
    for row in asked[:_QUOTAS]:
        yield f"  {_cut(row.name, 66):<66} {row.need:>14,} {row.limit:>14,}"
    if len(asked) > _QUOTAS:
        yield f"  and {len(asked) - _QUOTAS} more (--quotas)"
    for row in over[:2]:
        yield _cut(f"  {row.name}: {row.need:,} needed, and AWS does not raise its {row.limit:,} (--quotas)")


def _look() -> Iterator[str]:
    yield ""
    half = (len(_LOOK) + 1) // 2
    for place, (option, what) in enumerate(_LOOK[:half]):
        other = _LOOK[half + place] if half + place < len(_LOOK) else ("", "")
        yield f"  {option:<12} {what:<32}{other[0]:<20} {other[1]}".rstrip()


def _cut(text: str, width: int = WIDTH) -> str:
    return text if len(text) <= width else f"{text[: width - 1].rstrip()}…"
