"""The stand-in for the AWS SDK in previews, held against the SDK itself."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.whole import NAMES, recording

CHECKOUT = Path(__file__).resolve().parents[3]

# In a process of its own: this one has the SDK.
ALL_STACKS = """
import json, sys
from dataclasses import asdict
from infra.offline import aws_stand_in
from infra.settings import from_file
assert aws_stand_in.install()
from infra.build import build
from infra.offline.recorder import run
found = {}
for name in sys.argv[1:]:
    settings = from_file(name)
    recording = run(lambda: build(settings), stack=name)
    found[name] = {"records": [asdict(each) for each in recording.records], "outputs": recording.outputs}
imported = sorted(each for each in sys.modules if each.startswith("pulumi_aws."))
print(json.dumps({"found": found, "imported": imported}))
"""

# What a person who declares something wrongly or something new meets.
BY_HAND = """
import json, sys
import pulumi
from infra.offline import aws_stand_in
from infra.offline.recorder import run
assert aws_stand_in.install()
import pulumi_aws as aws
said = {}

def refused(name, make):
    try:
        make()
    except Exception as problem:
        said[name] = f"{type(problem).__name__}: {problem}"

def program():
    refused("unknown argument", lambda: aws.ec2.Vpc("a", cidr_blok="10.0.0.0/16"))
    refused("missing argument", lambda: aws.ec2.Subnet("b", cidr_block="10.0.0.0/24"))
    refused("unknown nested argument", lambda: aws.ec2.LaunchTemplateMonitoringArgs(enable=True))
    refused("unknown output", lambda: aws.ec2.Vpc("c", cidr_block="10.0.0.0/16").arm)
    said["isinstance"] = isinstance(aws.ec2.Vpc("d"), aws.ec2.Vpc)
    # A class that no source mentions yet comes from the SDK.
    aws.sqs.Queue("e", name="q", visibility_timeout_seconds=30)
    aws.Provider("f", region="eu-west-1", max_retries=3, profile="p")

records = run(program).records
said["types"] = [each.type for each in records]
said["provider"] = next(each.inputs for each in records if each.type == "pulumi:providers:aws")
said["once more"] = aws_stand_in.install()
print(json.dumps(said))
"""


def in_a_process_of_its_own(program: str, *words: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", program, *words], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def light() -> Any:
    return in_a_process_of_its_own(ALL_STACKS, *NAMES)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.xdist_group("aws_stand_in")
def test_a_stack_is_recorded_as_the_sdk_registers_it(name: str, light: Any) -> None:
    registered_by_sdk = recording(name)
    real = json.loads(json.dumps([asdict(each) for each in registered_by_sdk.records]))
    assert [each["urn"] for each in light["found"][name]["records"]] == [each["urn"] for each in real]
    for stand_in, registered in zip(light["found"][name]["records"], real, strict=True):
        assert stand_in == registered
    assert light["found"][name]["outputs"] == registered_by_sdk.outputs


@pytest.mark.xdist_group("aws_stand_in")
def test_no_module_of_the_sdk_is_imported(light: Any) -> None:
    assert light["imported"] == []


def test_mistakes_are_refused_as_the_sdk_refuses_them_and_what_is_new_comes_from_the_sdk() -> None:
    said = in_a_process_of_its_own(BY_HAND)
    assert said["unknown argument"] == "TypeError: Vpc takes no argument 'cidr_blok'; did you mean 'cidr_block'?"
    assert said["missing argument"] == "TypeError: Missing required property 'vpc_id'"
    assert (
        said["unknown nested argument"]
        == "TypeError: LaunchTemplateMonitoringArgs takes no argument 'enable'; did you mean 'enabled'?"
    )
    assert said["unknown output"] == "AttributeError: Vpc has no output 'arm'"
    assert said["isinstance"] is True
    assert "aws:sqs/queue:Queue" in said["types"]
    assert said["provider"]["maxRetries"] == "3"
    assert said["provider"]["profile"] == "p"
    assert said["once more"] is True


def test_the_table_is_what_the_sdk_says() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/regenerate_aws_shapes.py", "--check"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_process_that_has_the_sdk_keeps_it() -> None:
    import pulumi_aws

    from infra.offline import aws_stand_in

    assert aws_stand_in.install() is False
    assert sys.modules["pulumi_aws"] is pulumi_aws
    assert pulumi_aws.__name__ == "pulumi_aws"


def test_another_version_of_the_sdk_is_used_itself() -> None:
    program = (
        "import json, sys; from infra.offline import aws_stand_in; aws_stand_in._table()['sdk'] = '0.0.1'; "
        "print(json.dumps([aws_stand_in.install(), 'pulumi_aws' in sys.modules]))"
    )
    assert in_a_process_of_its_own(program) == [False, False]
