"""The table of rules in README.md, made from the rules themselves; `python -m policies.tables.rules_in_readme` writes
it anew.
"""

from __future__ import annotations

from pathlib import Path

from policies.cost.pack import PACK as COST
from policies.packs.pack import Pack
from policies.packs.policy_rule import PolicyRule
from policies.security.pack import PACK as SECURITY

README = Path(__file__).parents[1] / "README.md"
START, END = "<!-- rules: made by python -m policies.tables.rules_in_readme -->\n", "<!-- end of rules -->\n"


def _row(rule: PolicyRule) -> str:
    scope = "stack" if rule.scope == "stack" else "resource"
    parameters = ", ".join(f"`{name}`" for name in rule.parameters) or "-"
    corrects = "yes" if rule.remedy else "-"
    ids = ", ".join(rule.ids) or "-"
    cells = (f"`{rule.name}`", rule.summary, rule.severity, rule.level, scope, corrects, parameters, ids)
    return f"| {' | '.join(cells)} |"


def _section(pack: Pack) -> str:
    head = (
        "| rule | holds when | severity | level | sees | corrects | parameters | also known as |\n" + "|---" * 8 + "|"
    )
    return (
        f"\n### {pack.name}: {len(pack.rules)} rules\n\n{head}\n" + "\n".join(_row(rule) for rule in pack.rules) + "\n"
    )


def written() -> str:
    """The table as README.md must hold it."""
    return START + _section(SECURITY) + _section(COST) + "\n" + END


def main() -> None:
    text = README.read_text(encoding="utf-8")
    before, _, rest = text.partition(START)
    README.write_text(before + written() + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
