"""The gate: each check opens on a fit node and closes, with its own code and a remedy, on an unfit one."""

from __future__ import annotations

import resource
import subprocess
import time
from pathlib import Path

import pytest

from tests.workload.conftest import ROOT, Run, pythons
from workload.preflight import collective, fabric_log, gate

LOGS = Path(__file__).with_name("logs")
NODE = {"NODE_NAME": "node-9"}


def ended(run: Run, *words: object) -> tuple[int, str, str]:
    done = run("preflight/gate", *words, environment=NODE)
    return done.returncode, done.stdout, done.stderr


def network(run: Run, log: str, fabric: str, nics: int) -> tuple[int, str, str]:
    return ended(run, "--network-log", LOGS / log, "--fabric", fabric, "--nics", nics)


def test_a_log_that_shows_efa_with_all_interfaces_opens_the_gate(run: Run) -> None:
    assert network(run, "efa_p5en.log", "efa", 16) == (
        0,
        "ok  network  node-9: 2 processes on 2 nodes use efa with 16 interfaces each\n",
        "",
    )


def test_a_log_that_fell_back_to_sockets_closes_it_and_says_why(run: Run) -> None:
    code, said, failed = network(run, "socket.log", "efa", 32)
    assert (code, said) == (gate.NETWORK, "")
    because = "NET/Plugin: No plugin found (libnccl-net.so)"
    assert failed == f"FAIL  network  node-9: process 924 on node-1 uses plain sockets (TCP), not efa ({because})\n"


def test_missing_interfaces_close_it(run: Run) -> None:
    code, _, failed = network(run, "efa_p5en.log", "efa", 32)
    assert code == gate.NETWORK
    assert failed.splitlines() == [
        "FAIL  network  node-9: process 6310 on node-1 found 16 network interfaces, expected 32",
        "FAIL  network  node-9: process 6831 on node-2 found 16 network interfaces, expected 32",
    ]


@pytest.mark.parametrize(
    ("log", "fabric", "nics", "said"),
    [
        ("infiniband.log", "infiniband", 4, None),
        ("roce.log", "roce", 2, None),
        ("roce.log", "infiniband", 2, "process 460 on rack-1 uses RoCE devices, not IB"),
        ("infiniband.log", "efa", 4, "process 355 on rack-1 uses network IBext, not the OFI plugin"),
        ("efa_p5en.log", "infiniband", 16, "process 6310 on node-1 uses network Libfabric, not infiniband"),
        (
            "all_reduce.log",
            "efa",
            16,
            "no process says which network it uses: run the test with NCCL_DEBUG=INFO and give its whole output",
        ),
    ],
)
def test_each_fabric_is_told_from_the_others(log: str, fabric: str, nics: int, said: str | None) -> None:
    with (LOGS / log).open() as lines:
        _, found = fabric_log.faults(lines, fabric, nics)
    assert (found[0] if found else None) == said


def test_the_ofi_plugin_over_tcp_is_not_efa() -> None:
    lines = [
        "n:1:2 [0] NCCL INFO NET/OFI Selected Provider is tcp;ofi_rxm (found 1 nics)",
        "n:1:2 [0] NCCL INFO Using network Libfabric",
    ]
    assert fabric_log.faults(lines, "efa", 1)[1] == ["process 1 on n uses the OFI provider tcp;ofi_rxm, not efa"]


def test_a_failed_plugin_is_given_as_the_reason() -> None:
    lines = [
        "n:1:2 [0] nccl_net_ofi_rdma_init:7978 NCCL WARN NET/OFI OFI fi_getinfo() call failed: No data available",
        "n:1:2 [0] NCCL INFO Using network Socket",
    ]
    (said,) = fabric_log.faults(lines, "efa", 1)[1]
    assert (
        said
        == "process 1 on n uses plain sockets (TCP), not efa (NET/OFI OFI fi_getinfo() call failed: No data available)"
    )


def test_neurons_library_is_read_alike() -> None:
    lines = [
        "trn:1:2 [0] CCOM INFO NET/OFI Selected Provider is efa (found 16 nics)",
        "trn:1:2 [0] CCOM INFO Using network AWS Libfabric",
    ]
    assert fabric_log.faults(lines, "efa", 16)[1] == []


def test_a_low_limit_on_locked_memory_prints_the_fix() -> None:
    def low() -> None:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (64 << 10, 64 << 10))

    command = [pythons()[-1], str(ROOT / "workload/preflight/gate.py"), "--memlock"]
    done = subprocess.run(command, preexec_fn=low, capture_output=True, text=True, env=NODE, check=False)
    assert done.returncode == gate.MEMLOCK
    assert (
        done.stderr
        == "FAIL  memlock  node-9: `ulimit -l` is 64.0 KiB (hard limit 64.0 KiB), RDMA needs 16 GiB or unlimited; "
        "give the container runtime LimitMEMLOCK=infinity (a containerd drop-in in the node's user data); "
        "IPC_LOCK does not help a non-root user\n"
    )


