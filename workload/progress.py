"""How far a long piece of work is: a line on a terminal, and figures for Prometheus in a text file.

Callers report in every case: nothing is printed where standard error is no terminal, and nothing is written without a
metrics file.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from workload.atomic_files import write_file

PRINT_EVERY_SECONDS = 0.2
WRITE_EVERY_SECONDS = 10.0
UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def bytes_in_words(count: float) -> str:
    """`1536` is `1.5 KiB`."""
    for unit in UNITS:
        if abs(count) < 1024 or unit == UNITS[-1]:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError


def seconds_in_words(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02}m" if hours else f"{minutes}m{rest:02}s" if minutes else f"{rest}s"


def escape_label(value: str) -> str:
    """A label's value in Prometheus' text form."""
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


class Progress:
    """Counts of files and bytes by outcome (`copied`, `kept`, `warmed`, `failed`), safe to add to from several
    threads.
    """

    def __init__(
        self, work: str, files: int, size: int, metrics_file: Path | None = None, stream: TextIO | None = None
    ) -> None:
        self.work, self.total_files, self.total_bytes = work, files, size
        self._metrics_file, self._stream = metrics_file, sys.stderr if stream is None else stream
        self._terminal = self._stream.isatty()
        self._lock = threading.Lock()
        self._files: dict[str, int] = {}
        self._bytes: dict[str, int] = {}
        self._moved = 0
        self._started = time.monotonic()
        self._printed = self._written = 0.0

    def moved(self, count: int) -> None:
        """Bytes of a file under way, for the rate on the terminal."""
        with self._lock:
            self._moved += count
        self._show()

    def done(self, outcome: str, size: int) -> None:
        with self._lock:
            self._files[outcome] = self._files.get(outcome, 0) + 1
            self._bytes[outcome] = self._bytes.get(outcome, 0) + size
        self._show()

    def files(self, outcome: str) -> int:
        return self._files.get(outcome, 0)

    def bytes(self, outcome: str) -> int:
        return self._bytes.get(outcome, 0)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    def _show(self, last: bool = False) -> None:
        now = time.monotonic()
        with self._lock:
            show = self._terminal and (last or now - self._printed >= PRINT_EVERY_SECONDS)
            write = self._metrics_file is not None and (last or now - self._written >= WRITE_EVERY_SECONDS)
            if show:
                self._printed = now
                self._stream.write(f"\r{self.line()}\x1b[K" + ("\n" if last else ""))
                self._stream.flush()
            if write and self._metrics_file is not None:
                self._written = now
                write_file(self._metrics_file, self.metrics(None).encode(), sync=False)

    def line(self) -> str:
        """`staging 120/20000 files, 1.2/9.8 GiB, 310.0 MiB/s, 28s left`"""
        files, size = sum(self._files.values()), sum(self._bytes.values())
        rate = self._moved / self.seconds if self.seconds > 0 else 0.0
        left = (
            f", {seconds_in_words((self.total_bytes - size) / rate)} left"
            if rate > 0 and size < self.total_bytes
            else ""
        )
        amount = f"{bytes_in_words(size)} of {bytes_in_words(self.total_bytes)}"
        return f"{self.work} {files}/{self.total_files} files, {amount}, {bytes_in_words(rate)}/s{left}"

    def metrics(self, exit_code: int | None) -> str:
        """The figures in Prometheus' text form; `trainshed_stage_exit_code` only once the work has ended."""
        name, work = "trainshed_stage", escape_label(self.work)
        groups: list[tuple[str, str, str, Mapping[str, float]]] = [
            ("files_total", "counter", "Files finished, by outcome.", self._files),
            ("bytes_total", "counter", "Bytes of finished files, by outcome.", self._bytes),
        ]
        lines = []
        for suffix, kind, help_text, values in groups:
            lines += [f"# HELP {name}_{suffix} {help_text}", f"# TYPE {name}_{suffix} {kind}"]
            lines += [
                f'{name}_{suffix}{{work="{work}",outcome="{escape_label(key)}"}} {values[key]}'
                for key in sorted(values)
            ]
        single: list[tuple[str, str, float]] = [
            ("files_expected", "Files in the manifest's part.", self.total_files),
            ("bytes_expected", "Bytes in the manifest's part.", self.total_bytes),
            ("seconds", "Seconds since the start.", round(self.seconds, 3)),
        ]
        if exit_code is not None:
            single.append(("exit_code", "Exit code of the finished run.", exit_code))
        for suffix, help_text, value in single:
            lines += [
                f"# HELP {name}_{suffix} {help_text}",
                f"# TYPE {name}_{suffix} gauge",
                f'{name}_{suffix}{{work="{work}"}} {value}',
            ]
        return "\n".join(lines) + "\n"

    def finish(self, exit_code: int) -> None:
        """The last line and the last figures."""
        metrics_file, self._metrics_file = self._metrics_file, None
        self._show(last=True)
        if metrics_file is not None:
            write_file(metrics_file, self.metrics(exit_code).encode(), sync=False)
