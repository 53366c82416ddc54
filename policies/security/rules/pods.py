"""Rules of what a pod may do on its node: privileges, the host, system calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from policies.declared.resources import Resource
from policies.declared.types import WORKLOADS
from policies.declared.values import Node
from policies.packs.policy_rule import Doubt, Finding, Outcome, Settings, each, rule


def each_pod(resource: Resource, check: Callable[[Node], Iterator[Outcome]]) -> Iterator[Outcome]:
    """Checks each pod spec; a workload whose pods can't be seen is a doubt, never a pass."""
    yield from (Doubt(path, "hides the pods of this workload") for path in resource.hidden_pods)
    yield from each(resource.pods, check)


def each_container(resource: Resource, check: Callable[[Node, Node], Iterator[Outcome]]) -> Iterator[Outcome]:
    """Checks each container together with its pod."""

    def judge_all(pod: Node) -> Iterator[Outcome]:
        for key in ("initContainers", "containers", "ephemeralContainers"):
            yield from each([pod.at(key)], lambda many: each(many.elements(), lambda container: check(container, pod)))
        if (main := pod.at("containers")).value in ([], ()):
            yield Doubt(main.path, "is empty, so there is nothing to judge")

    yield from each_pod(resource, judge_all)


@rule(
    "pods-not-privileged",
    types=(WORKLOADS,),
    severity="critical",
    ids=("PSS baseline", "CIS-EKS 4.2.1", "CKV_K8S_16"),
    says="No container is privileged.",
    fix="drop securityContext.privileged; add the single capability that is needed",
)
def pods_not_privileged(resource: Resource, _: Settings) -> Iterator[Outcome]:
    def check(container: Node, _: Node) -> Iterator[Outcome]:
        if (privileged := container.at("securityContext", "privileged")).boolean():
            yield Finding(privileged, "false")

    yield from each_container(resource, check)


# Pod Security Standards, baseline (read in 2026-11): settings of the pod's own namespaces.
SAFE_SYSCTLS = (
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
)


@rule(
    "pods-share-nothing-with-the-host",
    types=(WORKLOADS,),
    severity="high",
    ids=(
        "PSS baseline",
        "CIS-EKS 4.2.2",
        "CIS-EKS 4.2.3",
        "CIS-EKS 4.2.4",
        "CKV_K8S_17",
        "CKV_K8S_18",
        "CKV_K8S_19",
        "CKV_K8S_26",
    ),
    says="Pods use none of the node's namespaces, ports, processes and kernel settings.",
    fix="drop hostNetwork, hostPID, hostIPC, hostPort, hostProcess, procMount and sysctls that are not namespaced",
)
def pods_share_nothing_with_the_host(resource: Resource, _: Settings) -> Iterator[Outcome]:
    def shared(node: Node) -> Iterator[Outcome]:
        if node.boolean():
            yield Finding(node, "false")

    def port(container: Node, _: Node) -> Iterator[Outcome]:
        for declared in container.at("ports").elements():
            if (host := declared.at("hostPort")).number():
                yield Finding(host, "no host port")
        context = container.at("securityContext")
        yield from shared(context.at("windowsOptions", "hostProcess"))
        if (mount := context.at("procMount")).text() not in (None, "", "Default"):
            yield Finding(mount, '"Default"')

    def kernel(pod: Node) -> Iterator[Outcome]:
        context = pod.at("securityContext")
        yield from shared(context.at("windowsOptions", "hostProcess"))
        for setting in context.at("sysctls").elements():
            if (name := setting.at("name")).text() not in SAFE_SYSCTLS:
                yield Finding(name, f"one of {', '.join(SAFE_SYSCTLS)}")

    yield from each_pod(
        resource, lambda pod: each([pod.at(key) for key in ("hostNetwork", "hostPID", "hostIPC")], shared)
    )
    yield from each_pod(resource, kernel)
    yield from each_container(resource, port)


def _host_paths(resource: Resource, check: Callable[[Node], Iterator[Outcome]]) -> Iterator[Outcome]:
    for pod in resource.pods:
        yield from each(
            [pod], lambda pod: each([volume.at("hostPath") for volume in pod.at("volumes").elements()], check)
        )


def _is_fabric_device(path: str) -> bool:
    return path.rstrip("/").startswith(("/dev/infiniband", "/dev/efa", "/sys/class/infiniband"))


@rule(
    "pods-no-host-paths",
    types=(WORKLOADS,),
    severity="high",
    ids=("PSS baseline", "CKV_K8S_27", "CKV_K8S_28"),
    says="No pod mounts a folder of the node.",
    fix="use a claim, or an emptyDir (of medium Memory for /dev/shm)",
)
def pods_no_host_paths(resource: Resource, _: Settings) -> Iterator[Outcome]:
    def check(host: Node) -> Iterator[Outcome]:
        if host.absent:
            return
        path = host.at("path")
        if not _is_fabric_device(path.text() or ""):
            yield Finding(path, "no path of the node")

    yield from _host_paths(resource, check)


