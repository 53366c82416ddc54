"""The pages that people read first: links lead somewhere, commands exist, and nothing names what is gone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from trainshed.cli.app import app

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("components", "infra", "policies", "trainshed", "workload", "tests", "examples")
PAGES = sorted(
    path
    for path in (
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *(path for folder in ROOMS for path in (ROOT / folder).rglob("README.md")),
    )
)
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
_COMMAND = re.compile(r"`(?:\.venv/bin/)?trainshed ([a-z]+)(?: ([a-z]+))?")
_PATH = re.compile(
    r"`((?:components|infra|trainshed|policies|tests|docs|scripts|workload|stacks|tasks|tools|examples)/[\w./-]+)`"
)


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    wanted = [each for each in _LINK.findall(page.read_text()) if "://" not in each and not each.startswith("mailto:")]
    missing = [each for each in wanted if not (page.parent / each).exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_paths_that_are_named_exist(page: Path) -> None:
    missing = [each for each in _PATH.findall(page.read_text()) if not (ROOT / each).exists() and "<" not in each]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_that_are_named_exist(page: Path) -> None:
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    commands = group.commands
    for first, second in _COMMAND.findall(page.read_text()):
        assert first in commands, f"trainshed {first}"
        below = getattr(commands[first], "commands", None)
        if below is not None and second:
            assert second in below, f"trainshed {first} {second}"


@pytest.mark.parametrize("room", [path.parent for path in ROOT.glob("*/**/__init__.py")], ids=str)
def test_a_large_room_says_what_it_is(room: Path) -> None:
    if room.relative_to(ROOT).parts[0] not in ("components", "infra", "policies", "trainshed", "workload"):
        return
    modules = [path for path in room.glob("*.py") if path.name != "__init__.py"]
    above = [room, *room.parents]
    if len(modules) >= 8:
        nearest = next(each for each in above if (each / "README.md").exists())
        assert nearest != ROOT, f"{room.relative_to(ROOT)} has {len(modules)} modules and no README above it"
