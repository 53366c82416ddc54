"""A preview as text for a terminal: tree, plans, cost, policy verdicts, problems.

Hides how much of each is shown: leaves are counted by type, long tables say what they leave to `--json`.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.tree import Tree

from infra.offline.recorder import Record
from trainshed.cli.terminal import counted, lines
from trainshed.preview.run import Preview

_ROWS = 12


def show(made: Preview, *, explain: bool = False) -> None:
    """Print everything; a pipe gets plain text of 120 columns."""
    console = Console(width=None if sys.stdout.isatty() else 120, highlight=False, soft_wrap=False)
    stack = made.settings.valid
    console.print(
        f"[bold]{made.settings.name}[/]  {stack.environment}, {stack.form.kind},"
        f" {stack.region if stack.on_aws else 'no region'}"
    )
    console.print(_tree(made))
    _plans(console, made.plan)
    _cost(console, made.cost)
    _policies(console, made)
    if explain:
        _explain(console, made)
    for line in lines(made.problems, made.settings.document, carets=sys.stdout.isatty()):
        console.print(line, markup=False, soft_wrap=True)
    words = [
        (
            f"{sum(each.custom for each in made.records)} resources in {sum(not each.custom for each in made.records)}"
            " components"
        )
    ]
    words += [counted(made.problems) or "no problems"]
    words += [f"{len(made.policies)} policy violations" if made.policies else "no policy violations"]
    console.print(f"[bold]{'; '.join(words)}[/]")


def _tree(made: Preview) -> Tree:
    children: dict[str, list[Record]] = defaultdict(list)
    known = {each.urn for each in made.records}
    for record in made.records:
        children[record.parent if record.parent in known else ""].append(record)
    tree = Tree("stack", hide_root=True)
    _grow(tree, "", children)
    return tree


def _grow(tree: Tree, urn: str, children: dict[str, list[Record]]) -> None:
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


def short(token: str) -> str:
    """`aws:ec2/vpc:Vpc` as `ec2 Vpc`; a Kubernetes kind with its group."""
    package, module, kind = token.split(":", 2)
    area = module.split("/")[0]
    return kind if package in ("trainshed", "pulumi") else f"{area} {kind}"


def _plans(console: Console, plan: dict[str, Any]) -> None:
    console.print(f"\n[bold]{plan['cards']:,} cards on {plan['nodes']:,} nodes[/]")
    pools = Table("pool", "nodes", "cards", "spares", "largest job", "node groups", box=None, pad_edge=False)
    for pool in plan["pools"]:
        job = pool["largest_job"]
        groups = [f"{group['key']} {group['min']}..{group['max']} {group['capacity_type']}" for group in pool["groups"]]
        if bought := pool.get("elastic"):
            groups.append(f"0..{bought['max']} {' or '.join(bought['buys'])} by Karpenter")
        more = f" and {len(groups) - _ROWS} more" if len(groups) > _ROWS else ""
        largest = f"{job['nodes']:,} nodes, {job['cards']:,} cards"
        pools.add_row(
            pool["pool"],
            f"{pool['nodes']:,}",
            f"{pool['cards']:,}",
            str(pool["spares"]),
            largest,
            "; ".join(groups[:_ROWS]) + more,
        )
    console.print(pools)
    if plan["subnets"]:
        subnets = Table("subnet", "zone", "range", "usable", "needed", "because", box=None, pad_edge=False)
        for row in plan["subnets"]:
            needed = "" if row["needed"] is None else f"{row['needed']:,}"
            subnets.add_row(row["kind"], row["zone"], row["cidr"], f"{row['usable']:,}", needed, row["reckoning"])
        console.print(subnets)
    _storage(console, plan)
    for window in plan["calendar"]:
        console.print(
            f"block {window['reservation']} of {window['pool']}: "
            + ", ".join(f"{k} {v}" for k, v in window.items() if k not in ("pool", "reservation"))
        )
    short_of = [row for row in plan["quotas"] if row.get("verdict") not in (None, "ok", "fits")]
    if short_of:
        quotas = Table("quota to ask for", "need", "default", "request", box=None, pad_edge=False)
        for row in short_of:
            quotas.add_row(
                str(row.get("name", "")), f"{row.get('need')}", f"{row.get('default')}", str(row.get("request", ""))
            )
        console.print(quotas)


def _storage(console: Console, plan: dict[str, Any]) -> None:
    """What file systems move against what runs need, and how long a start of all nodes waits for its image."""
    moved = plan.get("storage", {})
    for row in moved.get("bought", []):
        console.print(f"file system {row['name']}: {row['reckoning']}")
    for row in moved.get("needed", []):
        console.print(f"  {row['times_bought']} x what {row['task']} needs: {row['reckoning']}")
    if pull := plan.get("pull"):
        early = "fetched early" if pull["preloaded"] else "unless storage.registry.preload names it"
        console.print(
            f"{pull['image_gib']} GiB of training image on {pull['nodes']:,} nodes: {pull['seconds']} s at a start,"
            f" {early}"
        )


def _cost(console: Console, cost: dict[str, Any]) -> None:
    month = cost["monthly"]
    console.print(
        f"\n[bold]{month['expected']:,.0f} {cost['currency']} a month[/] "
        f"(from {month['low']:,.0f} to {month['high']:,.0f}; prices of {cost['prices_as_of']})"
    )
    table = Table("what", "expected", "low", "high", box=None, pad_edge=False)
    for line in sorted(cost["lines"], key=lambda each: -each["expected"])[:_ROWS]:
        table.add_row(line["what"], f"{line['expected']:,.0f}", f"{line['low']:,.0f}", f"{line['high']:,.0f}")
    if cost["lines"]:
        console.print(table)
    if len(cost["lines"]) > _ROWS:
        console.print(f"and {len(cost['lines']) - _ROWS} smaller lines (--json has them)")
    if cost["unpriced"]:
        console.print(f"[yellow]without a price, not in the sum:[/] {', '.join(cost['unpriced'])}")


def _policies(console: Console, made: Preview) -> None:
    for each in made.policies:
        colour = "red" if each["level"] == "mandatory" else "yellow"
        console.print(f"[{colour}]{each['level']}[/] {each['pack']}/{each['rule']}", end=" ", soft_wrap=True)
        what = each["message"].partition(" Exemption:")[0]
        console.print(f"{each['resource'].rsplit('::', 1)[-1]}: {what}", markup=False, soft_wrap=True)
    if made.unjudged:
        counts = Counter(each["rule"] for each in made.unjudged)
        rules = ", ".join(f"{rule} ({number})" for rule, number in sorted(counts.items()))
        console.print(f"could not be judged before the cloud answers: {rules}", markup=False, soft_wrap=True)
    for each in made.exemptions:
        console.print(
            f"exempted: {each['rule']} for {each['urn_glob']}: {each['reason']} ({each['owner']}, until"
            f" {each['expires']})",
            markup=False,
        )


def _explain(console: Console, made: Preview) -> None:
    console.print("\n[bold]Left to Trainshed[/]")
    for each in made.settings.defaults:
        why = f": {each.why}" if each.why else ""
        console.print(f"{each.path} = {each.value}{why}", markup=False, soft_wrap=True)
