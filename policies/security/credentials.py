"""Credentials in text that many may read: what they look like, and user data as it is read on the machine."""

from __future__ import annotations

import base64
import binascii
import gzip
import re
from collections.abc import Iterator

from policies.declared.values import Node
from policies.packs.policy_rule import Finding

# Texts that are a credential by their form.
PATTERNS = {
    "an AWS access key": re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    "an AWS secret key": re.compile(r"(?i)aws.{0,20}secret.{0,20}[=:\s]\s*['\"]?[0-9a-zA-Z/+]{40}\b"),
    "a private key": re.compile(r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----"),
    "a token": re.compile(
        r"\b(?:hf_[A-Za-z0-9]{30,}|ghp_[A-Za-z0-9]{36}|github_pat_\w{50,}|xox[abp]-[\w-]{20,}|sk-[A-Za-z0-9_-]{32,}|nvapi-[\w-]{40,})"
    ),
}
# A value that is assigned to a name such as `password`; programs hold such lines without a credential in them.
ASSIGNED = {
    "a password": re.compile(
        r"(?i)\b(?:password|passwd|secret|api[_-]?key|token)\s*[=:]\s*['\"]?(?![$<{'\"\s])[^\s'\"]{8,}"
    )
}


def held_in(node: Node, text: str, *, program: bool = False) -> Iterator[Finding]:
    """The kinds of credentials in a value's text; in a program's source only those known by their form."""
    for kind, pattern in (PATTERNS if program else PATTERNS | ASSIGNED).items():
        if pattern.search(text):
            yield Finding(Node(node.value, node.path, True), f"no credentials, but it holds {kind}")


def decoded(text: str) -> str:
    """User data as it is read on the machine: base64 and gzip taken off."""
    try:
        raw = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        return text
    if raw[:2] == b"\x1f\x8b":
        try:
            raw = gzip.decompress(raw)
        except (OSError, EOFError):
            return text
    return raw.decode("utf-8", "replace")
