"""The script that sets EFA up for Lustre, run by a shell against a made-up machine, and where in user data it
stands.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from components.file_systems.lustre import efa_script
from components.manifests.nodes import bottlerocket, nodeadm
from components.manifests.nodes import setup as node_setup
from components.planning.pool import Pool
from components.spec.pools import PoolSpec
from tests.components.manifests.nodes.test_setup import parts
from tests.components.planning.pool_stacks import PRETRAIN
from tests.given import CAT

P5 = [f"rdmap{bus}s{place}" for bus in (100, 113, 130, 147, 164, 181, 198, 215) for place in range(4)]
ROUTE = "192.0.2.1 via 100.64.0.1 dev enp71s0 src 100.64.0.9 uid 0"


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Its devices by driver, the tools it has, and commands that fail (their first words)."""

    devices: dict[str, str]
    client: bool = True
    configured: bool = False
    failing: str = "nothing"


def run(machine: Machine, interfaces: int, root: Path) -> tuple[int, list[str]]:
    """The exit status and the calls of one run."""
    tools, reported = root / "bin", root / "told"
    tools.mkdir()
    for name, driver in machine.devices.items():
        device = root / "sys/class/infiniband" / name / "device"
        device.mkdir(parents=True)
        (root / "drivers" / driver).mkdir(parents=True, exist_ok=True)
        (device / "driver").symlink_to(root / "drivers" / driver)
    net = "echo '- nid: 1@efa'" if machine.configured else "false"
    lnetctl = f'#!/bin/sh\nif [ "$*" = "net show --net efa" ]; then {net}; exit; fi\n'
    record = (
        f'echo "$(basename "$0") $*" >> {reported}\ncase "$(basename "$0") $*" in "{machine.failing}"*) exit 1;; esac\n'
    )
    (tools / "lnetctl").write_text(lnetctl + record)
    (tools / "modprobe").write_text("#!/bin/sh\n" + record)
    (tools / "ip").write_text(f'#!/bin/sh\necho "{ROUTE}"\n')
    kept = tools / "lnetctl"
    if not machine.client:
        kept = kept.rename(root / "lnetctl")
    (tools / "dnf").write_text(f"#!/bin/sh\n{record}cp {kept} {tools}/lnetctl\n")
    for each in (*tools.iterdir(), kept):
        each.chmod(0o755)
    text = efa_script.steps(interfaces).replace("/sys/class/infiniband", f"{root}/sys/class/infiniband")
    # The machine that runs the test may have a Lustre client of its own, so the made-up tools come with a few others
    # only.
    for name in ("basename", "chmod", "cp", "grep", "readlink", "sed", "sh"):
        (tools / name).symlink_to(shutil.which(name) or name)
    done = subprocess.run(["/bin/bash", "-c", text], env={"PATH": str(tools)}, capture_output=True, check=False)
    return done.returncode, reported.read_text().splitlines() if reported.exists() else []


def added(calls: list[str]) -> list[str]:
    """Devices that LNet was given."""
    return [each.split(" ")[6] for each in calls if each.startswith("lnetctl net add --net efa --if ")]


def test_modules_interfaces_and_rule_come_in_the_order_of_the_guide(tmp_path: Path) -> None:
    status, calls = run(Machine(devices={"rdmap0s6": "efa"}), 1, tmp_path)
    assert status == 0
    assert calls == [
        "modprobe lnet",
        "modprobe kefalnd ipif_name=enp71s0",
        "modprobe ksocklnd",
        "lnetctl lnet configure",
        "lnetctl net del --net tcp",
        "lnetctl net add --net tcp --if enp71s0",
        "lnetctl net add --net efa --if rdmap0s6 --peer-credits 32",
        "lnetctl set discovery 1",
        "lnetctl udsp add --src efa --priority 0",
        "modprobe lustre",
        "lnetctl net show",
    ]


def test_p5_gives_one_device_of_each_bus(tmp_path: Path) -> None:
    _, calls = run(Machine(devices=dict.fromkeys(P5, "efa")), 8, tmp_path)
    assert added(calls) == P5[::4]


