"""Rules of identity: what policies allow, who may take a role, and no long-lived keys."""

from __future__ import annotations

from collections.abc import Iterator

from policies.declared.documents import Statement, statements
from policies.declared.resources import Resource
from policies.declared.types import (
    ACCESS_KEY,
    GROUP_ATTACHMENT,
    GROUP_ATTACHMENTS_EXCLUSIVE,
    GROUP_POLICY,
    PERMISSION_SET_ATTACHMENT,
    PERMISSION_SET_POLICY,
    POLICY,
    POLICY_ATTACHMENT,
    ROLE,
    ROLE_ATTACHMENT,
    ROLE_ATTACHMENTS_EXCLUSIVE,
    ROLE_POLICY,
    SERVICE_CREDENTIAL,
    SIGNING_CERTIFICATE,
    USER,
    USER_ATTACHMENT,
    USER_ATTACHMENTS_EXCLUSIVE,
    USER_PASSWORD,
    USER_POLICY,
    USER_SSH_KEY,
)
from policies.declared.values import Node
from policies.packs.policy_rule import Finding, Outcome, Settings, each, rule

# Each type that is a lasting credential of a user, and the key under which it names the user.
CREDENTIALS = {
    ACCESS_KEY: "user",
    USER: "name",
    USER_PASSWORD: "user",
    SERVICE_CREDENTIAL: "userName",
    USER_SSH_KEY: "username",
    SIGNING_CERTIFICATE: "userName",
}
DOCUMENTS = (POLICY, ROLE_POLICY, USER_POLICY, GROUP_POLICY, ROLE, PERMISSION_SET_POLICY)
# Each type that attaches a managed policy, and the key under which it names one or many.
ATTACHMENTS = {
    ROLE: "managedPolicyArns",
    ROLE_ATTACHMENT: "policyArn",
    USER_ATTACHMENT: "policyArn",
    GROUP_ATTACHMENT: "policyArn",
    POLICY_ATTACHMENT: "policyArn",
    ROLE_ATTACHMENTS_EXCLUSIVE: "policyArns",
    USER_ATTACHMENTS_EXCLUSIVE: "policyArns",
    GROUP_ATTACHMENTS_EXCLUSIVE: "policyArns",
    PERMISSION_SET_ATTACHMENT: "managedPolicyArn",
}


def _documents(holder: Resource) -> list[Node]:
    if holder.type == ROLE:
        return [inline.at("policy") for inline in holder.at("inlinePolicies").elements()]
    return [holder.at("inlinePolicy" if holder.type == PERMISSION_SET_POLICY else "policy")]


@rule(
    "iam-no-wildcard-actions",
    types=DOCUMENTS,
    severity="critical",
    ids=("IAM.1", "IAM.21", "CKV_AWS_62", "CKV_AWS_63", "CKV_AWS_286", "CKV_AWS_289", "CKV2_AWS_40"),
    says="No policy allows every action of everything or of a service.",
    fix="list the actions that the workload calls",
)
def iam_no_wildcard_actions(holder: Resource, _: Settings) -> Iterator[Outcome]:
    def check(statement: Statement) -> Iterator[Outcome]:
        for action in statement.actions:
            if (action.text() or "").rpartition(":")[2].strip("*") == "":
                yield Finding(action, "named actions")
        excluded = statement.node.at("NotAction")
        if not excluded.absent:
            yield Finding(excluded, "Action with named actions; NotAction allows all others")

    for document in _documents(holder):
        yield from each(statements(document), lambda statement: check(statement) if statement.allows else ())


RISKY = (
    "kms:Decrypt",
    "iam:PassRole",
    "sts:AssumeRole",
    "secretsmanager:GetSecretValue",
    "ssm:GetParameter",
    "iam:CreateAccessKey",
    "iam:PutRolePolicy",
    "iam:AttachRolePolicy",
)


@rule(
    "iam-no-risky-action-on-everything",
    types=DOCUMENTS,
    severity="high",
    ids=("KMS.1", "KMS.2", "CKV_AWS_286", "CKV_AWS_287", "CKV_AWS_288"),
    says="Decrypting, passing and taking roles, reading secrets and granting rights are limited to named resources.",
    fix="name the key, role or secret in Resource",
)
def iam_no_risky_action_on_everything(holder: Resource, _: Settings) -> Iterator[Outcome]:
    def check(statement: Statement) -> Iterator[Outcome]:
        if not statement.allows or not (
            found := [action for action in RISKY if statement.allowing(action) is not None]
        ):
            return
        # A whole type of resource (`role/*`) is everything too.
        wide = [
            node for node in statement.resources if (node.text() or "").rpartition("/")[2].rpartition(":")[2] == "*"
        ]
        excluded = statement.node.at("NotResource")
        if not wide and not excluded.absent:
            wide = [excluded]
        if wide and not _narrowed(statement):
            yield Finding(wide[0], f"named resources for {', '.join(found)}")

    for document in _documents(holder):
        yield from each(statements(document), check)


