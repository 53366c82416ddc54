"""Reads a stack file, or the configuration an engine hands over, into the stack's value and its problems.

It removes the `trainshed:` prefix, adds the defaults of the environment, and gives each problem its place in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path as FilePath
from typing import Any

from components.naming import did_you_mean, listed, nearest
from components.problems import Problem, Where
from components.spec.base import SEALED
from components.spec.defaults import Default, fill, left_out
from components.spec.reading import document, secrets
from components.spec.reading.document import Document
from components.spec.reading.paths import Path, parsed, written
from components.spec.reading.shape import Shaped, validate
from components.spec.stack import StackSpec

PROJECT = "trainshed"
_TOP_KEYS = ("config", "environment", "secretsprovider", "encryptedkey", "encryptionsalt")
_OTHER_NAMESPACES = re.compile(r"^(kubernetes|pulumi|random|aws-native):")
# What the AWS provider reads, in release 7.
_AWS_KEYS = frozenset(
    f"aws:{name}"
    for name in (
        *(
            "accessKey",
            "allowedAccountIds",
            "assumeRoleWithWebIdentity",
            "assumeRoles",
            "customCaBundle",
            "defaultTags",
        ),
        *(
            "ec2MetadataServiceEndpoint",
            "ec2MetadataServiceEndpointMode",
            "endpoints",
            "forbiddenAccountIds",
            "httpProxy",
            "httpsProxy",
        ),
        *(
            "ignoreTags",
            "insecure",
            "maxRetries",
            "noProxy",
            "profile",
            "region",
            "retryMode",
            "s3UsEast1RegionalEndpoint",
        ),
        *("s3UsePathStyle", "secretKey", "sharedConfigFiles", "sharedCredentialsFiles", "skipCredentialsValidation"),
        *(
            "skipMetadataApiCheck",
            "skipRegionValidation",
            "skipRequestingAccountId",
            "stsRegion",
            "tagPolicyCompliance",
            "token",
        ),
        *("tokenBucketRateLimiterCapacity", "useDualstackEndpoint", "useFipsEndpoint", "userAgents"),
    )
)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """`stack` is None when the shape is too broken to read on; what of it could not be read raises UnreadError when
    asked for.
    """

    stack: StackSpec | None
    problems: tuple[Problem, ...]
    defaults: tuple[Default, ...] = ()
    document: Document = field(default_factory=lambda: Document(file=""), repr=False)
    data: dict[str, Any] = field(default_factory=dict[str, Any], repr=False)

    def placed(self, problems: Iterable[Problem]) -> list[Problem]:
        """The problems with their places in the file."""
        return [each if each.where else each.at(self._where(each)) for each in problems]

    def _where(self, problem: Problem) -> Where | None:
        if not self.document.file:
            return None
        path = self._by_text.get(problem.path) or _in_file(parsed(problem.path), self.document)
        return self.document.where(path, of_key=problem.id in ("unknown-key", "key-twice"))

    @cached_property
    def _by_text(self) -> dict[str, Path]:
        """Paths in the file by the words that name them: a key may hold dots, such as a registry's."""
        named: dict[str, Path] = {}
        for path in self.document.values:
            if len(path) > 1 and path[0] == "config":
                named.setdefault(written((str(path[1]).removeprefix(f"{PROJECT}:"), *path[2:])), path)
        return named