def test_of_several_cards_the_outermost_two_are_taken(tmp_path: Path) -> None:
    _, calls = run(Machine(devices=dict.fromkeys(("rdmap1s0", "rdmap2s0", "rdmap3s0", "rdmap4s0"), "efa")), 2, tmp_path)
    assert added(calls) == ["rdmap1s0", "rdmap4s0"]


def test_a_machine_with_fewer_devices_gives_all(tmp_path: Path) -> None:
    _, calls = run(Machine(devices=dict.fromkeys(P5[:4], "efa")), 8, tmp_path)
    assert added(calls) == P5[:4]


def test_devices_of_other_drivers_are_left_alone(tmp_path: Path) -> None:
    _, calls = run(Machine(devices={"ibp1s0": "mlx5_core", "rdmap2s0": "efa"}), 16, tmp_path)
    assert added(calls) == ["rdmap2s0"]


def test_the_client_is_installed_where_it_is_missing(tmp_path: Path) -> None:
    status, calls = run(Machine(devices={"rdmap0s6": "efa"}, client=False), 1, tmp_path)
    assert status == 0
    assert calls[0] == "dnf install --assumeyes --setopt=install_weak_deps=False lustre-client"
    assert added(calls) == ["rdmap0s6"]


def test_a_second_run_leaves_mounted_file_systems_their_network(tmp_path: Path) -> None:
    assert run(Machine(devices={"rdmap0s6": "efa"}, configured=True), 1, tmp_path) == (0, [])


def test_without_a_device_nothing_is_changed(tmp_path: Path) -> None:
    assert run(Machine(devices={"ibp1s0": "mlx5_core"}), 1, tmp_path) == (1, [])


@pytest.mark.parametrize(
    "failing", ["modprobe kefalnd", "lnetctl net add --net tcp", "lnetctl net add --net efa", "lnetctl udsp"]
)
def test_a_step_that_fails_leaves_lnet_to_set_itself_up_over_tcp(tmp_path: Path, failing: str) -> None:
    status, calls = run(Machine(devices={"rdmap0s6": "efa"}, failing=failing), 1, tmp_path)
    assert status != 0
    assert calls[-1] == "lnetctl lnet unconfigure"


@pytest.mark.parametrize("interfaces", [1, 2, 8, 16])
def test_a_shell_reads_both_texts(interfaces: int) -> None:
    for text in (efa_script.script(interfaces), efa_script.steps(interfaces)):
        done = subprocess.run(["/bin/bash", "-n"], input=text, text=True, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_user_data_sets_efa_up_after_the_huge_pages_and_holds_the_steps_whole() -> None:
    setup = node_setup.of_pool(Pool(PoolSpec.model_validate(PRETRAIN), CAT), lustre_efa_interfaces=8)
    text = nodeadm.render(setup)
    _, huge_pages, lustre = (body for _, body in parts(text))
    assert "nr_hugepages" in huge_pages
    assert efa_script.steps(8) in lustre
    assert "Before=nodeadm-run.service kubelet.service" in lustre
    # A node comes up whether or not EFA could be set up.
    assert '|| echo "Lustre stays on TCP' in lustre
    assert len(text.encode()) < 16384, "EC2 takes 16 KiB of user data"


def test_user_data_says_nothing_of_lustre_where_it_has_tcp_alone() -> None:
    setup = node_setup.of_pool(Pool(PoolSpec.model_validate(PRETRAIN), CAT))
    assert setup.lustre_efa_interfaces == 0
    assert "lustre" not in nodeadm.render(setup)


def test_an_image_without_a_shell_is_given_no_script() -> None:
    with_efa, without = (
        node_setup.of_pool(Pool(PoolSpec.model_validate(PRETRAIN), CAT), lustre_efa_interfaces=count)
        for count in (8, 0)
    )
    assert bottlerocket.render(with_efa) == bottlerocket.render(without)
