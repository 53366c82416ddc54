#!/usr/bin/env python3
"""The checkpoint program: verify, find, list, copy and prune what training runs write.

`Writer`, `latest`, `faults`, `copy` and `plan` are for programs, the command line is for people and jobs.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

if not __package__:  # run as a file: the folder above holds the package
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from workload.checkpoints import bucket, checkpoint_folder, foreign, prune, transfer
from workload.checkpoints.checkpoint_folder import (
    REQUIRED,
    VERSIONS,
    Manifest,
    NotACheckpoint,
    Part,
    complete,
    faults,
    folder_name,
    latest,
    read_manifest,
)
from workload.checkpoints.prune import Condemned, NothingGood, delete, plan
from workload.checkpoints.transfer import CopyFailed, NoS3Client, copy, place
from workload.checkpoints.writer import NotSealed, PartFile, Writer
from workload.progress import bytes_in_words

__all__ = [
    "REQUIRED",
    "VERSIONS",
    "Condemned",
    "CopyFailed",
    "Manifest",
    "NoS3Client",
    "NotACheckpoint",
    "NotSealed",
    "NothingGood",
    "Part",
    "PartFile",
    "Writer",
    "complete",
    "copy",
    "delete",
    "faults",
    "folder_name",
    "latest",
    "place",
    "plan",
    "read_manifest",
]

EPILOG = f"""\
A checkpoint is a folder `step-STEP-ATTEMPT` with parts and `manifest.json`, which is written last: without it
the checkpoint is not complete. Inside must be: {", ".join(REQUIRED)}. The manifest records step, world size,
sizes, checksums, and the versions of {", ".join(VERSIONS)}.

