"""The client of an API server that closes connections it had kept alive, as servers do."""

from __future__ import annotations

import http.server
import json
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from trainshed.sandbox.api import Api


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[int, Path, list[str]]]:
    """A TLS server on 127.0.0.1 that answers once on each connection and then hangs up without saying so."""
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*words, *names], check=True, capture_output=True)
    seen: list[str] = []

    class Once(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            seen.append(self.path)
            body = json.dumps({"path": self.path}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            return None

    serving = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Once)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    serving.socket = context.wrap_socket(serving.socket, server_side=True)
    thread = threading.Thread(target=serving.serve_forever, daemon=True)
    thread.start()
    yield serving.server_address[1], certificate, seen
    serving.shutdown()
    serving.server_close()


def test_a_connection_that_the_server_dropped_is_made_anew(server: tuple[int, Path, list[str]]) -> None:
    port, certificate, seen = server
    api = Api(port, "token", ca=str(certificate))
    assert [api.call("GET", f"/{number}")["path"] for number in range(4)] == ["/0", "/1", "/2", "/3"]
    assert seen == ["/0", "/1", "/2", "/3"]


def test_a_server_that_is_not_there_is_told_at_once(server: tuple[int, Path, list[str]]) -> None:
    port, certificate, _ = server
    with pytest.raises(ConnectionRefusedError):
        Api(1, "token", ca=str(certificate)).call("GET", "/")
    assert port > 1
