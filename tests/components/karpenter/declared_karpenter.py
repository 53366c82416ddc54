"""The node class and node pool of a pool's text, and what the whole component declares."""

from __future__ import annotations

from typing import Any

import yaml

from components import catalog as catalogs
from components.karpenter import BoughtPool, Karpenter, KarpenterArgs
from components.manifests.karpenter.node_class import NodeWires, node_class
from components.manifests.karpenter.node_pool import node_pool
from components.manifests.nodes import setup as node_setup
from components.planning import node_images, placement
from components.planning.pool import Pool, of_stack
from components.spec.pools import PoolSpec
from tests.components.planning.pool_stacks import stack
from tests.declared import Record, record

CAT = catalogs.load()
TRAIN: dict[str, Any] = {
    "name": "train",
    "purpose": "training",
    "instance_type": "p5.48xlarge",
    "zone": "usw2-az3",
    "nodes": {"min": 0, "max": 16},
    "fabric": "efa",
}
WIRES = NodeWires(
    subnet_ids=["subnet-3"],
    security_group_ids=["sg-compute", "sg-efa"],
    instance_profile="nodes",
    key_arn="arn:aws:kms:us-west-2:111122223333:key/1a2b",
    placement_group="train-placement",
    tags={"team": "pretraining"},
)


def parts(raw: dict[str, Any], *, spot: bool = True, wires: NodeWires = WIRES) -> tuple[dict[str, Any], dict[str, Any]]:
    """The node class and the node pool of one pool."""
    pool = Pool(PoolSpec.model_validate(raw), CAT)
    plan = placement.plan(pool, network_zones=["usw2-az3"], spot_preprocessing=spot)
    assert plan.elastic is not None
    made = node_class(
        pool,
        plan.elastic,
        image=node_images.of_pool(pool, "1.35"),
        setup=node_setup.of_pool(pool),
        wires=wires,
    )
    return made, node_pool(pool, plan.elastic)


def declared(*raws: dict[str, Any], egress: str = "nat", known: bool = True, **more: Any) -> list[Record]:
    """What the component declares for a stack of these pools."""
    network = {"zones": ["usw2-az2", "usw2-az3", "usw2-az4"], "egress": egress}
    spec = stack(*raws, network=network, **more)

    def program() -> None:
        bought = [
            BoughtPool(pool=pool, elastic=elastic, subnet_ids=["subnet-3"], security_group_ids=["sg-1"])
            for pool in of_stack(spec, CAT)
            if (
                elastic := placement.plan(
                    pool, network_zones=spec.zones, spot_preprocessing=spec.spot_preprocessing
                ).elastic
            )
        ]
        args = KarpenterArgs(
            spec=spec,
            catalog=CAT,
            account_id="111122223333",
            cluster_name="trainshed-prod",
            cluster_version="1.35",
            endpoint="https://c.example",
            key_arn="arn:aws:kms:us-west-2:111122223333:key/1a2b",
            pools=bought,
            mirror="111122223333.dkr.ecr.us-west-2.amazonaws.com" if egress == "isolated" else None,
        )
        Karpenter("karpenter", args)

    return record(program, known=known)


def user_data(made: dict[str, Any]) -> dict[str, Any]:
    """The NodeConfig in a node class's user data."""
    text = made["spec"]["userData"]
    start = text.index("---\n", text.index("application/node.eks.aws"))
    return yaml.safe_load(text[start : text.index("--==", start)])