def read_stack(path: FilePath, shown_as: str | None = None) -> Reading:
    """Read a stack file; a missing or unreadable one is a problem too."""
    name = shown_as or str(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        others = sorted(each.name for each in path.parent.glob("Pulumi.*.yaml")) if path.parent.is_dir() else []
        hint = _stack_meant(path.name, others) if others else f"write one in {path.parent}/"
        return Reading(
            stack=None,
            problems=(Problem(id="stack-file-missing", path="", said=f"there is no stack file {name}", hint=hint),),
        )
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "it is not UTF-8 text"
        return Reading(
            stack=None,
            problems=(
                Problem(id="stack-file-unreadable", path="", said=f"the stack file {name} can't be read: {reason}"),
            ),
        )
    return read_text(text, name)


def _stack_meant(name: str, others: list[str]) -> str:
    # Every name begins and ends alike: only what lies between tells which is meant.
    stacks = [each.removeprefix("Pulumi.").removesuffix(".yaml") for each in others]
    near = nearest(name.removeprefix("Pulumi.").removesuffix(".yaml"), stacks)
    return f'did you mean "Pulumi.{near}.yaml"?' if near else f"the stacks there are {listed(stacks)}"


def read_text(text: str, name: str) -> Reading:
    """As `read_stack`, from a given text."""
    found = document.read(text, name)
    if found.data is None:
        problems = found.problems or (
            Problem(id="stack-file-empty", path="", said=f"the stack file {name} is empty", hint=_SMALLEST),
        )
        return Reading(stack=None, problems=problems, document=found)
    if not isinstance(found.data, dict) or not isinstance(found.data.get("config"), dict):
        where = found.where(("config",)) or Where(file=name, line=1, column=1)
        problem = Problem(
            id="no-config",
            path="config",
            said="a stack file holds its settings under config:",
            hint=_SMALLEST,
            where=where,
        )
        return Reading(stack=None, problems=(*found.problems, problem), document=found)
    top: dict[str, Any] = found.data
    strange = [key for key in top if key not in _TOP_KEYS]
    extra = [
        Problem(
            id="unknown-key",
            path=key,
            said=f'"{key}" is not a key of a stack file',
            hint=did_you_mean(key, _TOP_KEYS),
            where=found.keys[(key,)],
        )
        for key in strange
    ]
    config: dict[str, Any] = top["config"]
    read = read_config(config, found)
    return replace(read, problems=(*found.problems, *extra, *read.problems))


_SMALLEST = (
    "the smallest has aws:region, trainshed:environment, trainshed:network with zones, and one pool in trainshed:pools"
)


def read_config(
    config: Mapping[str, Any], source: Document | None = None, secret_keys: frozenset[str] = frozenset()
) -> Reading:
    """Read settings by their full names (`aws:region`, `trainshed:pools`).

    `source` gives places; what stands under `secret_keys`, also full names, was encrypted and is never shown.
    """
    data, problems = _sorted_out(config, source or Document(file=""))
    if "region" not in data:
        form = data.get("form")
        if not (isinstance(form, dict) and form.get("kind") == "self-hosted"):
            problems.append(
                Problem(
                    id="missing-key", path="aws:region", said="is missing", hint="the AWS region, such as us-west-2"
                )
            )
    hidden = frozenset("region" if key == "aws:region" else key.removeprefix(f"{PROJECT}:") for key in secret_keys)
    problems += _in_the_clear(data, hidden)
    filled, defaults = fill(data)
    shaped: Shaped = validate(StackSpec, filled, hidden, partly=True)
    stack: StackSpec | None = shaped.value
    if stack is not None:
        given = {each.path for each in defaults}
        own = [
            each
            for each in left_out(stack, data)
            if each.path not in given and not any(each.path.startswith(f"{g}.") for g in given)
        ]
        defaults = sorted([*defaults, *own], key=lambda each: each.path)
    reading = Reading(
        stack=stack,
        problems=(),
        defaults=tuple(defaults),
        document=source or Document(file=""),
        data=data,
    )
    return replace(reading, problems=tuple(reading.placed([*problems, *map(_named, shaped.problems)])))


def _sorted_out(config: Mapping[str, Any], source: Document) -> tuple[dict[str, Any], list[Problem]]:
    """The settings without their prefix, and problems of their names."""
    data: dict[str, Any] = {}
    problems: list[Problem] = []
    given: dict[str, str] = {}
    for key, value in config.items():
        name = key.removeprefix(f"{PROJECT}:")
        if key == "aws:region":
            data["region"] = value
        elif key.startswith("aws:"):
            if key not in _AWS_KEYS:
                problems.append(
                    Problem(
                        id="unknown-key", path=key, said=f'"{key}" is not a key here', hint=did_you_mean(key, _AWS_KEYS)
                    )
                )
        elif not name:
            place = source.keys.get(("config", key))
            hint = f"write the name of a setting, such as {PROJECT}:pools"
            problems.append(
                Problem(id="unknown-key", path=key, said=f'"{key}" is not a key here', hint=hint, where=place)
            )
        elif ":" in name and not _OTHER_NAMESPACES.match(name):
            known = [f"{PROJECT}:{field}" for field in StackSpec.model_fields if field != "region"] + ["aws:region"]
            problems.append(
                Problem(id="unknown-key", path=key, said=f'"{key}" is not a key here', hint=did_you_mean(key, known))
            )
        elif name == "region":
            problems.append(
                Problem(
                    id="unknown-key",
                    path="region",
                    said='"region" is not a key here',
                    hint='did you mean "aws:region"?',
                )
            )
        elif name in given:
            first = source.keys.get(("config", given[name]))
            hint = f"the first is at line {first.line}: keep one" if first else "keep one"
            said = f'the setting "{name}" is given twice, as "{given[name]}" and as "{key}"'
            problems.append(
                Problem(id="key-twice", path=name, said=said, hint=hint, where=source.keys.get(("config", key)))
            )
        elif ":" not in name:
            given[name] = key
            data[name] = _opened(value)
    return data, problems


def _in_the_clear(data: dict[str, Any], hidden: frozenset[str]) -> Iterator[Problem]:
    for path in secrets.plain(data, secrets.names(StackSpec)):
        if path[0] in hidden:
            continue
        name = written(path)
        said = "is a secret, but stands here as readable text"
        hint = f"encrypt it: pulumi config set --secret --path {PROJECT}:{name} < FILE"
        yield Problem(id="secret-in-the-clear", path=name, said=said, hint=hint, severity="warning")


def _named(problem: Problem) -> Problem:
    """The region is read from `aws:region`, and is called so."""
    return replace(problem, path="aws:region") if problem.path == "region" else problem


def _opened(value: Any) -> Any:
    """Encrypted values are replaced by a placeholder: a preview needs no key."""
    if isinstance(value, dict):
        mapping: dict[str, Any] = value
        if set(mapping) == {"secure"}:
            return SEALED
        return {key: _opened(inner) for key, inner in mapping.items()}
    if isinstance(value, list):
        items: list[Any] = value
        return [_opened(inner) for inner in items]
    return value


def _in_file(path: Path, source: Document) -> Path:
    if not path:
        return ()
    head, *rest = path
    if written(path[:1]).startswith("aws:"):
        return ("config", *path)
    full = ("config", f"{PROJECT}:{head}")
    return (*full, *rest) if full in source.keys else ("config", head, *rest)
