"""Somebody else's program, run as it stands: the components need no stack file."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

from tests.declared import Record, of_type, one, run

PROGRAM = Path(__file__).resolve().parents[2] / "examples" / "own_program" / "__main__.py"
CONFIG = {
    "own-program:cluster": "lab",
    "own-program:endpoint": "https://lab.example",
    "own-program:certificateAuthority": "Y2E=",
    "own-program:nodeRoleArn": "arn:aws:iam::111122223333:role/lab-nodes",
}


def declared() -> list[Record]:
    def program() -> None:
        runpy.run_path(str(PROGRAM), run_name="__main__")

    return run(program, project="own-program", stack="lab", config=CONFIG).records


def test_the_program_declares_a_network_a_pool_and_a_file_system() -> None:
    records = declared()
    assert {each.type for each in records if each.type.startswith("trainshed:")} == {
        "trainshed:network:Network",
        "trainshed:pool:GpuPool",
        "trainshed:storage:Lustre",
    }
    assert one(records, "aws:fsx/lustreFileSystem:LustreFileSystem").inputs["storageCapacity"] == 4800
    template = one(records, "aws:ec2/launchTemplate:LaunchTemplate")
    interfaces = template.inputs["networkInterfaces"]
    assert sum(each["interfaceType"] == "efa-only" for each in interfaces) == 32
    assert one(records, "aws:eks/nodeGroup:NodeGroup").inputs["scalingConfig"]["maxSize"] == 4


def test_its_tags_and_its_provider_reach_every_leaf() -> None:
    records = declared()
    for record in records:
        if record.type.startswith("aws:"):
            assert record.provider.endswith("::aws"), record.name
    for record in of_type(records, "Subnet"):
        assert record.inputs["tags"]["owner"] == "research"


STACK_PROGRAM = PROGRAM.parents[1] / "own_stack" / "__main__.py"


def test_the_two_programs_cover_every_component() -> None:
    rooms = PROGRAM.parents[2] / "components"
    known = {
        word
        for path in rooms.rglob("*.py")
        for word in re.findall(r'super\(\).__init__\(\s*"(trainshed:[\w:]+)"', path.read_text())
    }
    found = run(lambda: runpy.run_path(str(STACK_PROGRAM), run_name="__main__"), project="own-stack", stack="lab")
    made = {each.type for each in (*declared(), *found.records)}
    # A block's calendar comes with its pool.
    assert known - made <= {"trainshed:pool:BlockCalendar"}
    assert len(known) > 15
