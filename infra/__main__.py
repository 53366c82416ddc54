"""The Pulumi program: settings, then what they declare."""

from infra.build import build
from infra.settings import from_engine

build(from_engine())
