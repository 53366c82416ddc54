"""The plan as tables of text, for the terminal and the page alike."""

from __future__ import annotations

from components.sizing.plan.plan import Plan
from components.sizing.plan.search import Candidate
from components.sizing.plan.what_if import Sweep
from components.sizing.report.answer import alternatives, parts, why
from components.sizing.report.campaign import beside_table, campaign_table, frameworks_table
from components.sizing.report.words import NAMES, PlanTable, count, dollars, hours, size
from components.sizing.run.money import Amount


def tables(plan: Plan) -> list[PlanTable]:
    own = [summary(plan), splits(plan), step(plan), memory(plan), campaign_table(plan), running(plan), storage(plan)]
    return [*own, beside_table(plan), frameworks_table(plan), cost(plan)]


def summary(plan: Plan) -> PlanTable:
    shape = plan.request.shape
    active = f", {count(shape.active)} active" if shape.experts else ""
    idle = f"; {plan.idle_cards:,} cards idle" if plan.idle_cards else ""
    rows = [
        ("parameters", f"{count(shape.total)}{active}", f"{shape.total:,}"),
        ("cards", f"{plan.cards:,}", f"{plan.nodes:,} nodes = pods, {plan.cards:,} processes{idle}"),
        ("days", f"{plan.days.expected:.3g}", f"{plan.days.low:.3g} to {plan.days.high:.3g}; {plan.steps:,} steps"),
        (
            "step",
            f"{plan.step_seconds:.3g} s",
            f"{plan.step_seconds * plan.band.low:.3g} to {plan.step_seconds * plan.band.high:.3g} s; {plan.band.why}",
        ),
        (
            "speed",
            f"{plan.tokens_per_second_per_card:,.0f} tokens/s a card",
            f"{plan.tokens_per_second_per_card * plan.cards:,.0f} tokens/s in all",
        ),
        (
            "MFU",
            f"{plan.mfu:.1%}",
            f"model FLOPs; hardware FLOPs {plan.hfu:.1%} (recomputation in, masked attention out)",
        ),
        (
            "goodput",
            f"{plan.goodput.fraction:.1%}",
            f"failures {plan.goodput.failure_share:.1%}, campaign {1 - plan.goodput.campaign:.0%}",
        ),
        (
            "on top",
            f"{plan.spares:,} spare node{'s' if plan.spares != 1 else ''}",
            f"99 % cover of repairs; a reserve of {plan.reserve_fraction:.0%} would be {plan.reserve_nodes:,} nodes",
        ),
    ]
    return PlanTable("Answer", ("", "value", "detail"), tuple(rows))


def splits(plan: Plan) -> PlanTable:
    rows = [_split(plan.best, "chosen")]
    rows += [_split(other, why(other, plan.best)) for other in alternatives(plan)]
    columns = (
        "tensor",
        "pipeline",
        "context",
        "expert",
        "data",
        "virtual",
        "micro-batch",
        "recompute",
        "sharding",
        "s/step",
        "GiB",
        "why",
    )
    return PlanTable("Split", columns, tuple(rows))


def _split(candidate: Candidate, reason: str) -> tuple[str, ...]:
    layout = candidate.layout
    return (
        str(layout.tensor),
        str(layout.pipeline),
        str(layout.context),
        str(layout.expert),
        str(layout.data),
        str(layout.virtual),
        f"{layout.micro_batch} x {candidate.step.micro_batches}",
        layout.recompute,
        layout.sharding,
        f"{candidate.step.total:.3g}",
        f"{candidate.memory.total:.1f}",
        reason,
    )


def step(plan: Plan) -> PlanTable:
    total = plan.step_seconds
    rows = [
        (NAMES[name], f"{value:.3f}", f"{value / total:.1%}")
        for name, value in parts(plan.best.step, plan.factor).items()
        if value
    ]
    return PlanTable("One step: what nothing hides", ("part", "seconds", "share"), tuple(rows))


def memory(plan: Plan) -> PlanTable:
    held = plan.memory
    rows = [
        (name, f"{value:.2f}")
        for name, value in (
            ("weights", held.weights),
            ("gradients", held.gradients),
            ("optimizer", held.optimizer),
            ("activations", held.activations),
            ("overhead", held.overhead),
            ("total", held.total),
            ("usable", held.usable),
        )
    ]
    return PlanTable(
        f"Memory of a card in the fullest stage: {'fits' if held.fits else 'does not fit'}",
        ("part", "GiB"),
        tuple(rows),
    )