@rule(
    "pods-no-fabric-devices-by-path",
    types=(WORKLOADS,),
    severity="critical",
    says="Fabric devices come from the device plugin, never by a path: a mount shows a pod the devices of all others.",
    fix="request vpc.amazonaws.com/efa (or rdma/...) under resources.limits and drop the volume",
)
def pods_no_fabric_devices_by_path(resource: Resource, _: Settings) -> Iterator[Outcome]:
    def check(host: Node) -> Iterator[Outcome]:
        path = host.at("path")
        if _is_fabric_device(path.text() or ""):
            yield Finding(path, "devices from the plugin")

    yield from _host_paths(resource, check)


def _setting(container: Node, pod: Node, *keys: str) -> Node:
    """A security setting of a container, or the pod's where the container says nothing."""
    own = container.at("securityContext", *keys)
    return pod.at("securityContext", *keys) if own.absent else own


@rule(
    "pods-no-privilege-escalation",
    types=(WORKLOADS,),
    severity="medium",
    ids=("PSS restricted", "CIS-EKS 4.2.5", "CKV_K8S_20"),
    says="No process may gain more rights than its parent.",
    fix="set securityContext.allowPrivilegeEscalation to false",
)
def pods_no_privilege_escalation(resource: Resource, _: Settings) -> Iterator[Outcome]:
    def check(container: Node, _: Node) -> Iterator[Outcome]:
        if (allowed := container.at("securityContext", "allowPrivilegeEscalation")).boolean() is not False:
            yield Finding(allowed, "false")

    yield from each_container(resource, check)


@rule(
    "pods-run-as-non-root",
    types=(WORKLOADS,),
    severity="medium",
    ids=("PSS restricted", "CKV_K8S_23"),
    says="Containers run as a user that isn't root.",
    fix="set securityContext.runAsNonRoot to true, with a runAsUser above 0",
)
def pods_run_as_non_root(resource: Resource, _: Settings) -> Iterator[Outcome]:
    def check(container: Node, pod: Node) -> Iterator[Outcome]:
        user, non_root = _setting(container, pod, "runAsUser"), _setting(container, pod, "runAsNonRoot")
        if user.number() == 0:
            yield Finding(user, "a user above 0")
        elif not user.number() and not non_root.boolean():
            yield Finding(non_root, "true")

    yield from each_container(resource, check)


@rule(
    "pods-filter-system-calls",
    types=(WORKLOADS,),
    severity="medium",
    ids=("PSS restricted", "CKV_K8S_31"),
    says="The runtime's filter of system calls is on.",
    fix="set securityContext.seccompProfile.type to RuntimeDefault",
)
def pods_filter_system_calls(resource: Resource, _: Settings) -> Iterator[Outcome]:
    def check(container: Node, pod: Node) -> Iterator[Outcome]:
        profile = _setting(container, pod, "seccompProfile", "type")
        if profile.text() not in ("RuntimeDefault", "Localhost"):
            yield Finding(profile, '"RuntimeDefault"')

    yield from each_container(resource, check)


@rule(
    "pods-drop-capabilities",
    types=(WORKLOADS,),
    severity="medium",
    ids=("PSS restricted", "CKV_K8S_37"),
    says="Containers give up every capability that they don't name.",
    fix="set securityContext.capabilities.drop to [ALL]",
)
def pods_drop_capabilities(resource: Resource, _: Settings) -> Iterator[Outcome]:
    def check(container: Node, _: Node) -> Iterator[Outcome]:
        dropped = container.at("securityContext", "capabilities", "drop")
        if "ALL" not in {name.upper() for name in dropped.texts()}:
            yield Finding(dropped, '"ALL" among them')

    yield from each_container(resource, check)


@rule(
    "pods-add-no-capabilities",
    types=(WORKLOADS,),
    severity="medium",
    level="mandatory",
    ids=("PSS baseline", "CKV_K8S_25", "CKV_K8S_39"),
    says="Containers add no capability beyond the allowed ones.",
    fix="drop the capability; for pinned memory raise the node's memlock limit instead of IPC_LOCK",
    parameters={"allowed": {"type": "array", "items": {"type": "string"}, "default": ["NET_BIND_SERVICE"]}},
)
def pods_add_no_capabilities(resource: Resource, settings: Settings) -> Iterator[Outcome]:
    def check(container: Node, _: Node) -> Iterator[Outcome]:
        for added in container.at("securityContext", "capabilities", "add").elements():
            if (added.text() or "").removeprefix("CAP_") not in settings["allowed"]:
                yield Finding(added, f"one of {', '.join(settings['allowed']) or 'none'}")

    yield from each_container(resource, check)
