"""What a program does on SIGTERM: it finishes its step and stops; and it never outlives a step that can't end.

A rank whose peer is dead waits in a collective for minutes, in native code where no signal handler of Python runs. A
thread sees that: without a sign of progress for STOP_STEP_SECONDS after the signal the process ends itself.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

from workload import boot_clock, contract

LOOK_SECONDS = 0.2


class Stop:
    """Listens from its making on. Call `progress` at the end of each step and of each piece of long work."""

    def __init__(self, limit: float | None = None) -> None:
        said = os.environ.get(contract.STOP_STEP_SECONDS)
        self.limit = limit if limit is not None else float(said or 60)
        self.number: int | None = None
        self.checkpoint_wanted = False
        self._progress = boot_clock.now()
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        # The pipe is written by the C part of the handler, also while the main thread is in native code.
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
            signal.signal(number, self._heard)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        threading.Thread(target=self._watch, args=(reading,), daemon=True, name="stop").start()

    @property
    def requested(self) -> bool:
        return self.number is not None

    def progress(self) -> None:
        self._progress = boot_clock.now()

    def take_checkpoint_wanted(self) -> bool:
        wanted, self.checkpoint_wanted = self.checkpoint_wanted, False
        return wanted

    def _heard(self, number: int, frame: object) -> None:
        if number == signal.SIGUSR1:
            self.checkpoint_wanted = True
        else:
            self.number = number

    def _watch(self, pipe: int) -> None:
        while True:
            if any(number in (signal.SIGTERM, signal.SIGINT) for number in os.read(pipe, 64)):
                break
        reported = boot_clock.now()
        pause = threading.Event()
        while True:
            pause.wait(min(LOOK_SECONDS, self.limit / 4))
            silent = boot_clock.now() - max(self._progress, reported)
            if silent >= self.limit:
                print(f"stop: no step ended for {silent:.0f} s after the signal", file=sys.stderr, flush=True)
                os._exit(contract.STOPPED)
