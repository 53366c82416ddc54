"""An AWS account on 127.0.0.1, and Karpenter buying machines in it.

moto answers the API; prices come from the catalog; a stand-in for the kubelets lets each machine join. Karpenter itself
is the shipped controller.
"""