def running(plan: Plan) -> PlanTable:
    share, saved = plan.goodput, plan.checkpoint
    return PlanTable(
        "Failures and checkpoints",
        ("", "value", "detail"),
        (
            (
                "failures",
                f"{share.failures_per_day:.2g} a day",
                f"one in {hours(share.mtbf_seconds)}; {share.failures_per_node_day:g} a node and day",
            ),
            (
                "checkpoint",
                size(saved.bytes),
                (
                    f"written in {saved.write_seconds:g} s at {size(saved.bandwidth_needed)}/s; "
                    f"stalls the step {saved.stall_seconds:.2g} s"
                ),
            ),
            ("interval", f"{saved.interval_steps:,} steps", f"{hours(saved.interval_seconds)} (Daly)"),
            (
                "a failure costs",
                hours(share.detection_seconds + share.restart_seconds + share.lost_seconds),
                (
                    f"detection {share.detection_seconds:g} s, restart {share.restart_seconds:g} "
                    f"s, lost work {share.lost_seconds:,.0f} s"
                ),
            ),
        ),
    )


def storage(plan: Plan) -> PlanTable:
    store = plan.store
    network = plan.best.step.network_bytes
    gbps = network * 8 / plan.step_seconds / 1e9
    available = plan.request.machine.network_gbps / plan.request.machine.cards
    efa, bandwidth = ", EFA" if store.lustre_efa else "", store.lustre_gib / 1024 * store.lustre_throughput * 1e6
    return PlanTable(
        "Storage and network",
        ("", "value", "detail"),
        (
            ("dataset", f"{store.dataset_gib:,.0f} GiB", f"{store.token_bytes} bytes a token"),
            ("checkpoints", f"{store.checkpoints_gib:,.0f} GiB", f"the last {plan.request.keep_last}"),
            (
                "file system",
                f"{store.lustre_gib:,} GiB",
                f"{store.lustre_throughput} MB/s/TiB{efa}: {size(bandwidth)}/s",
            ),
            ("objects", f"{store.object_gib:,.0f} GiB", "dataset and checkpoints"),
            (
                "reads, writes",
                f"{size(store.read_bandwidth)}/s, {size(store.write_bandwidth)}/s",
                "restoring a checkpoint or streaming; writing one",
            ),
            (
                "network",
                f"{gbps:,.1f} Gbit/s a card",
                f"{gbps / available:.0%} of {available:,.0f}; {size(network)} a step and card between nodes",
            ),
        ),
    )


def cost(plan: Plan) -> PlanTable:
    money = plan.money
    rows: list[tuple[str, ...]] = []
    for kind, amount in money.by_capacity.items():
        rate = money.machine_hour.get(kind)
        hour = "" if rate is None else f"{rate[0]:,.2f}" if rate[0] == rate[1] else f"{rate[0]:,.2f} to {rate[1]:,.2f}"
        if isinstance(amount, Amount):
            old = " (unverified)" if kind in money.unverified else ""
            rows.append((kind, dollars(amount.low), dollars(amount.expected), dollars(amount.high), f"{hour}{old}"))
        else:
            rows.append((kind, "", amount, "", ""))
    where = f" in {plan.region}" if plan.request.machine.instance else ""
    title = f"Cost of {plan.nodes + plan.spares:,} nodes{where}, storage included, prices of {money.prices_as_of}"
    return PlanTable(title, ("capacity", "low", "expected", "high", "USD a node-hour"), tuple(rows))


def sweep_table(sweep: Sweep) -> PlanTable:
    rows: list[tuple[str, ...]] = []
    for label, found in sweep.rows:
        if isinstance(found, str):
            rows.append((label, "", "", "", "", "", "", found))
            continue
        layout = found.best.layout
        total = found.money.total
        split = f"tensor {layout.tensor}, pipeline {layout.pipeline}, context {layout.context}, data {layout.data}"
        problems = "; ".join(problem.said for problem in found.problems)
        rows.append(
            (
                label,
                f"{found.nodes:,}",
                f"{found.cards:,}",
                f"{found.days.expected:.3g} ({found.days.low:.3g} to {found.days.high:.3g})",
                f"{found.step_seconds:.3g}",
                f"{found.mfu:.1%}",
                dollars(total.expected) if total else "unpriced",
                problems or split,
            )
        )
    return PlanTable(
        f"What if {sweep.key}", (sweep.key, "nodes", "cards", "days", "s/step", "MFU", "cost", "split"), tuple(rows)
    )
