"""How the ranks share the work: pipeline stages outermost, data in the middle, tensor-parallel ranks innermost, so that
they share a node.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Replicate
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from workload.trainer.model import LanguageModel

_COLUMNS = ("attention.query", "attention.key", "attention.value", "feed_forward.up", "feed_forward.gate")
_ROWS = ("attention.out", "feed_forward.down")


@dataclass(frozen=True)
class Layout:
    """Sizes of the three ways to split."""

    pipeline: int
    data: int
    tensor: int


class Ranks:
    """This process among its peers, in one group even when it is alone."""

    def __init__(self, timeout: float, tensor: int, pipeline: int) -> None:
        self.rank, self.size = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
        self.local_rank = int(os.environ.get("LOCAL_RANK", "0"))
        self.device = torch.device("cpu")
        if torch.cuda.is_available():
            torch.cuda.set_device(self.local_rank)
            self.device = torch.device("cuda", self.local_rank)
        backend = "cpu:gloo,cuda:nccl" if self.device.type == "cuda" else "gloo"
        limit = timedelta(seconds=timeout)
        if self.size > 1:
            dist.init_process_group(backend, rank=self.rank, world_size=self.size, timeout=limit)
        else:
            dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1, timeout=limit)
        # Its own group: checkpoints are agreed on in another thread than training's collectives.
        self.checkpoint_group = dist.new_group(backend="gloo", timeout=limit)
        self.layout = Layout(pipeline, self.size // (tensor * pipeline), tensor)
        shape = (self.layout.pipeline, self.layout.data, self.layout.tensor)
        self.mesh: DeviceMesh = init_device_mesh(self.device.type, shape, mesh_dim_names=("pipeline", "data", "tensor"))
        coordinate = self.mesh.get_coordinate()
        assert coordinate is not None
        self.stage, self.data_rank, self.tensor_rank = coordinate

    @property
    def last_stage(self) -> bool:
        return self.stage == self.layout.pipeline - 1

    def sums(self, *values: float) -> list[float]:
        """Each value summed over all ranks."""
        box = torch.tensor(values, dtype=torch.float64, device=self.device)
        dist.all_reduce(box)
        return box.tolist()

    def from_first(self, value: Any) -> Any:
        """Rank 0's value, on all ranks."""
        box = [value]
        dist.broadcast_object_list(box, src=0, group=self.checkpoint_group)
        return box[0]

    def gathered(self, value: Any) -> list[Any]:
        """Every rank's value, on all ranks."""
        found: list[Any] = [None] * self.size
        dist.all_gather_object(found, value, group=self.checkpoint_group)
        return found

    def close(self) -> None:
        dist.destroy_process_group()


def split(model: LanguageModel, ranks: Ranks, precision: str) -> LanguageModel:
    """Deal a stage's parameters out: matrices over the tensor ranks, then everything over the data ranks (FSDP)."""
    if ranks.layout.tensor > 1:
        for block in model.blocks.values():
            has = {name for name, _ in block.named_modules()}
            plan: dict[str, Any] = {name: ColwiseParallel() for name in _COLUMNS if name in has}
            plan |= {name: RowwiseParallel() for name in _ROWS}
            parallelize_module(block, ranks.mesh["tensor"], plan)
    low = torch.bfloat16 if precision == "bf16" else None
    policy = MixedPrecisionPolicy(param_dtype=low, reduce_dtype=torch.float32 if low else None)
    mesh = ranks.mesh["data"]
    for block in model.blocks.values():
        fully_shard(block, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    return model


def squared_norm(model: LanguageModel, ranks: Ranks) -> float:
    """This rank's share of the squared gradient norm: over all ranks the shares sum to the whole model's."""
    total = torch.zeros((), dtype=torch.float64, device=ranks.device)
    for parameter in model.parameters():
        gradient = parameter.grad
        if not isinstance(gradient, DTensor):
            continue
        copies, tensor_seen = 1, False
        names = gradient.device_mesh.mesh_dim_names or ()
        for dimension, placement in enumerate(gradient.placements):
            tensor_seen = tensor_seen or names[dimension] == "tensor"
            if isinstance(placement, Replicate):
                copies *= gradient.device_mesh.size(dimension)
        copies *= 1 if tensor_seen else ranks.layout.tensor
        total += gradient.to_local().double().square().sum() / copies
    return float(total)


def scale_gradients(model: LanguageModel, factor: float) -> None:
    for parameter in model.parameters():
        if parameter.grad is not None:
            parameter.grad.mul_(factor)
