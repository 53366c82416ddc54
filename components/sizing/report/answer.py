"""A plan as plain data: the object that `trainshed size --json` prints, which the table for people also reads.

Numbers are rounded. Every number has its unit in its name, and what is unknown says so in words.
"""

from __future__ import annotations

from typing import Any

from components.sizing.plan.result import Plan, flops_per_token, lora_total_of
from components.sizing.plan.search import Candidate
from components.sizing.report import campaign
from components.sizing.report.assumptions import assumptions
from components.sizing.report.words import NAMES
from components.sizing.run.money import Amount
from components.sizing.stack.section import stack_section, zone_for
from components.sizing.step.step import StepTime

MFU_CONVENTION = (
    "model FLOPs (6 a parameter that multiplies, plus 12 x layers x heads x head_dim x sequence a token: the full "
    "square of attention, as in PaLM's appendix B; recomputation not counted) over the cards' dense 16-bit peak, "
    "downtime excluded"
)


def as_json(plan: Plan) -> dict[str, Any]:
    """The whole answer; keys as the command's documentation lists them."""
    asked, store = plan.request, plan.store
    shape = asked.shape
    parameters: dict[str, Any] = {"total": shape.total, "active": shape.active, "embedding": shape.embedding}
    if asked.lora_rank:
        parameters["trainable"] = lora_total_of(asked)
    return {
        "task": asked.name,
        "machine": _machine(plan),
        "parameters": parameters,
        "flops": _flops(plan),
        "memory_gib": _memory(plan),
        "parallelism": _parallelism(plan),
        "global_batch": plan.best.job.global_batch,
        "steps": plan.steps,
        "step_seconds": _step_seconds(plan),
        "mfu": _r(plan.mfu),
        "mfu_convention": MFU_CONVENTION,
        "hfu": _r(plan.hfu),
        "tokens_per_second_per_card": _r(plan.tokens_per_second_per_card),
        "tokens_per_second": _r(plan.tokens_per_second_per_card * plan.cards),
        "goodput": _goodput(plan),
        "days": _amount(plan.days),
        "cards": plan.cards,
        "nodes": plan.nodes,
        "pods": plan.nodes,
        "processes": plan.cards,
        "idle_cards": plan.idle_cards,
        "reserve": {"fraction": _r(plan.reserve_fraction), "nodes": plan.reserve_nodes},
        "spares": plan.spares,
        "checkpoint": _checkpoint(plan),
        "storage": _storage(plan),
        "network": _network(plan),
        "cost": _cost(plan),
        "region": plan.region if asked.machine.instance else None,
        "zone": zone_for(asked, plan.region),
        "stack": stack_section(
            asked, store, nodes=plan.nodes, spares=plan.spares, cards=plan.cards, region=plan.region
        ),
        "campaign": campaign.campaign_json(plan),
        "beside": campaign.beside_json(plan),
        "power": campaign.power_json(plan),
        "frameworks": campaign.frameworks_json(plan),
        "filled_in": list(asked.filled),
        "assumptions": assumptions(),
        "problems": [problem.as_json() for problem in plan.problems],
    }


def _machine(plan: Plan) -> dict[str, Any]:
    asked = plan.request
    return {
        "name": asked.machine.name,
        "card": asked.machine.card.name,
        "cards_per_node": asked.machine.cards,
        "peak_tflops": asked.machine.card.tflops,
        "network_gbps": asked.machine.network_gbps,
        "source": asked.machine.card.source,
    }


def _flops(plan: Plan) -> dict[str, Any]:
    asked = plan.request
    return {
        "per_token": flops_per_token(asked),
        "total": flops_per_token(asked) * asked.spec.training.tokens,
        "hardware_per_step_per_card": plan.best.step.hardware_flops,
    }


