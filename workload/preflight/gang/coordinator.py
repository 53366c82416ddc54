"""The first worker's side of the gate: the stages in order, and which worker each failure points to.

Order: everybody comes; each node checks itself; versions and clocks are compared; bandwidth inside the nodes;
all-reduce and broadcast over the gang; pairs. A worker that is named leaves the later stages: one run names all.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from workload.preflight.findings import CLOCK, HEALTH, SILENT, SLOW, VERSIONS
from workload.preflight.gang import baseline, comparing, pairs
from workload.preflight.gang.asked import Asked, Limits
from workload.preflight.gang.attendance import Answers, Attendance, address
from workload.preflight.gang.rounds import Pair, RoundOutcome
from workload.preflight.gang.wire import Message
from workload.preflight.report import Link, Named, Report

CLOCK_READINGS = 3


class GateCoordinator:
    """One run of the gate over all workers."""

    def __init__(
        self, attendance: Attendance, asked: Asked, limits: Limits, tell: Callable[[str], None] = lambda _: None
    ) -> None:
        self.attendance, self.asked, self.limits, self.tell = attendance, asked, limits, tell
        self.named: dict[int, Named] = {}
        self.links: list[Link] = []
        self.said: list[str] = []
        self.figures: dict[str, Any] = {}
        self.active: list[int] = []
        self.transport = "sockets"
        self._test = 0
        self._until = float("inf")
        self._baseline = baseline.read(asked.baselines, asked.key)

    def run(self) -> Report:
        self.tell(f"waiting for {self.attendance.nodes} workers")
        missing = self.attendance.gather(self.limits.join)
        for rank, why in missing.items():
            self._name(rank, "join", SILENT, why)
        self._until = time.monotonic() + self.limits.whole
        self.active = sorted(self.attendance.present)
        stages = [self._nodes, self._clocks, self._inside]
        if self.asked.collectives:
            stages += [self._collectives, self._networks, self._pairs]
        for stage in stages:
            if time.monotonic() > self._until:
                self.said.append(f"the gate's {self.limits.whole:g} s were over before {stage.__name__.strip('_')}")
                break
            self.tell(f"{stage.__name__.strip('_')}: {len(self.active)} workers")
            stage()
        report = self._report()
        self._record(report)
        return report

    # -- names --
    def _node_of(self, rank: int) -> str | None:
        present = self.attendance.present.get(rank)
        return present.node if present else None

    def _name(self, rank: int, check: str, code: int, said: str) -> None:
        self.named.setdefault(rank, Named(rank, self._node_of(rank), check, code, said))
        self.active = [each for each in self.active if each != rank]

    def _ask(self, commands: dict[int, Message], limit: float) -> Answers:
        answers = self.attendance.ask(commands, limit, self.limits.grace)
        for rank, why in answers.silent.items():
            self._name(rank, "silent", SILENT, why)
        return answers

    # -- stages --
    def _nodes(self) -> None:
        answers = self._ask({rank: {"do": "node"} for rank in self.active}, self.limits.node)
        versions, transports = {}, {}
        for rank, reply in answers.replies.items():
            if "failed" in reply:
                self._name(rank, "node", HEALTH, f"its checks failed: {reply['failed']}")
                continue
            versions[rank], transports[rank] = reply["versions"], reply["transport"]
        # Compared before the faulty leave: a half of the gang is a half of all who answered.
        odd, torn = comparing.versions(versions)
        for rank, reply in answers.replies.items():
            for finding in reply.get("findings", []):
                self._name(rank, finding["check"], finding["code"], finding["said"])
        for each in odd:
            self._name(each.rank, "versions", VERSIONS, each.said)
        self.said += torn
        able = [rank for rank in self.active if transports.get(rank) == "torch"]
        self.transport = "torch" if len(able) == len(self.active) and able else "sockets"
        self.figures["transport"] = self.transport

    def _clocks(self) -> None:
        readings: dict[int, list[comparing.Reading]] = {rank: [] for rank in self.active}
        for rank in list(self.active):
            for _ in range(CLOCK_READINGS):
                before = time.time()
                answers = self._ask({rank: {"do": "clock"}}, self.limits.grace)
                after = time.time()
                if rank not in answers.replies:
                    break
                readings[rank].append(comparing.Reading(before, after, float(answers.replies[rank]["time"])))
        odd, torn = comparing.clocks({rank: readings[rank] for rank in self.active}, self.limits.clock)
        for each in odd:
            self._name(each.rank, "clock", CLOCK, each.said)
        self.said += torn

    def _inside(self) -> None:
        command = {"do": "inside", "bytes": self.asked.size, "repeats": self.asked.repeats}
        answers = self._ask({rank: dict(command) for rank in self.active}, self.limits.test)
        rates = {}
        for rank, reply in answers.replies.items():
            if "failed" in reply:
                self._name(rank, "inside", SLOW, f"the test inside the node failed: {reply['failed']}")
            elif reply["wrong"]:
                self._name(rank, "inside", SLOW, f"{reply['wrong']} values came out wrong inside the node")
            else:
                rates[rank] = float(reply["gb_per_s"])
        wanted = self._baseline.get("inside_gb_per_s", 0.0) * self.asked.minimum
        for rank, rate in rates.items():
            if rate < wanted:
                share = f"{self.asked.minimum:.0%} of the baseline"
                said = f"{rate:.1f} GB/s inside the node, {wanted:.1f} are asked ({share})"
                self._name(rank, "inside", SLOW, said)
        if rates:
            self.figures["inside_gb_per_s"] = round(statistics.median(rates.values()), 4)

    def _collectives(self) -> None:
        for what in ("all_reduce", "broadcast"):
            while len(self.active) > 1:
                members = list(self.active)
                answers = self._ask(self._group(what, members), self.limits.test)
                if not answers.silent:
                    self._judge_collective(what, members, answers)
                    break
                self.tell(f"{what} again without {len(answers.silent)} silent workers")

    def _judge_collective(self, what: str, members: Sequence[int], answers: Answers) -> None:
        failed = [
            f"worker {rank}: {reply['failed']}" for rank, reply in sorted(answers.replies.items()) if "failed" in reply
        ]
        words = what.replace("_", "-")
        if failed:
            self.said.append(f"the {words} over {len(members)} nodes failed ({failed[0]})")
            return
        wrong = sum(int(reply["wrong"]) for reply in answers.replies.values())
        if wrong:
            self.said.append(f"the {words} over {len(members)} nodes came out wrong in {wrong} values")
        ranks = len(members) * self._processes()
        share = 2 * (ranks - 1) / ranks if what == "all_reduce" else 1.0
        seconds = [float(reply["seconds"]) for reply in answers.replies.values()]
        rate = share * self.asked.size / max(seconds) / 1e9
        self.figures[f"{what}_gb_per_s"] = round(rate, 4)
        known = self._baseline.get(f"{what}_gb_per_s", 0.0)
        if rate < known * self.asked.minimum:
            self.said.append(
                f"the {words} over {len(members)} nodes ran at {rate:.1f} GB/s, {rate / known:.0%} of the baseline of"
                f" {known:.1f}; {self.asked.minimum:.0%} are asked"
            )

    def _networks(self) -> None:
        if self.transport != "torch":
            return
        for rank, reply in self._ask(
            {rank: {"do": "network"} for rank in self.active}, self.limits.grace
        ).replies.items():
            for finding in reply.get("findings", []):
                self._name(rank, finding["check"], finding["code"], finding["said"])

    def _pairs(self) -> None:
        def bound(outcomes: Sequence[RoundOutcome]) -> float:
            return pairs.least(self.asked, self._baseline.get("pair_gb_per_s", 0.0), outcomes)

        found = pairs.find(self.active, self._play, bound, self.named.keys, self._until)
        self.figures |= found.figures
        for rank, worst in found.nodes.items():
            self._name(rank, "pair", SLOW, worst)
        for (one, other), worst in found.links.items():
            self.links.append(Link((self._known(one), self._known(other)), worst))
        if found.unnamed:
            names = ", ".join(self._known(rank) for rank in found.unnamed_ranks[:8])
            self.said.append(
                f"no pair of nodes was fast enough, so no one node can be named ({found.unnamed}): {names}"
            )

    def _known(self, rank: int) -> str:
        return self._node_of(rank) or f"worker {rank}"

    def _play(self, together: Sequence[Pair]) -> list[RoundOutcome]:
        """The pairs of a round at once. An end that falls silent is named, and its pair counts for nobody."""
        commands: dict[int, Message] = {}
        for pair in together:
            if set(pair) <= set(self.active):
                commands |= self._group("pair", list(pair))
        answers = self._ask(commands, self.limits.test)
        outcomes = []
        for pair in together:
            if not set(pair) <= set(answers.replies):
                continue
            replies = [answers.replies[rank] for rank in pair]
            failed = [reply["failed"] for reply in replies if "failed" in reply]
            wrong = sum(int(reply.get("wrong", 0)) for reply in replies)
            if failed:
                outcomes.append(RoundOutcome(pair, None, wrong, failed[0]))
                continue
            seconds = max(float(reply["seconds"]) for reply in replies)
            outcomes.append(RoundOutcome(pair, self._processes() * self.asked.size / seconds / 1e9, wrong))
        return outcomes

    # -- how --
    def _processes(self) -> int:
        return max(self.asked.cards, 1) if self.transport == "torch" else 1

    def _group(self, what: str, members: Sequence[int]) -> dict[int, Message]:
        """The command of each member for one test of the group."""
        self._test += 1
        base = {"do": what, "transport": self.transport, "bytes": self.asked.size, "repeats": self.asked.repeats}
        present = self.attendance.present
        first = present[members[0]]
        store = address(first.host, first.ports[self._test % (len(first.ports) - 1)])
        commands: dict[int, Message] = {}
        for index, rank in enumerate(members):
            after = present[members[(index + 1) % len(members)]]
            commands[rank] = {
                **base,
                "test": f"{what}-{self._test}",
                "ring": list(members),
                "host": after.host,
                "port": after.port,
                "index": index,
                "members": len(members),
                "address": store,
            }
        return commands

    def _report(self) -> Report:
        # A collective that failed is explained once a node or link is named; alone it closes the gate itself.
        said = tuple(self.said)
        if self.named or self.links:
            said = tuple(
                each for each in said if not each.startswith("the all-reduce") and not each.startswith("the broadcast")
            )
        return Report(
            task=self.asked.task,
            attempt=self.asked.attempt,
            nodes=self.attendance.nodes,
            by=0,
            node=self.attendance.node,
            at=time.time(),
            blamed=tuple(self.named[rank] for rank in sorted(self.named)),
            links=tuple(self.links),
            said=said,
            figures=self.figures,
            members={str(rank): each.node for rank, each in sorted(self.attendance.present.items())},
        )

    def _record(self, report: Report) -> None:
        """A healthy run leaves its figures where none stand: healthy is what the wire's rate or a baseline proved."""
        if not report.open or self.asked.baselines is None or "pair_gb_per_s" not in self.figures:
            return
        if not (self.asked.record or self.asked.wire_gb_per_s):
            return
        figures = {name: value for name, value in self.figures.items() if isinstance(value, float)}
        try:
            baseline.record(
                self.asked.baselines,
                self.asked.key,
                figures,
                at=report.at,
                task=self.asked.task,
                replace=self.asked.record,
            )
        except OSError as error:
            self.tell(f"the baseline can't be written: {error.strerror}")
