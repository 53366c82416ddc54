"""RDMA over converged Ethernet between machines of one's own.

Hides which of a device's addresses carries RoCE v2 traffic.
"""

from __future__ import annotations

from components.fabrics.rdma import Rdma

# Index 3 is RoCE v2 over IPv4 on the usual adapters. The traffic class (NCCL_IB_TC) depends on the switches: a task
# sets its own.
ROCE = Rdma(kind="roce", extra={"NCCL_IB_HCA": "mlx5", "NCCL_IB_GID_INDEX": "3"})
