from components.network.network import Network, NetworkArgs
from components.network.security_groups import KUBELET, WEBHOOKS, Port, Way, declare

__all__ = ["KUBELET", "WEBHOOKS", "Network", "NetworkArgs", "Port", "Way", "declare"]
