"""What a node reports about itself: versions that must be equal over the gang, and its own health.

Nothing here talks to the network. Files are read below `root` and programs are looked up on the path, so that tests
give a made-up node; what a node doesn't have is left out, and the comparison over the gang notices.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from workload.preflight.findings import DEVICES, HEALTH, MOUNTS, OPEN, Finding

# Settings of the collective libraries: a gang whose workers differ in one of them hangs or crawls.
SETTINGS = re.compile(r"^(NCCL|FI|OFI|GLOO|NEURON_RT|RDMAV|TORCH_NCCL)_")
OWN_SETTINGS = {"NEURON_RT_VISIBLE_CORES", "NCCL_DEBUG_FILE"}  # differ by design
COMMAND_SECONDS = 30.0


def _text(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return None


def command(*words: str) -> str | None:
    """What a program prints; None where it is missing, fails or hangs."""
    if shutil.which(words[0]) is None:
        return None
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def nvidia_smi(*fields: str) -> list[dict[str, str]]:
    """One dictionary a card."""
    text = command("nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits")
    rows = [[word.strip() for word in line.split(",")] for line in (text or "").splitlines() if line.strip()]
    return [dict(zip(fields, row)) for row in rows if len(row) == len(fields)]


def versions(root: Path = Path("/"), environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """What must be equal on all nodes of a gang, by name."""
    found: dict[str, str | None] = {"kernel": platform.release(), "python": platform.python_version()}
    cards = nvidia_smi("driver_version", "name", "vbios_version", "mig.mode.current")
    if cards:
        for name, field in (
            ("NVIDIA driver", "driver_version"),
            ("card", "name"),
            ("VBIOS", "vbios_version"),
            ("MIG", "mig.mode.current"),
        ):
            found[name] = ", ".join(sorted({card[field] for card in cards}))
    else:
        kernel_module = _text(root / "sys/module/nvidia/version")
        found["NVIDIA driver"] = kernel_module
    found["Neuron driver"] = _text(root / "sys/module/neuron/version")
    found["EFA driver"] = _text(root / "sys/module/efa/version")
    installed = _text(root / "opt/amazon/efa_installed_packages")
    if installed:
        found["EFA installer"] = installed.splitlines()[0].lstrip("# ").replace("EFA installer version:", "").strip()
    libfabric = command("fi_info", "--version")
    if libfabric:
        found["libfabric"] = next((line.split()[-1] for line in libfabric.splitlines() if "libfabric:" in line), None)
    variables = os.environ if environment is None else environment
    found["image"] = variables.get("TRAINSHED_IMAGE")
    found["code"] = variables.get("TRAINSHED_CODE")
    found["data"] = variables.get("TRAINSHED_DATA")
    for name in sorted(variables):
        if SETTINGS.match(name) and name not in OWN_SETTINGS:
            found[name] = variables[name]
    return {name: value for name, value in found.items() if value}


def health(kind: str, root: Path = Path("/")) -> list[Finding]:
    """Memory errors of the cards and links that are down; a card that can't be asked is no fault of this check."""
    found = [*_nvidia_health(), *_nvlink()] if kind == "nvidia" else _neuron_health(root) if kind == "neuron" else []
    found += _ports(root)
    return found or [Finding("health", OPEN, "no uncorrected memory error, no link down")]


def _nvidia_health() -> list[Finding]:
    found = []
    fields = (
        "index",
        "ecc.mode.current",
        "ecc.errors.uncorrected.volatile.total",
        "remapped_rows.pending",
        "remapped_rows.failure",
    )
    for card in nvidia_smi(*fields):
        index = card["index"]
        if card["ecc.mode.current"] == "Disabled":
            found.append(
                Finding("ecc", HEALTH, f"card {index} runs without ECC; `nvidia-smi -e 1` and a reboot turn it on")
            )
        errors = card["ecc.errors.uncorrected.volatile.total"]
        if errors.isdigit() and int(errors):
            found.append(Finding("ecc", HEALTH, f"card {index} has {errors} uncorrected memory errors since its start"))
        for field, said in (
            ("remapped_rows.pending", "has memory rows that wait for a reset to be remapped"),
            ("remapped_rows.failure", "could not remap a memory row: replace the node"),
        ):
            if card[field].lower() in ("yes", "1"):
                found.append(Finding("ecc", HEALTH, f"card {index} {said}"))
    return found


def _nvlink() -> list[Finding]:
    text = command("nvidia-smi", "nvlink", "--status") or ""
    card, down = "", []
    for line in text.splitlines():
        name = re.match(r"GPU (\d+)", line)
        link = re.match(r"\s*Link (\d+): <?inactive>?", line)
        card = name[1] if name else card
        if link:
            down.append(f"card {card} link {link[1]}")
    return [Finding("link", HEALTH, f"NVLink is inactive: {', '.join(down[:8])}; replace the node")] if down else []


