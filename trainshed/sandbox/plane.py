"""etcd, the API server, the controller manager and the scheduler on 127.0.0.1, started in the order they need."""

from __future__ import annotations

import base64
import secrets
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import yaml

from trainshed.sandbox import tools
from trainshed.sandbox.api import Api
from trainshed.sandbox.certificates import signing_key
from trainshed.sandbox.processes import Processes

SERVERS = ("etcd", "kube-apiserver")
CONTROLLERS = ("kube-controller-manager", "kube-scheduler")

# At the defaults (20 and 50 requests a second) the binding of a thousand pods takes over a minute; a managed control
# plane has more.
FAST_CLIENT = ("--kube-api-qps=5000", "--kube-api-burst=10000")

# What the API server is told whatever its ports and keys are.
_API_SERVER = (
    "--service-account-issuer=https://kubernetes.default.svc",
    "--authorization-mode=RBAC",
    "--service-cluster-ip-range=10.96.0.0/16",
    # The token controller fills service accounts later than pods come; nothing in a fake pod reads one.
    "--disable-admission-plugins=ServiceAccount",
    # The kubernetes Service would need an address that is not loopback.
    "--endpoint-reconciler-type=none",
    # Device plugins and the EFA installer run privileged.
    "--allow-privileged=true",
)
_UNLIMITED = (
    "--max-requests-inflight=0",
    "--max-mutating-requests-inflight=0",
    "--enable-priority-and-fairness=false",
)

# A sixth of the API server's time at the start of a gang is Go's collector: here it runs a third as often, until a
# process is near its limit, and 1,232 pods are bound a sixth sooner (bench/RESULTS.md).
COLLECT_LESS = {"GOGC": "300", "GOMEMLIMIT": "3GiB"}


def state_base() -> Path | None:
    """Memory-backed where there is such a folder: etcd writes every object change to disk."""
    memory = Path("/dev/shm")
    return memory if memory.is_dir() else None


def program(name: str) -> Path:
    found = tools.find(name)
    if found is None:
        raise FileNotFoundError(f"{name} is not on this machine: {tools.remedy(name)}")
    return found


@dataclass(kw_only=True)
class ControlPlane:
    """A running control plane; `with ControlPlane.started() as plane` ends all of it on the way out.

    `folder` holds keys, data, kubeconfig and logs, and goes with it. `load` lifts the API server's limits on requests
    in flight.
    """

    folder: Path
    processes: Processes
    api: Api
    kubeconfig: Path
    token: str
    port: int
    ca: Path
    own_folder: bool = True
    _closed: bool = field(default=False, init=False)

    @classmethod
    def started(
        cls, *, folder: Path | None = None, load: bool = False, controllers: Sequence[str] = CONTROLLERS
    ) -> ControlPlane:
        own = folder is None
        place = Path(tempfile.mkdtemp(prefix="trainshed-plane-", dir=state_base())) if folder is None else folder
        place.mkdir(parents=True, exist_ok=True)
        processes = Processes(logs=place / "logs", environment=COLLECT_LESS)
        try:
            plane = cls._start_servers(place, processes, own_folder=own, load=load)
            for name in controllers:
                plane.start_controller(name)
        except BaseException:
            processes.stop()
            if own:
                shutil.rmtree(place, ignore_errors=True)
            raise
        return plane

    @classmethod
    def _start_servers(cls, folder: Path, processes: Processes, *, own_folder: bool, load: bool) -> ControlPlane:
        client, peer, port = (processes.ports.take() for _ in range(3))
        etcd = processes.start("etcd", _etcd_command(folder, client, peer))
        key = signing_key(folder / "service-accounts.key")
        token = secrets.token_hex(16)
        tokens = folder / "tokens.csv"
        tokens.write_text(f'{token},admin,1,"system:masters"\n')
        tokens.chmod(0o600)
        server = processes.start(
            "kube-apiserver",
            [
                program("kube-apiserver"),
                f"--etcd-servers=http://127.0.0.1:{client}",
                "--bind-address=127.0.0.1",
                f"--secure-port={port}",
                f"--cert-dir={folder / 'certificates'}",
                f"--service-account-key-file={key}",
                f"--service-account-signing-key-file={key}",
                f"--token-auth-file={tokens}",
                *_API_SERVER,
                *(_UNLIMITED if load else ()),
            ],
        )
        ca = folder / "certificates" / "apiserver.crt"
        processes.wait_until(ca.exists, what="the API server's certificate", child=server)
        api = Api(port, token, ca=str(ca))
        processes.wait_until(api.ready, what="a ready API server", child=server if etcd.running() else etcd)
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(yaml.safe_dump(kubeconfig_of(port, token, ca)))
        kubeconfig.chmod(0o600)
        return cls(
            folder=folder,
            processes=processes,
            api=api,
            kubeconfig=kubeconfig,
            token=token,
            port=port,
            ca=ca,
            own_folder=own_folder,
        )

    def start_controller(self, name: str) -> None:
        port = self.processes.ports.take()
        common = [
            program(name),
            f"--kubeconfig={self.kubeconfig}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--cert-dir={self.folder / name}",
            "--leader-elect=false",
            *FAST_CLIENT,
        ]
        if name == "kube-controller-manager":
            common += [
                f"--service-account-private-key-file={self.folder / 'service-accounts.key'}",
                f"--root-ca-file={self.ca}",
                # Fake nodes write no heartbeat. The controller itself must stay on: it takes the not-ready taint off
                # new nodes.
                "--node-monitor-grace-period=24h",
                "--concurrent-job-syncs=20",
                "--concurrent-gc-syncs=40",
            ]
        self.processes.start(name, common)

    @property
    def endpoint(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def certificate_authority(self) -> str:
        return base64.b64encode(self.ca.read_bytes()).decode()

    def stop(self) -> None:
        if self._closed:
            return
        self._closed = True
        self.processes.stop()
        if self.own_folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> ControlPlane:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _etcd_command(folder: Path, client: int, peer: int) -> list[Path | str]:
    return [
        program("etcd"),
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls=http://127.0.0.1:{client}",
        f"--advertise-client-urls=http://127.0.0.1:{client}",
        f"--listen-peer-urls=http://127.0.0.1:{peer}",
        f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
        f"--initial-cluster=default=http://127.0.0.1:{peer}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def kubeconfig_of(port: int, token: str, ca: Path) -> dict[str, object]:
    """A kubeconfig that names this server only."""
    authority = base64.b64encode(ca.read_bytes()).decode()
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "local",
                "cluster": {"server": f"https://127.0.0.1:{port}", "certificate-authority-data": authority},
            }
        ],
        "users": [{"name": "admin", "user": {"token": token}}],
        "contexts": [{"name": "local", "context": {"cluster": "local", "user": "admin"}}],
        "current-context": "local",
    }
