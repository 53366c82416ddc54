"""Keys and certificates for servers on 127.0.0.1.

openssl makes them; they hold for one run.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """A self-signed certificate, which is its own authority."""

    folder: Path

    @property
    def certificate(self) -> Path:
        return self.folder / "tls.crt"

    @property
    def key(self) -> Path:
        return self.folder / "tls.key"


def self_signed(folder: Path) -> Certificate:
    """A certificate for 127.0.0.1 and localhost, under the names that controller-runtime looks for."""
    folder.mkdir(parents=True, exist_ok=True)
    made = Certificate(folder=folder)
    _openssl(
        *(
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "3650",
            "-subj",
            "/CN=127.0.0.1",
        ),
        *("-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-addext", "basicConstraints=critical,CA:TRUE"),
        *("-keyout", str(made.key), "-out", str(made.certificate)),
    )
    made.key.chmod(0o600)
    return made


def signing_key(path: Path) -> Path:
    """A private key for service-account tokens."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _openssl("genrsa", "-out", str(path), "2048")
    path.chmod(0o600)
    return path


def _openssl(*words: str) -> None:
    subprocess.run(["openssl", *words], check=True, stdin=subprocess.DEVNULL, capture_output=True)
