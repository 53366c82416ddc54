"""The gate on a node whose network is slow: every wait for a socket takes some milliseconds, every piece is small."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).resolve().parents[4])

from workload.preflight import gate  # noqa: E402 (the path comes first)
from workload.preflight.gang import transfers  # noqa: E402

transfers.PIECE = 1 << 14
_able = transfers.able


def slowly(reading: Sequence[Any], writing: Sequence[Any], seconds: float) -> tuple[list[Any], list[Any]]:
    time.sleep(0.006)
    return _able(reading, writing, seconds)


transfers.able = slowly

if __name__ == "__main__":
    sys.exit(gate.main())
