"""Texts that are credentials by their look, or by the name of the variable that holds them.

Names end in the words that programs use (`HF_TOKEN`, `WANDB_API_KEY`, `AWS_SECRET_ACCESS_KEY`); values begin as their
issuers make them. Switches, numbers and paths are none, whatever they are called.
"""

from __future__ import annotations

import re

_NAME = re.compile(
    r"(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_KEY(_ID)?|PRIVATE_KEY|CREDENTIALS?)$", re.IGNORECASE
)
_HARMLESS = re.compile(r"|true|false|yes|no|none|[0-9]+|(/|\./|~/|\$\().*", re.IGNORECASE)
_VALUES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("an AWS access key", re.compile(r"\b(AKIA|ASIA)[A-Z0-9]{16}\b")),
    ("a token of Hugging Face", re.compile(r"\bhf_[A-Za-z0-9]{20,}")),
    ("a token of GitHub", re.compile(r"\b(gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})")),
    ("a token of GitLab", re.compile(r"\bglpat-[A-Za-z0-9_-]{16,}")),
    ("a token of Slack", re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,}")),
    ("an API key", re.compile(r"\bsk-[A-Za-z0-9_-]{20,}")),
    ("a signed token", re.compile(r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.")),
    ("a private key", re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")),
    ("an address with a password", re.compile(r"\b[a-z][a-z0-9+.-]*://[^/\s:@]+:[^/\s@]+@")),
)


def in_text(text: str) -> str | None:
    """What kind of credential a text holds; None for none that is known."""
    return next((kind for kind, pattern in _VALUES if pattern.search(text)), None)


def in_variable(name: str, value: str) -> str | None:
    """The same for an environment variable, whose name tells too."""
    found = in_text(value)
    if found is None and _NAME.search(name) and not _HARMLESS.fullmatch(value):
        found = "a credential, by its name"
    return found
