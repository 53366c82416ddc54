from components.karpenter.karpenter import Karpenter, KarpenterArgs
from components.karpenter.pools import BoughtPool

__all__ = ["BoughtPool", "Karpenter", "KarpenterArgs"]
