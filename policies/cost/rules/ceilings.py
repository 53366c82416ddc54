"""Cost rules of the ceilings: what a stack may cost a month, how much a change may add, and who hears of a surprise.

The ceiling is the stack's own budget. There is no second number in a pack's configuration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from policies.cost.catalog import catalog
from policies.cost.estimate import estimate
from policies.declared.resources import Stack
from policies.declared.types import ANOMALY_MONITOR, ANOMALY_SUBSCRIPTION, BUDGET, CLUSTER
from policies.declared.values import Node
from policies.packs.policy_rule import Doubt, Finding, Outcome, Settings, missing, rule

MONTHS = {"DAILY": 12 / 365, "MONTHLY": 1, "QUARTERLY": 3, "ANNUALLY": 12}
RAISE = "or have trainshed:budget.monthly_usd raised by who pays"


def monthly_budget(stack: Stack) -> Node | Doubt | None:
    """The stack's budget in USD a month; None where it declares none.

    With several, the largest: a budget of one service or team is part of the whole.
    """
    found: list[float] = []
    for budget in stack.of(BUDGET):
        if budget.left_out:
            return Doubt("budget", "is not part of this update", budget.urn)
        if budget.at("budgetType").value not in ("COST", "<unknown>"):
            continue
        limit = budget.at("limitAmount")
        if limit.opaque:
            return Doubt("limitAmount", "is not known before the update", budget.urn)
        months = MONTHS.get(str(budget.at("timeUnit").value))
        try:
            found.append(float(str(limit.value)) / (months or 1))
        except ValueError:
            # Without an amount it follows past spending, or is refused by the rule about budgets.
            continue
    return Node(max(found), "limitAmount") if found else None


@rule(
    "monthly-cost-within-ceiling",
    types=("*",),
    scope="stack",
    severity="critical",
    says="The stack's expected cost a month stays under its own budget.",
    fix=f"lower the pools' sizes, {RAISE}",
    parameters={
        "figure": {"type": "string", "enum": ["low", "expected", "high"], "default": "expected"},
        "region": {"type": "string", "default": "us-west-2", "description": "where resources live that don't say"},
    },
)
def monthly_cost_within_ceiling(stack: Stack, settings: Settings) -> Iterator[Outcome]:
    figure: str = settings["figure"]
    if settings.estimate is not None:
        monthly = settings.estimate.get("monthly") or settings.estimate
        cost, drivers = monthly.get(figure), ""
        yield from (Doubt("price", f"of {what} is not known") for what in settings.estimate.get("unpriced") or ())
    else:
        own = estimate(stack, catalog(), settings["region"])
        yield from (Doubt("price", line.why, line.resource.urn) for line in own.unpriced)
        cost = {"low": own.low, "expected": own.expected, "high": own.high}[figure]
        largest = ", ".join(f"{line.resource.name} ${line.expected:,.0f}" for line in own.drivers())
        drivers = f"; most of it: {largest}" if largest else ""
    if not isinstance(cost, int | float):
        yield Doubt("cost", f"has no {figure} figure")
        return
    yield from _under(stack, cost, 1, f"{figure} cost a month in USD", drivers)


@rule(
    "cost-change-within-ceiling",
    types=("*",),
    scope="stack",
    severity="high",
    says="A single change adds no more to the monthly cost than the environment's share of the stack's budget.",
    fix=f"split the change, {RAISE}",
    parameters={
        "percent": {"type": "number", "default": 10, "minimum": 0, "description": "share of the stack's budget"},
    },
)
def cost_change_within_ceiling(stack: Stack, settings: Settings) -> Iterator[Outcome]:
    # Only a review knows the state before; without a delta there is no change to judge.
    delta = (settings.estimate or {}).get("delta")
    if isinstance(delta, Mapping):
        delta = delta.get("expected")
    if isinstance(delta, int | float):
        share = settings["percent"]
        yield from _under(stack, delta, share / 100, "added cost a month in USD", f", {share:g} % of the budget")


def _under(stack: Stack, usd: float, share: float, what: str, more: str) -> Iterator[Outcome]:
    """Checks a figure against a share of the stack's budget."""
    budget = monthly_budget(stack)
    if isinstance(budget, Doubt):
        yield budget
    elif budget is None:
        if usd > 0:
            yield Doubt("budget", "is not declared by this stack, so there is no ceiling to compare with")
    elif usd > budget.value * share:
        yield Finding(Node(round(usd), what), f"at most {budget.value * share:,.0f}{more}")


@rule(
    "anomalies-watched",
    types=(ANOMALY_MONITOR, ANOMALY_SUBSCRIPTION, CLUSTER),
    scope="stack",
    severity="low",
    says="A monitor tells of unusual spending within a day.",
    fix="set trainshed:governance.anomalies, or name the monitor that watches this account under declared_elsewhere",
    parameters={
        "declared_elsewhere": {
            "type": "string",
            "default": "",
            "description": "the ARN of a monitor in the paying account, or who watches; then none is asked for here",
        }
    },
)
def anomalies_watched(stack: Stack, settings: Settings) -> Iterator[Outcome]:
    clusters = list(stack.of(CLUSTER))
    # A subscription names the monitors it hears, wherever they are declared.
    heard = list(stack.of(ANOMALY_MONITOR, ANOMALY_SUBSCRIPTION))
    if clusters and not heard and not settings["declared_elsewhere"]:
        yield Finding(missing("anomaly monitor"), "an aws.costexplorer.AnomalyMonitor", clusters[0].urn)
