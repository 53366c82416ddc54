"""The Dockerfiles: one for each accelerator family and one without cards, each pinned, without root and without
secrets.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from components.catalog import Catalog
from tests.workload.conftest import ROOT

IMAGES = ROOT / "workload/images"


def instructions(path: Path) -> list[tuple[str, str]]:
    """Each instruction with its words; continued lines joined, comments left out."""
    lines = [line for line in path.read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [
        (words[0].upper(), words[1]) for words in (line.split(None, 1) for line in joined.splitlines() if line.strip())
    ]


def files() -> list[Path]:
    return sorted(IMAGES.glob("*.Dockerfile"))


def test_each_accelerator_family_of_the_catalog_has_an_image(cat: Catalog) -> None:
    families = {family.vendor for family in cat.images.families.values() if family.vendor}
    assert {path.stem for path in files()} == {*families, "cpu"}


@pytest.fixture(params=files(), ids=lambda path: path.stem)
def image(request: pytest.FixtureRequest) -> Path:
    path = request.param
    assert isinstance(path, Path)
    return path


def test_the_base_comes_from_the_accounts_own_registry_at_a_pinned_tag(image: Path) -> None:
    words = instructions(image)
    (base,) = [text for name, text in words if name == "FROM"]
    match = re.fullmatch(r"\$\{REGISTRY\}/\$\{(DOCKER_HUB|ECR_PUBLIC)\}/[a-z0-9/-]+:(?P<tag>[\w.-]+)", base)
    assert match is not None
    assert re.search(r"\d+\.\d+\.\d+", match["tag"])
    # Without a default a build that names no registry fails at once instead of reaching out.
    assert ("ARG", "REGISTRY") in words


def test_nothing_is_unpinned(image: Path) -> None:
    text = "\n".join(f"{name} {words}" for name, words in instructions(image))
    assert "latest" not in text
    for version in re.findall(r"ARG \w+_VERSION=?(.*)", text):
        assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    for package in re.findall(r"pip install (.*)", text):
        assert "==" in package


def test_the_program_runs_without_root(image: Path) -> None:
    users = [words for name, words in instructions(image) if name == "USER"]
    assert users[-1] == "10001:10001"  # a number, so that Kubernetes can prove it is not root
    names = [name for name, _ in instructions(image)]
    # Nothing is installed or copied after the last change of user.
    last = len(names) - 1 - names[::-1].index("USER")
    assert not {"RUN", "COPY", "ADD"} & set(names[last:])


def test_every_program_is_copied(image: Path) -> None:
    copies = [words.split() for name, words in instructions(image) if name in ("COPY", "ADD")]
    assert copies == [["workload", "/opt/trainshed/workload"]]
    copied = {path.name for path in (ROOT / copies[0][0]).rglob("*.py")}
    assert {
        "stage.py",
        "sample_order.py",
        "checkpoint.py",
        "storage_benchmark.py",
        "heartbeat.py",
        "gate.py",
        "train.py",
        "__init__.py",
    } <= copied
    environment = " ".join(words for name, words in instructions(image) if name == "ENV")
    assert "PYTHONPATH=/opt/trainshed" in environment


def test_there_are_no_secrets(image: Path) -> None:
    text = image.read_text()
    assert not re.search(r"(?i)(secret|password|token|api_?key|AKIA[0-9A-Z]{12})", text)


def test_collective_libraries_are_where_the_loader_looks() -> None:
    text = dict(instructions(IMAGES / "nvidia.Dockerfile"))["ENV"]
    words = [text for name, text in instructions(IMAGES / "nvidia.Dockerfile") if name == "ENV"]
    assert any("LD_LIBRARY_PATH=/opt/amazon/ofi-nccl/lib:/opt/amazon/efa/lib" in one for one in words), text


def test_each_pin_has_its_source(image: Path) -> None:
    """A comment with the source stands above every base and version."""
    lines = image.read_text().splitlines()
    for number, line in enumerate(lines):
        if line.startswith("FROM ") or re.match(r"ARG \w+_VERSION=", line):
            above = []
            while lines[number - 1 - len(above)].startswith("#"):
                above.append(lines[number - 1 - len(above)])
            assert any("Source: " in one for one in above), line