def test_a_limit_above_the_bound_passes() -> None:
    command = [pythons()[-1], str(ROOT / "workload/preflight/gate.py"), "--memlock", "--memlock-gib", "0.00001"]

    def enough() -> None:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (64 << 10, 64 << 10))

    done = subprocess.run(command, preexec_fn=enough, capture_output=True, text=True, env=NODE, check=False)
    assert (done.returncode, done.stdout) == (0, "ok  memlock  node-9: locked memory may grow to 64.0 KiB\n")


def test_a_small_shared_memory_prints_the_fix(run: Run, tmp_path: Path) -> None:
    code, _, failed = ended(run, "--shm-gib", 10**9, "--shm-folder", tmp_path)
    assert code == gate.SHARED_MEMORY
    assert failed.startswith(f"FAIL  shm  node-9: {tmp_path} has ")
    assert failed.endswith(
        " GiB are wanted; mount an emptyDir with medium Memory and that sizeLimit there, and count it in the pod's"
        " memory\n"
    )
    assert ended(run, "--shm-gib", "0.001", "--shm-folder", tmp_path)[0] == 0


def test_a_missing_card_is_counted(run: Run, tmp_path: Path) -> None:
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "neuron0", "neuron1"):
        (tmp_path / name).touch()
    words = ("--device-folder", tmp_path, "--devices")
    assert ended(run, *words, 2) == (0, "ok  devices  node-9: 2 nvidia cards\n", "")
    assert ended(run, *words, 2, "--device-kind", "neuron")[0] == 0
    said = "FAIL  devices  node-9: 2 nvidia cards (nvidia0, nvidia1), 8 are expected; cordon and replace the node\n"
    assert ended(run, *words, 8) == (gate.DEVICES, "", said)


@pytest.mark.parametrize(
    "line",
    [
        "Cuda failure 802 'system not yet initialized'",
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized",
        "CUDA_ERROR_SYSTEM_NOT_READY",
        "cudaErrorSystemNotReady: system not yet initialized",
        "ncclUnhandledCudaError: Call to CUDA function failed. CUDA error 802",
    ],
)
def test_cuda_error_802_names_the_node_and_the_remedy(line: str, run: Run, tmp_path: Path) -> None:
    log = tmp_path / "probe.log"
    log.write_text(f"starting\n{line}\n")
    code, _, failed = ended(run, "--cuda-log", log)
    assert code == gate.CUDA
    assert (
        failed == f"FAIL  cuda  node-9: CUDA error 802, system not yet initialized: {line}; "
        "the fabric manager is not running or is of another version than the driver: cordon and replace the node\n"
    )


