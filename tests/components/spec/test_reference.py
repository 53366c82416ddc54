"""The generated schemas and pages: up to date, complete, and of the same mind as the reader."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
import yaml

from components.spec import reference
from components.spec.reference import FILES, File
from components.spec.stack import StackSpec
from components.spec.task import TaskSpec
from tests.given import ROOT, STACKS, TASKS

WRITTEN: dict[File, list[str]] = {
    "stack": [f"stacks/Pulumi.{name}.yaml" for name in STACKS],
    "task": [f"tasks/{name}.yaml" for name in TASKS],
}


def read(path: str) -> Any:
    return json.loads(json.dumps(yaml.safe_load((ROOT / path).read_text()), default=str))


def validator(file: File) -> jsonschema.Draft202012Validator:
    schema = reference.schema(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("file", FILES)
def test_the_files_in_the_repository_are_what_the_models_say(file: File) -> None:
    again = "run trainshed schema {0} > schemas/{0}.json, and with --format markdown > docs/{0}-file.md"
    assert json.loads((ROOT / f"schemas/{file}.json").read_text()) == reference.schema(file), again.format(file)
    assert (ROOT / f"docs/{file}-file.md").read_text() == reference.page(file), again.format(file)


@pytest.mark.parametrize(("file", "path"), [(file, path) for file, paths in WRITTEN.items() for path in paths])
def test_an_editor_finds_nothing_wrong_with_the_projects_own_files(file: File, path: str) -> None:
    assert [each.message for each in validator(file).iter_errors(read(path))] == []


WRONG: list[tuple[File, Any]] = [
    ("stack", {"config": {"trainshed:environment": "production"}}),
    ("stack", {"config": {"trainshed:enviroment": "prod"}}),
    ("stack", {"config": {"trainshed:environment": "prod", "trainshed:pools": [{"name": "a"}]}}),
    ("stack", {"config": {"trainshed:environment": "prod", "trainshed:budget": {"monthly_usd": "much"}}}),
    ("task", {"task": "a", "image": "b", "command": []}),
    ("task", {"task": "a", "image": "b", "command": ["c"], "resources": {"pool": "p", "nodes": "two"}}),
]


@pytest.mark.parametrize(("file", "content"), WRONG)
def test_an_editor_marks_what_the_reader_refuses(file: File, content: Any) -> None:
    assert list(validator(file).iter_errors(content))


def test_encrypted_values_and_booleans_of_the_engine_are_accepted() -> None:
    content = read("stacks/Pulumi.dev.yaml")
    content["config"]["trainshed:spot_preprocessing"] = "true"
    content["config"]["trainshed:tags"] = {"owner": {"secure": "v1:abc"}}
    assert [each.message for each in validator("stack").iter_errors(content)] == []


@pytest.mark.parametrize(("file", "model"), [("stack", StackSpec), ("task", TaskSpec)])
def test_every_key_is_on_the_page_with_its_meaning(file: File, model: type[Any]) -> None:
    page = reference.page(file)
    for name in model.model_fields:
        assert f"`{name}`" in page or f":{name}`" in page
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    without = [line for line in rows if line.rstrip().endswith("|  |")]
    assert not without, without[:10]
