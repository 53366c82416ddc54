"""Resource types that AWS does not charge for by themselves.

What their use costs is priced where it happens. The list stands in the catalog's data; the cost policies read it too.
"""

from __future__ import annotations

import json
from pathlib import Path

from components import catalog

FREE: frozenset[str] = frozenset(
    json.loads((Path(catalog.__file__).parent / "data" / "free_types.json").read_text(encoding="utf-8"))["types"]
)