def _memory(plan: Plan) -> dict[str, Any]:
    return {
        "weights": _r(plan.memory.weights),
        "gradients": _r(plan.memory.gradients),
        "optimizer": _r(plan.memory.optimizer),
        "activations": _r(plan.memory.activations),
        "overhead": _r(plan.memory.overhead),
        "total": _r(plan.memory.total),
        "usable": _r(plan.memory.usable),
        "fits": plan.memory.fits,
    }


def _parallelism(plan: Plan) -> dict[str, Any]:
    return {
        **_layout(plan.best),
        "why": _why_best(plan),
        "alternatives": [
            {
                **_layout(other),
                "step_seconds": _r(other.step.total * plan.factor),
                "memory_gib": _r(other.memory.total),
                "why": why(other, plan.best),
            }
            for other in alternatives(plan)
        ],
        "splits_tried": plan.found.tried,
    }


def _step_seconds(plan: Plan) -> dict[str, Any]:
    band = plan.band
    return {
        "low": _r(plan.step_seconds * band.low),
        "expected": _r(plan.step_seconds),
        "high": _r(plan.step_seconds * band.high),
        "band": band.why,
        "split": parts(plan.best.step, plan.factor),
    }


def _goodput(plan: Plan) -> dict[str, Any]:
    return {
        "fraction": _r(plan.goodput.fraction),
        "failures_per_node_day": plan.goodput.failures_per_node_day,
        "failures_per_day": _r(plan.goodput.failures_per_day),
        "mtbf_seconds": _r(plan.goodput.mtbf_seconds),
        "detection_seconds": plan.goodput.detection_seconds,
        "restart_seconds": plan.goodput.restart_seconds,
        "lost_work_seconds": _r(plan.goodput.lost_seconds),
        "failure_share": _r(plan.goodput.failure_share),
        "checkpoint_share": _r(plan.goodput.checkpoint_share),
        "campaign_share": _r(1 - plan.goodput.campaign),
    }


def _checkpoint(plan: Plan) -> dict[str, Any]:
    return {
        "bytes": plan.checkpoint.bytes,
        "interval_seconds": _r(plan.checkpoint.interval_seconds),
        "interval_steps": plan.checkpoint.interval_steps,
        "write_seconds": _r(plan.checkpoint.write_seconds),
        "stall_seconds": _r(plan.checkpoint.stall_seconds),
        "bandwidth_needed": _r(plan.checkpoint.bandwidth_needed),
    }


def _storage(plan: Plan) -> dict[str, Any]:
    store = plan.store
    return {
        "dataset_gib": _r(store.dataset_gib),
        "bytes_per_token": store.token_bytes,
        "checkpoints_gib": _r(store.checkpoints_gib),
        "lustre_gib": store.lustre_gib,
        "lustre_throughput_mbps_per_tib": store.lustre_throughput,
        "lustre_bandwidth": _r(store.lustre_gib / 1024 * store.lustre_throughput * 1e6),
        "object_gib": _r(store.object_gib),
        "read_bandwidth": _r(store.read_bandwidth),
        "write_bandwidth": _r(store.write_bandwidth),
    }


def parts(step: StepTime, factor: float = 1.0) -> dict[str, float]:
    """Seconds of a step by cause; traffic counts where it doesn't overlap with arithmetic. `factor` is the correction
    by own runs.
    """
    measured = {} if factor == 1.0 else {"measured": _r(step.total * (factor - 1))}
    return measured | {
        "compute": _r(step.compute),
        "tensor": _r(step.tensor),
        "pipeline_bubble": _r(step.bubble),
        "pipeline_send": _r(step.pipeline),
        "data_parallel": _r(step.data),
        "expert": _r(step.expert),
        "context": _r(step.context),
        "optimizer": _r(step.optimizer),
        "scale": _r(step.scale),
        "host": _r(step.host),
        "offload": _r(step.offload),
    }


