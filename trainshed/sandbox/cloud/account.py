"""What the account holds before Karpenter starts (network, images, cluster, queue), and what becomes of machines."""

from __future__ import annotations

import importlib.util
import json
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from trainshed.sandbox.plane import ControlPlane

# Files by which the account's process is told what to sell.
MARKET: Final = "market.json"
SOLD_OUT: Final = "sold_out.json"

PROFILE: Final = "nodes"
QUEUE: Final = "interruptions"
CREDENTIALS: Final = {
    "AWS_ACCESS_KEY_ID": "sandbox",
    "AWS_SECRET_ACCESS_KEY": "sandbox",
    "AWS_EC2_METADATA_DISABLED": "true",
}
_SERVICE_RANGE = "172.20.0.0/16"
_NEEDED = ("moto", "boto3")


def missing() -> tuple[str, ...]:
    """Python packages that this machine lacks for an account; they come with the `test` extra."""
    return tuple(name for name in _NEEDED if importlib.util.find_spec(name) is None)


@dataclass(frozen=True, kw_only=True)
class Market:
    """Dollars an hour by machine type, on demand and on spot."""

    on_demand: Mapping[str, float]
    spot: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Account:
    """A running account with a network for one cluster; `subnets` are by zone id."""

    port: int
    folder: Path
    region: str
    cluster: str
    subnets: Mapping[str, str]
    security_group: str
    queue_url: str

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self, service: str) -> Any:
        return client(service, self.region, self.endpoint)

    def machines(self) -> Iterator[Mapping[str, Any]]:
        """Machines that Karpenter bought and that have not ended."""
        yield from bought(self.client("ec2"))

    def sell_out(self, wanted: Mapping[str, Sequence[str]]) -> None:
        """What can't be bought from now on: machine types, or `*`, by way of buying (`on-demand`, `spot`)."""
        path = self.folder / SOLD_OUT
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps({capacity: list(machines) for capacity, machines in wanted.items()}))
        fresh.replace(path)

    def interrupt(self, machine: str) -> None:
        """Tell the cluster's queue, as EventBridge would, that EC2 takes a spot machine back in two minutes."""
        event = {
            "version": "0",
            "id": "1",
            "account": "123456789012",
            "region": self.region,
            "time": "2026-01-01T00:00:00Z",
            "source": "aws.ec2",
            "detail-type": "EC2 Spot Instance Interruption Warning",
            "resources": [f"arn:aws:ec2:{self.region}:instance/{machine}"],
            "detail": {"instance-id": machine, "instance-action": "terminate"},
        }
        self.client("sqs").send_message(QueueUrl=self.queue_url, MessageBody=json.dumps(event))


def bought(ec2: Any) -> Iterator[Mapping[str, Any]]:
    """Machines that Karpenter bought and that have not ended."""
    filters = [
        {"Name": "tag-key", "Values": ["karpenter.sh/nodepool"]},
        {"Name": "instance-state-name", "Values": ["pending", "running"]},
    ]
    for page in ec2.get_paginator("describe_instances").paginate(Filters=filters):
        for reservation in page["Reservations"]:
            yield from reservation["Instances"]


def client(service: str, region: str, endpoint: str) -> Any:
    """A client of the account; nothing of the caller's own AWS settings reaches it."""
    import boto3  # only where the account runs

    return boto3.client(
        service,
        endpoint_url=endpoint,
        region_name=region,
        aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
    )


def start(plane: ControlPlane, *, region: str, cluster: str, zones: Sequence[str], market: Market) -> Account:
    """Start the account as a child of the control plane and put into it what a stack's AWS half would have made.

    `zones` are zone ids, as stack files name them.
    """
    folder = plane.folder / "cloud"
    folder.mkdir(exist_ok=True)
    prices = {"on-demand": dict(market.on_demand), "spot": dict(market.spot)}
    (folder / MARKET).write_text(json.dumps(prices))
    port = plane.processes.ports.take()
    command = [sys.executable, "-m", "trainshed.sandbox.cloud.server", str(port), str(folder)]
    child = plane.processes.start("moto", command, environment={"MOTO_EC2_LOAD_DEFAULT_AMIS": "false", **CREDENTIALS})
    plane.processes.wait_until(lambda: _listening(port), what="the account's API", child=child)
    endpoint = f"http://127.0.0.1:{port}"
    ec2, eks, iam, sqs = (client(name, region, endpoint) for name in ("ec2", "eks", "iam", "sqs"))
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    names = {each["ZoneId"]: each["ZoneName"] for each in ec2.describe_availability_zones()["AvailabilityZones"]}
    subnets: dict[str, str] = {}
    for index, zone in enumerate(zones):
        made = ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.0.{index * 16}.0/20", AvailabilityZone=names[zone])
        subnets[zone] = made["Subnet"]["SubnetId"]
    group = ec2.create_security_group(GroupName="nodes", Description="nodes", VpcId=vpc)["GroupId"]
    # Karpenter asks the cluster for the range of its services.
    eks.create_cluster(
        name=cluster,
        roleArn="arn:aws:iam::123456789012:role/cluster",
        resourcesVpcConfig={"subnetIds": list(subnets.values())},
        kubernetesNetworkConfig={"serviceIpv4Cidr": _SERVICE_RANGE},
    )
    iam.create_instance_profile(InstanceProfileName=PROFILE)
    queue = sqs.create_queue(QueueName=QUEUE)["QueueUrl"]
    return Account(
        port=port,
        folder=folder,
        region=region,
        cluster=cluster,
        subnets=subnets,
        security_group=group,
        queue_url=queue,
    )


def _listening(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
