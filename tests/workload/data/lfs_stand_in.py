#!/usr/bin/env python3
"""Stands in for `lfs` alone: files named in $LFS_STATE/released are not there yet; after a restore they come after
$LFS_LOOKS looks.

$LFS_STATE/log gets one line a call. $LFS_FAIL makes `hsm_restore` fail with that text; $LFS_STUCK names files that are
never restored.
"""

import fcntl
import json
import os
import sys
from pathlib import Path

state = Path(os.environ["LFS_STATE"])
verb, paths = sys.argv[1], sys.argv[2:]
with (state / "lock").open("w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    released = json.loads((state / "released").read_text())
    with (state / "log").open("a") as log:
        log.write(f"{verb} {len(paths)}\n")
    if verb == "hsm_restore":
        if os.environ.get("LFS_FAIL"):
            sys.exit(os.environ["LFS_FAIL"])
        for path in paths:
            if path not in os.environ.get("LFS_STUCK", "").split(":"):
                released[path] = int(os.environ.get("LFS_LOOKS", "1"))
    else:
        for path in paths:
            if released.get(path, -1) > 0:
                released[path] -= 1
            if released.get(path) == 0:
                del released[path]
            flags = "(0x0000000d) released exists archived" if path in released else "(0x00000009) exists archived"
            print(f"{path}: {flags}, archive_id:1")
    (state / "released").write_text(json.dumps(released))