def _network(plan: Plan) -> dict[str, float]:
    moved = plan.best.step.network_bytes
    needed = moved * 8 / plan.step_seconds / 1e9
    available = plan.request.machine.network_gbps / plan.request.machine.cards
    return {
        "bytes_per_step_per_card": _r(moved),
        "needed_gbps": _r(needed),
        "available_gbps_per_card": _r(available),
        "share_of_available": _r(needed / available),
    }


def _layout(candidate: Candidate) -> dict[str, Any]:
    layout = candidate.layout
    return {
        "tensor": layout.tensor,
        "pipeline": layout.pipeline,
        "context": layout.context,
        "expert": layout.expert,
        "data": layout.data,
        "virtual_stages": layout.virtual,
        "micro_batch": layout.micro_batch,
        "micro_batches": candidate.step.micro_batches,
        "sequence_parallel": layout.sequence_parallel,
        "recompute": layout.recompute,
        "sharding": layout.sharding,
        "schedule": layout.schedule if layout.pipeline > 1 else "none",
        "optimizer_states": layout.states,
        "attention": "fused" if layout.fused_attention else "unfused",
    }


def alternatives(plan: Plan, count: int = 3) -> list[Candidate]:
    """The next best splits that differ from the best in more than their micro-batch or chunks."""

    def key(candidate: Candidate) -> tuple[int, int, int, int]:
        layout = candidate.layout
        return layout.tensor, layout.pipeline, layout.context, layout.expert

    seen = {key(plan.best)}
    others: list[Candidate] = []
    for candidate in plan.found.fitting:
        if key(candidate) not in seen:
            seen.add(key(candidate))
            others.append(candidate)
    if len(others) < count:
        others += [other for other in plan.found.fitting if other is not plan.best and other not in others][
            : count - len(others)
        ]
    return others[:count]


def _why_best(plan: Plan) -> str:
    if not plan.memory.fits:
        return "as asked, though it does not fit"
    if len(plan.found.fitting) == 1:
        return f"the only one of {plan.found.tried} splits tried that fits and keeps to what the task fixes"
    return f"the most tokens a second of {len(plan.found.fitting)} splits that fit ({plan.found.tried} tried)"


def why(other: Candidate, best: Candidate) -> str:
    """What makes a split slower than the best, by its largest difference a token."""
    slower = best.tokens_per_second / other.tokens_per_second - 1
    scale = best.job.tokens_per_step / other.job.tokens_per_step
    mine, theirs = parts(other.step), parts(best.step)
    name, more = max(((key, mine[key] * scale - theirs[key]) for key in mine), key=lambda pair: pair[1])
    if more <= 0:
        return f"{slower:.1%} slower"
    idle = "" if other.layout.cards == best.layout.cards else f", on {other.layout.cards} cards"
    return f"{slower:.1%} slower: {NAMES[name]} adds {more:.2f} s{idle}"


def _cost(plan: Plan) -> dict[str, Any]:
    money = plan.money
    total = money.total
    return {
        "currency": "USD",
        "prices_as_of": money.prices_as_of,
        "unverified_prices": list(money.unverified),
        "capacity": money.main,
        **(_amount(total) if total else dict.fromkeys(("low", "expected", "high"), "unpriced")),
        "by_capacity": {
            kind: _amount(found) if isinstance(found, Amount) else found for kind, found in money.by_capacity.items()
        },
        "node_hour": {kind: list(rate) if rate else "unpriced" for kind, rate in money.machine_hour.items()},
        "storage_monthly": {
            "lustre": _r(plan.store.lustre_monthly_usd) if plan.store.lustre_monthly_usd is not None else "unpriced",
            "object": _r(plan.store.object_monthly_usd) if plan.store.object_monthly_usd is not None else "unpriced",
        },
        "nodes_paid": plan.nodes + plan.spares,
    }


def _amount(amount: Amount) -> dict[str, float]:
    return {"low": _r(amount.low), "expected": _r(amount.expected), "high": _r(amount.high)}


def _r(value: float | None) -> Any:
    """Six significant digits: more would claim what no plan knows."""
    return None if value is None else float(f"{value:.6g}")
