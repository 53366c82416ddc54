"""What a node says of itself, on made-up nodes: a folder for /sys and /proc, and programs on the path."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from workload.preflight.gang import facts

Program = Callable[[str, str], None]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """`program("nvidia-smi", script)` puts a shell script of that name on the path."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    def put(name: str, script: str) -> None:
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)

    return put


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text + "\n")
    return root


def said(found: list[facts.Finding]) -> list[str]:
    return [each.said for each in found if each.code]


def test_versions_come_from_the_driver_the_modules_and_the_environment(tmp_path: Path, program: Program) -> None:
    program("nvidia-smi", "printf '580.2, NVIDIA H100, 96.00.1, Disabled\\n580.2, NVIDIA H100, 96.00.1, Disabled\\n'")
    program("fi_info", "printf 'fi_info: 2.1.0\\nlibfabric: 2.6.0amzn1.0\\n'")
    root = write(
        tmp_path / "root",
        {
            "sys/module/efa/version": "2.17.3g",
            "opt/amazon/efa_installed_packages": "# EFA installer version: 1.50.0\n#x",
        },
    )
    found = facts.versions(
        root, {"NCCL_ALGO": "Ring", "NCCL_DEBUG_FILE": "/tmp/x", "HOME": "/", "TRAINSHED_CODE": "git:1"}
    )
    assert {name: found[name] for name in found if name not in ("kernel", "python")} == {
        "NVIDIA driver": "580.2",
        "card": "NVIDIA H100",
        "VBIOS": "96.00.1",
        "MIG": "Disabled",
        "EFA driver": "2.17.3g",
        "EFA installer": "1.50.0",
        "libfabric": "2.6.0amzn1.0",
        "code": "git:1",
        "NCCL_ALGO": "Ring",
    }


def test_memory_errors_and_lost_rows_of_a_card_are_faults(tmp_path: Path, program: Program) -> None:
    rows = "0, Enabled, 0, No, No\\n1, Enabled, 3, No, No\\n2, Disabled, [N/A], No, No\\n3, Enabled, 0, Yes, Yes\\n"
    program("nvidia-smi", f"case $1 in --query*) printf '{rows}';; esac")
    assert said(facts.health("nvidia", tmp_path)) == [
        "card 1 has 3 uncorrected memory errors since its start",
        "card 2 runs without ECC; `nvidia-smi -e 1` and a reboot turn it on",
        "card 3 has memory rows that wait for a reset to be remapped",
        "card 3 could not remap a memory row: replace the node",
    ]


def test_an_nvlink_that_is_down_is_a_fault(tmp_path: Path, program: Program) -> None:
    lines = "GPU 0: NVIDIA H100 (UUID: x)\\n\\t Link 0: 26.562 GB/s\\n\\t Link 1: <inactive>\\n"
    program("nvidia-smi", f"case $1 in nvlink) printf '{lines}';; esac")
    assert said(facts.health("nvidia", tmp_path)) == ["NVLink is inactive: card 0 link 1; replace the node"]


@pytest.mark.parametrize(
    "where", ["neuron3/stats/hardware/mem_ecc_uncorrected/total", "neuron3/info/ecc/mem_ecc_uncorrected"]
)
def test_neurons_counters_are_found_in_the_old_and_the_new_place(tmp_path: Path, where: str) -> None:
    root = write(tmp_path, {f"sys/devices/virtual/neuron_device/{where}": "2"})
    assert said(facts.health("neuron", root)) == ["neuron3 has 2 uncorrected memory errors (mem_ecc_uncorrected)"]


def test_a_fabric_port_that_is_down_is_a_fault(tmp_path: Path) -> None:
    ports = {"efa_0/ports/1": "4: ACTIVE", "efa_1/ports/1": "1: DOWN", "mlx5_2/ports/1": "2: INIT"}
    root = write(tmp_path, {f"sys/class/infiniband/{port}/state": state for port, state in ports.items()})
    assert said(facts.health("none", root)) == [
        "efa_1 port 1 is 1: DOWN; cordon and replace the node",
        "mlx5_2 port 1 is 2: INIT; cordon and replace the node",
    ]
    assert facts.interfaces(3, root).code == 0
    assert facts.interfaces(4, root).said == (
        "3 fabric interfaces (efa_0, efa_1, mlx5_2), 4 are expected; cordon and replace the node"
    )


def test_a_sound_node_has_no_fault(tmp_path: Path) -> None:
    assert [each.code for each in facts.health("neuron", tmp_path)] == [0]


def mounted(root: Path, line: str, path: str) -> Path:
    (root / path.lstrip("/")).mkdir(parents=True, exist_ok=True)
    return write(root, {"proc/self/mountinfo": f"20 1 8:1 / / rw - ext4 /dev/sda rw\n{line}"})


def test_mounts_are_held_to_what_the_job_declares(tmp_path: Path) -> None:
    root = mounted(
        tmp_path, "36 20 0:40 / /datasets ro,relatime shared:1 - lustre 10.0.0.1@tcp:/m rw,flock", "/datasets"
    )
    assert facts.mount("/datasets:ro:lustre", root).said == "/datasets is lustre ro and answers"
    assert facts.mount("/datasets:rw", root).said == "/datasets is lustre ro, the job declares lustre rw"
    assert facts.mount("/datasets:ro:nfs4", root).said == "/datasets is lustre ro, the job declares nfs4 ro"
    assert facts.mount("/checkpoints:rw", root).said == (
        "/checkpoints is not mounted; the job declares it (/checkpoints:rw)"
    )


def test_a_mount_that_can_t_be_read_is_told(tmp_path: Path) -> None:
    root = write(tmp_path, {"proc/self/mountinfo": "36 20 0:40 / /gone rw - nfs4 server:/ rw"})
    assert facts.mount("/gone:rw", root).said.startswith("/gone can't be read: FileNotFoundError")


def test_a_mount_that_does_not_answer_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = mounted(tmp_path, "36 20 0:40 / /slow rw - lustre x rw", "/slow")
    sleeper = tmp_path / "python"
    sleeper.write_text("#!/bin/sh\nexec sleep 60\n")
    sleeper.chmod(0o755)
    monkeypatch.setattr(facts.sys, "executable", str(sleeper))
    assert facts.mount("/slow:rw", root, seconds=0.2).said == "/slow did not answer within 0.2 s"


def test_a_program_that_hangs_or_fails_counts_as_missing(
    tmp_path: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facts, "COMMAND_SECONDS", 0.2)
    program("fi_info", "exec sleep 60")
    assert facts.command("fi_info", "--version") is None
    program("fi_info", "exit 3")
    assert facts.command("fi_info", "--version") is None
    assert facts.command("no-such-program") is None
