"""The command line: each command is a thin module, imported when it is called.

Hides typer, and turns every way of using the commands wrongly into exit code 2.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of the console script."""
    from trainshed.commands import app

    app(prog_name="trainshed")


if __name__ == "__main__":
    sys.exit(main())
