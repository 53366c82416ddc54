"""What a run moves a second against what its file system was bought with."""

from __future__ import annotations

from functools import cache

from components.planning import demand
from components.planning.demand import StorageNeed
from components.problems import render
from components.sizing.plan import reading
from components.sizing.plan.plan import Plan, plan
from components.spec.stack import StackSpec
from tests.given import CAT, ROOT, stack, stack_of

POOLS = "[{name: train, purpose: training, instance_type: p5.48xlarge, zone: usw2-az3, nodes: 2}]"


def with_lustre(words: str) -> StackSpec:
    return stack_of(pools=POOLS, rest=f"  trainshed:storage: {{lustre: [{{name: train, zone: usw2-az3, {words}}}]}}")


@cache
def planned() -> Plan:
    request = reading.read(ROOT / "tasks" / "llama-405b.yaml", CAT).request
    assert request is not None
    made, problems = plan(request, CAT)
    assert made is not None
    assert not problems
    return made


def reported(spec: StackSpec, *needs: StorageNeed) -> list[str]:
    return [render(each) for each in demand.compare(spec, CAT, needs).problems]


def need(read: float, write: float) -> StorageNeed:
    return StorageNeed(task="llama", read=read, write=write, arithmetic="tokens and checkpoints")


def test_throughput_is_size_times_rate() -> None:
    [supply] = demand.supplies(stack("prod"), CAT)
    assert (supply.bytes_per_second, supply.path) == (37.5e9, "storage.lustre[0].throughput_mbps_per_tib")
    assert supply.arithmetic == "76,800 GiB at 500 MB/s/TiB = 37.5 GB/s"


def test_scratch_and_tiered_systems_have_throughputs_of_their_own() -> None:
    [scratch] = demand.supplies(with_lustre("deployment: SCRATCH_2, capacity_gib: 2400, expendable: true"), CAT)
    assert (scratch.path, scratch.arithmetic) == (
        "storage.lustre[0].capacity_gib",
        "2,400 GiB at 200 MB/s/TiB = 0.5 GB/s",
    )
    [tiered] = demand.supplies(with_lustre("storage: INTELLIGENT_TIERING, throughput_mbps: 8000"), CAT)
    assert (tiered.path, tiered.bytes_per_second, tiered.arithmetic) == (
        "storage.lustre[0].throughput_mbps",
        8e9,
        "8,000 MB/s",
    )


def test_half_again_of_the_need_is_enough() -> None:
    assert reported(stack("prod"), need(read=25e9, write=1e9)) == []


def test_less_than_half_again_warns_with_both_sides_and_what_would_do() -> None:
    assert reported(stack("prod"), need(read=1e9, write=30e9)) == [
        (
            'storage.lustre[0].throughput_mbps_per_tib: warning: "train" moves 76,800 GiB at 500 MB/s/TiB = 37.5 GB/s, '
            "1.2 x the 30.0 GB/s that llama needs (tokens and checkpoints); 1.5 x are 45.0 GB/s: use "
            "throughput_mbps_per_tib: 1000"
        )
    ]


def test_a_need_beyond_the_fastest_rate_asks_for_more_of_it() -> None:
    assert reported(stack("prod"), need(read=1e9, write=90e9))[0].endswith(
        "1.5 x are 135.0 GB/s: use capacity_gib: 139200 at 1000 MB/s/TiB"
    )
    scratch = with_lustre("deployment: SCRATCH_2, capacity_gib: 1200, expendable: true")
    assert reported(scratch, need(read=1e9, write=0))[0].endswith(
        "1.5 x are 1.5 GB/s: use capacity_gib: 9600 at 200 MB/s/TiB"
    )
    tiered = with_lustre("storage: INTELLIGENT_TIERING, throughput_mbps: 4000")
    assert reported(tiered, need(read=5e9, write=0))[0].endswith("1.5 x are 7.5 GB/s: use throughput_mbps: 8000")


def test_without_a_file_system_nothing_is_compared() -> None:
    assert reported(stack_of(pools=POOLS), need(read=1e12, write=1e12)) == []


def test_a_planned_run_needs_its_tokens_its_checkpoint_and_that_back_again() -> None:
    found = demand.need(planned())
    assert found.task == "llama-405b"
    assert found.write == planned().checkpoint.bytes / planned().checkpoint.write_seconds
    assert found.read >= planned().checkpoint.bytes / 300
    assert found.most == max(found.read, found.write)


def test_the_preview_gets_both_sides_in_gigabytes_a_second() -> None:
    words = demand.compare(stack("prod"), CAT, [need(read=5e9, write=15e9)]).as_plan()
    assert words == {
        "bought": [{"name": "train", "gb_per_second": 37.5, "reckoning": "76,800 GiB at 500 MB/s/TiB = 37.5 GB/s"}],
        "needed": [
            {
                "task": "llama",
                "read_gb_per_second": 5.0,
                "write_gb_per_second": 15.0,
                "times_bought": 2.5,
                "reckoning": "tokens and checkpoints",
            }
        ],
    }
