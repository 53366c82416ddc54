"""`trainshed image` against a registry that answers (moto's ECR) and tools that write down what they were asked."""

from __future__ import annotations

import hashlib
import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws
from typer.testing import CliRunner

from trainshed.cli.image import image_app

MANIFEST = json.dumps(
    {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "size": 2, "digest": f"sha256:{'a' * 64}"},
        "layers": [],
    }
)
OTHER = MANIFEST.replace("a" * 64, "b" * 64)
RUN = CliRunner()


@pytest.fixture
def ecr(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    for key, value in {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-west-2",
        "AWS_CONFIG_FILE": str(tmp_path / "none"),
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(key, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    with mock_aws():
        client: Any = boto3.client("ecr", region_name="us-west-2")
        client.create_repository(repositoryName="trainer", imageTagMutability="IMMUTABLE")
        yield client


def push(ecr: Any, tag: str, manifest: str = MANIFEST) -> str:
    # As ECR computes it; moto gives every manifest the digest of nothing.
    digest = f"sha256:{hashlib.sha256(manifest.encode()).hexdigest()}"
    ecr.put_image(repositoryName="trainer", imageManifest=manifest, imageTag=tag, imageDigest=digest)
    return digest


def tags(ecr: Any) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for each in ecr.list_images(repositoryName="trainer")["imageIds"]:
        found.setdefault(each["imageDigest"], set()).add(each.get("imageTag", ""))
    return found


def said(*words: str) -> tuple[int, str, str]:
    result = RUN.invoke(image_app, list(words))
    return result.exit_code, result.stdout.strip(), result.stderr.strip()


def test_promotion_gives_the_same_digest_another_environments_tag(ecr: Any) -> None:
    digest = push(ecr, "dev-1.4")
    assert said("promote", "trainer:dev-1.4", "--to", "prod") == (
        0,
        "",
        f"gave trainer:dev-1.4 ({digest}) the tag prod-1.4",
    )
    assert tags(ecr) == {digest: {"dev-1.4", "prod-1.4"}}


def test_promoting_again_changes_nothing(ecr: Any) -> None:
    digest = push(ecr, "dev-1.4")
    said("promote", "trainer:dev-1.4", "--to", "prod")
    assert said("promote", "trainer:dev-1.4", "--to", "prod") == (0, "", f"trainer:prod-1.4 is {digest} already")


def test_a_digest_is_promoted_under_a_version_that_is_given(ecr: Any) -> None:
    digest = push(ecr, "dev-1.4")
    address = f"111122223333.dkr.ecr.us-west-2.amazonaws.com/trainer@{digest}"
    assert said("promote", address, "--to", "staging", "--version", "1.5")[0] == 0
    assert tags(ecr) == {digest: {"dev-1.4", "staging-1.5"}}


def test_a_tag_that_means_another_image_is_never_moved_and_nothing_is_built(ecr: Any) -> None:
    digest, other = push(ecr, "dev-1.4"), push(ecr, "prod-1.4", OTHER)
    assert said("promote", "trainer:dev-1.4", "--to", "prod") == (
        1,
        "",
        (
            f"trainer:prod-1.4 is another image, {other}, and dev-1.4 is {digest}; tags never move and promotion never"
            " builds: give another --version"
        ),
    )
    assert tags(ecr) == {digest: {"dev-1.4"}, other: {"prod-1.4"}}


def test_what_the_registry_does_not_hold_is_named(ecr: Any) -> None:
    assert said("promote", "trainer:dev-9.9", "--to", "prod") == (
        1,
        "",
        "trainer holds no image dev-9.9; see aws ecr describe-images --repository-name trainer",
    )
    assert said("promote", "other:dev-1.4", "--to", "prod") == (
        1,
        "",
        "the registry has no repository other; name it under storage.registry.repositories and deploy",
    )


def test_json_names_the_digest_and_whether_anything_changed(ecr: Any) -> None:
    digest = push(ecr, "dev-1.4")
    code, out, _ = said("promote", "trainer:dev-1.4", "--to", "prod", "--json")
    assert (code, json.loads(out)) == (
        0,
        {"repository": "trainer", "digest": digest, "tag": "prod-1.4", "changed": True},
    )
    assert json.loads(said("promote", "trainer:dev-1.4", "--to", "prod", "--json")[1])["changed"] is False


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("trainer:dev-1.4", "--to", "prd"), '"prd" is no environment; did you mean "prod"?'),
        (
            ("trainer", "--to", "prod"),
            '"trainer" is no image with a tag or a digest; use one such as trainer:dev-1.4 or trainer@sha256:…',
        ),
        (
            ("trainer:latest", "--to", "prod"),
            'the tag "latest" belongs to no environment; tags begin with dev-, staging-, prod- or standby-',
        ),
        (
            (f"trainer@sha256:{'a' * 64}", "--to", "prod"),
            "a digest has no version of its own; give --version, such as --version 1.4",
        ),
        (("trainer:prod-1.4", "--to", "prod"), '"trainer:prod-1.4" is an image of prod already'),
        (
            ("trainer:dev-1.4", "--to", "prod", "--version", "a b"),
            '"a b" can\'t end a tag; use letters, digits, dots, dashes and underscores, such as 1.4',
        ),
    ],
)
def test_a_wrong_use_ends_with_two_and_says_what_is_right(words: tuple[str, ...], text: str) -> None:
    assert said("promote", *words) == (2, "", f"trainshed image promote: {text}")


