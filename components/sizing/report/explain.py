"""Every formula of a plan with its numbers in place, in the order in which they are used.

Each line can be checked with a pocket calculator.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from components.sizing.memory.activations import layer_activations
from components.sizing.memory.memory import FRAGMENTATION, FRAMEWORK
from components.sizing.plan.plan import Plan
from components.sizing.report.words import NAMES
from components.sizing.run import goodput
from components.sizing.step.counts import heaviest


@dataclass(frozen=True, slots=True, kw_only=True)
class FormulaLine:
    """One formula: its words, its numbers, its result."""

    group: str
    name: str
    formula: str
    numbers: str
    result: str


_PARTS = ("compute", "tensor", "bubble", "pipeline", "data", "expert", "context", "optimizer", "scale")


def explain(plan: Plan) -> list[FormulaLine]:
    return [*_model(plan), *_memory(plan), *_step(plan), *_run(plan), *_storage(plan)]


def _model(plan: Plan) -> list[FormulaLine]:
    shape, asked = plan.request.shape, plan.request
    tokens = asked.spec.training.tokens
    rest = shape.layers * shape.layer_small + shape.hidden
    lines = [
        FormulaLine(
            group="model",
            name="parameters",
            formula="embedding + output layer + layers x (attention + feed-forward) + norms and biases (+ experts)",
            numbers=f"{shape.embedding:,} + {shape.head:,} + {shape.dense_parameters - rest:,} + {rest:,}"
            f" + {shape.routed_parameters:,}",
            result=f"{shape.total:,}",
        ),
        FormulaLine(
            group="model",
            name="attention of a layer",
            formula="latent projections" if shape.latent else "hidden x head_dim x (2 heads + 2 kv_heads)",
            numbers=f"{shape.hidden} x {shape.key_dim} x (2 x {shape.heads} + 2 x {shape.kv_heads})"
            if not shape.latent
            else f"ranks {shape.latent}",
            result=f"{shape.attention_parameters:,}",
        ),
    ]
    widths = f"{shape.heads} x ({shape.key_dim} + {shape.value_dim}) x {shape.sequence}"
    multiplied = f"6 x {shape.multiplied:,} + 6 x {shape.layers} x {widths}"
    if asked.lora_rank:
        multiplied = "frozen weights: 4 a parameter, and 6 a trained one"
    lines.append(
        FormulaLine(
            group="model",
            name="FLOPs a token",
            formula="6 N + 6 L heads (key_dim + value_dim) s, full square",
            numbers=multiplied,
            result=f"{plan.flops_per_token:.4g}",
        )
    )
    total = plan.flops_per_token * tokens
    lines.append(
        FormulaLine(
            group="model",
            name="FLOPs in all",
            formula="FLOPs a token x tokens",
            numbers=f"{plan.flops_per_token:.4g} x {tokens:.4g}",
            result=f"{total:.4g}",
        )
    )
    peak = asked.machine.card.tflops * 1e12
    seconds = plan.campaign.main * 86400
    lines.append(
        FormulaLine(
            group="model",
            name="cards",
            formula="total FLOPs / (peak x MFU x goodput x seconds)",
            numbers=f"{total:.4g} / ({peak:.4g} x {plan.mfu:.3f} x {plan.goodput.fraction:.3f} x {seconds:,.0f})",
            result=f"{total / (peak * plan.mfu * plan.goodput.fraction * seconds):,.0f} busy of {plan.cards:,}"
            f" in {plan.nodes:,} nodes" + (f", {plan.idle_cards} idle" if plan.idle_cards else ""),
        )
    )
    return lines


def _memory(plan: Plan) -> list[FormulaLine]:
    layout, job, held = plan.best.layout, plan.best.job, plan.memory
    everywhere, routed = heaviest(job, layout)
    ranks = layout.data * layout.context
    sparse = job.shape.sparse_layers > 0
    each = layer_activations(job, layout, sparse=sparse) / 1024**2
    return [
        FormulaLine(
            group="memory",
            name="parameters a card",
            formula="fullest stage / tensor (experts / expert)",
            numbers=f"pipeline {layout.pipeline}, tensor {layout.tensor}, expert {layout.expert}",
            result=f"{everywhere + routed:,.0f}",
        ),
        FormulaLine(
            group="memory",
            name="weights, gradients, optimizer",
            formula="2 + 4 + 12 bytes a parameter, shared by what the sharding shares",
            numbers=f"{layout.sharding} over {ranks} ranks",
            result=f"{held.weights:.2f} + {held.gradients:.2f} + {held.optimizer:.2f} GiB",
        ),
        FormulaLine(
            group="memory",
            name="activations",
            formula="one layer and micro-batch x layers of the stage x micro-batches in flight",
            numbers=f"{each:,.0f} MiB a layer, recompute {layout.recompute}",
            result=f"{held.activations:.2f} GiB",
        ),
        FormulaLine(
            group="memory",
            name="overhead",
            formula="framework + fragmentation x all tensors",
            numbers=f"{FRAMEWORK.value:g} + {FRAGMENTATION.value:g} x {held.total - held.overhead:.2f}",
            result=f"{held.overhead:.2f} GiB",
        ),
        FormulaLine(
            group="memory",
            name="total",
            formula="sum against usable memory",
            numbers=f"{held.total:.2f} of {held.usable:.2f}",
            result="fits" if held.fits else "does not fit",
        ),
    ]


def _step(plan: Plan) -> list[FormulaLine]:
    step, layout = plan.best.step, plan.best.layout
    keys = {"bubble": "pipeline_bubble", "pipeline": "pipeline_send", "data": "data_parallel"}
    names = {key: NAMES[keys.get(key, key)] for key in (*_PARTS, "host", "offload")}
    formulas = {
        "compute": "micro-batches x layers of a stage x (forward + backward + recomputed); "
        "a product takes FLOPs / (peak x matrix efficiency) + half of its memory time",
        "tensor": "2 all-reduces forward, 2 backward a layer: 2 (t-1)/t x tokens x hidden x 2 bytes / link, "
        "the part not hidden",
        "bubble": "(pipeline - 1) / virtual_stages x one micro-batch + what the fullest stage makes the others wait",
        "pipeline": "activations sent forward and back, the part not hidden",
        "data": "gradients reduced and weights gathered over the data ranks, the part not hidden",
        "expert": "tokens sent to their experts and back, four times a layer, the part not hidden",
        "context": "keys and values round the context group, the part not hidden",
        "optimizer": "34 bytes a parameter of the shard / memory bandwidth",
        "scale": "straggler constant x log2(nodes)",
        "host": "what launching a layer's kernels takes beyond running them",
        "offload": "activations to host memory and back, the part not hidden",
    }
    numbers = {
        "compute": f"{step.micro_batches} micro-batches of {layout.micro_batch}",
        "tensor": f"t = {layout.tensor}",
        "bubble": f"({layout.pipeline} - 1) / {layout.virtual}, {step.micro_batches} micro-batches",
        "data": f"{layout.data * layout.context} ranks, {layout.sharding}",
        "expert": f"expert = {layout.expert}",
        "context": f"context = {layout.context}",
        "scale": f"log2({plan.nodes}) = {math.log2(max(1, plan.nodes)):.1f}",
    }
    lines = [
        FormulaLine(
            group="step",
            name=word,
            formula=formulas[key],
            numbers=numbers.get(key, ""),
            result=f"{getattr(step, key):.3f} s",
        )
        for key, word in names.items()
        if getattr(step, key) > 0
    ]
    lines.append(
        FormulaLine(
            group="step",
            name="step",
            formula="sum",
            numbers=f"band x {plan.band.low:.2f} .. x {plan.band.high:.2f} ({plan.band.why})",
            result=f"{plan.step_seconds:.3f} s",
        )
    )
    lines.append(
        FormulaLine(
            group="step",
            name="MFU",
            formula="FLOPs a token x tokens a step / (step x cards x peak)",
            numbers=f"{plan.flops_per_token:.4g} x {plan.best.job.tokens_per_step:,} / "
            f"({plan.step_seconds:.3f} x {plan.cards:,} x "
            f"{plan.request.machine.card.tflops * 1e12:.4g})",
            result=f"{plan.mfu:.1%} (hardware FLOPs: {plan.hfu:.1%})",
        )
    )
    return lines


def _run(plan: Plan) -> list[FormulaLine]:
    share, saved = plan.goodput, plan.checkpoint
    lost = share.detection_seconds + share.restart_seconds + share.lost_seconds
    mean = plan.nodes * share.failures_per_node_day * goodput.REPAIR_DAYS.value
    return [
        FormulaLine(
            group="run",
            name="time between failures",
            formula="86,400 / (nodes x failures a node and day)",
            numbers=f"86,400 / ({plan.nodes} x {share.failures_per_node_day:g})",
            result=f"{share.mtbf_seconds:,.0f} s",
        ),
        FormulaLine(
            group="run",
            name="checkpoint interval",
            formula="Daly: sqrt(2 d M) (1 + sqrt(d/2M)/3 + d/18M) - d",
            numbers=f"d = {saved.write_seconds:g} s, M = {share.mtbf_seconds:,.0f} s",
            result=f"{saved.interval_seconds:,.0f} s = {saved.interval_steps} steps",
        ),
        FormulaLine(
            group="run",
            name="goodput",
            formula="(1 - (detection + restart + interval/2) / M) / (1 + stall/interval) x campaign",
            numbers=f"(1 - {lost:,.0f} / {share.mtbf_seconds:,.0f}) / "
            f"(1 + {saved.stall_seconds:.2g} / {saved.interval_seconds:,.0f}) x {share.campaign:g}",
            result=f"{share.fraction:.1%}",
        ),
        FormulaLine(
            group="run",
            name="days",
            formula="steps x step / goodput / 86,400",
            numbers=f"{plan.steps:,} x {plan.step_seconds:.3f} / {share.fraction:.3f} / 86,400",
            result=f"{plan.days.expected:.1f}",
        ),
        FormulaLine(
            group="run",
            name="spares",
            formula="smallest k with P(Poisson(mean) <= k) >= 0.99",
            numbers=f"mean = {mean:.2f} under repair",
            result=f"{plan.spares} nodes",
        ),
        FormulaLine(
            group="run",
            name="reserve",
            formula="10 to 20 % of the nodes, half the step's band",
            numbers=f"{plan.reserve_fraction:.0%} x {plan.nodes}",
            result=f"{plan.reserve_nodes} nodes",
        ),
    ]


def _storage(plan: Plan) -> list[FormulaLine]:
    saved, store = plan.checkpoint, plan.store
    tokens = plan.request.spec.training.tokens
    return [
        FormulaLine(
            group="storage",
            name="checkpoint",
            formula="14 bytes a parameter that learns",
            numbers=f"{saved.bytes / goodput.BYTES_PER_PARAMETER.value:,.0f} x 14",
            result=f"{saved.bytes / 1e12:.3g} TB",
        ),
        FormulaLine(
            group="storage",
            name="write bandwidth",
            formula="bytes / seconds of a write",
            numbers=f"{saved.bytes / 1e9:,.1f} GB / {saved.write_seconds:g} s",
            result=f"{saved.bandwidth_needed / 1e9:.3g} GB/s",
        ),
        FormulaLine(
            group="storage",
            name="dataset",
            formula="tokens x bytes of a token id",
            numbers=f"{tokens:.4g} x {store.token_bytes}",
            result=f"{store.dataset_gib:,.0f} GiB",
        ),
        FormulaLine(
            group="storage",
            name="file system",
            formula="2 x dataset + 2 checkpoints, and the bandwidth, on a legal step",
            numbers=f"2 x {store.dataset_gib:,.0f} + 2 x {saved.bytes / 1024**3:,.0f} GiB"
            f" at {store.lustre_throughput} MB/s/TiB",
            result=f"{store.lustre_gib:,} GiB",
        ),
    ]
