"""The job that prepares a file system, its script run by a shell against commands that only write down what they were
asked.
"""

from __future__ import annotations

import configparser
import os
import subprocess
from pathlib import Path

import pytest

from components import file_systems
from components.manifests.storage import folders
from components.planning import mounted_folders
from components.spec.stack import StackSpec
from tests.given import CAT, stack_of

LINKS = "{path: /data, bucket: datasets, import: [new]}, {path: /saved, bucket: checkpoints, export: [new]}"
INSTALLED = "dnf install --assumeyes --repo=trainshed --setopt=install_weak_deps=False lustre-client"
STRIPED = "lfs setstripe --stripe-count 8 --stripe-size 4M {root}/system/saved"


def stack() -> StackSpec:
    train = (
        "{name: train, zone: usw2-az3, capacity_gib: 2400, throughput_mbps_per_tib: 500, striping: {count: 8, size_mib:"
        " 4}, "
    )
    spare = "{name: spare, zone: usw2-az3, deployment: SCRATCH_2, capacity_gib: 1200, expendable: true}"
    return stack_of(pools="[]", rest=f"  trainshed:storage: {{lustre: [{train}links: [{LINKS}]}}, {spare}]}}")


def script(place: int, region: str = "us-west-2") -> str:
    given = stack()
    system = file_systems.systems(given, CAT)[place]
    job = folders.prepare(
        system, mounted_folders.of_stack(given, CAT), "image", given.model_copy(update={"region": region})
    )
    [container] = job["spec"]["template"]["spec"]["containers"]
    shell, options, text = container["command"]
    assert (shell, options) == ("/bin/sh", "-ec")
    return text


def run(text: str, root: Path, *, dnf_fails: bool = False) -> tuple[int, list[str]]:
    """The exit status and the calls, with the machine's folders under `root`."""
    tools, reported = root / "bin", root / "told"
    (root / "etc/yum.repos.d").mkdir(parents=True)
    tools.mkdir()
    for name in ("chown", "dnf", "lfs"):
        status = 1 if name == "dnf" and dnf_fails else 0
        (tools / name).write_text(f'#!/bin/sh\necho "{name} $*" >> {reported}\nexit {status}\n')
        (tools / name).chmod(0o755)
    moved = text.replace("/system/", f"{root}/system/").replace("/etc/yum.repos.d", f"{root}/etc/yum.repos.d")
    done = subprocess.run(["/bin/sh", "-ec", moved], env={"PATH": f"{tools}:{os.environ['PATH']}"}, check=False)
    return done.returncode, reported.read_text().splitlines() if reported.exists() else []


def test_folders_are_made_and_given_before_the_package_is_asked_for(tmp_path: Path) -> None:
    status, calls = run(script(0), tmp_path)
    assert status == 0
    assert calls == [f"chown 10001:10001 {tmp_path}/system/saved", INSTALLED, STRIPED.format(root=tmp_path)]
    assert sorted(each.name for each in (tmp_path / "system").iterdir()) == ["data", "saved"]


def test_a_package_that_can_not_be_had_leaves_the_folders_and_fails_the_job(tmp_path: Path) -> None:
    status, calls = run(script(0), tmp_path, dnf_fails=True)
    assert status != 0
    assert calls == [f"chown 10001:10001 {tmp_path}/system/saved", INSTALLED]
    assert (tmp_path / "system/data").is_dir()


def test_a_file_system_without_checkpoints_needs_no_package(tmp_path: Path) -> None:
    assert run(script(1), tmp_path) == (0, [])


@pytest.mark.parametrize(
    ("region", "host"),
    [
        ("us-west-2", "al2023-repos-us-west-2-de612dc2.s3.dualstack.us-west-2.amazonaws.com"),
        ("us-gov-west-1", "al2023-repos-us-gov-west-1-de612dc2.s3.dualstack.us-gov-west-1.amazonaws.com"),
        ("cn-north-1", "al2023-repos-cn-north-1-de612dc2.s3.dualstack.cn-north-1.amazonaws.com.cn"),
    ],
)
def test_the_package_comes_signed_from_the_regions_bucket(tmp_path: Path, region: str, host: str) -> None:
    run(script(0, region), tmp_path)
    words = configparser.ConfigParser(interpolation=None)
    words.read(tmp_path / "etc/yum.repos.d/trainshed.repo")
    assert words.sections() == ["trainshed"]
    assert words["trainshed"]["mirrorlist"] == f"https://{host}/core/mirrors/$releasever/$basearch/mirror.list"
    assert (words["trainshed"]["gpgcheck"], words["trainshed"]["enabled"]) == ("1", "1")
    assert words["trainshed"]["gpgkey"] == "file:///etc/pki/rpm-gpg/RPM-GPG-KEY-amazon-linux-2023"
