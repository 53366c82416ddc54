"""How long the machines of a node group take to come, to be replaced and to go, and how many are replaced at once.

Times are upper estimates, so that whoever waits for a group never gives up on work that is still going well. A wait
that is too long costs nothing, since it ends with the work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from components.spec.pools import Block, PoolSpec, Reservation

# EKS User Guide, phases of node updates: pods have 15 minutes to leave, then the node waits 60 seconds before it is
# terminated.
DRAIN_MINUTES = 15
CORDONED_MINUTES = 1
# From the request to Ready, with the EC2 checks, driver, fabric manager, local disks and CNI. Unverified: no source,
# generous.
BOOT_MINUTES = 10
BOOT_MINUTES_WITH_CARDS = 20
# A machine is cleaned before its place can be used again: "several minutes" (EC2 User Guide, Capacity Blocks).
# Unverified beyond that.
RELEASE_MINUTES = 5
RELEASE_MINUTES_WITH_CARDS = 15
# What EKS does before the first and after the last machine: template versions, scaling up and down. Unverified:
# generous.
SETUP_MINUTES = 30
# Machines that a scaling group asks for or gives back together. Unverified: EC2 has no published figure, and throttles
# large requests.
WAVE = 100

MOST_AT_ONCE = 100  # EKS API, NodegroupUpdateConfig: the maximum of maxUnavailable
SHARE_AT_ONCE = 10  # a tenth of the group: ten turns, however large it is
# What the provider waits for anything by itself (terraform-provider-aws, internal/service/eks/node_group.go).
PROVIDER_MINUTES = 60
# A role's session, which whoever runs the engine mostly has, ends after 12 hours (IAM User Guide, maximum session
# duration).
LONGEST_MINUTES = 720


# Whom to ask changes with people. A machine is told by its stack and pool, whose resources name the owner.
NOT_ON_MACHINES = ("owner",)


@dataclass(frozen=True, kw_only=True)
class Turnover:
    """Of one group: `turn_minutes` is what `at_once` machines take to be replaced, `turns` how often that happens in an
    update.
    """

    nodes: int
    at_once: int
    turn_minutes: int
    create_minutes: int
    delete_minutes: int

    @property
    def turns(self) -> int:
        return ceil(self.nodes / self.at_once)

    @property
    def update_minutes(self) -> int:
        return self.turns * self.turn_minutes + SETUP_MINUTES

    @property
    def arithmetic(self) -> str:
        return (
            f"{self.turns:,} turns x {self.turn_minutes} minutes + {SETUP_MINUTES} = {self.update_minutes / 60:,.1f}"
            " hours"
        )

    @property
    def least_at_once(self) -> int:
        """The fewest machines at once with which an update ends within the longest wait."""
        return ceil(self.nodes / ((LONGEST_MINUTES - SETUP_MINUTES) // self.turn_minutes))

    @property
    def waits(self) -> Waits:
        """In whole hours, never less than the provider's own wait nor more than the longest."""
        return Waits(
            create=_hours(self.create_minutes), update=_hours(self.update_minutes), delete=_hours(self.delete_minutes)
        )


@dataclass(frozen=True, kw_only=True)
class Waits:
    """How long the engine waits for each, in the words of its custom timeouts."""

    create: str
    update: str
    delete: str


def at_once(nodes: int, wanted: int | None = None) -> int:
    """Machines of a group that an update replaces at once: what the user said, else a tenth of the group."""
    return wanted if wanted is not None else min(MOST_AT_ONCE, max(1, ceil(nodes / SHARE_AT_ONCE)))


def old_first(pool: PoolSpec) -> bool:
    """Reserved machines can't be doubled for an update, and a training pool has no spare ones: old nodes go before new
    ones come.
    """
    return pool.purpose == "training" or isinstance(pool.capacity, Reservation | Block)


def of_group(nodes: int, *, wanted: int | None = None, has_cards: bool) -> Turnover:
    """The turnover of a group at its largest. Whether old or new machines come first, a turn has the same parts."""
    boot, release = (
        (BOOT_MINUTES_WITH_CARDS, RELEASE_MINUTES_WITH_CARDS) if has_cards else (BOOT_MINUTES, RELEASE_MINUTES)
    )
    leave = DRAIN_MINUTES + CORDONED_MINUTES + release
    waves = ceil(nodes / WAVE)
    return Turnover(
        nodes=nodes,
        at_once=at_once(nodes, wanted),
        turn_minutes=leave + boot,
        create_minutes=waves * boot + SETUP_MINUTES,
        delete_minutes=waves * leave + SETUP_MINUTES,
    )


def _hours(minutes: int) -> str:
    return f"{ceil(min(LONGEST_MINUTES, max(PROVIDER_MINUTES, minutes)) / 60)}h"


def machine_tags(tags: Mapping[str, str]) -> dict[str, str]:
    """The tags that a launch template gives to machines and volumes: a changed one rolls every node of the template,
    so those that change often stay out.
    """
    return {key: value for key, value in tags.items() if key.lower() not in NOT_ON_MACHINES}
