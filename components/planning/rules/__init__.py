"""The rules over a whole stack, one module a noun. Importing this package registers every rule of its modules."""

from __future__ import annotations

import importlib
import pkgutil

from components.catalog import Catalog
from components.planning.rules import registry
from components.problems import Problem
from components.spec.stack import StackSpec

for _module in sorted(each.name for each in pkgutil.iter_modules(__path__) if each.name != "registry"):
    importlib.import_module(f"{__name__}.{_module}")


def check(stack: StackSpec, cat: Catalog) -> list[Problem]:
    """Problems of a stack, as far as it could be read."""
    return registry.run(stack, cat)
