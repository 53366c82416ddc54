#!/usr/bin/env python3
"""The stage program: a dataset warmed in Lustre or copied to local disks, verified file by file against its manifest.

It can be restarted: whatever a killed run finished is kept, whatever it left half done is written again, and no half
file ever has a file's name.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import shutil
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

if not __package__:  # run as a file: the folder above holds the package
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from workload import checksums
from workload.atomic_files import open_partial, partial_path, sync_folder, write_all
from workload.data import copying, dataset, faults, warming
from workload.progress import Progress, bytes_in_words, seconds_in_words

LOCK_NAME = ".stage.lock"


class Refused(Exception):
    """The run can't start: the text says why, `code` is the exit code."""

    def __init__(self, code: int, said: str) -> None:
        super().__init__(said)
        self.code = code


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def whole(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return value


def part(text: str) -> tuple[int, int]:
    """`0/16`: the first of sixteen equal shares of the manifest."""
    number, slash, count = text.partition("/")
    if not (slash and number.isdigit() and count.isdigit() and int(number) < int(count)):
        raise argparse.ArgumentTypeError(f"{text!r} is not NUMBER/COUNT with NUMBER from 0 to COUNT - 1")
    return int(number), int(count)


def parser() -> argparse.ArgumentParser:
    codes = "\n".join(f"  {code}  {meaning}" for code, meaning in faults.EXIT_CODES.items())
    top = argparse.ArgumentParser(
        prog="stage",
        description="Stage a dataset: warm it in Lustre, copy it to local disks, verify it, or write its manifest.",
        epilog=f"exit codes:\n{codes}\n  130, 143  stopped by SIGINT or SIGTERM; a later run does only the rest",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = top.add_subparsers(dest="verb", required=True, metavar="{copy,warm,verify,prepare,manifest}")
    shared = _shared()
    _copy(verbs, shared)
    _warm(verbs, shared)
    _verify(verbs, shared)
    _prepare(verbs, shared)
    _manifest(verbs)
    return top


def _shared() -> argparse.ArgumentParser:
    """What all verbs but `manifest` take."""
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        "--manifest",
        type=Path,
        default=None,
        help="JSON lines (path, size, sha256 or crc32c, samples), or one JSON document with `files`",
    )
    shared.add_argument(
        "--part",
        type=part,
        default=f"{os.environ.get('JOB_COMPLETION_INDEX', '0')}/{os.environ.get('STAGE_WORKERS', '1')}",
        metavar="N/COUNT",
        help="only every COUNT-th file, starting at N: one share a node",
    )
    shared.add_argument(
        "--workers", type=whole, default=8, help="files (copy, verify) or batches (warm) in hand at once (default 8)"
    )
    shared.add_argument(
        "--metrics-file", type=Path, help="write figures here for Prometheus' text-file collector (NAME.prom)"
    )
    return shared


def _copy(verbs: Any, shared: argparse.ArgumentParser) -> None:
    copy = verbs.add_parser(
        "copy", parents=[shared], help="copy to a local disk", description="Copy the manifest's files to a local disk."
    )
    copy.add_argument("--source", type=Path, required=True, help="folder that the manifest's paths start from")
    copy.add_argument("--destination", type=Path, required=True, help="folder to copy to; made when absent")
    copy.add_argument(
        "--trust-existing",
        action="store_true",
        help="keep files that are there with the right size without reading them again",
    )


def _warm(verbs: Any, shared: argparse.ArgumentParser) -> None:
    warm = verbs.add_parser(
        "warm",
        parents=[shared],
        help="restore into Lustre",
        description="Fetch released files into Lustre with `lfs hsm_restore`.",
    )
    warm.add_argument(
        "--root",
        type=Path,
        required=True,
        help="folder in the mounted file system that the manifest's paths start from",
    )
    warm.add_argument("--batch-files", type=whole, default=200, help="files in one `lfs hsm_restore` (default 200)")
    warm.add_argument("--timeout", type=float, default=3600.0, help="seconds that one batch may take (default 3600)")
    warm.add_argument("--poll", type=float, default=2.0, help="seconds between two looks at a batch (default 2)")
    warm.add_argument("--check", action="store_true", help="also read each file and compare its checksum")


def _verify(verbs: Any, shared: argparse.ArgumentParser) -> None:
    verify = verbs.add_parser(
        "verify",
        parents=[shared],
        help="compare files with the manifest",
        description="Read every file and compare it.",
    )
    verify.add_argument("--root", type=Path, required=True, help="folder that the manifest's paths start from")


def _prepare(verbs: Any, shared: argparse.ArgumentParser) -> None:
    prepare = verbs.add_parser(
        "prepare",
        parents=[shared],
        help="stage a job's dataset before its gang starts",
        description=(
            "Stage a dataset where it lies: on Lustre fetch what is still in the bucket and compare it, elsewhere read"
            " and compare every file. Pods of an indexed job share the manifest by JOB_COMPLETION_INDEX and"
            " STAGE_WORKERS; a pod that starts again fetches only the rest."
        ),
    )
    prepare.add_argument(
        "--root", type=Path, default=os.environ.get("DATASET_PATH") or None, help="default DATASET_PATH"
    )
    prepare.set_defaults(manifest=None, batch_files=200, timeout=3600.0, poll=2.0, check=True)


def _manifest(verbs: Any) -> None:
    manifest = verbs.add_parser(
        "manifest",
        help="write a folder's manifest",
        description="Write the manifest of a folder, one line of JSON a file.",
    )
    manifest.add_argument("folder", type=Path)
    manifest.add_argument("--output", type=Path, required=True, help="the manifest, written whole or not at all")
    manifest.add_argument("--checksum", choices=sorted(checksums.KINDS), default="sha256")
    manifest.add_argument(
        "--sample-bytes",
        type=whole,
        help="bytes of one sample: files must be a multiple of it, and get their count of samples",
    )
    manifest.add_argument(
        "--token-bits", type=int, choices=dataset.TOKEN_BITS, help="the width of a token, which readers check"
    )
    manifest.add_argument("--vocabulary", type=whole, help="how many tokens the tokenizer knows")
    manifest.add_argument("--workers", type=whole, default=8)


def chosen(file: Path, share: tuple[int, int]) -> Iterator[dataset.Entry]:
    number, count = share
    for position, entry in enumerate(dataset.read(file)):
        if position % count == number:
            yield entry


def totals(file: Path, share: tuple[int, int], destination: Path | None = None) -> tuple[int, int, int]:
    """Files and bytes of the share, and the bytes that `destination` still lacks. Reads the whole manifest, so a bad
    line is found before anything is written.
    """
    files = size = lacking = 0
    kinds: set[str] = set()
    try:
        for entry in chosen(file, share):
            files, size = files + 1, size + entry.size
            kinds.add(entry.kind)
            if destination is not None and not _has_size(destination / entry.path, entry.size):
                lacking += entry.size
    except dataset.BadManifest as error:
        raise Refused(faults.BAD_DATA, str(error)) from None
    except OSError as error:
        raise Refused(faults.USAGE, f"{file}: can't be read: {error.strerror}") from None
    if not files and share == (0, 1):
        raise Refused(faults.BAD_DATA, f"{file}: lists no file")
    if "crc32c" in kinds and checksums.crc32c_speed() == "python":
        say("no compiled crc32c module here: checksums go at some 10 MB/s a core; a manifest with sha256 is faster")
    return files, size, lacking


def _has_size(path: Path, size: int) -> bool:
    try:
        return os.lstat(path).st_size == size
    except OSError:
        return False


def need_folder(folder: Path, code: int, what: str) -> None:
    if not folder.is_dir():
        raise Refused(code, f"{what} {folder} is not there or is no folder")


def lock(destination: Path) -> int:
    """Two runs into one folder would write the same partial names."""
    descriptor = os.open(destination / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise Refused(faults.FAILED, f"another run is staging into {destination}") from None
    return descriptor


def copy(arguments: argparse.Namespace, signals: Signals) -> int:
    files, size, needed = totals(arguments.manifest, arguments.part, arguments.destination)
    need_folder(arguments.source, faults.LOST_SOURCE, "source")
    try:
        arguments.destination.mkdir(parents=True, exist_ok=True)
        held = lock(arguments.destination)
    except OSError as error:
        code = faults.of_destination("", error).code
        raise Refused(code, f"destination {arguments.destination} can't be used: {error.strerror}") from None
    try:
        free = shutil.disk_usage(arguments.destination).free
        if needed > free:
            words = (
                f"{bytes_in_words(needed)} ({needed} bytes) are still to copy and {bytes_in_words(free)} ({free} bytes)"
                " are free"
            )
            raise Refused(faults.NO_SPACE, f"destination {arguments.destination}: {words}; nothing was copied")
        progress, found = Progress("copy", files, size, arguments.metrics_file), faults.Faults()
        work = copying.Copies(arguments.source, arguments.destination, progress, found, say, arguments.trust_existing)
        signals.stops(work.stop)
        return conclude(
            signals, progress, found, lambda: work.run(chosen(arguments.manifest, arguments.part), arguments.workers)
        )
    finally:
        os.close(held)


def warm(arguments: argparse.Namespace, signals: Signals) -> int:
    files, size, _ = totals(arguments.manifest, arguments.part)
    need_folder(arguments.root, faults.LOST_SOURCE, "root")
    lfs = shutil.which("lfs")
    if lfs is None:
        raise Refused(
            faults.MISSING_TOOL,
            "`lfs` is not on PATH: install the Lustre client (Amazon Linux 2023: `dnf install lustre-client`)",
        )
    progress, found = Progress("warm", files, size, arguments.metrics_file), faults.Faults()
    work = warming.Warming(
        arguments.root, lfs, progress, found, timeout=arguments.timeout, poll=arguments.poll, check=arguments.check
    )
    signals.stops(work.stop)
    entries = chosen(arguments.manifest, arguments.part)
    return conclude(signals, progress, found, lambda: work.run(entries, arguments.batch_files, arguments.workers))


def prepare(arguments: argparse.Namespace, signals: Signals) -> int:
    """`warm` on Lustre, `verify` elsewhere; the manifest is the dataset's own `manifest.jsonl` unless one is given."""
    return (warm if on_lustre(arguments.root) else verify)(arguments, signals)


def on_lustre(folder: Path, mounts: Path = Path("/proc/mounts")) -> bool:
    """Whether the longest mount above the folder is Lustre's."""
    place, best, kind = str(folder.resolve()), "", ""
    for line in mounts.read_text().splitlines():
        words = line.split()
        mount = words[1].replace("\\040", " ").rstrip("/")
        if (place == mount or place.startswith(f"{mount}/")) and len(mount) >= len(best):
            best, kind = mount, words[2]
    return kind == "lustre"


def verify(arguments: argparse.Namespace, signals: Signals) -> int:
    files, size, _ = totals(arguments.manifest, arguments.part)
    need_folder(arguments.root, faults.LOST_SOURCE, "root")
    progress, found, stop = Progress("verify", files, size, arguments.metrics_file), faults.Faults(), threading.Event()
    signals.stops(stop)
    entries = chosen(arguments.manifest, arguments.part)
    return conclude(
        signals,
        progress,
        found,
        lambda: copying.verify(arguments.root, entries, progress, found, arguments.workers, stop),
    )


def conclude(signals: Signals, progress: Progress, found: faults.Faults, work: Callable[[], None]) -> int:
    try:
        work()
    except copying.Interrupted:
        if signals.caught is None and not found.out_of_space:
            raise
    code = 128 + signals.caught if signals.caught is not None else found.exit_code
    progress.finish(code)
    for fault in found.all():
        say(str(fault))
    outcomes = [
        f"{progress.files(name)} {name}"
        for name in ("copied", "warmed", "verified", "kept", "failed")
        if progress.files(name)
    ]
    rate = sum(progress.bytes(name) for name in ("copied", "warmed", "verified")) / max(progress.seconds, 1e-9)
    timing = f"{seconds_in_words(progress.seconds)}, {bytes_in_words(rate)}/s"
    print(f"{progress.work}: {', '.join(outcomes) or 'nothing to do'} of {progress.total_files} files in {timing}")
    return code


def manifest(arguments: argparse.Namespace) -> int:
    need_folder(arguments.folder, faults.LOST_SOURCE, "folder")
    output: Path = arguments.output
    files = size = 0
    try:
        descriptor = open_partial(output)
    except OSError as error:
        raise Refused(faults.of_destination("", error).code, f"{output} can't be written: {error.strerror}") from None
    try:
        for path in dataset.files_below(arguments.folder):
            if path.name == LOCK_NAME or path.absolute() == output.absolute():
                continue
            entry = described(path, arguments)
            write_all(descriptor, (json.dumps(entry.as_json()) + "\n").encode())
            files, size = files + 1, size + entry.size
        os.fsync(descriptor)
    except (OSError, Refused) as error:
        say(f"removing the partial manifest {partial_path(output)}")
        partial_path(output).unlink()
        if isinstance(error, Refused):
            raise
        raise Refused(
            faults.of_source("", error).code, f"{error.filename or arguments.folder}: {error.strerror}"
        ) from None
    finally:
        os.close(descriptor)
    os.replace(partial_path(output), output)
    sync_folder(output.absolute().parent)
    print(f"manifest: {files} files, {bytes_in_words(size)} -> {output}")
    return faults.DONE


def described(path: Path, arguments: argparse.Namespace) -> dataset.Entry:
    size, checksum = checksums.of_file(path, arguments.checksum)
    samples = None
    name = path.relative_to(arguments.folder).as_posix()
    if arguments.sample_bytes:
        samples, rest = divmod(size, arguments.sample_bytes)
        if rest:
            raise Refused(faults.BAD_DATA, f"{name}: {size} bytes is not a multiple of {arguments.sample_bytes}")
    entry = dataset.Entry(name, size, arguments.checksum, checksum, samples, arguments.token_bits, arguments.vocabulary)
    try:
        return dataset.parse(entry.as_json(), name)
    except dataset.BadManifest as error:
        raise Refused(faults.BAD_DATA, str(error)) from None


class Signals:
    """SIGINT and SIGTERM turned into a wish to stop at the next piece."""

    def __init__(self) -> None:
        self.caught: int | None = None
        self._stop: threading.Event | None = None
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._catch)

    def stops(self, stop: threading.Event) -> None:
        self._stop = stop
        if self.caught is not None:
            stop.set()

    def _catch(self, number: int, frame: object) -> None:
        self.caught = number
        if self._stop is None:
            raise SystemExit(128 + number)
        self._stop.set()


def main(words: list[str] | None = None) -> int:
    arguments = parser().parse_args(words)
    signals = Signals()
    try:
        if arguments.verb == "manifest":
            return manifest(arguments)
        if arguments.verb == "prepare":
            if arguments.root is None:
                raise Refused(faults.USAGE, "prepare needs --root, or DATASET_PATH in the environment")
            arguments.manifest = arguments.manifest or arguments.root / "manifest.jsonl"
        if arguments.manifest is None:
            raise Refused(faults.USAGE, f"{arguments.verb} needs --manifest")
        verbs = {"copy": copy, "warm": warm, "verify": verify, "prepare": prepare}
        return verbs[arguments.verb](arguments, signals)
    except Refused as refused:
        say(f"stage: {refused}")
        return refused.code


if __name__ == "__main__":
    sys.exit(main())
