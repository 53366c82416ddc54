"""Money in the comment: the one line of the headline, and the folded arithmetic behind it."""

from __future__ import annotations

from components.planning.cost.estimate import Estimate
from trainshed.review.comment.markdown import Section, code, text
from trainshed.review.money import Added, Money

_RANGE = ("low", "expected", "high")


def amount(usd: float) -> str:
    """`2.01 M` from a million on, whole dollars below; cents would only look exact."""
    return f"{usd / 1e6:,.2f} M" if abs(usd) >= 1e6 else f"{usd:,.0f}"


def signed(usd: float) -> str:
    """With its sign; what rounds to nothing is no change."""
    if abs(usd) < 0.5:
        return "0"
    return f"{'+' if usd > 0 else '-'}{amount(abs(usd))}"


def headline(money: Money) -> str:
    """What the change costs a month in a few words; empty when a side has no estimate."""
    delta = money.delta
    if delta is None:
        return ""
    if money.bound == "unknown":
        words = f"the change in cost is not known: {_unpriced(money)}"
    elif abs(delta.expected) < 0.5 and money.bound == "exact":
        words = "no change in cost"
    else:
        bound = "" if money.bound == "exact" else f"{money.bound} "
        if money.bound == "exact" and delta.expected > 0 and money.after is not None and money.after.unpriced:
            bound = "at least "  # what has no known price on both sides follows use, which a larger stack has more of
        words = f"{bound}{signed(delta.expected)} a month{_percent(money)}"
    over = money.over_budget
    return words + (f"; **{amount(over)} a month over the stack's budget**" if over is not None else "")


def _unpriced(money: Money) -> str:
    number = len(money.unpriced_new)
    if not number:
        return "part of it had no known price before"
    return "1 thing has no known price" if number == 1 else f"{number} things have no known price"


def _percent(money: Money) -> str:
    percent = money.percent
    if percent is None:
        return ""
    if abs(percent) < 0.05:
        return " (less than 0.1 %)"
    figure = f"{abs(percent):,.0f}" if abs(percent) >= 1 else f"{abs(percent):.1f}"
    return f" ({'+' if percent > 0 else '-'}{figure} %)"


def sections(money: Money) -> list[Section]:
    """What is newly owed stays open; the arithmetic is folded."""
    owed = [_commitment(each) for each in money.commitments]
    return [
        Section(title="Newly committed, owed whether used or not", blocks=owed),
        Section(title="Cost a month in USD, before and after", blocks=_blocks(money), folded=True),
    ]


def _blocks(money: Money) -> list[str]:
    blocks = [
        "\n".join(_table(money)),
        f"\nCards: {_cards(money)}. Prices as of {money.prices_as_of}, before discounts and taxes.",
    ]
    if money.budget is not None:
        blocks.append(f"\nThe stack's own budget is {money.budget:,.0f} a month.")
    if money.unpriced_new:
        said = "\n⚠️ Not in the difference, because this change brings it without a known price:"
        blocks.append(said)
        blocks += [f"- {text(each, 300)}" for each in sorted({str(each) for each in money.unpriced_new})]
    if money.drivers:
        blocks.append("\nWhere it comes from:")
    for each in money.drivers:
        doubt = ", and a part without a known price" if each.unpriced else ""
        line = f"- {code(each.component)} **{_exact(each.delta)}** ({each.before:,.0f} → {each.after:,.0f}{doubt})"
        blocks.append("\n".join([line, *(f"  - {text(line, 240)}" for line in each.lines)]))
    before = {str(each) for each in money.unpriced_new}
    rest = [each for each in (money.after.without_price if money.after else ()) if each not in before]
    if rest:
        blocks.append("\nIn neither sum, because no price is known:")
        blocks += [f"- {text(each, 300)}" for each in rest]
    return blocks


def _table(money: Money) -> list[str]:
    rows = ["| USD | low | expected | high |", "|---|--:|--:|--:|"]
    rows += [_row(label, side) for label, side in (("before", money.before), ("after", money.after))]
    delta = money.delta
    if delta and money.bound == "unknown":
        rows.append("| **change** | **not known** | **not known** | **not known** |")
    elif delta:
        label = "change" if money.bound == "exact" else f"change, {money.bound}"
        figures = delta.as_json()
        rows.append(f"| **{label}** | " + " | ".join(f"**{_exact(figures[key])}**" for key in _RANGE) + " |")
    return rows


def _row(label: str, side: Estimate | None) -> str:
    figures = side.monthly.as_json() if side else None
    return f"| {label} | " + " | ".join(f"{figures[key]:,.0f}" if figures else "unknown" for key in _RANGE) + " |"


def _exact(usd: float) -> str:
    return f"{usd:+,.0f}" if abs(usd) >= 0.5 else "0"


def _commitment(added: Added) -> str:
    of = added.commitment
    figures = [
        *([f"{signed(added.usd)} in all"] if added.usd is not None else []),
        *([f"{signed(added.usd_monthly)} a month"] if added.usd_monthly is not None else []),
    ]
    more = f"**{', '.join(figures)}**" if figures else "an amount that is not known"
    grown = " more than before" if added.before and figures else ""
    return f"- {text(of.what, 120)}: {more}{grown} ({text(of.said, 240)})"


def _cards(money: Money) -> str:
    before, after = money.cards_before, money.cards_after
    if before is None or after is None:
        known = after if after is not None else before
        return "unknown" if known is None else f"{known:,}"
    if before == after:
        return f"{after:,}, as before"
    return f"{before:,} → {after:,} ({after - before:+,})"
