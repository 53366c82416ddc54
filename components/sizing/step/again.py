"""What recomputation adds to the backward pass of a layer."""

from __future__ import annotations

from components.sizing.layout.layout import Job, Layout
from components.sizing.step.layer import LayerTime

SELECTIVE_AGAIN = 0.3  # of the forward pass, where fused attention leaves selective recomputation only products to drop


def modules(job: Job, layout: Layout) -> tuple[str, ...]:
    """The parts computed again under selective recomputation: as asked, or what its attention offers."""
    if layout.recompute != "selective":
        return ()
    if layout.recompute_modules:
        return layout.recompute_modules
    if job.shape.latent:
        return ("mla_up_proj", "layernorm")
    return () if layout.fused_attention else ("core_attn",)


def full_share(layout: Layout, stage_layers: float) -> float:
    """Share of a stage's layers that are computed again as a whole."""
    if layout.recompute != "full":
        return 0.0
    return min(1.0, layout.recompute_layers / max(1.0, stage_layers)) if layout.recompute_layers else 1.0


def again(job: Job, layout: Layout, time: LayerTime) -> float:
    """Seconds of a layer that selective recomputation spends once more."""
    if layout.recompute != "selective":
        return 0.0
    asked = modules(job, layout)
    if not asked:
        return SELECTIVE_AGAIN * time.forward
    norms = time.norms.forward / 2  # the other half are residual additions and rotations
    cost = {
        "core_attn": time.core.forward,
        "mla_up_proj": time.ups.forward,
        "layernorm": norms,
        "mlp": time.block.forward + time.act.forward,
        "moe": time.block.forward + time.act.forward + time.shared.forward + time.expert_forward,
        "moe_act": time.act.forward / 4,
        "shared_experts": time.shared.forward,
    }
    return sum(cost[name] for name in asked)
