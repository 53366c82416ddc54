"""Rules of identity: what policies allow, who may take a role, and no long-lived keys."""

from __future__ import annotations

from collections.abc import Iterator

from policies.documents import Statement, statements
from policies.resources import Resource, Stack
from policies.rules import Finding, Outcome, Settings, each, each_resource, rule
from policies.types import (
    ACCESS_KEY,
    GROUP_ATTACHMENT,
    GROUP_POLICY,
    NODE_GROUP,
    POLICY,
    POLICY_ATTACHMENT,
    ROLE,
    ROLE_ATTACHMENT,
    ROLE_POLICY,
    USER,
    USER_ATTACHMENT,
    USER_POLICY,
)
from policies.values import Node

DOCUMENTS = (POLICY, ROLE_POLICY, USER_POLICY, GROUP_POLICY, ROLE)
ATTACHMENTS = (ROLE_ATTACHMENT, USER_ATTACHMENT, GROUP_ATTACHMENT, POLICY_ATTACHMENT)


def _documents(holder: Resource) -> list[Node]:
    if holder.type != ROLE:
        return [holder.at("policy")]
    return [inline.at("policy") for inline in holder.at("inlinePolicies").elements()]


def _allowing(holder: Resource) -> Iterator[Statement]:
    for document in _documents(holder):
        yield from (statement for statement in statements(document) if statement.allows)


@rule(
    "iam-no-wildcard-actions",
    types=DOCUMENTS,
    severity="critical",
    ids=("IAM.1", "IAM.21", "CKV_AWS_62", "CKV_AWS_63", "CKV_AWS_286", "CKV_AWS_289", "CKV2_AWS_40"),
    says="No policy allows every action of everything or of a service.",
    fix="list the actions that the workload calls",
)
def iam_no_wildcard_actions(holder: Resource, _: Settings) -> Iterator[Outcome]:
    def judge(statement: Statement) -> Iterator[Outcome]:
        for action in statement.actions:
            if (action.text() or "").rpartition(":")[2].strip("*") == "":
                yield Finding(action, "named actions")
        excluded = statement.node.at("NotAction")
        if not excluded.absent:
            yield Finding(excluded, "Action with named actions; NotAction allows all others")

    for document in _documents(holder):
        yield from each(statements(document), lambda statement: judge(statement) if statement.allows else ())


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
    def judge(statement: Statement) -> Iterator[Outcome]:
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
        yield from each(statements(document), judge)


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

    def judge(statement: Statement) -> Iterator[Outcome]:
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
        yield from each(statements(document), judge)


ADMINISTRATION = ("AdministratorAccess", "IAMFullAccess", "PowerUserAccess")


@rule(
    "iam-no-administrator-policies",
    types=(*ATTACHMENTS, ROLE),
    severity="critical",
    ids=("CKV_AWS_274", "CKV_AWS_275", "CKV2_AWS_56"),
    says="No role, user or group holds an administrator's policy.",
    fix="attach a policy with the actions that are called",
)
def iam_no_administrator_policies(attachment: Resource, _: Settings) -> Iterator[Outcome]:
    nodes = attachment.at("managedPolicyArns").elements() if attachment.type == ROLE else [attachment.at("policyArn")]

    def judge(arn: Node) -> Iterator[Outcome]:
        if (arn.text() or "").rpartition("/")[2] in ADMINISTRATION:
            yield Finding(arn, "a narrower policy")

    yield from each(nodes, judge)


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
    if not statement.conditional:
        for anyone in statement.anyone():
            yield Finding(anyone, "named principals")
    for kind, value in statement.principals():
        if kind != "Federated" or "saml-provider" in (value.text() or ""):
            continue
        compared = {key.lower(): node for values in statement.conditions.values() for key, node in values.items()}
        for claim in (":sub", ":aud"):
            pinned = next((node for key, node in compared.items() if key.endswith(claim)), None)
            if pinned is None or any((node.text() or "*").strip("*:") == "" for node in pinned.one_or_many()):
                yield Finding(value, f"a condition on {claim.removeprefix(':')} with a value")


@rule(
    "iam-no-long-lived-keys",
    types=(ACCESS_KEY, USER),
    severity="high",
    ids=("IAM.3", "CKV_AWS_273"),
    says="Nothing works with long-lived keys.",
    fix="use a pod identity, a role of the machine, or the organisation's sign-on",
)
def iam_no_long_lived_keys(holder: Resource, _: Settings) -> Iterator[Outcome]:
    yield Finding(holder.at("user" if holder.type == ACCESS_KEY else "name"), "a role with temporary credentials")


NODE_POLICIES = [
    "AmazonEKSWorkerNodePolicy",
    "AmazonEKSWorkerNodeMinimalPolicy",
    "AmazonEKS_CNI_Policy",
    "AmazonEC2ContainerRegistryReadOnly",
    "AmazonEC2ContainerRegistryPullOnly",
    "AmazonSSMManagedInstanceCore",
]


@rule(
    "node-role-minimal",
    types=(NODE_GROUP, ROLE, ROLE_ATTACHMENT),
    scope="stack",
    severity="high",
    ids=("CIS-EKS 5.1.3", "CIS-EKS 5.2.1"),
    says="The nodes' role joins the cluster and pulls images, no more; pods have identities of their own.",
    fix="move the policy to a role with an aws.eks.PodIdentityAssociation",
    parameters={"policies": {"type": "array", "items": {"type": "string"}, "default": NODE_POLICIES}},
)
def node_role_minimal(stack: Stack, settings: Settings) -> Iterator[Outcome]:
    roles = {urn for group in stack.of(NODE_GROUP) for urn in group.targets("nodeRoleArn", ROLE)}
    roles |= {
        role.urn
        for group in stack.of(NODE_GROUP)
        for role in stack.of(ROLE)
        if role.at("arn").value == group.at("nodeRoleArn").value != ""
    }

    def judge(attachment: Resource) -> Iterator[Outcome]:
        owners = {role.name for role in stack.of(ROLE) if role.urn in roles}
        if not (set(attachment.targets("role", ROLE)) & roles or attachment.at("role").value in owners):
            return
        arn = attachment.at("policyArn")
        if (arn.text() or "").rpartition("/")[2] not in settings["policies"]:
            yield Finding(arn, f"one of {', '.join(settings['policies'])}")

    yield from each_resource(stack.of(ROLE_ATTACHMENT), judge)
