"""A dataset at s3://, read by stream through a cache on a local disk; moto is the bucket."""

from __future__ import annotations

import json
import threading
from array import array
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from workload.data import object_cache, sample_order
from workload.data.dataset import Entry
from workload.data.object_cache import NotFetched, ObjectCache
from workload.data.token_shards import TokenShards


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setattr(object_cache, "PAUSE_SECONDS", 0.0)
    with mock_aws():
        made = boto3.client("s3", region_name="us-east-1")
        made.create_bucket(Bucket="data")
        yield made


def put(client: Any, name: str, data: bytes) -> Entry:
    client.put_object(Bucket="data", Key=f"corpus/{name}", Body=data)
    return Entry(name, len(data), "sha256", sha256(data).hexdigest(), len(data) // 16, 16, 65536)


class Counting:
    """The client, with what was asked for, and bodies cut short as often as told."""

    def __init__(self, client: Any, cut: int = 0) -> None:
        self.client, self.cut, self.asked = client, cut, list[str]()

    def get_object(self, **words: Any) -> Any:
        self.asked.append(words["Key"])
        answer = self.client.get_object(**words)
        if self.cut:
            self.cut -= 1
            answer["Body"].read(5)
        return answer


def test_samples_are_read_through_the_cache_and_fetched_once(client: Any, tmp_path: Path) -> None:
    entries = [put(client, f"s{n}", array("H", range(n * 16, n * 16 + 16)).tobytes()) for n in range(3)]
    manifest = tmp_path / "m"
    manifest.write_text("\n".join(json.dumps(entry.as_json()) for entry in entries))
    counting = Counting(client)
    cache = ObjectCache("s3://data/corpus", tmp_path / "cache", entries, 1 << 20, counting)
    read = TokenShards(tmp_path, sample_order.index(manifest), 7, locate=cache.path)
    assert [read[sample][0] for sample in (5, 0, 4, 5)] == [40, 0, 32, 40]
    assert counting.asked == ["corpus/s2", "corpus/s0"]
    again = ObjectCache("s3://data/corpus/", tmp_path / "cache", entries, 1 << 20, counting)
    again.path("s2")
    assert len(counting.asked) == 2, "an earlier run's files count"


def test_the_cache_stays_within_its_size_and_drops_the_oldest(client: Any, tmp_path: Path) -> None:
    entries = [put(client, f"s{n}", bytes([n]) * 100) for n in range(4)]
    cache = ObjectCache("s3://data/corpus", tmp_path, entries, 250, client)
    cache.path("s0")
    cache.path("s1")
    cache.path("s0")
    cache.path("s2")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s0", "s2"]
    assert cache.kept_bytes == 200


def test_a_body_cut_short_is_fetched_again(client: Any, tmp_path: Path) -> None:
    counting = Counting(client, cut=2)
    entry = put(client, "s", b"x" * 1000)
    path = ObjectCache("s3://data/corpus", tmp_path, [entry], 1 << 20, counting).path("s")
    assert (path.read_bytes(), len(counting.asked)) == (b"x" * 1000, 3)


def test_bytes_that_are_not_the_manifests_get_no_name(client: Any, tmp_path: Path) -> None:
    entry = put(client, "s", b"right")
    client.put_object(Bucket="data", Key="corpus/s", Body=b"wrong")
    with pytest.raises(NotFetched, match=r"s3://data/corpus/s could not be had: sha256 is .*, the manifest says"):
        ObjectCache("s3://data/corpus", tmp_path, [entry], 1 << 20, client).path("s")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_object_is_told_at_once(client: Any, tmp_path: Path) -> None:
    counting = Counting(client)
    entry = Entry("none", 1, "sha256", "0" * 64)
    with pytest.raises(NotFetched, match="s3://data/corpus/none could not be had: NoSuchKey"):
        ObjectCache("s3://data/corpus", tmp_path, [entry], 1 << 20, counting).path("none")
    assert len(counting.asked) == 1


def test_threads_that_want_one_file_fetch_it_once(client: Any, tmp_path: Path) -> None:
    counting = Counting(client)
    cache = ObjectCache("s3://data/corpus", tmp_path, [put(client, "s", b"x" * 5000)], 1 << 20, counting)
    threads = [threading.Thread(target=cache.path, args=("s",)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(counting.asked) == 1


def test_what_is_no_s3_url_is_refused() -> None:
    for url in ("/datasets", "https://data/x", "s3://", "s3:/data"):
        with pytest.raises(ValueError, match="is no s3://BUCKET/PREFIX"):
            object_cache.location(url)
