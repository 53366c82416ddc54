"""A process that has imported torch once and forks for each program: an import takes seconds, a fork none.

Run by the interpreter that has torch. Each line on standard input asks for something, each answer is a line on standard
output: {"run": code, "words": [...], "environment": {...}, "said": file} -> {"process": pid};
{"wait": pid} -> {"code": exit code, as a shell tells it}.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import traceback
import warnings


def child(asked: dict[str, object]) -> None:
    said = os.open(str(asked["said"]), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.dup2(said, 2)
    environment = asked["environment"]
    words = asked["words"]
    assert isinstance(environment, dict) and isinstance(words, list)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["program", *words]
    code = 0
    try:
        if str(asked["run"]).endswith(".py"):
            runpy.run_path(str(asked["run"]), run_name="__main__")
        else:
            exec(compile(str(asked["run"]), "program", "exec"), {"__name__": "__main__"})
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(bool(ended.code))
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stderr.flush()
    os._exit(code)


def main() -> None:
    warnings.simplefilter("ignore")
    import torch
    import torch.distributed.checkpoint  # pyright: ignore[reportUnusedImport] - read before the forks
    import torch.distributed.fsdp  # pyright: ignore[reportUnusedImport] - read before the forks
    import torch.distributed.pipelining  # pyright: ignore[reportUnusedImport] - read before the forks
    import torch.distributed.tensor.parallel  # pyright: ignore[reportUnusedImport] - read before the forks

    torch.set_num_threads(1)
    print(json.dumps({"torch": torch.__version__}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        if "wait" in asked:
            _, status = os.waitpid(asked["wait"], 0)
            code = os.waitstatus_to_exitcode(status)
            print(json.dumps({"code": 128 - code if code < 0 else code}), flush=True)
            continue
        process = os.fork()
        if process == 0:
            child(asked)
        print(json.dumps({"process": process}), flush=True)


if __name__ == "__main__":
    main()
