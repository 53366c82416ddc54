# pyright: reportIncompleteStub=false
from typing import Any

def __getattr__(name: str) -> Any: ...
