"""Serves the figures of a node's ranks in Prometheus' text form. Ages are taken at the moment of the scrape."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from workload import boot_clock, contract, heartbeat
from workload.progress import escape_label
from workload.telemetry import figures

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def number(value: float) -> str:
    """Prometheus' spelling: `NaN`, `+Inf`, `-Inf`."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    return repr(float(value))


def text(folder: Path, labels: Mapping[str, str]) -> str:
    """All ranks' figures; a metric that no rank has is left out, as are ages of what never happened."""
    now = boot_clock.now()
    found = figures.read(folder)
    beats = heartbeat.read(folder)
    ages = heartbeat.ages(beats)
    samples: dict[str, list[tuple[int, str, float]]] = {}
    for one in found:
        shown = {**one.values, **{word: max(0.0, now - moment) for word, moment in one.since.items()}}
        for word, value in shown.items():
            samples.setdefault(word, []).append((one.rank, one.node, value))
    samples["heartbeat_age"] = [(rank, beat.host, ages[rank]) for rank, beat in sorted(beats.items())]
    fixed = "".join(f'{name}="{escape_label(value)}",' for name, value in labels.items())
    lines = []
    for word, (name, kind, help_text) in contract.METRICS.items():
        if not samples.get(word):
            continue
        lines += [f"# HELP {name} {help_text}", f"# TYPE {name} {kind}"]
        lines += [
            f'{name}{{{fixed}node="{escape_label(node)}",rank="{rank}"}} {number(value)}'
            for rank, node, value in samples[word]
        ]
    return "\n".join([*lines, ""])


def labels_of(environment: Mapping[str, str]) -> dict[str, str]:
    """The labels that all figures of a task share."""
    return {
        "task": environment.get(contract.TASK_NAME, "task"),
        "queue": environment.get(contract.QUEUE_NAME, ""),
        "team": environment.get(contract.TEAM_NAME, ""),
    }


def serve(port: int, folder: Path, host: str = "", environment: Mapping[str, str] = os.environ) -> ThreadingHTTPServer:
    """Answers `/metrics` from a thread of its own until `shutdown`; port 0 takes a free one. Raises OSError."""
    labels = labels_of(environment)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.partition("?")[0] != "/metrics":
                self.send_error(404)
                return
            body = text(folder, labels).encode()
            self.send_response(200)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *words: object) -> None:
            """A scrape every few seconds is no news."""

    server = ThreadingHTTPServer((host, port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True, name="metrics").start()
    return server
