"""The real Pulumi engine over a copy of this project, with a backend, a home and plugins of its own.

Every run has an environment of its own; what the engine did is read from its event log.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from trainshed.sandbox import tools
from trainshed.sandbox.processes import die_with_parent

CHECKOUT = Path(__file__).resolve().parents[3]
PLUGINS = CHECKOUT / "tests" / "live" / "engine" / "plugins"
PASSPHRASE = "a passphrase of the tests"
KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{{name: rack, cluster: {{server: "https://127.0.0.1:1", insecure-skip-tls-verify: true}}}}]
users: [{{name: admin, user: {{token: {token}}}}}]
contexts: [{{name: rack, context: {{cluster: rack, user: admin}}}}]
current-context: rack
"""
LINKED = (".venv",)
# Copies, not links: a test's second `up` must see the same program as its first, whatever is edited meanwhile.
COPIED = (
    "infra",
    "stacks",
    "components",
    "trainshed",
    "policies",
    "tasks",
    "workload",
    "Pulumi.yaml",
    "pyproject.toml",
)


@dataclass(frozen=True, kw_only=True)
class Step:
    """One thing the engine decided to do: `op` is its word for it (create, update, replace, delete, same,
    refresh ...).
    """

    op: str
    urn: str
    type: str
    planning: bool
    diffs: tuple[str, ...]
    metadata: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.urn.rsplit("::", 1)[-1]


@dataclass(frozen=True, kw_only=True)
class Run:
    """What one command did."""

    command: str
    code: int
    stdout: str
    stderr: str
    events: tuple[Mapping[str, Any], ...]
    seconds: float

    @property
    def output(self) -> str:
        return self.stdout + self.stderr

    def _steps(self, event: str) -> list[Step]:
        made: list[Step] = []
        for entry in self.events:
            if event in entry:
                meta = entry[event]["metadata"]
                made.append(
                    Step(
                        op=meta["op"],
                        urn=meta["urn"],
                        type=meta["type"],
                        planning=bool(entry[event].get("planning")),
                        diffs=tuple(meta.get("diffs") or ()),
                        metadata=meta,
                    )
                )
        return made

    @property
    def steps(self) -> list[Step]:
        return self._steps("resourcePreEvent")

    @property
    def done(self) -> list[Step]:
        """Steps in the order in which they were finished."""
        return self._steps("resOutputsEvent")

    def changed(self) -> dict[str, str]:
        """URN -> op, for everything that does not stay as it is."""
        return {step.urn: step.op for step in self.steps if step.op not in ("same", "read", "refresh")}

    def counts(self) -> dict[str, int]:
        return next(
            (dict(entry["summaryEvent"]["resourceChanges"]) for entry in self.events if "summaryEvent" in entry), {}
        )

    def diagnostics(self, severity: str = "error") -> list[str]:
        said = [entry["diagnosticEvent"] for entry in self.events if "diagnosticEvent" in entry]
        return [re.sub(r"<\{%.*?%\}>", "", entry["message"]).strip() for entry in said if entry["severity"] == severity]

    def violations(self) -> list[Mapping[str, Any]]:
        return [entry["policyEvent"] for entry in self.events if "policyEvent" in entry]

    def must(self) -> Run:
        assert self.code == 0, (
            f"pulumi {self.command} ended with {self.code}\n{self.stdout[-4000:]}\n{self.stderr[-4000:]}"
        )
        return self


