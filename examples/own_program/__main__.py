"""A network, one pool of H100 nodes and a Lustre file system for a cluster that this program does not declare."""

import pulumi
import pulumi_aws as aws

from components import catalog
from components.gpu_pool import GpuPool, GpuPoolArgs
from components.lustre import Lustre, LustreArgs
from components.lustre.security_group import Client
from components.network import Network, NetworkArgs
from components.planning.address_needs import AddressNeed, nodes
from components.spec.network import NetworkSpec
from components.spec.pools import OnDemand, PoolSpec
from components.spec.storage import LustreSpec

ZONE, REGION = "usw2-az3", "us-west-2"
tags = {"owner": "research", "project": "own-program"}
config = pulumi.Config()
own = pulumi.ResourceOptions(providers={"aws": aws.Provider("aws", region=REGION)})

network = Network(
    "lab",
    NetworkArgs(
        spec=NetworkSpec(
            zones=(ZONE, "usw2-az4"), cidr="10.50.0.0/16", compute_cidrs=("100.64.0.0/16",), nat_gateways="one"
        ),
        region=REGION,
        compute=(AddressNeed(zone=ZONE, parts=(nodes("h100", 4),)),),
        tags=tags,
    ),
    own,
)

pool = GpuPool(
    "h100",
    GpuPoolArgs(
        spec=PoolSpec(
            name="h100",
            purpose="training",
            instance_type="p5.48xlarge",
            zone=ZONE,
            nodes=4,
            fabric="efa",
            capacity=OnDemand(kind="on-demand"),
        ),
        catalog=catalog.load(),
        # An EKS cluster of one's own: its values come from this program's configuration.
        cluster_name=config.require("cluster"),
        cluster_version="1.35",
        endpoint=config.require("endpoint"),
        certificate_authority=config.require("certificateAuthority"),
        node_role_arn=config.require("nodeRoleArn"),
        subnet_ids={ZONE: network.subnet_ids("compute", ZONE)},
        security_group_ids=[network.compute_security_group_id],
        efa_security_group_id=network.efa_security_group_id,
        # One for every PCI bus of a p5; FSx serves 1,024 of all nodes together.
        lustre_efa_interfaces=8,
        tags=tags,
        after=network.ready,
    ),
    own,
)

scratch = Lustre(
    "scratch",
    LustreArgs(
        spec=LustreSpec(
            name="scratch",
            zone=ZONE,
            deployment="PERSISTENT_2",
            capacity_gib=4800,
            throughput_mbps_per_tib=1000,
            efa=True,
        ),
        catalog=catalog.load(),
        region=REGION,
        account_id=network.account_id,
        vpc_id=network.vpc_id,
        subnet_id=network.subnet_ids("compute", ZONE),
        clients=[
            Client(name="compute", security_group_id=network.compute_security_group_id),
            Client(name="efa", security_group_id=network.efa_security_group_id, efa=True),
        ],
        tags=tags,
    ),
    own,
)

pulumi.export("mount", pulumi.Output.concat(scratch.dns_name, "@tcp:/", scratch.mount_name))
pulumi.export("nodes", pool.node_group_names)
