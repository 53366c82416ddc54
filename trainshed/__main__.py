"""The command line: each command is a thin module, imported when it is called.

Hides typer, and turns every way of using the commands wrongly into exit code 2.
"""

from __future__ import annotations

import atexit
import gc
import sys

from trainshed import spared_imports


def main() -> None:
    """Entry point of the console script."""
    # Nearly all objects of a command live to its end: looking through them again and again, and once more at the exit,
    # took a tenth of it.
    gc.set_threshold(400_000, 50, 100)
    atexit.register(gc.freeze)
    spared_imports.install()
    from trainshed.cli.app import app

    app(prog_name="trainshed")


if __name__ == "__main__":
    sys.exit(main())
