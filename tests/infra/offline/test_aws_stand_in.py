"""The stand-in for the AWS SDK in previews, held against the SDK itself."""

from __future__ import annotations

import json
import os
import re
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
assert aws_stand_in.install() == ""
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
assert aws_stand_in.install() == ""
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
    assert said["once more"] == ""


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

    assert aws_stand_in.install() == "it is imported already"
    assert sys.modules["pulumi_aws"] is pulumi_aws
    assert pulumi_aws.__name__ == "pulumi_aws"


def test_another_version_of_the_sdk_is_used_itself() -> None:
    program = (
        "import json, sys; from infra.offline import aws_stand_in; aws_stand_in._table()['sdk'] = '0.0.1'; "
        "print(json.dumps([aws_stand_in.install(), 'pulumi_aws' in sys.modules]))"
    )
    why, imported = in_a_process_of_its_own(program)
    assert re.fullmatch(r"version \S+ is installed, and infra/offline/aws_shapes.json is of 0.0.1", why)
    assert imported is False


# A nested output that a preview knows: what the program gave comes back.
NESTED = """
import json, os, sys
import pulumi
from infra.offline import aws_stand_in
from infra.offline.recorder import run
aws_stand_in.install()
import pulumi_aws as aws
said = {"stand-in": type(aws).__name__ == "_Package"}

def program():
    made = aws.ec2.LaunchTemplate("a", metadata_options={"http_tokens": "required"})
    pulumi.export("right", made.metadata_options.apply(lambda options: options.http_tokens))
    pulumi.export("absent", made.metadata_options.apply(lambda options: options.http_endpoint or "nothing"))
    if "wrong" in sys.argv:
        pulumi.export("wrong", made.metadata_options.apply(lambda options: options.http_token))

try:
    said["outputs"] = run(program).outputs
except Exception as problem:
    said["refused"] = f"{type(problem).__name__}: {problem}"
print(json.dumps(said))
"""


def test_a_misspelt_nested_output_is_refused_inside_an_apply() -> None:
    right = in_a_process_of_its_own(NESTED)
    assert right == {"stand-in": True, "outputs": {"right": "required", "absent": "nothing"}}
    wrong = in_a_process_of_its_own(NESTED, "wrong")
    assert wrong["refused"] == (
        "AttributeError: LaunchTemplateMetadataOptions has no output 'http_token'; did you mean 'http_tokens'?"
    )


def test_the_sdk_refuses_the_same_misspelling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINSHED_AWS_SDK", "1")
    wrong = in_a_process_of_its_own(NESTED, "wrong")
    assert wrong["stand-in"] is False
    assert wrong["refused"].startswith("AttributeError: ")
    assert "http_token" in wrong["refused"]


def test_the_switch_uses_the_sdk_and_the_preview_says_so(tmp_path: Path) -> None:
    stack = tmp_path / "Pulumi.tiny.yaml"
    stack.write_text(
        "config:\n  aws:region: us-west-2\n  trainshed:environment: dev\n"
        "  trainshed:network: {zones: [usw2-az1, usw2-az2]}\n  trainshed:pools:\n"
        "    - {name: train, purpose: training, instance_type: p5.48xlarge, zone: usw2-az2, nodes: {min: 0, max: 2}}\n"
    )
    command = [sys.executable, "-m", "trainshed", "preview", str(stack), "--json"]

    def previewed(**more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=CHECKOUT, env={**os.environ, **more}, capture_output=True, text=True, check=True
        )

    light, real = previewed(), previewed(TRAINSHED_AWS_SDK="1")
    assert light.stderr == ""
    assert real.stderr == ("the AWS SDK itself is imported, which takes some seconds: TRAINSHED_AWS_SDK is set\n")
    assert json.loads(light.stdout) == json.loads(real.stdout)


def test_what_a_recording_patches_in_the_sdk_is_put_back() -> None:
    from pulumi.runtime import resource

    from infra.offline.recorder import run

    real = getattr(resource, "_get_stack_trace")  # noqa: B009 - a private name
    seen: list[object] = []
    run(lambda: seen.append(getattr(resource, "_get_stack_trace")))  # noqa: B009
    assert seen[0] is not real
    assert getattr(resource, "_get_stack_trace") is real  # noqa: B009
