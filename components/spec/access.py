"""People as the stack file words them: who administers, who keeps the cluster running, who submits to which queue."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from components.spec.base import Name, Spec, StrictText, Text, matching

# A role of the account (a permission set of single sign-on is one, too), or a group that the identity provider names.
Principal = Annotated[
    StrictText,
    matching(
        r"arn:aws[a-z-]*:iam::[0-9]{12}:(role|user)/[\w+=,.@/-]+|group:[A-Za-z0-9][A-Za-z0-9_.@/-]{0,199}",
        "the ARN of an IAM role, such as arn:aws:iam::111122223333:role/research, or group:NAME is wanted",
    ),
]
Issuer = Annotated[
    StrictText, matching(r"https://\S+", "the https address of an OpenID Connect issuer is wanted", sealed=True)
]


class OidcSpec(Spec):
    """An identity provider whose groups the cluster believes."""

    issuer: Issuer = Field(description="its https address")
    client_id: Text = Field(description="the audience of its tokens")
    username_claim: Text = Field(default="email", description="the claim that holds a person's name")
    groups_claim: Text = Field(default="groups", description="the claim that holds a person's groups")


class ResearchersSpec(Spec):
    """People who submit to some queues."""

    queues: tuple[Name, ...] = Field(min_length=1, description="the queues they submit to")
    who: tuple[Principal, ...] = Field(min_length=1, description="IAM roles, or group:NAME")


class AccessSpec(Spec):
    """Who gets in as what."""

    oidc: OidcSpec | None = None
    admins: tuple[Principal, ...] = Field(
        default=(), description="platform administrators: everything; beside cluster.admins"
    )
    operators: tuple[Principal, ...] = Field(
        default=(), description="operators: cordon and drain nodes, hold queues, end jobs"
    )
    researchers: tuple[ResearchersSpec, ...] = Field(default=(), description="who submits to which queue")

    @property
    def empty(self) -> bool:
        return not (self.admins or self.operators or self.researchers)
