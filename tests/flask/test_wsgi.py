"""The wrapper and the corners of WSGI: files, late and double starts, the old way to write, errors on the way."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from werkzeug.wsgi import FileWrapper, wrap_file

from tests.flask.wsgi import HTML, NAVIGATION, TAG, Server

# ---- files ----


@pytest.mark.parametrize("servers_own", [True, False])
def test_a_file_is_handed_to_the_server_as_the_file_that_it_is(servers_own: bool) -> None:
    class SendFile(FileWrapper):
        """The server's own way to send a file."""

    def app(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        start_response("200 OK", [HTML, ("Content-Length", "3")])
        return wrap_file(environ, io.BytesIO(b"<p>"))

    server = Server(app)
    body = server.call(**({"wsgi.file_wrapper": SendFile} if servers_own else {}))
    assert type(body) is (SendFile if servers_own else FileWrapper)
    assert ("Content-Length", "3") in server.headers


# ---- corners of WSGI ----


def test_an_app_may_start_its_response_with_its_first_chunk() -> None:
    def app(_environ: dict[str, Any], start_response: Any) -> Iterator[bytes]:
        start_response("200 OK", [HTML, ("Content-Length", "16")])
        yield b"<head>"
        yield b"</head>end"

    server = Server(app)
    assert server.get() == b"<head>" + TAG + b"</head>end"
    assert server.headers == [HTML]


def test_an_app_may_start_its_response_late_and_send_nothing() -> None:
    def app(_environ: dict[str, Any], start_response: Any) -> Iterator[bytes]:
        start_response("204 NO CONTENT", [])
        yield from ()

    server = Server(app)
    assert server.get() == b""
    assert server.status == "204 NO CONTENT"


def test_what_an_app_writes_in_the_old_way_passes_as_it_is() -> None:
    def app(_environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        write = start_response("200 OK", [HTML, ("ETag", '"x"')])
        write(b"<head>")
        return [b"</head>"]

    server = Server(app)
    assert server.get() == b"<head></head>"
    assert ("ETag", '"x"') in server.headers


def test_an_error_before_the_first_chunk_replaces_the_head() -> None:
    def app(_environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        start_response("200 OK", [HTML])
        try:
            raise ValueError("late")
        except ValueError:
            start_response("500 OOPS", [("Content-Type", "text/plain")], sys.exc_info())
        return [b"oops"]

    server = Server(app)
    assert server.get() == b"oops"
    assert (server.status, server.heads) == ("500 OOPS", 1)


def test_an_error_after_the_first_chunk_is_raised_by_the_server() -> None:
    def app(_environ: dict[str, Any], start_response: Any) -> Iterator[bytes]:
        start_response("200 OK", [HTML])
        yield b"<p>"
        try:
            raise ValueError("late")
        except ValueError:
            start_response("500 OOPS", [], sys.exc_info())
        yield b"never"

    server = Server(app)
    with pytest.raises(ValueError, match="late"):
        server.get()
    assert server.status == "200 OK"


def test_an_app_that_starts_twice_is_told_so() -> None:
    def app(_environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        start_response("200 OK", [HTML])
        start_response("200 OK", [HTML])
        return []

    with pytest.raises(AssertionError, match="twice"):
        Server(app).get()


def test_an_exception_of_the_app_is_the_servers_to_handle() -> None:
    def app(_environ: dict[str, Any], _start_response: Any) -> Iterable[bytes]:
        raise KeyError("x")

    for headers in (NAVIGATION, {}):
        with pytest.raises(KeyError):
            Server(app).get(headers)
