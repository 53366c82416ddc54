"""The first node's other half: hears every node's launcher and decides for all of them.

Every node does the same thing at the same time: start a round, hear a signal, end the round, end. A node that is gone
or says nothing for too long ends the gang.
"""

from __future__ import annotations

import selectors
import socket
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from workload import contract
from workload.heartbeat import Beat
from workload.launch import verdicts
from workload.launch.channel import Channel, ChannelClosed
from workload.launch.settings import Settings
from workload.launch.verdicts import Failure

SETTLE_SECONDS = 1.0  # consequences of a failure may be heard of before the failure itself
LOOK_SECONDS = 0.1


@dataclass
class Node:
    """What is known of one node in the present round."""

    channel: Channel
    rank: int
    name: str
    heard: float
    done: bool = False
    ready: bool = True
    gone: bool = False
    beats: dict[int, tuple[Beat, float]] = field(default_factory=dict)


class Coordinator(threading.Thread):
    """Listens from its making on, decides once `start`ed, ends after every node has ended."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(daemon=True, name="coordinator")
        self._settings = settings
        alone = settings.nodes == 1
        self._server = socket.create_server(
            ("127.0.0.1", 0) if alone else ("", settings.launch_port), backlog=min(settings.nodes, 4096)
        )
        self._server.setblocking(False)
        self.port = int(self._server.getsockname()[1])
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._server, selectors.EVENT_READ, None)
        self._strangers: list[Channel] = []
        self._nodes: dict[int, Node] = {}
        self._round = 0
        self._round_started: float | None = None
        self._failures: list[Failure] = []
        self._failed_at = 0.0
        self._stopping: int | None = None
        self._ending = False

    def run(self) -> None:
        began = time.monotonic()
        while True:
            for key, _ in self._selector.select(LOOK_SECONDS):
                if key.data is None:
                    self._accept()
                else:
                    self._hear(key.data)
            now = time.monotonic()
            if self._ending:
                if all(node.gone for node in self._nodes.values()) or now - self._failed_at > self._last_wait():
                    break
                continue
            self._look_for_lost(now, began)
            self._decide(now)
        self._server.close()
        for node in self._nodes.values():
            node.channel.close()

    def _last_wait(self) -> float:
        return self._settings.kill_after + 10.0

    def _accept(self) -> None:
        try:
            connection, _ = self._server.accept()
        except OSError:
            return
        channel = Channel(connection)
        self._selector.register(channel, selectors.EVENT_READ, channel)

    def _hear(self, channel: Channel) -> None:
        node = next((one for one in self._nodes.values() if one.channel is channel), None)
        try:
            messages = channel.receive()
        except ChannelClosed:
            self._selector.unregister(channel)
            channel.close()
            if node is not None and not node.gone:
                node.gone = True
                if not self._ending:
                    self._fail(self._lost(node, "its launcher is gone"))
            return
        for message in messages:
            if node is None:
                node = self._welcome(channel, message)
                if node is None:
                    return
                continue
            node.heard = time.monotonic()
            self._note(node, message)

    def _welcome(self, channel: Channel, message: dict[str, Any]) -> Node | None:
        """A node's first message; a stranger's connection is closed."""
        rank = message.get("hello")
        known = message.get("run") == self._settings.run and isinstance(rank, int)
        if not known or not 0 <= int(rank or 0) < self._settings.nodes or rank in self._nodes:
            self._selector.unregister(channel)
            channel.close()
            return None
        assert isinstance(rank, int)
        self._nodes[rank] = Node(channel, rank, str(message.get("node")), time.monotonic())
        return self._nodes[rank]

    def _note(self, node: Node, message: dict[str, Any]) -> None:
        event = message.get("event")
        if event == "gone":
            node.gone = True
        elif event == "ready":
            node.ready = True
        elif event == "signal" and self._stopping is None and not self._ending:
            self._stopping = int(message["number"])
            self._tell(do="signal", number=self._stopping)
        elif message.get("round") != self._round:
            return
        elif event == "done":
            node.done = True
        elif event == "failed":
            self._fail(Failure.from_json(message["failure"]))
        elif event == "beats":
            now = time.monotonic()
            for value, silent in message["beats"]:
                beat = Beat(**value)
                node.beats[beat.rank] = (beat, now - silent)

    def _tell(self, **message: Any) -> None:
        for node in list(self._nodes.values()):
            if node.gone:
                continue
            try:
                node.channel.send(**message)
            except ChannelClosed:
                node.gone = True
                if not self._ending:
                    self._fail(self._lost(node, "its launcher is gone"))

    def _lost(self, node: Node, why: str) -> Failure:
        return Failure(
            contract.GANG_LOST, f"node {node.name} (number {node.rank} of the gang) is lost: {why}", node=node.name
        )

    def _fail(self, failure: Failure) -> None:
        if not self._failures:
            self._failed_at = time.monotonic()
        self._failures.append(failure)

    def _look_for_lost(self, now: float, began: float) -> None:
        limit = self._settings.silent_after
        for node in self._nodes.values():
            if not node.gone and now - node.heard > limit:
                node.gone = True
                self._fail(self._lost(node, f"its launcher said nothing for {limit:g} s"))
        missing = [rank for rank in range(self._settings.nodes) if rank not in self._nodes]
        if missing and now - began > self._settings.start_timeout:
            shown = ", ".join(map(str, missing[:10])) + (" ..." if len(missing) > 10 else "")
            reason = f"{len(missing)} of {self._settings.nodes} nodes never came (numbers {shown})"
            self._fail(Failure(contract.GANG_LOST, f"{reason} within {self._settings.start_timeout:g} s"))

    def _decide(self, now: float) -> None:
        if self._failures:
            lost = any(failure.code == contract.GANG_LOST for failure in self._failures)
            alone = self._settings.world_size == 1
            if lost or alone or now - self._failed_at >= SETTLE_SECONDS:
                self._act_on(verdicts.first(self._failures), now)
        elif self._round_started is None:
            if len(self._nodes) == self._settings.nodes and all(node.ready for node in self._nodes.values()):
                if self._stopping is not None:
                    self._end(Failure(128 + self._stopping, "stopped before the start"), now)
                    return
                self._round_started = now
                self._tell(do="start", round=self._round)
        elif all(node.done for node in self._nodes.values()):
            code = contract.DONE if self._stopping is None else 128 + self._stopping
            self._end(Failure(code, contract.EXIT_MEANINGS.get(code, "stopped")), now)
        elif self._settings.hang_timeout is not None and self._stopping is None:
            self._look_for_hang(now, self._settings.hang_timeout)

    def _look_for_hang(self, now: float, timeout: float) -> None:
        known = {rank: pair for node in self._nodes.values() for rank, pair in node.beats.items()}
        beats = {rank: beat for rank, (beat, _) in known.items()}
        silent = {rank: now - since for rank, (_, since) in known.items()}
        waited = now - (self._round_started or now)
        found = verdicts.hung(beats, silent, self._settings.world_size, waited, timeout)
        if not found:
            return
        say("\n".join(verdicts.hang_table(found)))
        one = found[0]
        per_node = self._settings.processes
        node = one.beat.host if one.beat else self._nodes[one.rank // per_node].name
        self._fail(Failure(contract.HUNG, str(one), one.rank, one.rank % per_node, node))

    def _act_on(self, failure: Failure, now: float) -> None:
        if self._stopping is None and verdicts.again(failure, self._round, self._settings.restarts):
            self._round += 1
            say(f"restart {self._round} of {self._settings.restarts} in place: {failure}")
            self._failures, self._round_started = [], None
            for node in self._nodes.values():
                node.done = node.ready = False
                node.beats = {}
            self._tell(do="restart", round=self._round, failure=failure.as_json())
        else:
            self._end(failure, now)

    def _end(self, failure: Failure, now: float) -> None:
        self._ending, self._failed_at = True, now
        if failure.code:
            say(f"end with {failure.code} ({failure.name}): {failure}")
        self._tell(do="end", failure=failure.as_json())


def say(text: str) -> None:
    print(f"launch: {text}", file=sys.stderr, flush=True)
