"""A page over a real socket, served by this process or by one of its own."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from flask_pi_taskbar.board.identity import session
from flask_pi_taskbar.board.store import Store
from flask_pi_taskbar.page.alone import AlonePage, Limits
from flask_pi_taskbar.page.opening import Options, serve_here

ANN = session("as:ann", "ann")
OPTIONS = Options(name="shop", key="shop-0123")
QUICK = Limits(left=0.3, unopened=0.6, look=0.05)


@dataclass(frozen=True)
class Said:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def data(self) -> Any:
        return json.loads(self.body)


class Web:
    """One page, asked as a browser or a tool would."""

    def __init__(self, page: AlonePage) -> None:
        self.page = page
        self.port = page.port
        self.lead = page.lead_address().partition("#k=")[2]
        self.viewer = page.viewer_address().partition("#k=")[2]

    def ask(self, method: str, path: str, body: object = None, key: str | None = None, **headers: str | None) -> Said:
        """`headers` with underscores for dashes; None leaves a header out."""
        sent: dict[str, str | None] = {"Host": f"127.0.0.1:{self.port}", "X-Board-Key": key}
        if body is not None:
            sent["Content-Type"] = "application/json"
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in sent.items():
                if value is not None:
                    connection.putheader(name, value)
            if data is not None and "Content-Length" not in sent:
                connection.putheader("Content-Length", str(len(data)))
            connection.endheaders(data)
            answer = connection.getresponse()
            return Said(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    def stream(self, query: str = "", key: str | None = None) -> Stream:
        return Stream(self.port, query, key or self.lead)


class Stream:
    """An open stream; `next()` gives the next event."""

    def __init__(self, port: int, query: str, key: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        self._connection.request("GET", f"/events{query}", headers={"X-Board-Key": key})
        self.answer = self._connection.getresponse()

    def next(self) -> dict[str, Any] | None:
        """The next event with data; None at the end."""
        fields: dict[str, Any] = {}
        while line := self.answer.readline():
            text = line.decode().rstrip("\n")
            if not text:
                if "data" in fields:
                    return fields | {"data": json.loads(fields["data"])}
                fields = {}
            elif not text.startswith(":"):
                name, _, value = text.partition(": ")
                fields[name] = value
        return None

    def close(self) -> None:
        self.answer.close()
        self._connection.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(tmp_path / "board")
    made.apply("add", {"title": "One", "paths": ["src/one"]}, ANN, now=datetime.now(UTC))
    return made


@contextmanager
def served(store: Store, **options: Any) -> Iterator[AlonePage]:
    """A page that this process serves in a thread."""
    found = serve_here(store, OPTIONS, ANN, "/", **options)
    assert found is not None
    page, problem = found
    assert problem is None
    thread = Thread(target=page.serve, daemon=True)
    thread.start()
    try:
        yield page
    finally:
        page.stop()
        thread.join(10)
        assert not thread.is_alive()


@pytest.fixture
def web(store: Store) -> Iterator[Web]:
    with served(store) as page:
        yield Web(page)


Serve = Callable[..., AlonePage]
