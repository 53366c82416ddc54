from components.cluster.cluster import Cluster, ClusterArgs
from components.cluster.nodes import SystemImage, node_role

__all__ = ["Cluster", "ClusterArgs", "SystemImage", "node_role"]
