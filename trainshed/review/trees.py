"""Checks out commits of a repository into temporary folders for as long as they are needed.

The user's own working tree is never touched, and the folders are gone afterwards.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

from components.naming import did_you_mean

# A hook or a filter of the repository is a program: laying out a commit under review must not run one.
_QUIET = ("-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false", "-c", "core.fsmonitor=false")


class Unusable(Exception):
    """The command can't do its work: 2 when it was asked for wrongly, 3 when something it needs is missing."""

    def __init__(self, said: str, *, code: int = 2) -> None:
        super().__init__(said)
        self.code = code


@dataclass(frozen=True, kw_only=True)
class Repository:
    """A repository and the folder in it (empty for its root) that holds the project."""

    top: Path
    prefix: str

    @property
    def project(self) -> Path:
        return self.top / self.prefix

    def commit(self, ref: str) -> str:
        """The commit that a ref names. Raises Unusable with the nearest ref."""
        found = (
            ""
            if ref.startswith("-") or not ref
            else _git(self.top, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}", may_fail=True)
        )
        if found:
            return found
        known = _git(
            self.top, "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes", "refs/tags"
        ).split("\n")
        hint = did_you_mean(ref, [each for each in known if each and not each.endswith("/HEAD")][:200])
        if _git(self.top, "rev-parse", "--is-shallow-repository") == "true":
            hint = f"this clone is shallow: fetch it first (git fetch origin {ref}; in CI, fetch-depth: 0)"
        raise Unusable(f'"{ref}" is no commit, branch or tag of this repository; {hint or "it has no branches yet"}')

    def short(self, commit: str) -> str:
        return _git(self.top, "rev-parse", "--short", commit)

    def missing_from(self, base: str, head: str) -> int:
        """Commits of the base that the head lacks: what they did would read as undone."""
        return int(_git(self.top, "rev-list", "--count", f"{head}..{base}"))

    def changed(self, base: str, head: str | None, folder: str) -> list[str]:
        """Files of the project's folder that differ; against the working tree when there is no head."""
        ends = [base] if head is None else [base, head]
        out = _git(self.project, "diff", "--name-only", "--relative", *ends, "--", folder)
        return [each for each in out.split("\n") if each]

    @contextlib.contextmanager
    def laid_out(self, commit: str) -> Generator[Path]:
        """The project at a commit, in a folder of its own that is removed afterwards."""
        parent = Path(tempfile.mkdtemp(prefix="trainshed-review-"))
        tree = parent / "tree"
        try:
            _git(self.top, "worktree", "add", "--quiet", "--detach", str(tree), commit)
            yield tree / self.prefix
        finally:
            # Only this one: `worktree prune` would also forget trees of others that are away for a moment.
            _git(self.top, "worktree", "remove", "--force", str(tree), may_fail=True)
            shutil.rmtree(parent, ignore_errors=True)


def repository(folder: Path) -> Repository:
    """The repository that a folder is in, and the nearest folder above it that holds a Pulumi.yaml. Raises Unusable."""
    if shutil.which("git") is None:
        raise Unusable(
            "git is not installed, and a review of commits needs it; install it with your system's package manager",
            code=3,
        )
    top = _git(folder, "rev-parse", "--show-toplevel", may_fail=True)
    if not top:
        raise Unusable(
            f"{folder} is not in a git repository; run the review inside one, or give two files of the engine"
        )
    root = Path(top).resolve()
    here = folder.resolve()
    while here != root and not (here / "Pulumi.yaml").is_file():
        here = here.parent
    if not (here / "Pulumi.yaml").is_file():
        raise Unusable(f"no Pulumi.yaml lies between {folder} and the top of its repository")
    return Repository(top=root, prefix="" if here == root else here.relative_to(root).as_posix())


def _git(folder: Path, *words: str, may_fail: bool = False) -> str:
    # A hook that calls this command leaves variables that would point git elsewhere.
    inherited = {key: value for key, value in os.environ.items() if key not in _FOREIGN}
    asked: Sequence[str] = ("git", *_QUIET, "-C", str(folder), *words)
    done = subprocess.run(
        asked, env={**inherited, "GIT_LFS_SKIP_SMUDGE": "1", "LC_ALL": "C"}, capture_output=True, text=True, check=False
    )
    if done.returncode and not may_fail:
        last = (done.stderr.strip().split("\n") or [""])[-1]
        raise Unusable(f"git {words[0]} failed: {last}", code=3)
    return done.stdout.strip() if not done.returncode else ""


_FOREIGN = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY")
