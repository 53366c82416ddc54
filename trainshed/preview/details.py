"""What the first screen leaves out, section by section: tree, cost, policies, quotas, addresses and defaults."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from typing import Literal

from rich.console import Console
from rich.table import Table
from rich.tree import Tree

from components.planning.summary import StackPlan
from components.record import Record
from trainshed.preview.run import Preview
from trainshed.preview.words import budgeted, short

Section = Literal["problems", "policies", "cost", "quotas", "addresses", "tree", "explain"]


def show(made: Preview, section: Section, console: Console) -> None:
    """Print one section whole."""
    _SECTIONS[section](made, console)


def _heading(console: Console, text: str) -> None:
    console.print(f"\n[bold]{text}[/]", soft_wrap=True)


def _line(console: Console, text: str) -> None:
    console.print(text, markup=False, soft_wrap=True)


def _problems(made: Preview, console: Console) -> None:
    """By severity, then as the file reads."""
    from components.problems import by_severity
    from trainshed.cli.terminal import lines

    _heading(console, "Problems")
    for line in lines(by_severity(made.problems), made.settings.document, carets=console.is_terminal):
        _line(console, line)
    if not made.problems:
        _line(console, "none")


def _policies(made: Preview, console: Console) -> None:
    _heading(console, "Policies")
    for each in (*made.verdict.mandatory, *made.verdict.advisory):
        what = each.message.partition(" Exemption:")[0]
        _line(console, f"{each.level} {each.pack}/{each.rule} {_name(each.urn)}: {what}")
    if not made.verdict.violations:
        _line(console, "no violations")
    if made.verdict.unjudged:
        counts = Counter(each.rule for each in made.verdict.unjudged)
        rules = ", ".join(f"{rule} ({number})" for rule, number in sorted(counts.items()))
        _line(console, f"could not be judged before the cloud answers: {rules}")
    for used in dict.fromkeys(each.exemption for each in made.verdict.exempted):
        until = f"{used.owner}, until {used.expires.isoformat()}"
        _line(console, f"exempted: {used.rule} for {used.urn_glob}: {used.reason} ({until})")


def _name(urn: str) -> str:
    return urn.rsplit("::", 1)[-1] or "the stack"


def _cost(made: Preview, console: Console) -> None:
    month, share = made.cost.monthly, budgeted(made)
    _heading(console, f"{month.expected:,.0f} USD a month{f', {share}' if share else ''}")
    _line(console, f"from {month.low:,.0f} to {month.high:,.0f}; prices of {made.cost.prices_as_of.isoformat()}")
    table = Table("what", "expected", "low", "high", box=None, pad_edge=False)
    for each in made.cost.lines:
        table.add_row(each.what, f"{each.expected:,.2f}", f"{each.low:,.2f}", f"{each.high:,.2f}")
    if made.cost.lines:
        console.print(table)
    for each in made.cost.commitments:
        _line(console, f"owed whether used or not: {each.what}: {each.said}")
    for words in made.cost.without_price:
        _line(console, f"without a price, not in the sum: {words}")


def _quotas(made: Preview, console: Console) -> None:
    _heading(console, "Quotas and limits")
    table = Table("limit", "need", "default", "unit", "what to do", "because", box=None, pad_edge=False)
    order = {"request": 0, "over": 1, "fits": 2}
    for row in sorted(made.plan.quotas, key=lambda each: order.get(each.verdict, 0)):
        default = f"{row.limit:,}{' (unverified)' if row.unverified else ''}"
        table.add_row(row.name, f"{row.need:,}", default, row.unit, row.request or row.verdict, row.arithmetic)
    if made.plan.quotas:
        console.print(table)
    else:
        _line(console, "none apply")


def _addresses(made: Preview, console: Console) -> None:
    plan = made.plan
    _heading(console, f"{plan.cards:,} cards on {plan.nodes:,} nodes")
    pools = Table("pool", "nodes", "cards", "spares", "largest job", "node groups", box=None, pad_edge=False)
    for pool in plan.pools:
        words = [f"{each.key} {each.min_nodes}..{each.max_nodes} {each.capacity_type}" for each in pool.groups]
        if pool.elastic:
            words.append(f"0..{pool.elastic.max_nodes} {' or '.join(pool.elastic.buys)} by Karpenter")
        groups = "; ".join(words)
        largest = f"{pool.job_nodes:,} nodes, {pool.job_cards:,} cards"
        cards = f"{pool.max_nodes * pool.cards_per_node:,}"
        pools.add_row(pool.pool, f"{pool.max_nodes:,}", cards, f"{pool.spares:,}", largest, groups)
    console.print(pools)
    if plan.subnets:
        subnets = Table("subnet", "zone", "range", "usable", "needed", "because", box=None, pad_edge=False)
        for row in plan.subnets:
            needed = "" if row.needed is None else f"{row.needed:,}"
            subnets.add_row(row.kind, row.zone, row.cidr, f"{row.usable:,}", needed, row.arithmetic)
        console.print(subnets)
    _moved(console, plan)


def _moved(console: Console, plan: StackPlan) -> None:
    """What file systems move against what runs need, when blocks come and go, and how long a start takes to pull."""
    storage = plan.storage.as_plan()
    for supply in plan.storage.supplies:
        _line(console, f"file system {supply.system}: {supply.arithmetic}")
    for need, row in zip(plan.storage.needs, _rows(storage["needed"]), strict=True):
        _line(console, f"  {row['times_bought']} x what {need.task} needs: {need.arithmetic}")
    for window in plan.calendar:
        times = ", ".join(f"{key} {value}" for key, value in window.as_plan().items() if key not in _NAMED)
        _line(console, f"block {window.reservation} of {window.pool}: {times}")
    if plan.pull:
        early = "fetched early" if plan.pull.preloaded else "unless storage.registry.preload names it"
        size = f"{plan.pull.image_gib} GiB of training image on {plan.pull.nodes:,} nodes"
        _line(console, f"{size}: {plan.pull.seconds} s at a start, {early}")


_NAMED = ("pool", "reservation")


def _rows(value: object) -> list[Mapping[str, object]]:
    return value if isinstance(value, list) else []


def _tree(made: Preview, console: Console) -> None:
    """Leaves are counted by type."""
    children: dict[str, list[Record]] = defaultdict(list)
    known = {each.urn for each in made.records}
    for record in made.records:
        children[record.parent if record.parent in known else ""].append(record)
    tree = Tree("stack", hide_root=True)
    _grow(tree, "", children)
    real = sum(each.custom for each in made.records)
    _heading(console, f"{real:,} resources in {len(made.records) - real:,} components")
    console.print(tree)


def _grow(tree: Tree, urn: str, children: Mapping[str, list[Record]]) -> None:
    leaves: Counter[str] = Counter()
    for record in children[urn]:
        if record.custom and record.urn not in children:
            leaves[short(record.type)] += 1
            continue
        protected = " [dim]protected[/]" if record.protect else ""
        branch = tree.add(f"[bold]{record.name}[/] [dim]{short(record.type)}[/]{protected}")
        _grow(branch, record.urn, children)
    if leaves:
        tree.add(", ".join(f"{count} {kind}" if count > 1 else kind for kind, count in sorted(leaves.items())))


def _explain(made: Preview, console: Console) -> None:
    _heading(console, "Left to Trainshed")
    for each in made.settings.defaults:
        why = f": {each.why}" if each.why else ""
        _line(console, f"{each.path} = {each.value}{why}")


_SECTIONS: Mapping[Section, Callable[[Preview, Console], None]] = {
    "problems": _problems,
    "policies": _policies,
    "cost": _cost,
    "quotas": _quotas,
    "addresses": _addresses,
    "tree": _tree,
    "explain": _explain,
}