def test_other_numbers_are_not_error_802(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "probe.log"
    log.write_text("loss 0.802\nstep 802\nread 802 bytes\n")
    assert ended(run, "--cuda-log", log)[0] == 0


def test_a_probe_that_hangs_is_ended_and_reported(run: Run) -> None:
    before = time.monotonic()
    code, _, failed = ended(run, "--cuda-probe", "sleep 987 & sleep 987", "--cuda-timeout", "0.3")
    assert code == gate.CUDA
    assert failed.startswith("FAIL  cuda  node-9: the probe `sleep 987 & sleep 987` gave no answer within 0.3 s; ")
    assert time.monotonic() - before < 300


def test_a_probe_that_fails_shows_its_last_line(run: Run) -> None:
    assert ended(run, "--cuda-probe", "echo no such device; exit 4") == (
        gate.CUDA,
        "",
        "FAIL  cuda  node-9: the probe `echo no such device; exit 4` ended with 4: no such device\n",
    )
    assert ended(run, "--cuda-probe", "echo 8 cards")[0] == 0
    assert ended(run, "--cuda-probe", "echo CUDA_ERROR_SYSTEM_NOT_READY")[0] == gate.CUDA


def test_the_collective_test_is_held_against_its_baseline(run: Run) -> None:
    words = ("--collective-result", LOGS / "all_reduce.log", "--minimum-of-baseline", 0.8, "--baseline-gb-per-s")
    share = "478.0 GB/s bus bandwidth at 1.0 GiB"
    assert ended(run, *words, 480) == (0, f"ok  collective  node-9: {share}, 100% of the baseline of 480 GB/s\n", "")
    assert ended(run, *words, 597)[0] == 0
    said = f"FAIL  collective  node-9: {share}, 80% of the baseline of 600 GB/s; at least 80% (480.0 GB/s) is asked\n"
    assert ended(run, *words, 600) == (gate.COLLECTIVE, "", said)


def test_wrong_sums_fail_however_fast(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "wrong.log"
    log.write_text((LOGS / "all_reduce.log").read_text().replace("478.43      0", "478.43     17"))
    code, _, failed = ended(run, "--collective-result", log, "--baseline-gb-per-s", 1)
    assert code == gate.COLLECTIVE
    assert (
        failed
        == "FAIL  collective  node-9: 17 values came out wrong: a card or link corrupts data; find it by testing halves"
        " of the nodes\n"
    )


def test_a_result_may_come_as_json() -> None:
    text = '{"bus_gb_per_s": 12.5, "size": 1048576, "wrong": 0}'
    assert collective.parse(text) == collective.Result(1 << 20, 12.5, 0)


@pytest.mark.parametrize(
    "text",
    [
        '{"bus_gb_per_s": "fast", "size": 1048576, "wrong": 0}',
        '{"bus_gb_per_s": NaN, "size": 1048576, "wrong": 0}',
        '{"bus_gb_per_s": 1, "size": true, "wrong": 0}',
        '{"bus_gb_per_s": 1, "size": 1048576, "wrong": null}',
        '{"bus_gb_per_s": 1, "size": 1048576}',
        "{}",
        "{",
    ],
)
def test_json_that_leaves_a_figure_out_is_no_result(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no result: .*; expected a JSON object with bus_gb_per_s"):
        collective.parse(text)


def test_a_small_transfer_says_nothing_about_bandwidth() -> None:
    with pytest.raises(ValueError, match="its transfer has 1024 bytes; below 1048576 latency is measured"):
        collective.parse('{"bus_gb_per_s": 12.5, "size": 1024, "wrong": 0}')


TABLE = (LOGS / "all_reduce.log").read_text()
SHORT = """8 2 float sum -1 0.00002 400 400 0 0.00002 400 400 0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 400
"""
LAST_ROW = TABLE.splitlines()[-4]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            TABLE.replace(LAST_ROW + "\n", ""),
            "ended early: its last row has 536870912 bytes, it was asked for 1073741824",
        ),
        (TABLE.replace(LAST_ROW, LAST_ROW[:60]), "has a row that is cut short or is no row of nccl-tests"),
        (TABLE[: TABLE.index("# Out of bounds")], "ended early: its last lines"),
        (TABLE.replace("478.43      0", "478.43    N/A"), "did not check its sums"),
        (TABLE.replace("254.93  477.99", "12.75   23.90"), "contradicts itself: 1073741824 bytes in 4211.9 us are"),
        (
            TABLE.replace("4211.9  254.93  477.99", "84238   12.75   23.90"),
            "478.43 GB/s out of place and 23.9 in place",
        ),
        (TABLE.replace("255.16  478.43", "255.16  978.43"), "978.43 GB/s on the bus are more than twice 255.16"),
        (TABLE.replace(": 340.91", ": 140.91"), "its rows have 340.91 GB/s on average, its last line says 140.91"),
        (TABLE + LAST_ROW + "\n", "holds more than one table, or rows out of order"),
        (
            SHORT,
            "its largest transfer has 8 bytes",
        ),
    ],
)
def test_a_table_cut_short_or_at_odds_with_itself_is_refused(text: str, said: str) -> None:
    assert text != TABLE
    with pytest.raises(ValueError, match=said):
        collective.parse(text)


def test_the_slower_of_both_forms_counts() -> None:
    assert collective.parse(TABLE) == collective.Result(1 << 30, 477.99, 0)


def test_a_test_that_ended_early_is_no_result(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "short.log"
    log.write_text("# nThread 1\n")
    code, _, failed = ended(run, "--collective-result", log, "--baseline-gb-per-s", 1)
    assert code == gate.COLLECTIVE
    assert failed.endswith(
        f"{log}: holds no result of a collective test: it ended early or is another program's output\n"
    )


def test_all_failures_are_shown_and_the_first_decides(run: Run, tmp_path: Path) -> None:
    code, said, failed = ended(
        run,
        "--devices",
        8,
        "--device-folder",
        tmp_path,
        "--shm-gib",
        10**9,
        "--shm-folder",
        tmp_path,
        "--cuda-probe",
        "true",
    )
    assert code == gate.SHARED_MEMORY
    assert [line.split("  ")[1] for line in failed.splitlines()] == ["shm", "devices"]
    assert said == "ok  cuda  node-9: no CUDA error 802\n"


def test_questions_half_asked_are_refused(run: Run) -> None:
    for words, said in (
        ((), "no check was asked for"),
        (("--network-log", "x"), "--network-log needs --nics, 1 or more"),
        (("--collective-result", "x"), "--collective-result needs --baseline-gb-per-s"),
        (("--shm-gib", "0"), "argument --shm-gib: 0 is not above 0"),
    ):
        code, _, failed = ended(run, *words)
        assert code == 2
        assert failed.endswith(f"gate: error: {said}\n")


def test_a_missing_file_has_its_own_code(run: Run, tmp_path: Path) -> None:
    for words in (("--cuda-log",), ("--nics", 1, "--network-log"), ("--baseline-gb-per-s", 1, "--collective-result")):
        code, _, failed = ended(run, *words, tmp_path / "none")
        assert (code, failed.split(": ", 1)[1]) == (
            gate.MISSING,
            f"{tmp_path}/none can't be read: No such file or directory\n",
        )
