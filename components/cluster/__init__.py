from components.cluster.cluster import Cluster, ClusterArgs
from components.cluster.nodes import SystemImage

__all__ = ["Cluster", "ClusterArgs", "SystemImage"]
