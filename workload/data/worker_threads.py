"""Threads that take work from a stream, only a few pieces ahead.

However long the stream, no more than twice as many pieces as threads are held in memory at once.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable
from typing import Any, Callable, TypeVar

Piece = TypeVar("Piece")
_END = object()


def run(pieces: Iterable[Piece], work: Callable[[Piece], None], size: int, stop: threading.Event) -> None:
    """Do `work` on every piece, until the stream ends or `stop` is set. The first exception of a worker stops all and
    is raised here.
    """
    # Pieces, and the end mark.
    waiting: queue.Queue[Any] = queue.Queue(maxsize=size)
    raised: list[BaseException] = []

    def worker() -> None:
        while True:
            piece = waiting.get()
            if piece is _END:
                return
            if stop.is_set():
                continue
            try:
                work(piece)
            except BaseException as error:  # carried to the caller's thread, not swallowed
                raised.append(error)
                stop.set()

    threads = [threading.Thread(target=worker, name=f"worker-{number}", daemon=True) for number in range(size)]
    for thread in threads:
        thread.start()
    try:
        for piece in pieces:
            if stop.is_set():
                break
            waiting.put(piece)
    except BaseException:
        stop.set()
        raise
    finally:
        for _ in threads:
            waiting.put(_END)
        for thread in threads:
            thread.join()
    if raised:
        raise raised[0]
