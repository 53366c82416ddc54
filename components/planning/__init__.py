"""Does the stack fit: rules over several objects, address plans, placement, quotas and cost.

Hides which modules hold rules: importing this package registers them all.
"""

from __future__ import annotations

import importlib
import pkgutil

from components.catalog import Catalog
from components.planning import rules
from components.problems import Problem
from components.spec.stack import StackSpec

for _module in sorted(each.name for each in pkgutil.iter_modules(__path__) if each.name.startswith("rules_")):
    importlib.import_module(f"{__name__}.{_module}")


def check(stack: StackSpec, cat: Catalog) -> list[Problem]:
    """Problems of a stack, as far as it could be read."""
    return rules.run(stack, cat)
