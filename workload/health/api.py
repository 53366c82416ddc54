"""A small client of the Kubernetes API server, on the standard library: calls, and mirrors of what a watch tells."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

Object = dict[str, Any]
ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
MERGE = "application/merge-patch+json"
WATCH_SECONDS = 240


class ApiError(RuntimeError):
    """An answer that was no success."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(f"{status}: {said}")
        self.status = status


@dataclass(frozen=True)
class Server:
    """Where the API server is. The token is read again for every call: the kubelet replaces it every hour."""

    url: str
    token_file: Path
    ca_file: Path | None

    def _connection(self, timeout: float) -> http.client.HTTPConnection:
        parts = urlsplit(self.url)
        if parts.scheme == "http":
            return http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout)
        context = ssl.create_default_context(cafile=str(self.ca_file) if self.ca_file else None)
        return http.client.HTTPSConnection(parts.hostname or "", parts.port, timeout=timeout, context=context)

    def _ask(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: Any, kind: str
    ) -> http.client.HTTPResponse:
        headers = {"Authorization": f"Bearer {self.token_file.read_text().strip()}", "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = kind
        connection.request(method, path, None if body is None else json.dumps(body).encode(), headers)
        response = connection.getresponse()
        if response.status >= 400:
            raise ApiError(response.status, _message(response.read()))
        return response

    def call(self, method: str, path: str, body: Any = None, *, kind: str = "application/json") -> Object:
        """Raises ApiError, and OSError or HTTPException when the server can't be reached."""
        connection = self._connection(30)
        try:
            text = self._ask(connection, method, path, body, kind).read()
            return dict(json.loads(text)) if text else {}
        finally:
            connection.close()

    def listed(self, path: str, query: Mapping[str, str]) -> tuple[list[Object], str]:
        """All items, in pages, and the version that a watch goes on from."""
        items: list[Object] = []
        more = ""
        while True:
            words = {**query, "limit": "500", **({"continue": more} if more else {})}
            answer = self.call("GET", f"{path}?{urlencode(words)}")
            items += answer.get("items") or []
            more = answer["metadata"].get("continue") or ""
            if not more:
                return items, answer["metadata"]["resourceVersion"]

    def watched(self, path: str, query: Mapping[str, str], version: str) -> Iterator[Object]:
        """Events until the server ends the watch, as it does every few minutes."""
        words = {
            **query,
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(WATCH_SECONDS),
        }
        connection = self._connection(WATCH_SECONDS + 30)
        try:
            response = self._ask(connection, "GET", f"{path}?{urlencode(words)}", None, "")
            for line in response:
                yield dict(json.loads(line))
        finally:
            connection.close()


def _message(text: bytes) -> str:
    try:
        return str(json.loads(text)["message"])
    except (ValueError, KeyError, TypeError):
        return text.decode(errors="replace")[:200]


class Mirror:
    """A copy of a collection that a thread keeps up to date. `heard` is called with every object as it is now or was
    last, before a deletion too.
    """

    def __init__(
        self,
        server: Server,
        path: str,
        query: Mapping[str, str],
        heard: Callable[[Object], None] = lambda _: None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._server, self._path, self._query, self._heard, self._tell = server, path, query, heard, tell
        self._lock = threading.Lock()
        self._objects: dict[str, Object] = {}
        self._synced = 0.0
        self._thread = threading.Thread(target=self._run, name=f"mirror of {path}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def all(self) -> list[Object]:
        with self._lock:
            return list(self._objects.values())

    def age(self) -> float:
        """Seconds since the copy was last known to be right; endless before the first list."""
        return time.monotonic() - self._synced if self._synced else float("inf")

    def _run(self) -> None:
        pause = 1.0
        while True:
            try:
                items, version = self._server.listed(self._path, self._query)
                with self._lock:
                    self._objects = {_key(each): each for each in items}
                    self._synced = time.monotonic()
                for each in items:
                    self._heard(each)
                pause = 1.0
                while True:
                    version = self._follow(version)
            except ApiError as error:
                if error.status != 410:  # the version is too old: list again, which is no fault
                    self._tell(f"{self._path}: {error}")
                    time.sleep(pause)
                    pause = min(pause * 2, 30)
            except (OSError, http.client.HTTPException, ValueError) as error:
                self._tell(f"{self._path}: the API server can't be read: {error}")
                time.sleep(pause)
                pause = min(pause * 2, 30)

    def _follow(self, version: str) -> str:
        for event in self._server.watched(self._path, self._query, version):
            thing = event["object"]
            if event["type"] == "ERROR":
                raise ApiError(int(thing.get("code") or 500), str(thing.get("message")))
            version = thing["metadata"]["resourceVersion"]
            with self._lock:
                self._synced = time.monotonic()
                if event["type"] == "DELETED":
                    self._objects.pop(_key(thing), None)
                elif event["type"] != "BOOKMARK":
                    self._objects[_key(thing)] = thing
            if event["type"] != "BOOKMARK":
                self._heard(thing)
        with self._lock:
            self._synced = time.monotonic()
        return version


def _key(thing: Object) -> str:
    meta = thing["metadata"]
    return f"{meta.get('namespace', '')}/{meta['name']}"
