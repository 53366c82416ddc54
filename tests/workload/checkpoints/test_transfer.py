"""Copies of checkpoints to other paths and to S3, through boto3 and through the aws command.

S3 is moto behind its HTTP proxy on 127.0.0.1: clients are told to use the proxy, and requests reach it over a socket as
they would AWS.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.moto_proxy.proxy3 import ProxyRequestHandler

from tests.workload.checkpoints.test_checkpoint import flip, written
from tests.workload.conftest import Run
from workload.checkpoints import checkpoint

ENDPOINT = "http://s3.us-east-1.amazonaws.com"  # plain HTTP, so that the proxy needs no certificate


@pytest.fixture(scope="module")
def proxy() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), ProxyRequestHandler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def bucket(proxy: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    for name, value in {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": str(tmp_path / "none"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none"),
        "HTTP_PROXY": proxy,
        "http_proxy": proxy,
        "NO_PROXY": "",
        "no_proxy": "",
    }.items():
        monkeypatch.setenv(name, value)
    s3: Any = boto3.resource("s3", endpoint_url=ENDPOINT)
    resource = s3.Bucket(f"bucket-{next(NUMBERS)}")
    resource.create()
    return resource


NUMBERS = itertools.count()


def test_a_copy_to_another_path_verifies_there(tmp_path: Path, run: Run) -> None:
    folder = written(tmp_path / "one", 10, ranks=2)
    done = run("checkpoints/checkpoint", "copy", folder, tmp_path / "two")
    assert (done.returncode, done.stdout) == (
        0,
        f"{tmp_path}/two/{folder.name}: 6 parts copied, 0 were there, all verified\n",
    )
    assert checkpoint.latest(tmp_path / "two") == (tmp_path / "two" / folder.name, [])
    again = run("checkpoints/checkpoint", "copy", folder, tmp_path / "two")
    assert again.stdout.endswith(": 0 parts copied, 6 were there, all verified\n")


def test_a_damaged_checkpoint_is_not_copied_and_the_file_is_named(tmp_path: Path, run: Run) -> None:
    folder = written(tmp_path / "one", 10)
    flip(folder / "optimizer-000000.bin")
    done = run("checkpoints/checkpoint", "copy", folder, tmp_path / "two")
    assert done.returncode == 1
    assert done.stderr.startswith(f"not copied: {folder}/optimizer-000000.bin: sha256 is ")
    assert checkpoint.latest(tmp_path / "two") == (None, [])


def test_a_part_that_is_gone_is_named(tmp_path: Path, run: Run) -> None:
    folder = written(tmp_path / "one", 10)
    (folder / "optimizer-000000.bin").unlink()
    done = run("checkpoints/checkpoint", "copy", folder, tmp_path / "two")
    assert (done.returncode, done.stderr) == (1, f"not copied: {folder}/optimizer-000000.bin: is missing\n")


def test_an_incomplete_checkpoint_is_not_copied(tmp_path: Path, run: Run) -> None:
    folder = written(tmp_path / "one", 10)
    (folder / "manifest.json").unlink()
    done = run("checkpoints/checkpoint", "copy", folder, tmp_path / "two")
    assert (done.returncode, done.stderr) == (1, f"{folder}/manifest.json is missing: the checkpoint is not complete\n")


def test_a_copy_to_s3_and_back_is_the_same_checkpoint(bucket: Any, tmp_path: Path, run: Run) -> None:
    folder = written(tmp_path / "one", 10)
    more = ("--endpoint-url", ENDPOINT, "--client", "boto3")
    done = run("checkpoints/checkpoint", "copy", folder, f"s3://{bucket.name}/copies/", *more, python=sys.executable)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"s3://{bucket.name}/copies/{folder.name}: 5 parts copied, 0 were there, all verified\n"
    keys = sorted(entry.key for entry in bucket.objects.all())
    parts = [part.name for part in checkpoint.read_manifest(folder).parts]
    assert keys == sorted(f"copies/{folder.name}/{name}" for name in [*parts, "manifest.json"])
    more = ("--endpoint-url", ENDPOINT)
    back = run(
        "checkpoints/checkpoint",
        "copy",
        f"s3://{bucket.name}/copies/{folder.name}",
        tmp_path / "back",
        *more,
        python=sys.executable,
    )
    assert (back.returncode, back.stderr) == (0, "")
    assert {path.name: path.read_bytes() for path in (tmp_path / "back" / folder.name).iterdir()} == {
        path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith("rank-")
    }


def test_the_aws_command_does_as_boto3_does(bucket: Any, tmp_path: Path, need: Callable[[str], Path]) -> None:
    need("aws")
    folder = written(tmp_path / "one", 10)
    at = checkpoint.place(f"s3://{bucket.name}/p", ENDPOINT, client="aws")
    assert type(at).__name__ == "CommandBucket"
    assert at.sizes() == {}
    at.put("weights-000000.bin", iter([]), folder / "weights-000000.bin")
    at.put("manifest.json", iter([b"ab", b"c"]), None)
    assert at.sizes() == {"manifest.json": 3, "weights-000000.bin": 120}
    assert b"".join(at.read("weights-000000.bin")) == (folder / "weights-000000.bin").read_bytes()
    assert bucket.Object("p/manifest.json").get()["Body"].read() == b"abc"
    with pytest.raises(FileNotFoundError, match=f"s3://{bucket.name}/p/none"):
        list(at.read("none"))


def test_a_copy_cut_short_goes_on_and_a_damaged_object_is_sent_again(bucket: Any, tmp_path: Path) -> None:
    folder = written(tmp_path / "one", 10)
    target = checkpoint.place(f"s3://{bucket.name}/{folder.name}", ENDPOINT)
    source = checkpoint.place(str(folder))
    for name in ("weights-000000.bin", "optimizer-000000.bin"):
        target.put(name, source.read(name), folder / name)
    bucket.Object(f"{folder.name}/optimizer-000000.bin").put(Body=b"damaged")
    assert checkpoint.copy(source, target) == (4, 1)


def test_an_object_damaged_on_its_way_is_named_and_no_manifest_follows(
    bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written(tmp_path / "one", 10)
    target = checkpoint.place(f"s3://{bucket.name}/{folder.name}", ENDPOINT)
    real = type(target).put

    def damaging(self: Any, file: str, chunks: Iterator[bytes], origin: Path | None) -> None:
        real(self, file, chunks, origin)
        if file.startswith("weights"):
            bucket.Object(f"{folder.name}/{file}").put(Body=b"damaged")

    monkeypatch.setattr(type(target), "put", damaging)
    with pytest.raises(checkpoint.CopyFailed) as raised:
        checkpoint.copy(checkpoint.place(str(folder)), target)
    assert (
        str(raised.value)
        == f"arrived damaged: s3://{bucket.name}/{folder.name}/weights-000000.bin: 7 bytes, the manifest says 120"
    )
    assert f"{folder.name}/manifest.json" not in [entry.key for entry in bucket.objects.all()]


def test_without_any_s3_client_it_says_how_to_get_one(tmp_path: Path, run: Run) -> None:
    folder = written(tmp_path / "one", 10)
    (tmp_path / "hide").mkdir()
    (tmp_path / "hide/boto3.py").write_text("raise ImportError('none here')\n")
    done = run(
        "checkpoints/checkpoint",
        "copy",
        folder,
        "s3://b/p",
        environment={"PATH": "/none", "PYTHONPATH": str(tmp_path / "hide")},
    )
    assert done.returncode == 3
    assert (
        done.stderr
        == "S3 needs boto3 or the aws command, and neither is here: `pip install boto3`, or install the AWS CLI\n"
    )


def test_places_that_make_no_sense_are_refused(tmp_path: Path, run: Run) -> None:
    done = run("checkpoints/checkpoint", "copy", tmp_path / "none", "s3://b/p")
    wanted = "expected a folder named step-STEP-ATTEMPT, or with a step's number at its end"
    assert (done.returncode, done.stderr) == (2, f"{tmp_path}/none: {wanted}\n")
    done = run("checkpoints/checkpoint", "copy", "s3://a/step-000000000001-a", "s3://b/p")
    assert (done.returncode, done.stderr) == (2, "from bucket to bucket: use the bucket's replication\n")