@dataclass(kw_only=True)
class Engine:
    """One project folder with its own backend; any number of commands one after the other."""

    folder: Path
    echo: Path
    environment: dict[str, str]
    stack: str = "dev"

    # -- making --
    @classmethod
    def of_checkout(cls, place: Path, stack: str, *, real_kubernetes: bool = False) -> Engine:
        """This project, with its stack files copied so that a test can edit them."""
        folder = place / "project"
        folder.mkdir(parents=True)
        for name in LINKED:
            if (CHECKOUT / name).exists():
                (folder / name).symlink_to(CHECKOUT / name)
        for name in COPIED:
            source = CHECKOUT / name
            if source.is_dir():
                shutil.copytree(source, folder / name)  # with what is compiled already
            elif source.exists():
                shutil.copyfile(source, folder / name)
        return cls._made(place, folder, stack, real_kubernetes=real_kubernetes)

    @classmethod
    def of_program(
        cls, place: Path, source: str, *, name: str = "small", stack: str = "dev", real_kubernetes: bool = False
    ) -> Engine:
        """A program of a test's own."""
        folder = place / "project"
        folder.mkdir(parents=True)
        (folder / "Pulumi.yaml").write_text(yaml.safe_dump({"name": name, "runtime": "python"}))
        (folder / "__main__.py").write_text(source)
        return cls._made(place, folder, stack, real_kubernetes=real_kubernetes)

    @classmethod
    def _made(cls, place: Path, folder: Path, stack: str, *, real_kubernetes: bool) -> Engine:
        for name in ("backend", "home", "echo", "bin", "tmp"):
            (place / name).mkdir()
        engine = cls(
            folder=folder,
            echo=place / "echo",
            stack=stack,
            environment=environment_of(place, folder, real_kubernetes=real_kubernetes),
        )
        engine.run("stack", "init", stack, "--secrets-provider", "passphrase").must()
        return engine

    def fork(self, place: Path) -> Engine:
        """A copy with the same state, so that a test can change it and the next one starts from where this one did."""
        source = self.folder.parent
        shutil.copytree(source, place, symlinks=True, ignore=shutil.ignore_patterns("tmp", "*.jsonl", "behaviour.json"))
        (place / "tmp").mkdir()
        environment = {name: value.replace(str(source), str(place)) for name, value in self.environment.items()}
        return Engine(folder=place / "project", echo=place / "echo", environment=environment, stack=self.stack)

    # -- commands --
    def command(self, *words: str) -> list[str]:
        pulumi = tools.find("pulumi")
        assert pulumi is not None, tools.remedy("pulumi")
        return [str(pulumi), "--non-interactive", "--color", "never", "-C", str(self.folder), *words]

    def run(
        self,
        *words: str,
        log: bool = False,
        environment: Mapping[str, str] | None = None,
        meanwhile: Callable[[], bool] | None = None,
    ) -> Run:
        """Run one command to its end; `meanwhile` is called again and again, and once it is true the engine gets
        Ctrl-C.
        """
        event_log = self.echo / "events.jsonl"
        event_log.unlink(missing_ok=True)
        (self.echo / "calls.jsonl").unlink(missing_ok=True)
        command = self.command(*words, *(["--event-log", str(event_log)] if log else []))
        started = time.monotonic()
        process = subprocess.Popen(
            command,
            env={**self.environment, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - it only makes one system call
        )
        try:
            if meanwhile is not None:
                while process.poll() is None and not meanwhile():
                    time.sleep(0.05)
                if process.poll() is None:
                    process.send_signal(signal.SIGINT)
            stdout, stderr = process.communicate()
        finally:
            # Whatever way this ends, no plugin of that command outlives it.
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        events = tuple(json.loads(line) for line in event_log.read_text().splitlines()) if event_log.exists() else ()
        return Run(
            command=" ".join(words),
            code=process.returncode,
            stdout=stdout,
            stderr=stderr,
            events=events,
            seconds=time.monotonic() - started,
        )

    def preview(self, *words: str, **options: Any) -> Run:
        return self.run("preview", "--stack", self.stack, *words, log=True, **options)

    def up(self, *words: str, **options: Any) -> Run:
        return self.run("up", "--yes", "--skip-preview", "--stack", self.stack, *words, log=True, **options)

    def refresh(self, *words: str, **options: Any) -> Run:
        return self.run("refresh", "--yes", "--skip-preview", "--stack", self.stack, *words, log=True, **options)

    def destroy(self, *words: str, **options: Any) -> Run:
        return self.run("destroy", "--yes", "--skip-preview", "--stack", self.stack, *words, log=True, **options)

    def write_every_step(self) -> Engine:
        """From now on the state is written before and after each step, as it is for users."""
        self.environment.pop("PULUMI_SKIP_CHECKPOINTS", None)
        return self

    def state(self) -> list[Mapping[str, Any]]:
        """The stack's resources as the state holds them, secrets still encrypted."""
        exported = json.loads(self.run("stack", "export", "--stack", self.stack).must().stdout)
        return exported["deployment"].get("resources") or []

    def pending(self) -> list[Mapping[str, Any]]:
        exported = json.loads(self.run("stack", "export", "--stack", self.stack).must().stdout)
        return exported["deployment"].get("pending_operations") or []

    # -- what a test changes --
    @property
    def stack_file(self) -> Path:
        return self.folder / "stacks" / f"Pulumi.{self.stack}.yaml"

    def config(self) -> dict[str, Any]:
        return yaml.safe_load(self.stack_file.read_text())["config"]

    def edit(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Edit the stack file's `config` in place, as a person would."""
        content = yaml.safe_load(self.stack_file.read_text())
        change(content["config"])
        self.stack_file.write_text(yaml.safe_dump(content, sort_keys=False))

    def give_kubeconfig(self, key: str = "kubeconfig", *, token: str = "of-no-use") -> None:
        """A self-hosted stack's secret as a person sets it: the file's own placeholder is no ciphertext of this
        backend.
        """
        secret = KUBECONFIG.format(token=token)
        self.run(
            "config", "set", "--stack", self.stack, "--secret", "--path", f"trainshed:form.{key}", "--", secret
        ).must()

    def behave(self, **rules: Any) -> None:
        """What the echo provider does wrong from the next command on; without rules it does nothing wrong."""
        (self.echo / "behaviour.json").write_text(json.dumps(rules))

    def calls(self, call: str | None = None) -> list[Mapping[str, Any]]:
        """The provider calls of the last command, in order."""
        path = self.echo / "calls.jsonl"
        entries = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return [entry for entry in entries if call in (None, entry["call"])]


def environment_of(place: Path, folder: Path, *, real_kubernetes: bool) -> dict[str, str]:
    """Nothing of the caller's account or Pulumi settings reaches the engine; plugins are found on PATH by name."""
    bin_folder = place / "bin"
    pulumi = tools.find("pulumi")
    for plugin in (PLUGINS / "providers").iterdir():
        if plugin.name.startswith("pulumi-resource-") and not (real_kubernetes and plugin.name.endswith("-kubernetes")):
            (bin_folder / plugin.name).symlink_to(plugin)
    # Beside a released CLI lies its own language host: that one is the real thing.
    if pulumi is None or not (pulumi.resolve().parent / "pulumi-language-python").exists():
        (bin_folder / "pulumi-language-python").symlink_to(PLUGINS / "host" / "pulumi-language-python")
    if real_kubernetes:
        provider = tools.find("pulumi-resource-kubernetes")
        assert provider is not None, tools.remedy("pulumi-resource-kubernetes")
        (bin_folder / provider.name).symlink_to(provider)
    python = Path(sys.executable).parent
    return {
        "PATH": f"{bin_folder}:{python}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(place / "home"),
        "TMPDIR": str(place / "tmp"),
        "LANG": "C.UTF-8",
        "PULUMI_BACKEND_URL": f"file://{place / 'backend'}",
        "PULUMI_CONFIG_PASSPHRASE": PASSPHRASE,
        "PULUMI_HOME": str(place / "home" / ".pulumi"),
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DEBUG_COMMANDS": "true",
        # The state is written once, at a command's end, however that comes: writing it whole after each of 300 steps
        # took half the time. Tests of what a broken-off command leaves call `write_every_step`.
        "PULUMI_SKIP_CHECKPOINTS": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "PULUMI_PYTHON_EXEC": str(tools.asset("pulumi", "python/cmd/pulumi-language-python-exec")),
        "PYTHONPATH": str(folder),
        "TRAINSHED_ECHO": str(place / "echo"),
    }
