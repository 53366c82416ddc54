"""This project's own programs as one archive that every job mounts: the user's image needs Python and nothing of ours.

The archive is made from the package `workload` and is the same bytes whenever the sources are. Its first module runs
another one by name, and leaves the archive on PYTHONPATH for whatever that starts.
"""

from __future__ import annotations

import base64
import io
import zipfile
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Final

from components.manifests.storage import volumes
from components.spec.task import TaskSpec

ARCHIVE: Final = f"{volumes.PROGRAMS_PATH}/programs.zip"
# A ConfigMap holds one MiB, and base64 adds a third.
MOST_BYTES: Final = 700_000

_RUNNER: Final = '''"""Runs a module of this archive: python3 programs.zip MODULE WORDS..."""
import os
import runpy
import sys

archive = os.path.abspath(sys.argv[0])
others = os.environ.get("PYTHONPATH")
os.environ["PYTHONPATH"] = archive + (os.pathsep + others if others else "")
del sys.argv[0]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
'''


def command(module: str, *words: str) -> list[str]:
    """How a container runs one of the programs."""
    return ["python3", ARCHIVE, module, *words]


def name(task: TaskSpec) -> str:
    """As the volume of the workers' pods names it."""
    return f"{task.task}-programs"


def config_map(task: TaskSpec, metadata: dict[str, Any]) -> dict[str, Any]:
    """The object that carries the archive; it belongs to one task, so that a later release changes no running job."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name(task), **metadata},
        "immutable": True,
        "binaryData": {"programs.zip": base64.b64encode(archive()).decode()},
    }


@cache
def archive(parts: tuple[str, ...] = ()) -> bytes:
    """The package `workload` as a zip file, or only these of its folders with the modules beside them. Raises
    ValueError when it no longer fits a ConfigMap.
    """
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as made:
        _add(made, "__main__.py", _RUNNER)
        for path, text in sorted(_modules(files("workload"), "workload")):
            folder = path.split("/")[1]
            if not parts or folder in parts or folder.endswith(".py"):
                _add(made, path, text)
    if len(content.getvalue()) > MOST_BYTES:
        raise ValueError(f"the programs take {len(content.getvalue()):,} bytes, more than a ConfigMap holds")
    return content.getvalue()


def _modules(folder: Traversable, path: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for each in folder.iterdir():
        if each.is_dir() and each.name != "__pycache__":
            found += _modules(each, f"{path}/{each.name}")
        elif each.name.endswith(".py"):
            found.append((f"{path}/{each.name}", each.read_text(encoding="utf-8")))
    return found


def _add(made: zipfile.ZipFile, path: str, text: str) -> None:
    # A fixed date: the same sources make the same archive.
    made.writestr(zipfile.ZipInfo(path, date_time=(2026, 1, 1, 0, 0, 0)), text, zipfile.ZIP_DEFLATED, 9)