def test_without_a_region_or_credentials_the_command_says_how_to_give_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for key in ("AWS_DEFAULT_REGION", "AWS_REGION", "AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    code, out, err = said("promote", "trainer:dev-1.4", "--to", "prod")
    assert (code, out) == (3, "")
    assert (
        err
        == "AWS can't be asked: You must specify a region.; give --region and credentials, such as by AWS_PROFILE or"
        " aws sso login"
    )


def test_the_mirror_is_listed_without_asking_anybody() -> None:
    code, out, err = said("mirror", "staging", "--account", "111122223333")
    assert code == 0
    lines = out.splitlines()
    assert (
        "copied  registry.k8s.io/kueue/kueue:v0.19.2 ->"
        " 111122223333.dkr.ecr.us-west-2.amazonaws.com/kubernetes/kueue/kueue:v0.19.2" in lines
    )
    assert all(line.startswith("copied") for line in lines)
    assert err.splitlines()[-1] == "add --run to do both from this machine"


def test_json_lists_every_image_with_its_address() -> None:
    found = json.loads(said("mirror", "prod", "--json", "--account", "111122223333")[1])
    assert found["registry"] == "111122223333.dkr.ecr.us-west-2.amazonaws.com"
    plugin = next(each for each in found["images"] if each["name"] == "nvidia-device-plugin")
    assert plugin == {
        "name": "nvidia-device-plugin",
        "upstream": "nvcr.io/nvidia/k8s-device-plugin:v0.20.0",
        "path": "nvcr/nvidia/k8s-device-plugin:v0.20.0",
        "how": "copied",
        "address": "111122223333.dkr.ecr.us-west-2.amazonaws.com/nvcr/nvidia/k8s-device-plugin:v0.20.0",
    }


def tool(folder: Path, name: str, failing: str = "") -> Path:
    """A stand-in that writes its words to a file and fails when one of them holds `failing`. It asserts nothing about
    the real tool.
    """
    log = folder / f"{name}.log"
    script = folder / name
    fails = f'case "$*" in *{failing}*) echo "no such image" >&2; exit 1;; esac\n' if failing else ""
    script.write_text(f'#!/bin/sh\necho "$*" >> {log}\n{fails}exit 0\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return log


def test_run_logs_in_copies_what_must_be_copied_and_fetches_the_rest(
    ecr: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log = tool(tmp_path, "crane")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert said("mirror", "prod", "--run") == (0, "", "")
    asked = log.read_text().splitlines()
    registry = "123456789012.dkr.ecr.us-west-2.amazonaws.com"
    assert asked[:2] == [
        f"auth login --username AWS --password-stdin {registry}",
        "auth login --username AWS --password-stdin 602401143452.dkr.ecr.us-west-2.amazonaws.com",
    ]
    assert f"copy nvcr.io/nvidia/k8s-device-plugin:v0.20.0 {registry}/nvcr/nvidia/k8s-device-plugin:v0.20.0" in asked
    assert f"manifest {registry}/quay/prometheus/node-exporter:v1.12.1" in asked


def test_an_image_that_does_not_arrive_is_named_and_the_others_still_come(
    ecr: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log = tool(tmp_path, "skopeo", failing="dcgm-exporter")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    code, _, err = said("mirror", "prod", "--run")
    assert code == 1
    registry = "123456789012.dkr.ecr.us-west-2.amazonaws.com"
    image = "nvidia/k8s/dcgm-exporter:4.5.3-4.8.2-distroless"
    assert err.splitlines() == ["no such image", f"nvcr.io/{image} did not reach {registry}/nvcr/{image}"]
    assert len(log.read_text().splitlines()) == 2 + 7


def test_without_a_tool_nothing_runs_and_the_tools_are_named(
    ecr: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert said("mirror", "prod", "--run") == (
        3,
        "",
        "no tool that copies images is here: install crane, skopeo or docker (with buildx), and put it on PATH",
    )


def test_a_stack_with_errors_is_not_mirrored(tmp_path: Path) -> None:
    path = tmp_path / "Pulumi.bad.yaml"
    path.write_text("config:\n  trainshed:environment: dev\n")
    code, out, err = said("mirror", str(path))
    assert (code, out) == (1, "")
    assert "nothing was mirrored" in err
