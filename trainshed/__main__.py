"""The command line: each command is a thin module, imported when it is called.

Hides typer, and turns every way of using the commands wrongly into exit code 2.
"""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Entry point of the console script."""
    # Loading the providers' modules makes a million objects that stay: looking through them again and again took a fifth of a preview.
    gc.set_threshold(200_000, 50, 100)
    from trainshed.commands import app

    app(prog_name="trainshed")


if __name__ == "__main__":
    sys.exit(main())
