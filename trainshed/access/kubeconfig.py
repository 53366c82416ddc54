"""A kubeconfig for a stack's cluster on AWS: where the cluster is, asked of EKS, and how a token is had.

`aws eks update-kubeconfig` writes the same; this one knows the cluster's name from the stack.
"""

from __future__ import annotations

import sys
from typing import Any

import yaml

from components.problems import errors, render
from infra import settings
from infra.settings import cluster_name


def config(name: str, region: str, *, endpoint: str, authority: str, role: str | None) -> dict[str, Any]:
    """The file's content; `role` is who one enters as."""
    words = ["--region", region, "eks", "get-token", "--cluster-name", name, "--output", "json"]
    if role:
        words += ["--role-arn", role]
    command = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "aws",
        "args": words,
        "interactiveMode": "Never",
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": endpoint, "certificate-authority-data": authority}}],
        "users": [{"name": name, "user": {"exec": command}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }


def show(stack: str, role: str | None) -> int:
    """Print it; 1 for a wrong stack, 2 for a stack without a cluster on AWS, 3 where EKS can't be asked."""
    read = settings.from_file(stack)
    wrong = errors(read.problems)
    if wrong:
        print("\n".join(render(each) for each in wrong), file=sys.stderr)
        return 1
    if not read.valid.on_aws:
        print(f"{read.name} has no cluster on AWS: its kubeconfig is the one in the stack file", file=sys.stderr)
        return 2
    from trainshed.aws_clients import BotoCoreError, ClientError, client

    name = cluster_name(read)
    try:
        found = client("eks", read.valid.region).describe_cluster(name=name)["cluster"]
    except (BotoCoreError, ClientError) as error:
        print(f"EKS doesn't tell where {name} is: {error}", file=sys.stderr)
        return 3
    made = config(
        name,
        read.valid.region,
        endpoint=found["endpoint"],
        authority=found["certificateAuthority"]["data"],
        role=role,
    )
    print(yaml.safe_dump(made, sort_keys=False), end="")
    return 0
