"""No choice that the stack file offers breaks the project's own mandatory policies: every adapter of cards and
every switch.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from components.problems import errors, render
from components.spec.reading import fields
from components.spec.stack import StackSpec
from infra.build import build
from infra.offline.recorder import run
from infra.settings import from_file
from policies.cost.pack import PACK as COST
from policies.packs.configuration import load
from policies.packs.evaluation import evaluate
from policies.security.pack import PACK as SECURITY
from tests.policies.cases import TODAY

pytestmark = pytest.mark.xdist_group("policies-choices")

# How large and of what kind an environment lets file systems be is set there, whatever the stack file can say.
SET_THERE = "lustre-within-limits"
ADMIN = "arn:aws:iam::111122223333:role/platform-admin"
POOL: dict[str, Any] = {
    "name": "train",
    "purpose": "training",
    "instance_type": "p5.48xlarge",
    "zone": "usw2-az2",
    "nodes": {"min": 0, "max": 2},
}
LUSTRE: dict[str, Any] = {"name": "train", "zone": "usw2-az2", "capacity_gib": 9600, "throughput_mbps_per_tib": 500}
CONFIG: dict[str, Any] = {
    "network": {"zones": ["usw2-az1", "usw2-az2"]},
    "cluster": {"admins": [ADMIN]},
    "pools": [POOL],
    "budget": {"monthly_usd": 500000},
    "observability": {"alerts_to": ["mailto:oncall@example.com"]},
    "tags": {"owner": "ml-platform", "team": "pretraining", "cost-center": "4711"},
}


def broken(folder: Path, environment: str, **changes: Any) -> list[str]:
    """The mandatory rules of both packs that a stack with these sections breaks."""
    path = folder / "Pulumi.choice.yaml"
    sections = {f"trainshed:{key}": value for key, value in (CONFIG | changes).items()}
    path.write_text(
        yaml.safe_dump({"config": {"aws:region": "us-west-2", "trainshed:environment": environment, **sections}})
    )
    settings = from_file(str(path))
    assert not errors(settings.problems), [render(each) for each in settings.problems]
    recording = run(lambda: build(settings), stack="choice")
    records = [asdict(each) for each in recording.records if each.type != "pulumi:pulumi:Stack"]
    reports = [
        evaluate(records, pack, load(pack.name, "choice", environment), today=TODAY) for pack in (SECURITY, COST)
    ]
    return [f"{each.rule}: {each.urn}" for report in reports for each in report.mandatory if each.rule != SET_THERE]


@pytest.mark.parametrize("environment", ["dev", "staging", "prod"])
@pytest.mark.parametrize(
    "pool",
    [
        POOL,
        {**POOL, "instance_type": "trn1.32xlarge", "zone": "usw2-az1"},
        {**POOL, "instance_type": "m7i.xlarge", "purpose": "evaluation"},
    ],
    ids=["nvidia", "neuron", "no cards"],
)
def test_cards_of_every_family_pass(tmp_path: Path, environment: str, pool: dict[str, Any]) -> None:
    assert broken(tmp_path, environment, pools=[pool]) == []


SCRATCH = {"name": "train", "zone": "usw2-az2", "deployment": "SCRATCH_2", "capacity_gib": 1200, "expendable": True}
CPU = {
    "name": "work",
    "purpose": "preprocessing",
    "instance_types": ["m7i.8xlarge", "m7a.8xlarge", "m6i.8xlarge"],
    "nodes": 2,
}
HDD = {**LUSTRE, "deployment": "PERSISTENT_1", "storage": "HDD", "capacity_gib": 1800, "throughput_mbps_per_tib": 40}
BLOCK = {"kind": "block", "id": "cr-3a1b2c3d4e5f60718", "start": "2026-12-10T11:30:00Z", "end": "2026-12-24T11:30:00Z"}
SWITCHES: dict[str, dict[str, Any]] = {
    "spot_preprocessing on": {"pools": [CPU], "spot_preprocessing": True},
    "spot_preprocessing off": {"pools": [CPU], "spot_preprocessing": False},
    "public endpoint": {
        "cluster": {"admins": [ADMIN], "endpoint": {"public": True, "allowed_cidrs": ["203.0.113.0/24"]}}
    },
    "zonal_shift": {"cluster": {"admins": [ADMIN], "zonal_shift": True}},
    "audit_trail": {"governance": {"audit_trail": True}},
    "threat_detection": {"governance": {"threat_detection": True}},
    "configuration_rules": {"governance": {"configuration_rules": True}},
    "delete_protection": {"governance": {"delete_protection": True}},
    "running": {"pools": [{**POOL, "capacity": {**BLOCK, "running": True}}]},
    "node_repair on": {"pools": [{**POOL, "node_repair": True}]},
    "node_repair off": {"pools": [{**POOL, "node_repair": False}]},
    "protect of a pool": {"pools": [{**POOL, "protect": True}]},
    "hold": {"queues": [{"name": "train", "pool": "train", "hold": True}]},
    "efa of a file system": {"storage": {"lustre": [{**LUSTRE, "efa": True}]}},
    "drive_cache": {"storage": {"lustre": [{**HDD, "drive_cache": True}]}},
    "final_backup on": {"storage": {"lustre": [{**LUSTRE, "final_backup": True}]}},
    "final_backup off": {"storage": {"lustre": [{**LUSTRE, "final_backup": False}]}},
    "expendable": {"storage": {"lustre": [SCRATCH]}},
    "protect of a file system": {"storage": {"lustre": [{**LUSTRE, "protect": True}]}},
    "batch_import off": {
        "storage": {
            "lustre": [
                {**LUSTRE, "links": [{"path": "/d", "bucket": "datasets", "import": ["new"], "batch_import": False}]}
            ]
        }
    },
    "quarantine off": {"node_health": {"quarantine": False}},
    "registry of another stack": {"storage": {"registry": {"declare": False}}},
}


@pytest.mark.parametrize("environment", ["dev", "prod"])
@pytest.mark.parametrize("changes", SWITCHES.values(), ids=SWITCHES)
def test_every_switch_passes(tmp_path: Path, environment: str, changes: dict[str, Any]) -> None:
    assert broken(tmp_path, environment, **changes) == []


def flags(model: type[BaseModel]) -> set[str]:
    """The names of every boolean below a model."""
    found: set[str] = set()
    for name, info in model.model_fields.items():
        for part in fields.parts(info.annotation):
            if part is bool:
                found.add(name)
            elif fields.is_model(part):
                found |= flags(part)
    return found


def test_every_switch_of_the_stack_file_is_tried() -> None:
    tried = json.dumps(list(SWITCHES.values()))
    assert {name for name in flags(StackSpec) if f'"{name}": ' not in tried} == set()
