"""Benchmark of the gate over a gang: a bad member of eight, throttled, hung, killed or of another version, by seed.

Run as `python bench/gate.py [SEEDS]`. For each seed it prints who was named and how long the sound workers took; at the
end how often the bad member, and only it, was named.
"""

from __future__ import annotations

import sys
import tempfile
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.machine import described
from tests.workload.preflight.gang import planted


def main() -> int:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    print("\n".join(described()))
    right, blamed = 0, 0
    seconds: dict[str, list[float]] = defaultdict(list)
    for seed in range(seeds):
        case = planted.case(seed)
        with tempfile.TemporaryDirectory() as folder:
            done = planted.run(Path(folder), **case)
        named = [each["rank"] for each in done.named]
        right += named == [case["bad"]]
        blamed += len(set(named) - {case["bad"]})
        seconds[case["fault"]].append(done.seconds)
        what = f"{case['fault']:<15} worker {case['bad']} at {case['stage']:<12}"
        print(f"{seed:3} {what} named {named} in {done.seconds:.1f} s", flush=True)
    print(f"the bad member alone was named in {right} of {seeds}; sound ones blamed: {blamed}")
    for fault, values in sorted(seconds.items()):
        print(f"{fault:<15} at most {max(values):.1f} s")
    return 0 if right == seeds else 1


if __name__ == "__main__":
    sys.exit(main())
