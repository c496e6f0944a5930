"""What the taskbar's page does over HTTP, without a page: read the token, hand over a task, follow the state.

`python3 examples --once` and the end-to-end tests use it. Standard library only; it keeps the taskbar's cookie as a
browser would and never goes through a proxy.
"""

from __future__ import annotations

import contextlib
import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPException, HTTPResponse
from http.cookiejar import CookieJar
from typing import Any
from urllib.parse import quote, urlsplit

MOUNT = "/dev/pi-browser-taskbar"
OVER = ("completed", "failed", "cancelled")

Snapshot = dict[str, Any]


class Refused(Exception):  # noqa: N818
    """The server answered a request with an error; `code` is the contract's word for it, if there is one."""

    def __init__(self, status: int, body: Any) -> None:
        error = body.get("error", {}) if isinstance(body, dict) else {}
        self.status, self.code, self.body = status, error.get("code"), body
        super().__init__(f"HTTP {status} {self.code or ''}: {error.get('message') or 'no message'}")


class Taskbar:
    """The taskbar of the app at `url`."""

    def __init__(self, url: str, mount: str = MOUNT) -> None:
        self.url, self.mount = url.rstrip("/"), mount
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(CookieJar())
        )
        self._token: str | None = None

    def page(self, path: str = "/") -> str:
        """A page of the app itself, asked for as a browser does when it navigates."""
        headers = {"Accept": "text/html", "Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate"}
        with self._opener.open(urllib.request.Request(self.url + path, headers=headers), timeout=30) as response:
            return str(response.read().decode())

    def bootstrap(self) -> dict[str, Any]:
        found: dict[str, Any] = self._call("GET", "/bootstrap")
        self._token = found["csrf_token"]
        return found

    def state(self) -> Snapshot:
        """The snapshot; also when the server has no broker, for then it makes one up."""
        try:
            return self._snapshot("GET", "/state")
        except Refused as refused:
            if refused.status == 503 and isinstance(refused.body, dict) and "snapshot" in refused.body:
                return dict(refused.body["snapshot"])
            raise

    def submit(self, prompt: str, path: str = "/") -> Snapshot:
        return self._snapshot("POST", "/tasks", {"prompt": prompt, "context": self._context(path)})

    def cancel(self, task_id: str) -> Snapshot:
        return self._snapshot("DELETE", f"/tasks/{quote(task_id, safe='')}")

    def reset(self) -> Snapshot:
        return self._snapshot("POST", "/session/reset", {})

    def follow(self, seconds: float, every: float = 0.2) -> Iterator[Snapshot]:
        """Each snapshot that differs from the one before; `TimeoutError` when the caller has not stopped by then.

        A server that cannot answer for a moment, because the reloader is at work or the app broken, is asked again.
        """
        until = time.monotonic() + seconds
        last: Snapshot | None = None
        while time.monotonic() < until:
            try:
                now = self.state()
            except (OSError, HTTPException, Refused) as problem:
                if isinstance(problem, Refused) and problem.status < 500:
                    raise
            else:
                if now != last:
                    last = now
                    yield now
            time.sleep(every)
        raise TimeoutError(f"nothing more after {seconds:.0f} s; the last state was {json.dumps(last)}")

    def stream(self) -> contextlib.closing[HTTPResponse]:
        """The live state, as the server sends it; to be closed by the caller."""
        request = urllib.request.Request(self.url + self.mount + "/events", headers={"Accept": "text/event-stream"})
        return contextlib.closing(self._opener.open(request, timeout=40))

    def _snapshot(self, method: str, path: str, value: object = None) -> Snapshot:
        return dict(self._call(method, path, value))

    def _call(self, method: str, path: str, value: object = None) -> Any:
        headers = {"Accept": "application/json"}
        if method != "GET":
            if self._token is None:
                self.bootstrap()
            headers["X-CSRF-Token"] = str(self._token)
        body = None
        if value is not None:
            headers["Content-Type"] = "application/json"
            body = json.dumps(value).encode()
        request = urllib.request.Request(self.url + self.mount + path, data=body, headers=headers, method=method)
        try:
            with self._opener.open(request, timeout=40) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            with error:
                text = error.read()
            try:
                raise Refused(error.code, json.loads(text)) from None
            except ValueError:
                raise Refused(error.code, None) from None

    def _context(self, path: str) -> dict[str, Any]:
        """The smallest whole page."""
        parts = urlsplit(self.url)
        return {
            "contract_version": 1,
            "location": {"origin": f"{parts.scheme}://{parts.netloc}", "path": path, "query_names": []},
            "route": None,
            "snapshot": {"tag": "body", "children": []},
            "focus_points": [],
            "truncation": [],
        }