Folders of torch.distributed.checkpoint by other writers (`.metadata` and the files it names; the last number in the
folder's name is the step) are taken by every verb. They have no checksums: only presence and sizes are compared.

exit codes:
  0  done
  1  something is wrong and was named: a checkpoint does not verify, none is complete, a copy did not arrive
  2  used wrongly
  3  a tool it needs is missing"""


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="checkpoint",
        description="Look after checkpoints.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = top.add_subparsers(dest="verb", required=True, metavar="{verify,latest,list,copy,prune}")
    one = verbs.add_parser("verify", help="read a checkpoint and compare it with its manifest")
    one.add_argument("folder", type=Path)
    one.add_argument("--sizes-only", action="store_true", help="compare sizes, read nothing")
    one = verbs.add_parser("latest", help="print the newest complete checkpoint that verifies")
    one.add_argument("root", type=Path)
    one.add_argument("--sizes-only", action="store_true", help="compare sizes, read nothing")
    one = verbs.add_parser("list", help="every checkpoint below a folder")
    one.add_argument("root", type=Path)
    one.add_argument("--json", action="store_true")
    one = verbs.add_parser(
        "copy", help="copy a checkpoint to a path or S3, or from there, and verify it where it arrives"
    )
    one.add_argument("checkpoint", help="its folder, or s3://BUCKET/PREFIX/step-...")
    one.add_argument("to", help="folder or s3://BUCKET/PREFIX to put it under")
    one.add_argument("--endpoint-url", help="another S3 endpoint")
    one.add_argument(
        "--client",
        choices=("any", "boto3", "aws"),
        default="any",
        help="how to talk to S3 (default: boto3 if it is here, else aws)",
    )
    one.add_argument("--parallel", type=int, default=8, metavar="N", help="parts at once (default 8)")
    one = verbs.add_parser("prune", help="delete old checkpoints; the newest that verifies always stays")
    one.add_argument("root", help="folder, or s3://BUCKET/PREFIX: there nothing is deleted, objects are tagged")
    one.add_argument("--endpoint-url", help="another S3 endpoint")
    one.add_argument(
        "--keep-last", type=int, required=True, metavar="K", help="complete checkpoints to keep, at least 1"
    )
    one.add_argument("--dry-run", action="store_true", help="only say what would go")
    return top


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def run_verify(arguments: argparse.Namespace) -> int:
    found = list(faults(arguments.folder, deep=not arguments.sizes_only))
    for fault in found:
        say(fault)
    if found:
        return 1
    manifest = read_manifest(arguments.folder)
    how = "verified" if manifest.sealed and not arguments.sizes_only else "sizes verified"
    if not manifest.sealed:
        how += ", no checksums were written"
    size = bytes_in_words(manifest.size)
    print(f"{arguments.folder}: step {manifest.step}, {len(manifest.parts)} parts, {size}, {how}")
    return 0


def run_latest(arguments: argparse.Namespace) -> int:
    folder, skipped = latest(arguments.root, deep=not arguments.sizes_only)
    for fault in skipped:
        say(f"passed over: {fault}")
    if folder is None:
        say(f"{arguments.root}: no complete checkpoint verifies")
        return 1
    print(folder)
    return 0


def run_list(arguments: argparse.Namespace) -> int:
    rows = []
    for folder in checkpoint_folder.folders(arguments.root):
        row = {"folder": folder.name, "step": checkpoint_folder.step_of(folder), "bytes": prune.size_of(folder)}
        found = list(faults(folder, deep=False))
        try:
            manifest = read_manifest(folder)
        except NotACheckpoint:
            rows.append({**row, "state": "incomplete", "faults": found})
            continue
        state = "damaged" if found else "complete"
        rows.append(
            {
                **row,
                "state": state,
                "sealed": manifest.sealed,
                "world_size": manifest.world_size,
                "created": manifest.created,
                "versions": manifest.versions,
                "faults": found,
            }
        )
    if arguments.json:
        print(json.dumps({"root": str(arguments.root), "checkpoints": rows}))
        return 0
    for row in rows:
        created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(row["created"])) if "created" in row else "-"
        print(
            f"{row['folder']}  {row['state']:<10}  {bytes_in_words(row['bytes']):>10}  world"
            f" {row.get('world_size', '-')}  {created}"
        )
        for fault in row["faults"]:
            print(f"    {fault}")
    return 0


def run_copy(arguments: argparse.Namespace) -> int:
    name = arguments.checkpoint.rstrip("/").rpartition("/")[2]
    if not checkpoint_folder.FOLDER_NAME.match(name) and foreign.step_in(name) is None:
        say(f"{arguments.checkpoint}: expected a folder named step-STEP-ATTEMPT, or with a step's number at its end")
        return 2
    if arguments.parallel < 1:
        say(f"--parallel {arguments.parallel}: at least 1")
        return 2
    if arguments.checkpoint.startswith("s3://") and arguments.to.startswith("s3://"):
        say("from bucket to bucket: use the bucket's replication")
        return 2
    target = place(f"{arguments.to.rstrip('/')}/{name}", arguments.endpoint_url, arguments.client)
    source = place(arguments.checkpoint.rstrip("/"), arguments.endpoint_url, arguments.client)
    carried, kept = copy(source, target, name, arguments.parallel)
    print(f"{arguments.to.rstrip('/')}/{name}: {carried} parts copied, {kept} were there, all verified")
    return 0


def run_prune_bucket(arguments: argparse.Namespace) -> int:
    found = bucket.checkpoints(arguments.root, arguments.endpoint_url)
    kept, condemned = bucket.plan(found, arguments.keep_last)
    print(f"keep {kept.name}: the newest whose objects are all there")
    for one, why in condemned:
        print(f"give up {one.url} ({bytes_in_words(one.size)}; {why})")
    sys.stdout.flush()
    if arguments.dry_run:
        print(f"dry run: {len(condemned)} would be tagged")
        return 0
    for one, why in condemned:
        transfer.condemn(place(one.url, arguments.endpoint_url), why)
    print(f"tagged {len(condemned)}")
    return 0


def run_prune(arguments: argparse.Namespace) -> int:
    if arguments.root.startswith("s3://"):
        return run_prune_bucket(arguments)
    newest, condemned = plan(Path(arguments.root), arguments.keep_last)
    print(f"keep {newest.name}: the newest that verifies")
    for one in condemned:
        print(f"delete {one.folder} ({bytes_in_words(one.size)}; {one.why})")
    sys.stdout.flush()  # the list is out before anything goes
    if arguments.dry_run:
        print(f"dry run: {len(condemned)} would be deleted")
        return 0
    for one in condemned:
        delete(one)
    print(f"deleted {len(condemned)}")
    return 0


def main(words: list[str] | None = None) -> int:
    top = parser()
    arguments = top.parse_args(words)
    if arguments.verb == "prune" and arguments.keep_last < 1:
        top.error(f"--keep-last {arguments.keep_last}: at least 1 is kept")
    runs = {"verify": run_verify, "latest": run_latest, "list": run_list, "copy": run_copy, "prune": run_prune}
    try:
        return runs[arguments.verb](arguments)
    except (NotACheckpoint, CopyFailed, NothingGood) as error:
        say(str(error))
        return 1
    except NoS3Client as error:
        say(str(error))
        return 3
    except OSError as error:
        say(f"{error.filename or ''}: {error.strerror or error}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