def _neuron_health(root: Path) -> list[Finding]:
    """Driver 2.31 moved the counters; their names stayed."""
    found = []
    for path in sorted((root / "sys/devices/virtual/neuron_device").glob("neuron*/**/*ecc_uncorrected*")):
        file = path / "total" if path.is_dir() else path
        count = _text(file)
        if count and count.isdigit() and int(count):
            device = next(part for part in path.parts if re.match(r"neuron\d+$", part))
            found.append(Finding("ecc", HEALTH, f"{device} has {count} uncorrected memory errors ({path.name})"))
    return found


def _ports(root: Path) -> list[Finding]:
    """Ports of the fabric's interfaces (EFA, InfiniBand, RoCE): `4: ACTIVE` is the only good state."""
    found = []
    for state in sorted((root / "sys/class/infiniband").glob("*/ports/*/state")):
        said = _text(state) or "no answer"
        if not said.endswith("ACTIVE") or said.endswith("INACTIVE"):
            name = f"{state.parts[-4]} port {state.parts[-2]}"
            found.append(Finding("link", HEALTH, f"{name} is {said}; cordon and replace the node"))
    return found


def interfaces(expected: int, root: Path = Path("/")) -> Finding:
    """As many fabric interfaces as the node's type has."""
    folder = root / "sys/class/infiniband"
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    if len(names) == expected:
        return Finding("interfaces", OPEN, f"{expected} fabric interfaces")
    return Finding(
        "interfaces",
        DEVICES,
        f"{len(names)} fabric interfaces ({', '.join(names) or 'none'}), {expected} are expected;"
        " cordon and replace the node",
    )


def mount(declared: str, root: Path = Path("/"), seconds: float = 20.0) -> Finding:
    """`PATH:ro` or `PATH:rw`, and `:TYPE` where the kind of file system matters, as the job declares it."""
    path, _, rest = declared.partition(":")
    mode, _, kind = rest.partition(":")
    mounts = {}
    for line in (_text(root / "proc/self/mountinfo") or "").splitlines():
        words, _, tail = line.partition(" - ")
        fields = words.split()
        if len(fields) > 5:
            place = fields[4].replace("\\040", " ")
            options = set(fields[5].split(",")) | set([*tail.split(), "", "", ""][2].split(","))
            mounts[place] = (tail.split()[0], "ro" if "ro" in options else "rw")
    if path not in mounts:
        return Finding("mounts", MOUNTS, f"{path} is not mounted; the job declares it ({declared})")
    found_kind, found_mode = mounts[path]
    if found_mode != mode or (kind and found_kind != kind):
        want = f"{kind or found_kind} {mode}"
        return Finding("mounts", MOUNTS, f"{path} is {found_kind} {found_mode}, the job declares {want}")
    # A file system whose server is gone blocks for ever: a child is asked, and left behind if need be.
    look = "import os, sys; os.statvfs(sys.argv[1]); next(os.scandir(sys.argv[1]), None)"
    words = [sys.executable, "-c", look, str(root / path.lstrip("/"))]
    asked = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        _, said = asked.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        asked.kill()
        return Finding("mounts", MOUNTS, f"{path} did not answer within {seconds:g} s")
    if asked.returncode:
        last = (said.strip().splitlines() or ["no reason given"])[-1]
        return Finding("mounts", MOUNTS, f"{path} can't be read: {last}")
    return Finding("mounts", OPEN, f"{path} is {found_kind} {found_mode} and answers")


def torch_versions(python: str, seconds: float = 120.0) -> dict[str, str]:
    """Versions of torch and the libraries it brings; empty where that interpreter has no torch."""
    look = (
        "import json, torch, torch.distributed as d\n"
        "v = {'torch': torch.__version__, 'CUDA': torch.version.cuda or ''}\n"
        "v['gloo'] = 'yes' if d.is_available() and getattr(d, 'is_gloo_available', lambda: True)() else ''\n"
        "v['cards'] = str(torch.cuda.device_count()) if torch.cuda.is_available() else ''\n"
        "v['NCCL'] = '.'.join(map(str, torch.cuda.nccl.version())) if v['cards'] and d.is_nccl_available() else ''\n"
        "print(json.dumps({k: w for k, w in v.items() if w}))\n"
    )
    try:
        done = subprocess.run([python, "-c", look], capture_output=True, text=True, timeout=seconds, check=False)
        return dict(json.loads(done.stdout.splitlines()[-1])) if done.returncode == 0 else {}
    except (OSError, ValueError, IndexError, subprocess.TimeoutExpired):
        return {}
