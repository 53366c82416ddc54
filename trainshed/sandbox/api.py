"""A client of one API server with a token.

Lists are read page by page, and many objects are created over several connections at once.
"""

from __future__ import annotations

import http.client
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlencode

Object = dict[str, Any]


class ApiError(RuntimeError):
    """An answer that was no success; `status` is its code, the text is the server's own message."""

    def __init__(self, status: int, message: str, answer: Object) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status
        self.message = message
        self.answer = answer


class Api:
    """Calls to https://127.0.0.1:PORT as the bearer of a token, or as somebody else by impersonation."""

    def __init__(
        self, port: int, token: str, *, ca: str | None = None, user: str | None = None, groups: Sequence[str] = ()
    ) -> None:
        self.port = port
        self._token = token
        self._ca = ca
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        self._groups = tuple(groups)
        if user:
            self._headers["Impersonate-User"] = user
        self._context = ssl.create_default_context(cafile=ca)
        self._local = threading.local()
        self._plurals: dict[tuple[str, str], tuple[str, bool]] = {}

    def impersonating(self, user: str, groups: Sequence[str] = ()) -> Api:
        """The same server seen by another user, as RBAC and admission see them."""
        return Api(self.port, self._token, ca=self._ca, user=user, groups=groups)

    def _connection(self) -> http.client.HTTPSConnection:
        held: http.client.HTTPSConnection | None = getattr(self._local, "connection", None)
        if held is None:
            held = http.client.HTTPSConnection("127.0.0.1", self.port, context=self._context, timeout=120)
            self._local.connection = held
        return held

    def _exchange(
        self, method: str, path: str, payload: bytes, content_type: str
    ) -> tuple[http.client.HTTPResponse, bytes]:
        connection = self._connection()
        try:
            connection.putrequest(method, path)
            for name, value in self._headers.items():
                connection.putheader(name, value)
            for group in self._groups:
                connection.putheader("Impersonate-Group", group)
            if content_type:
                connection.putheader("Content-Type", content_type)
                connection.putheader("Content-Length", str(len(payload)))
            connection.endheaders(payload or None)
            response = connection.getresponse()
            return response, response.read()
        except (OSError, http.client.HTTPException):
            connection.close()
            self._local.connection = None
            raise

    def call(self, method: str, path: str, body: Any = None, *, content_type: str = "application/json") -> Object:
        payload = b"" if body is None else json.dumps(body).encode()
        held = getattr(self._local, "connection", None) is not None
        try:
            response, raw = self._exchange(method, path, payload, content_type if body is not None else "")
        except (OSError, http.client.HTTPException) as error:
            # A server may close a connection that it kept alive; what never reached it, or may be said twice, is said
            # again on a new one.
            dropped = isinstance(error, (ssl.SSLEOFError, ConnectionError, http.client.RemoteDisconnected))
            if not (held and dropped and method in ("GET", "PATCH", "DELETE")):
                raise
            response, raw = self._exchange(method, path, payload, content_type if body is not None else "")
        text = raw.decode(errors="replace")
        try:
            answer: Object = json.loads(text) if text else {}
        except json.JSONDecodeError:
            answer = {"text": text}
        if response.status >= 400:
            raise ApiError(response.status, str(answer.get("message") or answer.get("text") or response.reason), answer)
        return answer

    def ready(self) -> bool:
        try:
            self.call("GET", "/readyz")
        except (OSError, http.client.HTTPException, ApiError):
            return False
        return True

    # -- objects --
    def collection(self, api_version: str, kind: str, namespace: str | None = None) -> str:
        """The path of a kind's collection; what is plural and what lives in a namespace is the server's own word."""
        key = (api_version, kind)
        base = f"/api/{api_version}" if "/" not in api_version else f"/apis/{api_version}"
        if key not in self._plurals:
            for entry in self.call("GET", base)["resources"]:
                if "/" not in entry["name"]:
                    self._plurals[(api_version, entry["kind"])] = (entry["name"], entry["namespaced"])
        if key not in self._plurals:
            raise ApiError(404, f"the server serves no {kind} in {api_version}", {})
        plural, namespaced = self._plurals[key]
        return (
            f"{base}/namespaces/{namespace or 'default'}/{plural}"
            if namespaced and namespace != "*"
            else f"{base}/{plural}"
        )

    def path(self, thing: Mapping[str, Any]) -> str:
        meta = thing["metadata"]
        return f"{self.collection(thing['apiVersion'], thing['kind'], meta.get('namespace'))}/{meta['name']}"

    def create(self, thing: Mapping[str, Any]) -> Object:
        return self.call(
            "POST", self.collection(thing["apiVersion"], thing["kind"], thing["metadata"].get("namespace")), thing
        )

    def apply(self, thing: Mapping[str, Any], *, manager: str = "trainshed", strict: bool = True) -> Object:
        """Server-side apply; `strict` refuses fields that the server's schema does not know."""
        query = urlencode(
            {"fieldManager": manager, "force": "true", "fieldValidation": "Strict" if strict else "Ignore"}
        )
        return self.call("PATCH", f"{self.path(thing)}?{query}", thing, content_type="application/apply-patch+yaml")

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Object:
        return self.call("GET", f"{self.collection(api_version, kind, namespace)}/{name}")

    def exists(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> bool:
        try:
            self.get(api_version, kind, name, namespace)
        except ApiError as error:
            if error.status == 404:
                return False
            raise
        return True

    def all(
        self, api_version: str, kind: str, namespace: str | None = "*", *, labels: str = "", fields: str = ""
    ) -> list[Object]:
        query = {key: value for key, value in (("labelSelector", labels), ("fieldSelector", fields)) if value}
        suffix = f"?{urlencode(query)}" if query else ""
        items: list[Object] = (
            self.call("GET", self.collection(api_version, kind, namespace) + suffix).get("items") or []
        )
        # A list's items come without these two, and nothing else of ours can be done without them.
        return [{"apiVersion": api_version, "kind": kind, **item} for item in items]

    def patch(self, thing: Mapping[str, Any], change: Mapping[str, Any], *, subresource: str = "") -> Object:
        return self.call("PATCH", self.path(thing) + subresource, change, content_type="application/merge-patch+json")

    def delete(
        self, api_version: str, kind: str, name: str, namespace: str | None = None, *, foreground: bool = False
    ) -> None:
        suffix = "?propagationPolicy=Foreground" if foreground else "?propagationPolicy=Background"
        self.call("DELETE", f"{self.collection(api_version, kind, namespace)}/{name}{suffix}")

    def each(self, action: Callable[[Object], Any], things: Iterable[Object], *, at_once: int = 16) -> None:
        """The same action on many objects, some at once; the first error comes up."""
        with ThreadPoolExecutor(at_once) as pool:
            for _ in pool.map(action, things):
                pass


def wait_for(check: Callable[[], bool], *, what: str, seconds: float = 120.0, pause: float = 0.25) -> float:
    """Seconds until the state was seen."""
    started = time.monotonic()
    while not check():
        if time.monotonic() - started > seconds:
            raise TimeoutError(f"not seen within {seconds:.0f} s: {what}")
        time.sleep(pause)
    return time.monotonic() - started
