"""The rules of a stack, held against one part of it: what a component refuses in a program without a stack file.

The part is a stack of which nothing else was read. Each rule checks as far as it can, and says what it says of a whole
stack file; paths are those of the part's own spec.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from components import catalog
from components.catalog import Catalog, regions
from components.naming import did_you_mean
from components.planning import rules
from components.planning.address_needs import AddressNeed
from components.planning.addresses import plan
from components.planning.pool import Pool
from components.planning.rules.network import without_room
from components.planning.rules.task import check_task
from components.problems import Problem, errors
from components.spec.access import AccessSpec
from components.spec.base import Spec
from components.spec.cluster import ClusterSpec
from components.spec.form import Cloud, Form, Hybrid, RemoteNetwork
from components.spec.network import NetworkSpec
from components.spec.operations import BudgetSpec, GovernanceSpec, ObservabilitySpec
from components.spec.pools import PoolSpec
from components.spec.reading.partial import nothing_of
from components.spec.stack import StackSpec
from components.spec.storage import DatasetsSpec, LustreSpec, RegistrySpec, StorageSpec
from components.spec.task import TaskSpec

Part = TypeVar("Part", bound=Spec)


def of_stack(stack: StackSpec, cat: Catalog) -> list[Problem]:
    """Errors of a whole stack, for a component that is made from one."""
    return errors(rules.check(stack, cat))


def of_task(task: TaskSpec, stack: StackSpec, cat: Catalog) -> list[Problem]:
    """Errors of a task on its stack, and of the stack."""
    return [*of_stack(stack, cat), *errors(check_task(task, stack, cat))]


def of_pool(
    spec: PoolSpec, cat: Catalog, *, zones: Sequence[str], cluster_version: str, has_efa_group: bool
) -> list[Problem]:
    """`zones` are those that the caller has subnets in."""
    known: dict[str, Any] = {"form": Cloud(kind="cloud"), "pools": (spec,)}
    if zones:
        known["network"] = _partly(NetworkSpec, zones=tuple(sorted(zones)))
        known["cluster"] = _partly(ClusterSpec, version=cluster_version)
    if region := _region_of([*zones, *filter(None, (spec.zone,)), *spec.zones], cat):
        known["region"] = region
    found = _errors(known, cat, {"pools[0]": ""})
    if not found and Pool(spec, cat).fabric.open_group and not has_efa_group:
        said = f'pool "{spec.name}" speaks EFA, whose traffic passes only a security group that is open to itself'
        hint = "give efa_security_group_id, such as Network.efa_security_group_id"
        found.append(Problem(id="efa-group-missing", path="efa_security_group_id", said=said, hint=hint))
    return found


def of_network(
    spec: NetworkSpec,
    region: str,
    *,
    compute: Sequence[AddressNeed],
    remote_cidrs: Sequence[str],
    transit_gateway: str | None,
) -> list[Problem]:
    """`compute` are the addresses that nodes with cards and file systems take in each zone."""
    known = {"region": region, "form": _form(remote_cidrs, transit_gateway), "network": spec, "cluster": None}
    own = {"network": ""}
    own |= {f"form.remote_networks[{at}].node_cidr": f"remote_cidrs[{at}]" for at in range(len(remote_cidrs))}
    found = _errors(known, catalog.load(), own)
    if found:
        return found
    # The needs are given here, where a stack file's follow from its pools.
    return [_with_own_path(each, {"network": ""}) for each in without_room(spec, plan(spec, tuple(compute)))]


def of_cluster(
    spec: ClusterSpec, region: str, *, control_zones: Iterable[str], node_zones: Iterable[str], admins: Sequence[str]
) -> list[Problem]:
    """`control_zones` carry the control plane, `node_zones` the system nodes."""
    zones = tuple(sorted({*control_zones, *node_zones}))
    known = {
        "region": region,
        "form": Cloud(kind="cloud"),
        "network": _partly(NetworkSpec, zones=zones),
        "cluster": spec,
        "pools": (),
        "queues": (),
        "storage": StorageSpec(),
        "access": AccessSpec(admins=tuple(admins)),
    }
    return _errors(known, catalog.load(), {"cluster": "", "network.zones": "control_subnet_ids"})


def of_lustre(
    spec: LustreSpec, region: str, cat: Catalog, *, buckets: Iterable[str], dataset_gib: int | None
) -> list[Problem]:
    """`buckets` are the words that a link may name."""
    datasets = _partly(DatasetsSpec, size_gib=dataset_gib)
    storage = _partly(StorageSpec, datasets=datasets, lustre=(spec,))
    known = {"region": region, "form": Cloud(kind="cloud"), "network": None, "storage": storage}
    found = _errors(known, cat, {"storage.lustre[0]": ""})
    there = sorted(buckets)
    for at, link in enumerate(spec.links):
        if isinstance(link.bucket, str) and link.bucket not in there:
            said = f'"{link.bucket}" is none of the buckets given'
            hint = did_you_mean(link.bucket, there) if there else "give its name in buckets"
            found.append(Problem(id="link-bucket-unknown", path=f"links[{at}].bucket", said=said, hint=hint))
    return found


def of_store(spec: StorageSpec, region: str) -> list[Problem]:
    """Buckets alone: file systems and the registry are components of their own."""
    known = {"region": region, "form": Cloud(kind="cloud"), "storage": spec}
    own = {f"storage.{each}": each for each in ("datasets", "checkpoints", "logs", "organisation")}
    return _errors(known, catalog.load(), {**own})


def of_registry(spec: RegistrySpec, region: str) -> list[Problem]:
    """The registry of one account and region."""
    known = {"region": region, "form": Cloud(kind="cloud"), "storage": _partly(StorageSpec, registry=spec)}
    return _errors(known, catalog.load(), {"storage.registry": ""})


def of_governance(
    governance: GovernanceSpec, budget: BudgetSpec | None, alerts_to: tuple[Any, ...], region: str
) -> list[Problem]:
    """Budget, anomalies and audit, with those whom they tell."""
    known = {
        "region": region,
        "form": Cloud(kind="cloud"),
        "governance": governance,
        "budget": budget,
        "observability": _partly(ObservabilitySpec, alerts_to=alerts_to),
    }
    own = {"budget": "budget", "governance": "governance", "observability.alerts_to": "alerts_to"}
    return _errors(known, catalog.load(), {**own})


def _errors(known: Mapping[str, Any], cat: Catalog, own: Mapping[str, str]) -> list[Problem]:
    """Errors about the part, each with the part's own path: `own` gives it for the beginnings of a stack's."""
    found: list[Problem] = []
    for each in errors(rules.check(_partly(StackSpec, **known), cat)):
        if any(_holds(head, each.path) for head in own):
            found.append(_with_own_path(each, own))
    return list(dict.fromkeys(found))


def _holds(head: str, path: str) -> bool:
    return path.startswith(head) and path[len(head) : len(head) + 1] in ("", ".", "[")


def _with_own_path(problem: Problem, own: Mapping[str, str]) -> Problem:
    head = next(each for each in own if _holds(each, problem.path))
    return replace(problem, path=f"{own[head]}{problem.path.removeprefix(head)}".removeprefix("."))


def _partly(model: type[Part], **known: Any) -> Part:
    made = nothing_of(model)
    vars(made).update(known)
    assert isinstance(made, model)
    return made


def _form(remote_cidrs: Sequence[str], transit_gateway: str | None) -> Form:
    if not remote_cidrs:
        return Cloud(kind="cloud")
    sites = tuple(
        _partly(RemoteNetwork, name=f"site-{at}", node_cidr=cidr, pod_cidr=None) for at, cidr in enumerate(remote_cidrs)
    )
    return _partly(Hybrid, kind="hybrid", remote_networks=sites, transit_gateway_id=transit_gateway)


def _region_of(zones: Iterable[str], cat: Catalog) -> str | None:
    """The region that these zones lie in, where the catalog knows it."""
    wanted = set(zones)
    for region in regions.known(cat):
        if any(wanted & set(each.zones.get(region, ())) for each in cat.instances.values()):
            return region
    return None
