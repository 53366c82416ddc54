"""The entry point of the command line, and how it ends.

A pipe that closes early and Ctrl-C end a command quietly, whatever it is doing, imports included; every way of using a
command wrongly is exit code 2.
"""

from __future__ import annotations

import os
import sys

INTERRUPTED, PIPE_CLOSED = 130, 141  # what a shell reports for a program that SIGINT or SIGPIPE ended


def main() -> None:
    """Entry point of the console script."""
    try:
        try:
            _run()
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        _end(INTERRUPTED)
    except BrokenPipeError:
        _end(PIPE_CLOSED)
    except SystemExit as ended:
        if ended.code in (INTERRUPTED, PIPE_CLOSED):
            _end(ended.code)
        raise


def _run() -> None:
    from trainshed import startup

    startup.prepare()
    from trainshed.cli.app import app

    app(prog_name="trainshed")


def _end(code: int) -> None:
    """Leave at once: what libraries would still close and flush has nobody left to read it, and they complain."""
    os._exit(code)


if __name__ == "__main__":
    main()
