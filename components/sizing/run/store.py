"""The storage a run needs: dataset, checkpoints, a legal file system that holds and serves them, and objects behind it.

Size and throughput are the cheapest legal pair that has both the room and the bandwidth.
"""

from __future__ import annotations

from dataclasses import dataclass

from components.catalog import Catalog
from components.sizing.machine.profiles import NodeProfile
from components.sizing.memory.memory import GIB
from components.sizing.run.goodput import Checkpoint

_SMALL_VOCABULARY = 65536  # token ids below fit two bytes
_RESTORE_SECONDS = 300.0  # a restart reads its checkpoint in half of the restart's time
_LOCAL_CHECKPOINTS = 2
_DATASET_FACTOR = 2  # room for the next version beside the one in use


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """GiB and bytes/s. `throughput` is MB/s per TiB, None where no catalog machine asks for FSx."""

    dataset_gib: float
    checkpoints_gib: float
    lustre_gib: int
    lustre_throughput: int
    lustre_efa: bool
    lustre_monthly_usd: float | None
    object_gib: float
    object_monthly_usd: float | None
    read_bandwidth: float
    write_bandwidth: float
    token_bytes: int


def bytes_of_token(vocab: int) -> int:
    return 2 if vocab <= _SMALL_VOCABULARY else 4


def dataset_bytes(vocab: int, tokens: float) -> float:
    return tokens * bytes_of_token(vocab)


def store(
    vocab: int,
    tokens: float,
    keep_last: int,
    machine: NodeProfile,
    saved: Checkpoint,
    tokens_per_second: float,
    cat: Catalog,
    region: str,
) -> Store:
    """The storage of a run that keeps its last `keep_last` checkpoints."""
    token_bytes = bytes_of_token(vocab)
    dataset = dataset_bytes(vocab, tokens)
    kept = saved.bytes * keep_last
    read = max(tokens_per_second * token_bytes, saved.bytes / _RESTORE_SECONDS)
    room = (_DATASET_FACTOR * dataset + _LOCAL_CHECKPOINTS * saved.bytes) / GIB
    instance = machine.instance
    efa = bool(instance and instance.lustre_efa_client and instance.efa)
    capacity, throughput, monthly = _lustre(room, max(read, saved.bandwidth_needed) / 1e6, cat, region, efa=efa)
    objects = (dataset + kept) / GIB
    rate = cat.prices.usd("s3-standard", region)
    return Store(
        dataset_gib=dataset / GIB,
        checkpoints_gib=kept / GIB,
        lustre_gib=capacity,
        lustre_throughput=throughput,
        lustre_efa=efa and throughput > 0,
        lustre_monthly_usd=monthly,
        object_gib=objects,
        object_monthly_usd=None if rate is None else objects * GIB / 1e9 * rate,
        read_bandwidth=read,
        write_bandwidth=saved.bandwidth_needed,
        token_bytes=token_bytes,
    )


def _lustre(room_gib: float, mbps: float, cat: Catalog, region: str, *, efa: bool) -> tuple[int, int, float | None]:
    """Capacity GiB, MB/s per TiB and USD a month of the cheapest file system that has the room and the bandwidth."""
    kind = cat.lustre.deployment("PERSISTENT_2")
    if kind is None:
        raise LookupError("the catalog has no PERSISTENT_2 file system")
    offers: list[tuple[float, int, int, float | None]] = []
    for throughput in kind.throughputs:
        sizes = kind.sizes_for(throughput, efa=efa)
        if sizes is None:
            continue
        capacity = sizes.at_least(max(room_gib, mbps / throughput * 1024))
        price = cat.prices.usd(f"lustre-persistent-2-ssd-{throughput}", region)
        monthly = None if price is None else capacity * GIB / 1e9 * price
        # Without a price, systems are compared by the bandwidth bought.
        offers.append(
            (monthly if monthly is not None else capacity * (1 + throughput / 250), capacity, throughput, monthly)
        )
    _, capacity, throughput, monthly = min(offers)
    return capacity, throughput, monthly