def _narrowed(statement: Statement) -> bool:
    """Whether a condition limits the resources or the service that acts: tags, `kms:ViaService`,
    `iam:PassedToService`.
    """
    keys = {key.lower() for values in statement.conditions.values() for key in values}
    return any(
        key.startswith(("aws:resourcetag/", "kms:encryptioncontext", "aws:resourceaccount"))
        or key in ("kms:viaservice", "iam:passedtoservice")
        for key in keys
    )


# Actions for which IAM knows no narrower resource; extended by configuration.
GLOBAL_PREFIXES = ("Describe", "List", "Get")


@rule(
    "iam-no-writes-on-everything",
    types=DOCUMENTS,
    severity="medium",
    ids=("CKV_AWS_290", "CKV_AWS_355"),
    says="Actions that change something are limited to named resources or by a condition.",
    fix="name the resources, or add a condition on aws:ResourceTag",
    parameters={
        "actions": {
            "type": "array",
            "items": {"type": "string"},
            "default": [
                "ecr:GetAuthorizationToken",
                "sts:GetCallerIdentity",
                "cloudwatch:PutMetricData",
                "xray:PutTraceSegments",
                "fsx:CreateTag*",
            ],
            "description": "actions that know no resource",
        }
    },
)
def iam_no_writes_on_everything(holder: Resource, settings: Settings) -> Iterator[Outcome]:
    known = {action.lower() for action in settings["actions"]}

    def check(statement: Statement) -> Iterator[Outcome]:
        if (
            not statement.allows
            or statement.conditional
            or not any((node.text() or "") == "*" for node in statement.resources)
        ):
            return
        for action in statement.actions:
            text = action.text() or ""
            verb = text.rpartition(":")[2]
            if not verb.startswith(GLOBAL_PREFIXES) and text.lower() not in known and verb.strip("*"):
                yield Finding(action, "named resources for it")

    for document in _documents(holder):
        yield from each(statements(document), check)


ADMINISTRATION = ("AdministratorAccess", "IAMFullAccess", "PowerUserAccess")


@rule(
    "iam-no-administrator-policies",
    types=tuple(ATTACHMENTS),
    severity="critical",
    ids=("CKV_AWS_274", "CKV_AWS_275", "CKV2_AWS_56"),
    says="No role, user or group holds an administrator's policy.",
    fix="attach a policy with the actions that are called",
)
def iam_no_administrator_policies(attachment: Resource, _: Settings) -> Iterator[Outcome]:
    named = attachment.at(ATTACHMENTS[attachment.type])
    nodes = [named] if named.opaque else named.one_or_many()

    def check(arn: Node) -> Iterator[Outcome]:
        if (arn.text() or "").rpartition("/")[2] in ADMINISTRATION:
            yield Finding(arn, "a narrower policy")

    yield from each(nodes, check)


@rule(
    "iam-trust-named",
    types=(ROLE,),
    severity="critical",
    ids=("CKV_AWS_60", "CKV_AWS_61", "CKV_AWS_358", "CKV_AWS_393"),
    says="A role is taken by named principals; a federated one by the named subject and audience.",
    fix="name the service or role in Principal; for OIDC add StringEquals conditions on :sub and :aud",
)
def iam_trust_named(role: Resource, _: Settings) -> Iterator[Outcome]:
    trust = role.at("assumeRolePolicy")
    if not (found := statements(trust)):
        yield Finding(trust, "a trust policy")
    yield from each(found, _trusting)


def _trusting(statement: Statement) -> Iterator[Outcome]:
    if not statement.allows:
        return
    if not statement.bound:
        for anyone in statement.anyone():
            yield Finding(anyone, "named principals")
    for kind, value in statement.principals():
        if kind != "Federated" or "saml-provider" in (value.text() or ""):
            continue
        compared = {key.lower(): node for values in statement.conditions.values() for key, node in values.items()}
        for claim in (":sub", ":aud"):
            pinned = next((node for key, node in compared.items() if key.endswith(claim)), None)
            if pinned is None or any(_any_subject(node.text() or "*") for node in pinned.one_or_many()):
                yield Finding(value, f"a condition on {claim.removeprefix(':')} with a value")


# What the subjects of GitHub and of Kubernetes begin with.
SUBJECT_PREFIXES = ("repo:", "system:serviceaccount:")


def _any_subject(pattern: str) -> bool:
    """Whether a pattern of subjects or audiences leaves everything open, as `repo:*` does."""
    for prefix in SUBJECT_PREFIXES:
        pattern = pattern.removeprefix(prefix)
    return pattern[:1] in ("", "*", "?")


@rule(
    "iam-no-long-lived-keys",
    types=tuple(CREDENTIALS),
    severity="high",
    ids=("IAM.3", "CKV_AWS_273"),
    says="Nothing works with long-lived keys.",
    fix="use a pod identity, a role of the machine, or the organisation's sign-on",
)
def iam_no_long_lived_keys(holder: Resource, _: Settings) -> Iterator[Outcome]:
    yield Finding(holder.at(CREDENTIALS[holder.type]), "a role with temporary credentials")
