"""The exporter of EFA's counters, run as it runs on a node."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from components.manifests.observability import exporters


def counters(root: Path) -> None:
    for device, timeouts in (("rdmap0s6", 3), ("rdmap16s6", 0)):
        folder = root / device / "ports" / "1" / "hw_counters"
        folder.mkdir(parents=True)
        (folder / "retrans_timeout_events").write_text(f"{timeouts}\n")
        (folder / "tx_bytes").write_text("123\n")
        (folder / "lifespan").write_text("not a number\n")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def fetch(url: str, process: subprocess.Popen[bytes]) -> str:
    """The page, once the program listens; its end is the test's."""
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError:
            raise
        except OSError:
            assert process.poll() is None, "the program ended before it listened"
            time.sleep(0.05)


@pytest.fixture
def served(tmp_path: Path):
    counters(tmp_path / "infiniband")
    program = tmp_path / "efa_counters.py"
    program.write_text(exporters.efa_program("monitoring")["data"]["efa_counters.py"])
    port = free_port()
    environment = {**os.environ, "EFA_ROOT": str(tmp_path / "infiniband"), "EFA_ADDRESS": "127.0.0.1"}
    process = subprocess.Popen([sys.executable, "-I", str(program), str(port)], env=environment)
    try:
        yield f"http://127.0.0.1:{port}", process
    finally:
        process.kill()
        process.wait()


def test_each_counter_of_each_device_is_served_and_what_is_no_number_is_left_out(
    served: tuple[str, subprocess.Popen[bytes]],
):
    url, process = served
    assert fetch(f"{url}/metrics", process).splitlines() == [
        "# TYPE trainshed_efa_retrans_timeout_events_total counter",
        'trainshed_efa_retrans_timeout_events_total{device="rdmap0s6",port="1"} 3',
        'trainshed_efa_retrans_timeout_events_total{device="rdmap16s6",port="1"} 0',
        "# TYPE trainshed_efa_tx_bytes_total counter",
        'trainshed_efa_tx_bytes_total{device="rdmap0s6",port="1"} 123',
        'trainshed_efa_tx_bytes_total{device="rdmap16s6",port="1"} 123',
    ]


def test_another_path_is_not_found(served: tuple[str, subprocess.Popen[bytes]]):
    url, process = served
    with pytest.raises(urllib.error.HTTPError, match="404"):
        fetch(f"{url}/other", process)


def test_the_exporter_needs_no_privilege_and_no_folder_of_the_host():
    pod = exporters.efa_daemon("image", "monitoring")["spec"]["template"]["spec"]
    assert not [each for each in pod["volumes"] if "hostPath" in each]
    assert pod["containers"][0]["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert pod["securityContext"]["runAsNonRoot"] is True
