"""A kubeconfig says where the cluster is and how a token is had, and holds none."""

from __future__ import annotations

import pytest

from trainshed.access import kubeconfig


def test_the_file_enters_as_the_role_and_holds_no_credential() -> None:
    made = kubeconfig.config(
        "trainshed-prod", "us-west-2", endpoint="https://c.example", authority="Y2E=", role="arn:aws:iam::1:role/r"
    )
    command = made["users"][0]["user"]["exec"]
    assert command["args"][-2:] == ["--role-arn", "arn:aws:iam::1:role/r"]
    assert made["clusters"][0]["cluster"] == {"server": "https://c.example", "certificate-authority-data": "Y2E="}
    assert set(made["users"][0]["user"]) == {"exec"}


def test_a_stack_without_a_cluster_on_aws_has_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert kubeconfig.show("onprem", None) == 2
    assert "the one in the stack file" in capsys.readouterr().err
