"""Brings other publishers' images into the account's registry.

crane, skopeo and docker can each copy between registries; each logs in in another way.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from components.planning.images import Mirrored
from components.spec.form import SelfHosted
from components.spec.stack import StackSpec
from trainshed.cli.terminal import say

_NEEDS = "install crane, skopeo or docker (with buildx), and put it on PATH"


@dataclass(frozen=True, kw_only=True)
class CopyTool:
    """How one tool copies an image, asks for its manifest (which fills a pull-through cache), and logs in with a
    password on its input.
    """

    name: str
    copies: tuple[str, ...]
    asks: tuple[str, ...]
    logs_in: tuple[str, ...]

    def command(self, image: Mirrored, target: str) -> list[str]:
        words = self.copies if image.how == "copied" else self.asks
        return [word.format(source=image.upstream, target=target) for word in words]


TOOLS = (
    CopyTool(
        name="crane",
        copies=("crane", "copy", "{source}", "{target}"),
        asks=("crane", "manifest", "{target}"),
        logs_in=("crane", "auth", "login", "--username", "AWS", "--password-stdin", "{host}"),
    ),
    CopyTool(
        name="skopeo",
        copies=("skopeo", "copy", "--all", "--preserve-digests", "docker://{source}", "docker://{target}"),
        asks=("skopeo", "inspect", "--raw", "docker://{target}"),
        logs_in=("skopeo", "login", "--username", "AWS", "--password-stdin", "{host}"),
    ),
    CopyTool(
        name="docker",
        copies=("docker", "buildx", "imagetools", "create", "--tag", "{target}", "{source}"),
        asks=("docker", "buildx", "imagetools", "inspect", "{target}"),
        logs_in=("docker", "login", "--username", "AWS", "--password-stdin", "{host}"),
    ),
)


class MissingError(Exception):
    """Something the command needs isn't there; the text says what and how to get it."""


def mirror(stack: str, *, run: bool, account: str | None, json_output: bool = False) -> int:
    """The exit code."""
    from components.planning import images
    from components.problems import errors
    from infra.settings import from_file
    from trainshed.cli.terminal import counted, lines

    settings = from_file(stack)
    wrong = errors(settings.problems)
    if wrong:
        for line in lines(wrong, settings.document, carets=sys.stderr.isatty()):
            say(line)
        say(f"{settings.name}: {counted(wrong)}; nothing was mirrored")
        return 1
    spec = settings.valid
    found = images.needed(spec, settings.catalog)
    try:
        prefix = _prefix(spec, account, asking=run)
        failed = _run(found, prefix, spec) if run else []
    except MissingError as error:
        say(str(error))
        return 3
    if json_output:
        rows = [each.as_plan() | {"address": f"{prefix}/{each.path}"} for each in found]
        print(
            json.dumps(
                {"stack": settings.name, "registry": prefix, "images": rows, "failed": [each.name for each in failed]}
            )
        )
    elif not run:
        _show(found, prefix)
    for each in failed:
        say(f"{each.upstream} did not reach {prefix}/{each.path}")
    return 1 if failed else 0


def _show(found: Sequence[Mirrored], prefix: str) -> None:
    for each in found:
        print(f"{each.how:7} {each.upstream} -> {prefix}/{each.path}")
    copied = sum(each.how == "copied" for each in found)
    say(
        f"{copied} to copy, {len(found) - copied} to fetch once through the cache: a first pull needs a"
        " route to the internet from the network that asks"
    )
    say("add --run to do both from this machine")


def _prefix(spec: StackSpec, account: str | None, *, asking: bool) -> str:
    if isinstance(spec.form, SelfHosted):
        if spec.form.registry is None:
            raise MissingError("the stack names no registry to mirror to; set form.registry")
        return spec.form.registry
    if account is None:
        account = _account(spec.region) if asking else "ACCOUNT"
    suffix = "amazonaws.com.cn" if spec.region.startswith("cn-") else "amazonaws.com"
    return f"{account}.dkr.ecr.{spec.region}.{suffix}"


def _account(region: str) -> str:
    from trainshed.aws_clients import BotoCoreError, ClientError, client

    try:
        return str(client("sts", region).get_caller_identity()["Account"])
    except (BotoCoreError, ClientError) as error:
        raise MissingError(
            f"AWS can't be asked whose registry it is: {error}; give --account, and credentials by AWS_PROFILE"
        ) from error


def _run(found: Sequence[Mirrored], prefix: str, spec: StackSpec) -> list[Mirrored]:
    """Copy or fetch each; returns those that failed. Raises MissingError."""
    tool = next((each for each in TOOLS if shutil.which(each.name)), None)
    if tool is None:
        raise MissingError(f"no tool that copies images is here: {_NEEDS}")
    if not isinstance(spec.form, SelfHosted):
        hosts = {prefix: spec.region}
        # AWS' own add-on images lie in a private registry too, whose region stands in its name.
        hosts |= {each.registry: each.registry.split(".")[3] for each in found if ".dkr.ecr." in each.registry}
        for host, region in sorted(hosts.items()):
            _log_in(tool, host, region)
    failed: list[Mirrored] = []
    for place, each in enumerate(found, start=1):
        if sys.stderr.isatty():
            say(f"{place}/{len(found)} {each.upstream}")
        done = subprocess.run(tool.command(each, f"{prefix}/{each.path}"), check=False, capture_output=True, text=True)
        if done.returncode:
            say(done.stderr.strip())
            failed.append(each)
    return failed


def _log_in(tool: CopyTool, host: str, region: str) -> None:
    import base64

    from trainshed.aws_clients import BotoCoreError, ClientError, client

    try:
        token = str(client("ecr", region).get_authorization_token()["authorizationData"][0]["authorizationToken"])
    except (BotoCoreError, ClientError) as error:
        raise MissingError(f"AWS gives no password for {host}: {error}") from error
    password = base64.b64decode(token).decode().partition(":")[2]
    done = subprocess.run(
        [word.format(host=host) for word in tool.logs_in], check=False, capture_output=True, text=True, input=password
    )
    if done.returncode:
        raise MissingError(f"{tool.name} can't log in to {host}: {done.stderr.strip()}")
