"""What the control plane, keys, notifications and budgets cost.

Kubernetes' extended support is charged by the cluster's version, its support type and the day.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from components.planning.cost.lines import (
    HOURS,
    Found,
    Pricer,
    Range,
    Setting,
    Unpriced,
    between,
    flat,
    hourly,
    used,
)
from components.record import Record

KEY_VERSIONS: Range = (1.0, 1.0, 3.0)
# Thousands of requests a month to one key; bucket keys keep S3's few.
KEY_REQUESTS: Range = (1.0, 50.0, 2000.0)
NOTIFICATIONS: Range = (0.01, 0.1, 10.0)
SUPPORT_WARNING = timedelta(days=365)
DAYS = 30.0
FREE_BUDGET_ACTIONS = 2


def cluster(resource: Record, given: Setting) -> Found:
    """The cluster's hour, its control plane's tier, extended support, and nodes that stand elsewhere."""
    yield from hourly(resource, given, "eks-cluster", "control plane")
    tier = str(resource.part("controlPlaneScalingConfig").get("tier") or "standard")
    if tier != "standard":
        yield from hourly(resource, given, f"eks-{tier}", f"control plane's {tier}")
    yield from _support(resource, given)
    if resource.part("remoteNetworkConfig"):
        why = "EKS charges the vCPU hours of nodes on premises, and no stack file tells how many there are"
        yield Unpriced(what=f"{resource.name}: hybrid nodes", why=why, urn=resource.urn)


def _support(resource: Record, given: Setting) -> Found:
    version = str(resource.inputs.get("version") or "")
    known = given.cat.kubernetes.versions.get(version)
    if known is None:
        what = f"{resource.name}: extended support"
        yield Unpriced(
            what=what,
            why=f"the support dates of Kubernetes {version or 'of no named version'} are not known",
            urn=resource.urn,
        )
        return
    # With STANDARD, EKS upgrades the cluster itself when standard support ends, so nothing is charged.
    if str(resource.part("upgradePolicy").get("supportType") or "EXTENDED") != "EXTENDED":
        return
    support = known.support(given.on)
    soon = given.on + SUPPORT_WARNING >= known.standard_ends
    if support == "standard" and not soon:
        return
    amounts = flat(HOURS) if support in ("extended", "ended") else (0.0, 0.0, HOURS)
    since = "since" if support in ("extended", "ended") else "from"
    basis = f"{HOURS:.0f} h, {since} {known.standard_ends.isoformat()}"
    yield from used(
        resource, given, "eks-extended-support", f"extended support of Kubernetes {version}", amounts, basis
    )


def key(resource: Record, given: Setting) -> Found:
    yield from used(resource, given, "kms-key", f"{resource.name}: key", KEY_VERSIONS, "1 to 3 key versions")
    basis = between(KEY_REQUESTS[0], KEY_REQUESTS[2], "thousand requests")
    yield from used(resource, given, "kms-requests", f"{resource.name}: key requests", KEY_REQUESTS, basis)


def topic(resource: Record, given: Setting) -> Found:
    yield from used(
        resource, given, "sns-email", f"{resource.name}: notifications", NOTIFICATIONS, "10 to 10,000 notifications"
    )


def queue(resource: Record, given: Setting) -> Found:
    basis = between(KEY_REQUESTS[0], KEY_REQUESTS[2], "thousand requests")
    yield from used(resource, given, "sqs-requests", f"{resource.name}: requests", KEY_REQUESTS, basis)


def budget_action(resource: Record, given: Setting) -> Found:
    """The account's first two budgets with actions are free; which ones these are, no stack knows."""
    amounts = (0.0, 0.0 if len(given.of(resource.type)) <= FREE_BUDGET_ACTIONS else DAYS, DAYS)
    yield from used(resource, given, "budget-action", f"{resource.name}: budget action", amounts, "0 to 30 days")


PRICERS: Mapping[str, Pricer] = {
    "aws:budgets/budgetAction:BudgetAction": budget_action,
    "aws:eks/cluster:Cluster": cluster,
    "aws:kms/key:Key": key,
    "aws:kms/replicaKey:ReplicaKey": key,
    "aws:sns/topic:Topic": topic,
    "aws:sqs/queue:Queue": queue,
}
