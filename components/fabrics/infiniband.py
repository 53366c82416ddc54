"""InfiniBand between machines of one's own.

Hides that its devices are found by name and need no address to be chosen.
"""

from __future__ import annotations

from components.fabrics.rdma import Rdma

INFINIBAND = Rdma(kind="infiniband", extra={"NCCL_IB_HCA": "mlx5"})
