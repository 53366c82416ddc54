"""Gives an image in ECR the tag of another environment.

In ECR a tag is a manifest put once more under another name. The digest that comes back proves that nothing changed.
"""

from __future__ import annotations

import json
import re
from typing import Any

from components.naming import did_you_mean
from trainshed.cli.terminal import say

ENVIRONMENTS = ("dev", "staging", "prod", "standby")
_TAG = re.compile(r"^(?P<environment>[a-z]+)-(?P<version>[A-Za-z0-9_][A-Za-z0-9._-]{0,99})$")
_VERSION = re.compile(r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$")
_IMAGE = re.compile(
    r"^(?:(?P<host>[0-9]{12}\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(?:\.cn)?)/)?"
    r"(?P<repository>[a-z0-9]+(?:[._/-][a-z0-9]+)*)(?::(?P<tag>[\w][\w.-]{0,127})|@(?P<digest>sha256:[0-9a-f]{64}))$"
)
# What a registry may hold under a tag; without the list ECR turns an index into the manifest of one platform.
_MEDIA_TYPES = [
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
]


class WrongUseError(ValueError):
    """The command was used wrongly: exit code 2."""


def run(image: str, *, to: str, version: str | None, region: str | None, json_output: bool = False) -> int:
    """The exit code."""
    try:
        found, tag = _asked(image, to, version)
    except WrongUseError as error:
        say(f"trainshed image promote: {error}")
        return 2
    from trainshed.aws_clients import BotoCoreError, ClientError, client

    try:
        said, code, digest = _promote(client("ecr", region or found["region"]), found, tag)
    except ClientError as error:
        return _refused(error, found)
    except BotoCoreError as error:
        say(f"AWS can't be asked: {error}; give --region and credentials, such as by AWS_PROFILE or aws sso login")
        return 3
    if json_output and digest:
        print(
            json.dumps(
                {
                    "repository": found["repository"],
                    "digest": digest,
                    "tag": tag,
                    "changed": code == 0 and said.startswith("gave"),
                }
            )
        )
    say(said)
    return code


def _asked(image: str, to: str, version: str | None) -> tuple[dict[str, Any], str]:
    """The image's parts and the tag to give. Raises WrongUseError."""
    if to not in ENVIRONMENTS:
        raise WrongUseError(f'"{to}" is no environment; {did_you_mean(to, ENVIRONMENTS)}')
    match = _IMAGE.match(image)
    if not match:
        raise WrongUseError(
            f'"{image}" is no image with a tag or a digest; use one such as trainer:dev-1.4 or trainer@sha256:…'
        )
    found = match.groupdict()
    parts = _TAG.match(found["tag"] or "")
    if found["tag"] and (not parts or parts["environment"] not in ENVIRONMENTS):
        raise WrongUseError(
            f'the tag "{found["tag"]}" belongs to no environment; tags begin with dev-, staging-, prod- or standby-'
        )
    if version is None and parts is None:
        raise WrongUseError("a digest has no version of its own; give --version, such as --version 1.4")
    if version is not None and not _VERSION.match(version):
        raise WrongUseError(
            f'"{version}" can\'t end a tag; use letters, digits, dots, dashes and underscores, such as 1.4'
        )
    if parts and parts["environment"] == to and version in (None, parts["version"]):
        raise WrongUseError(f'"{image}" is an image of {to} already')
    return found, f"{to}-{version or (parts['version'] if parts else '')}"


def _promote(client: Any, found: dict[str, Any], tag: str) -> tuple[str, int, str]:
    """What to say, the exit code, and the digest."""
    repository = found["repository"]
    wanted = {"imageTag": found["tag"]} if found["tag"] else {"imageDigest": found["digest"]}
    source = _image(client, repository, wanted)
    label = found["tag"] or found["digest"]
    if source is None:
        return f"{repository} holds no image {label}; see aws ecr describe-images --repository-name {repository}", 1, ""
    digest = str(source["imageId"]["imageDigest"])
    there = _image(client, repository, {"imageTag": tag})
    if there is not None:
        other = str(there["imageId"]["imageDigest"])
        if other == digest:
            return f"{repository}:{tag} is {digest} already", 0, digest
        said = f"{repository}:{tag} is another image, {other}, and {label} is {digest}"
        return f"{said}; tags never move and promotion never builds: give another --version", 1, digest
    put = client.put_image(
        repositoryName=repository,
        imageManifest=source["imageManifest"],
        imageManifestMediaType=source["imageManifestMediaType"],
        imageTag=tag,
        imageDigest=digest,  # ECR refuses a manifest that isn't exactly this one
    )
    assert put["image"]["imageId"]["imageDigest"] == digest
    return f"gave {repository}:{label} ({digest}) the tag {tag}", 0, digest


def _image(client: Any, repository: str, image_id: dict[str, Any]) -> dict[str, Any] | None:
    answer = client.batch_get_image(repositoryName=repository, imageIds=[image_id], acceptedMediaTypes=_MEDIA_TYPES)
    images: list[dict[str, Any]] = answer["images"]
    return images[0] if images else None


def _refused(error: Any, found: dict[str, Any]) -> int:
    code, message = str(error.response["Error"]["Code"]), str(error.response["Error"]["Message"])
    if code == "RepositoryNotFoundException":
        say(
            f"the registry has no repository {found['repository']}; name it under storage.registry.repositories and"
            " deploy"
        )
        return 1
    if code in (
        "AccessDeniedException",
        "UnrecognizedClientException",
        "ExpiredTokenException",
        "InvalidSignatureException",
    ):
        say(f"AWS refuses: {message}; needed are ecr:BatchGetImage and ecr:PutImage on the repository")
        return 3
    say(f"AWS refuses: {code}: {message}")
    return 1
