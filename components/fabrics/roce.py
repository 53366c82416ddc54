"""RDMA over converged Ethernet between machines on the premises.

A queue pair connects between two addresses, and a pod in a network namespace of its own has none of the host's: each
RDMA device's network is attached to it (Multus), as hosts.networks names them (Mellanox/k8s-rdma-shared-dev-plugin
issue 72). Which of a device's addresses is RoCE v2 over IPv4 NCCL finds by itself; a fixed index is another one on the
next host (NVIDIA/nccl issue 1573).
"""

from __future__ import annotations

from components.fabrics.rdma import Rdma

# The traffic class (NCCL_IB_TC) depends on the switches: a task sets its own.
ROCE = Rdma(kind="roce", extra={"NCCL_IB_HCA": "mlx5"}, addressed=True)
