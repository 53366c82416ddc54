"""One node's launcher: starts, signals and ends its processes as the coordinator says, and tells it what happens."""

from __future__ import annotations

import os
import selectors
import signal
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from workload import contract, heartbeat
from workload.launch import verdicts
from workload.launch.channel import Channel, ChannelClosed
from workload.launch.coordinator import say
from workload.launch.processes import Processes
from workload.launch.settings import Settings
from workload.launch.verdicts import Failure

LOOK_SECONDS = 0.2
# What the kubelet leaves after the grace is for the launcher itself.
RESERVE_SECONDS = 5.0


def connect(settings: Settings, port: int) -> Channel:
    """The first node's name may not resolve yet, its launcher may still be starting. Raises Closed."""
    deadline = time.monotonic() + settings.start_timeout
    address = "127.0.0.1" if settings.node_rank == 0 else settings.master_addr
    while True:
        try:
            channel = Channel(socket.create_connection((address, port), timeout=5.0))
            break
        except OSError as error:
            if time.monotonic() >= deadline:
                raise ChannelClosed(f"{address}:{port} does not answer: {error}") from None
            time.sleep(0.2)
    channel.send(hello=settings.node_rank, run=settings.run, node=settings.node)
    return channel


class Member:
    """The loop of one node."""

    def __init__(self, settings: Settings, environment: Mapping[str, str], channel: Channel, wakeup: int) -> None:
        self._settings, self._environment, self._channel, self._wakeup = settings, environment, channel, wakeup
        self._round = 0
        self._processes: Processes | None = None
        self._kill_at: float | None = None
        self._next: dict[str, Any] | None = None  # what to do once all processes are gone
        self._stopped: tuple[int, float] | None = None
        self._told_done = False
        self._beat_at = 0.0

    def run(self) -> Failure:
        """Gives why the gang ended, code 0 included."""
        selector = selectors.DefaultSelector()
        selector.register(self._channel, selectors.EVENT_READ, "channel")
        selector.register(self._wakeup, selectors.EVENT_READ, "signals")
        while True:
            for key, _ in selector.select(LOOK_SECONDS):
                if key.data == "signals":
                    for number in os.read(self._wakeup, 64):
                        self._signalled(number)
                elif self._next is None or self._next["do"] != "end":
                    self._hear(selector)
            now = time.monotonic()
            self._look_at_processes(now)
            self._look_at_stop(now)
            if self._next is not None and not (self._processes and self._processes.running):
                ended = self._go_on(self._next)
                if ended is not None:
                    return ended
            self._beat(now)

    def _send(self, **message: Any) -> None:
        try:
            self._channel.send(**message)
        except ChannelClosed as error:
            self._first_node_lost(error)

    def _hear(self, selector: selectors.BaseSelector) -> None:
        try:
            messages = self._channel.receive()
        except ChannelClosed as error:
            with suppress(KeyError):
                selector.unregister(self._channel)
            self._first_node_lost(error)
            return
        for message in messages:
            if message["do"] == "start":
                self._start(int(message["round"]))
            elif message["do"] == "signal":
                self._stop(int(message["number"]))
            else:
                self._end_round(message)

    def _first_node_lost(self, error: Exception) -> None:
        if self._next is None or self._next["do"] != "end":
            reason = f"the first node's launcher ({self._settings.master_addr}) is gone: {error}"
            code = contract.GANG_LOST if self._stopped is None else 128 + self._stopped[0]
            self._end_round({"do": "end", "failure": Failure(code, reason).as_json()})

    def _start(self, number: int) -> None:
        self._round, self._told_done = number, False
        if self._settings.heartbeats:
            # Beats of the round before would count for this one.
            for rank in self._settings.ranks:
                with suppress(FileNotFoundError):
                    (self._settings.heartbeats / heartbeat.file_name(rank)).unlink()
        self._processes = Processes(self._settings, self._environment, number)

    def _signalled(self, number: int) -> None:
        if number in (signal.SIGTERM, signal.SIGINT):
            self._send(event="signal", number=number)
            self._stop(number)
        elif number == signal.SIGUSR1 and self._processes:
            self._processes.send(number)

    def _stop(self, number: int) -> None:
        if self._stopped is not None:
            return
        self._stopped = (number, time.monotonic())
        say(f"signal {number}: every process is told to stop")
        if self._processes:
            self._processes.send(signal.SIGTERM)

    def _end_round(self, message: dict[str, Any]) -> None:
        if self._next is not None and self._next["do"] == "end":
            return
        self._next = message
        if self._processes and self._processes.running:
            self._processes.send(signal.SIGTERM)
            self._kill_at = time.monotonic() + self._settings.kill_after

    def _look_at_processes(self, now: float) -> None:
        if self._processes is None:
            return
        if self._kill_at is not None and now >= self._kill_at:
            self._processes.kill()
        for ended in self._processes.ended():
            if self._next is not None:
                continue  # ended by us
            code = ended.code
            if self._stopped is not None and code in (0, 128 + signal.SIGTERM, 128 + signal.SIGINT, 137):
                continue
            if code:
                rank = self._settings.first_rank + ended.local_rank
                failure = verdicts.of_process(code, rank, ended.local_rank, self._settings.node, ended.lines)
                self._send(event="failed", round=self._round, failure=failure.as_json())
                self._told_done = True
        if not self._processes.running and not self._told_done and self._next is None:
            self._told_done = True
            self._send(event="done", round=self._round)

    def _look_at_stop(self, now: float) -> None:
        """After SIGTERM: a rank without progress, or the end of the grace, ends what is left."""
        if self._stopped is None or not (self._processes and self._processes.running):
            return
        since = self._stopped[1]
        if now - since >= max(self._settings.grace - RESERVE_SECONDS, 0.5 * self._settings.grace):
            say("the grace is over: what is left is killed")
            self._processes.kill()
        elif now - since >= self._settings.stop_step and self._settings.heartbeats:
            ages = heartbeat.ages(self._own_beats())
            stuck = [rank for rank, age in ages.items() if age >= self._settings.stop_step]
            if stuck:
                say(f"rank {stuck[0]} made no progress for {ages[stuck[0]]:.0f} s after the signal: all are killed")
                self._processes.kill()

    def _own_beats(self) -> dict[int, heartbeat.Beat]:
        if self._settings.heartbeats is None:
            return {}
        beats = heartbeat.read(self._settings.heartbeats)
        return {rank: beat for rank, beat in beats.items() if rank in self._settings.ranks}

    def _beat(self, now: float) -> None:
        if now < self._beat_at:
            return
        self._beat_at = now + self._settings.beat_every
        beats = self._own_beats()
        ages = heartbeat.ages(beats)
        self._send(event="beats", round=self._round, beats=[[asdict(beat), ages[rank]] for rank, beat in beats.items()])

    def _go_on(self, message: dict[str, Any]) -> Failure | None:
        self._kill_at = None
        if message["do"] == "restart":
            self._next, self._processes, self._round = None, None, int(message["round"])
            self._send(event="ready", round=self._round)
            return None
        with suppress(ChannelClosed):
            self._channel.send(event="gone")
        return Failure.from_json(message["failure"])
