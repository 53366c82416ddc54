"""A service account's role: taken by that account's pods in that cluster only, and ready before its pods start."""

from __future__ import annotations

import json

from components.identity.pod_identity import PodIdentity, PodIdentityArgs, ServiceAccount
from components.identity.policy_documents import Statement
from tests.declared import Record, named, of_type, one, record


def declared() -> list[Record]:
    def program() -> None:
        identity = PodIdentity(
            "reader",
            PodIdentityArgs(
                spec=ServiceAccount(namespace="training", name="trainer", purpose="reads datasets"),
                cluster_name="prod",
                statements=[Statement(sid="Read", actions=("s3:GetObject",), resources=("arn:aws:s3:::datasets/*",))],
                managed_policies={"b": "arn:aws:iam::aws:policy/B", "a": "arn:aws:iam::aws:policy/A"},
                tags={"owner": "ml"},
            ),
        )
        assert len(identity.ready) == 4

    return record(program, known=True)


def test_only_pods_of_that_account_in_that_cluster_take_the_role() -> None:
    [trust] = json.loads(one(declared(), "Role").inputs["assumeRolePolicy"])["Statement"]
    assert trust["Principal"] == {"Service": "pods.eks.amazonaws.com"}
    assert trust["Action"] == ["sts:AssumeRole", "sts:TagSession"]
    assert trust["Condition"] == {
        "StringEquals": {
            "aws:RequestTag/eks-cluster-name": "prod",
            "aws:RequestTag/kubernetes-namespace": "training",
            "aws:RequestTag/kubernetes-service-account": "trainer",
        }
    }


def test_the_role_may_do_what_was_said_and_no_more() -> None:
    policy = json.loads(one(declared(), "RolePolicy").inputs["policy"])
    assert policy["Statement"] == [
        {"Sid": "Read", "Effect": "Allow", "Action": ["s3:GetObject"], "Resource": ["arn:aws:s3:::datasets/*"]}
    ]


def test_managed_policies_are_attached_by_key() -> None:
    found = {each.name: each.inputs["policyArn"] for each in of_type(declared(), "RolePolicyAttachment")}
    assert found == {"reader-managed-a": "arn:aws:iam::aws:policy/A", "reader-managed-b": "arn:aws:iam::aws:policy/B"}


def test_the_association_comes_after_what_the_role_may_do() -> None:
    association = one(declared(), "PodIdentityAssociation")
    assert (association.inputs["namespace"], association.inputs["serviceAccount"]) == ("training", "trainer")
    assert {urn.rsplit("::", 1)[-1] for urn in association.depends_on} >= {
        "reader-policy",
        "reader-managed-a",
        "reader-managed-b",
    }


def test_what_carries_tags_carries_them_and_the_record_holds_the_words() -> None:
    records = declared()
    for token in ("Role", "PodIdentityAssociation"):
        assert one(records, token).inputs["tags"] == {"owner": "ml", "Name": "reader"}
    assert named(records, "reader").inputs == {"namespace": "training", "name": "trainer", "purpose": "reads datasets"}
