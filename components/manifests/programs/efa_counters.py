"""Serves the hardware counters of a node's EFA devices to Prometheus.

Runs alone in a small Python image, from a config map: it imports the standard library only. No exporter that others
publish was found to read these files (node_exporter's own collector knows InfiniBand's counters, not EFA's).
"""

from __future__ import annotations

import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(os.environ.get("EFA_ROOT", "/sys/class/infiniband"))
PREFIX = "trainshed_efa_"


def samples(root: Path) -> dict[str, list[tuple[str, str, int]]]:
    """(device, port, value) by counter; a file that vanishes or holds no number is left out."""
    found: dict[str, list[tuple[str, str, int]]] = {}
    for path in sorted(root.glob("*/ports/*/hw_counters/*")):
        try:
            value = int(path.read_text())
        except (OSError, ValueError):
            continue
        found.setdefault(path.name, []).append((path.parts[-5], path.parts[-3], value))
    return found


def exposition(root: Path) -> str:
    lines: list[str] = []
    for counter, values in sorted(samples(root).items()):
        lines.append(f"# TYPE {PREFIX}{counter}_total counter")
        lines += [
            f'{PREFIX}{counter}_total{{device="{device}",port="{port}"}} {value}' for device, port, value in values
        ]
    return "\n".join(lines) + "\n"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path != "/metrics":
            self.send_error(404)
            return
        body = exposition(ROOT).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet: a line for every scrape tells nobody anything."""


if __name__ == "__main__":
    ThreadingHTTPServer((os.environ.get("EFA_ADDRESS", ""), int(sys.argv[1])), Handler).serve_forever()
