"""An IAM document: the statements of a policy, whichever way it was written.

A document may be JSON text or a map; a statement, an action, a resource and a principal may each be one or a list; and
`NotAction` turns a list around. Rules see one shape.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from policies.declared.values import Node, WrongType

# Condition keys that tie a statement to an account, an organisation, a role, a network or a resource.
BINDING = frozenset(
    {
        "aws:principalorgid",
        "aws:principalorgpaths",
        "aws:principalaccount",
        "aws:principalarn",
        "aws:sourceaccount",
        "aws:sourcearn",
        "aws:sourcevpce",
        "aws:sourcevpc",
        "aws:sourceorgid",
        "kms:calleraccount",
    }
)


@dataclass(frozen=True)
class Statement:
    """One statement of a document."""

    node: Node

    @property
    def allows(self) -> bool:
        return self.node.at("Effect").text() == "Allow"

    @property
    def actions(self) -> list[Node]:
        return self.node.at("Action").one_or_many()

    @property
    def resources(self) -> list[Node]:
        return self.node.at("Resource").one_or_many()

    @property
    def conditions(self) -> dict[str, dict[str, Node]]:
        return {operator: values.entries() for operator, values in self.node.at("Condition").entries().items()}

    @property
    def conditional(self) -> bool:
        return any(self.conditions.values())

    def principals(self) -> Iterator[tuple[str, Node]]:
        """Kind (`AWS`, `Service`, `Federated`, `*`) and value of each principal."""
        principal = self.node.at("Principal")
        if principal.absent:
            return
        principal.require_known()
        if isinstance(principal.value, str):
            yield "*", principal
            return
        for kind, values in principal.entries().items():
            for value in values.one_or_many():
                yield kind, value

    def anyone(self) -> Iterator[Node]:
        """The principals that mean everybody."""
        for _, value in self.principals():
            text = value.text() or ""
            # `arn:aws:iam::*:role/deploy` is a role of any account.
            if text == "*" or (text.startswith("arn:") and ":iam::*" in text):
                yield value
        if not (excepted := self.node.at("NotPrincipal")).absent:
            # Everybody but the named ones.
            yield excepted

    @property
    def bound(self) -> bool:
        """Whether a condition ties the statement to somebody: a positive comparison of who or where from, without a
        bare wildcard.
        """
        for operator, values in self.conditions.items():
            # `ForAllValues` and `IfExists` hold where the request says nothing of the key.
            if "Not" in operator or operator.endswith("IfExists") or operator.startswith(("ForAllValues", "Null")):
                continue
            for key, value in values.items():
                if key.lower() in BINDING and all((node.text() or "*").strip("*") for node in value.one_or_many()):
                    return True
        return False

    def allowing(self, action: str) -> Node | None:
        """The node by which this statement's actions cover one action, if they do."""
        for node in self.actions:
            pattern = node.text()
            if pattern is not None and fnmatchcase(action.lower(), pattern.lower()):
                return node
        excluded = self.node.at("NotAction")
        if not excluded.absent and not any(
            fnmatchcase(action.lower(), (node.text() or "").lower()) for node in excluded.one_or_many()
        ):
            return excluded
        return None


def statements(document: Node) -> list[Statement]:
    """The statements of a document; none when it is absent. Text that is no JSON is of the wrong type."""
    if document.absent:
        return []
    document.require_known()
    parsed = document
    if isinstance(document.value, str):
        try:
            parsed = Node.of(json.loads(document.value), document.path, document.secret)
        except json.JSONDecodeError as error:
            raise WrongType(document, "JSON document") from error
    if not isinstance(parsed.value, Mapping):
        raise WrongType(document, "JSON document")
    if (listed := parsed.at("Statement")).absent:
        # Without statements it is some other text, about which nothing is known.
        raise WrongType(document, "document with statements")
    return [Statement(node) for node in listed.one_or_many()]
