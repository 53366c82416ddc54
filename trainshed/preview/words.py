"""Small words that the terminal and the report share: short type names, amounts of money, the verdict in one line."""

from __future__ import annotations

from trainshed.cli.terminal import counted
from trainshed.preview.run import Preview


def short(token: str) -> str:
    """`aws:ec2/vpc:Vpc` as `ec2 Vpc`; a Kubernetes kind with its group."""
    package, module, kind = token.split(":", 2)
    area = module.split("/")[0]
    return kind if package in ("trainshed", "pulumi") else f"{area} {kind}"


def money(usd: float) -> str:
    """`50.38 M` from a million on, whole dollars below."""
    return f"{usd / 1e6:,.2f} M" if abs(usd) >= 1e6 else f"{usd:,.0f}"


def many(number: int, noun: str) -> str:
    """`1 node`, `1,250 nodes`, `2 policies`."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun[:-1]}ies" if noun.endswith("y") else f"{number:,} {noun}s"


def verdict(made: Preview) -> str:
    """Whether the stack can be put up, and what stands against it."""
    against = [counted(each for each in made.problems if each.severity == "error")]
    against += [many(len(made.verdict.mandatory), "mandatory policy violation")] if made.verdict.mandatory else []
    said = ", ".join(each for each in against if each)
    return f"not ready: {said}" if said else "ready: no errors, no mandatory policy violations"


def budgeted(made: Preview) -> str:
    """The expected cost against the stack's own budget; empty for a stack that names none."""
    stack = made.settings.stack
    if stack is None or (made.exit_code and not made.records) or stack.budget is None:
        return ""
    budget, expected = float(stack.budget.monthly_usd), made.cost.monthly.expected
    if not budget:
        return ""
    share = 100 * expected / budget
    if expected > budget:
        return f"{money(expected - budget)} over the stack's budget of {money(budget)}"
    return f"{share:.0f} % of the stack's budget of {money(budget)}"
