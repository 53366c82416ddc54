"""The cost pack: every rule about what a stack may cost, and about what makes it cost more than it must."""

from __future__ import annotations

from policies.cost.rules import account, ceilings, log_groups, machines, storage, ways_of_buying
from policies.packs.pack import Pack
from policies.packs.policy_rule import rules_of

PACK = Pack(
    name="cost",
    version="0.1.0",
    summary="Controls on what a training cluster may cost, and on what makes it cost more than it must.",
    own_rules=rules_of(machines, ways_of_buying, storage, log_groups, account, ceilings),
)
