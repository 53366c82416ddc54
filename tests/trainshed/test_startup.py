"""Modules that wait for their first use, in processes of their own: this one has loaded them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from trainshed.startup import WAITING

CHECKOUT = Path(__file__).resolve().parents[2]
TRACING = "pulumi.runtime._instrumentation"

AFTER_A_PREVIEW = """
import contextlib, io, json, sys
from importlib.util import _LazyModule
from trainshed.__main__ import main
sys.argv = ["trainshed", "preview", "dev", "--json"]
with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
    main()
waiting = sorted(name for name, module in sys.modules.items() if type(module) is _LazyModule)
print(json.dumps({"waiting": waiting, "resources": len(json.loads(out.getvalue())["resources"])}))
"""

ONE_IS_USED = """
import json, sys
from importlib.util import _LazyModule
from trainshed import startup
startup.prepare()
import pulumi
import dill
double = dill.loads(dill.dumps(lambda number: 2 * number))
waiting = sorted(name for name, module in sys.modules.items() if type(module) is _LazyModule)
print(json.dumps({"waiting": waiting, "four": double(2), "stack": pulumi.automation.Stack.__name__}))
"""


def in_a_process_of_its_own(program: str, **environment: str) -> Any:
    # Started from a traced process, this test would not see the plain case.
    inherited = {name: value for name, value in os.environ.items() if name != "TRACEPARENT"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=CHECKOUT,
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_preview_uses_none_of_them() -> None:
    said = in_a_process_of_its_own(AFTER_A_PREVIEW)
    assert said["waiting"] == sorted(WAITING | {TRACING})
    assert said["resources"] > 100


def test_each_is_the_real_module_once_it_is_used() -> None:
    said = in_a_process_of_its_own(ONE_IS_USED)
    assert said["four"] == 4
    assert said["stack"] == "Stack"
    assert "dill" not in said["waiting"]
    assert "grpc.aio" in said["waiting"]


def test_a_traced_process_has_its_tracing_from_the_start() -> None:
    traced = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    assert TRACING not in in_a_process_of_its_own(ONE_IS_USED, TRACEPARENT=traced)["waiting"]
