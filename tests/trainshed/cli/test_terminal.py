"""Problems as a terminal shows them, with the line of the file."""

from __future__ import annotations

import pytest

from components.spec.reading.reader import read_text
from trainshed.cli.terminal import lines

HEAD = "config:\n  trainshed:environment: prod\n"


def shown(text: str) -> list[str]:
    reading = read_text(text, "Pulumi.t.yaml")
    return list(lines(reading.problems, reading.document, carets=True))


def test_a_caret_stands_under_what_is_wrong() -> None:
    assert shown(
        "config:\n  trainshed:environment: prd\n  trainshed:form: {kind: self-hosted, kubeconfig: {secure: x}}\n"
    ) == [
        'Pulumi.t.yaml:2:26 environment: "prd" is not one of dev, staging, prod or standby; did you mean "prod"?',
        "      trainshed:environment: prd",
        "                             ^",
    ]


@pytest.mark.parametrize(
    "form",
    [
        "{kind: self-hosted, kubeconfig: [hunter2]}",
        "{kind: self-hosted, kubeconfig: [\n    hunter2], fabrik: roce}",
        "\n    kind: self-hosted\n    kubeconfig: hunter2",
        "\n    kind: self-hosted\n    kubeconfg: hunter2",
        "{kind: self-hosted, kubeconfig: hunter2: x}",
    ],
)
def test_no_caret_line_carries_a_secret(form: str) -> None:
    found = shown(f"{HEAD}  trainshed:form: {form}\n")
    assert found
    assert "hunter2" not in "\n".join(found)
