"""Object storage that fails: bodies cut short, refused connections, refused rights; and checkpoints given up there."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import boto3
import pytest

from tests.workload.checkpoints.test_checkpoint import written
from tests.workload.checkpoints.test_transfer import ENDPOINT, bucket, proxy  # noqa: F401  # pyright: ignore[reportUnusedImport] - fixtures
from tests.workload.conftest import ROOT
from workload.checkpoints import bucket as buckets
from workload.checkpoints import checkpoint
from workload.checkpoints.places import BotoBucket, CopyFailed, Folder, place
from workload.checkpoints.places.place import Passing, again
from workload.launch.settings import free_port


class Cutting(BaseHTTPRequestHandler):
    """Sends half of what is left, and closes the connection, until a third request."""

    body = bytes(range(256)) * 4096
    asked: ClassVar[list[tuple[str | None, str | None]]] = []
    refusal: ClassVar[bytes] = b""

    def do_GET(self) -> None:
        if self.refusal:
            self.send_response(403)
            self.send_header("Content-Length", str(len(self.refusal)))
            self.end_headers()
            self.wfile.write(self.refusal)
            return
        wanted = self.headers.get("Range")
        self.asked.append((wanted, self.headers.get("If-Match")))
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        rest = self.body[start:]
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Length", str(len(rest)))
        self.send_header("ETag", '"one"')
        self.end_headers()
        self.wfile.write(rest if len(self.asked) > 2 else rest[: len(rest) // 2])
        self.close_connection = True

    def log_message(self, format: str, *words: object) -> None:
        """The test looks at what was asked."""


@pytest.fixture
def cutting(monkeypatch: pytest.MonkeyPatch) -> Iterator[BotoBucket]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Cutting)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    Cutting.asked.clear()
    yield BotoBucket("s3://b/p", boto3, f"http://127.0.0.1:{server.server_port}")
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_body_cut_short_goes_on_where_it_ended_and_of_the_same_object(cutting: BotoBucket) -> None:
    assert b"".join(cutting.read("file")) == Cutting.body
    first, second, third = Cutting.asked
    assert first == (None, None)
    assert second[0] is not None and second[0].startswith("bytes=") and second[1] == '"one"'
    assert third[0] is not None and third[0] > second[0]


def test_a_refused_right_is_told_with_what_is_needed_and_not_tried_again(
    cutting: BotoBucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>"
    monkeypatch.setattr(Cutting, "refusal", said)
    with pytest.raises(CopyFailed, match=r"^s3://b/p/file: access denied: the role needs s3:GetObject"):
        list(cutting.read("file"))


def test_an_endpoint_that_does_not_answer_is_told_in_one_line(tmp_path: Path) -> None:
    folder = written(tmp_path, 10)
    program = (
        "import sys; from workload.checkpoints import checkpoint; from workload.checkpoints.places.place import again;"
        "sys.modules['workload.checkpoints.places.place'].TRIES = 1; sys.exit(checkpoint.main(sys.argv[1:]))"
    )
    url = f"http://127.0.0.1:{free_port()}"
    done = subprocess.run(
        [sys.executable, "-c", program, "copy", str(folder), "s3://b/p", "--endpoint-url", url, "--client", "boto3"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_DEFAULT_REGION": "us-east-1", "PATH": "/bin"},
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("s3://b/p/") and "Could not connect to the endpoint URL" in line


def test_passing_faults_are_tried_again_with_growing_pauses() -> None:
    pauses: list[float] = []
    tries = iter([Passing("one"), Passing("two"), None])

    def call() -> str:
        fault = next(tries)
        if fault:
            raise fault
        return "done"

    assert again(call, pauses.append) == "done"
    assert 0.25 <= pauses[0] <= 0.5 < pauses[1] + 0.01 and pauses[1] <= 1.0

    def never() -> str:
        raise Passing("s3://b/x: SlowDown")

    with pytest.raises(CopyFailed, match=r"s3://b/x: SlowDown \(tried 6 times\)"):
        again(never, pauses.append)


def test_pruning_a_bucket_deletes_nothing_and_tags_what_a_lifecycle_rule_may_expire(
    bucket: Any,  # noqa: F811
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for step in (10, 20, 30):
        folder = written(tmp_path, step)
        checkpoint.copy(Folder(folder), place(f"s3://{bucket.name}/c/{folder.name}", ENDPOINT))
    bucket.Object("c/step-000000000015-x/weights-000000.bin").put(Body=b"never completed")
    before = {entry.key for entry in bucket.objects.all()}
    words = ["prune", f"s3://{bucket.name}/c", "--keep-last", "1", "--endpoint-url", ENDPOINT]
    assert checkpoint.main(words) == 0
    said = capsys.readouterr().out
    assert said.splitlines()[0] == "keep step-000000000030-a: the newest whose objects are all there"
    assert said.splitlines()[-1] == "tagged 3"
    client = bucket.meta.client
    after = {entry.key for entry in bucket.objects.all()}
    assert before <= after
    for key in after:
        tags = client.get_object_tagging(Bucket=bucket.name, Key=key)["TagSet"]
        gone = "step-000000000030" not in key
        assert tags == ([{"Key": "trainshed-condemned", "Value": "true"}] if gone else []), key
    states = {one.step: one.state for one in buckets.checkpoints(f"s3://{bucket.name}/c", ENDPOINT)}
    assert states == {30: "complete", 20: "condemned", 15: "condemned", 10: "condemned"}
