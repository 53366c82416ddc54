"""InfiniBand between machines on the premises.

Its devices are found by name; no address has to be chosen.
"""

from __future__ import annotations

from components.fabrics.rdma import Rdma

INFINIBAND = Rdma(kind="infiniband", extra={"NCCL_IB_HCA": "mlx5"})
