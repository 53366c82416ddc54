"""The providers of a stack, made from values that stay the same from run to run.

The Kubernetes provider never uses the shell's own kubeconfig, which may point anywhere.
"""

from __future__ import annotations

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes

from components.cluster import Cluster
from components.spec.form import SelfHosted


def for_aws(region: str) -> aws.Provider:
    """The stack's region; every resource names its provider, so default providers can be disabled."""
    return aws.Provider("aws", region=region)


def for_cluster(cluster: Cluster) -> kubernetes.Provider:
    """Reaches the stack's own EKS cluster with a fresh token for each run."""
    return kubernetes.Provider(
        "kubernetes",
        kubeconfig=cluster.kubeconfig,
        cluster=cluster.name,
        context=cluster.name,
        enable_server_side_apply=True,
        # A tag edit changes the cluster, not where it is: without this the provider would replace every object.
        cluster_identifier=cluster.name,
        opts=pulumi.ResourceOptions(depends_on=[cluster]),
    )


def for_hosts(form: SelfHosted) -> kubernetes.Provider:
    """Reaches a cluster that exists, by the kubeconfig that is kept as a secret."""
    return kubernetes.Provider(
        "kubernetes",
        kubeconfig=pulumi.Output.secret(form.kubeconfig.get_secret_value()),
        context=form.context,
        enable_server_side_apply=True,
    )
