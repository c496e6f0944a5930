"""The wrapper that writes the tag into pages: what it changes, and that it changes nothing else."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from werkzeug.wsgi import FileWrapper, wrap_file

from flask_pi_taskbar.inject import PAGE, Injector, Page
from flask_pi_taskbar.notices import Notices
from flask_pi_taskbar.tag import script_tag
from tests.flask.test_markup import PIECES

TAG = script_tag("/pi").encode()
HTML = ("Content-Type", "text/html; charset=utf-8")
NAVIGATION = {"HTTP_SEC_FETCH_DEST": "document"}
LIKELY = {"HTTP_ACCEPT": "text/html"}


class Server:
    """A WSGI server that runs one request of `app` through the wrapper and keeps everything that comes out."""

    def __init__(self, app: Callable[..., Iterable[bytes]], *, exempt: bool = False, inject: bool = True) -> None:
        self.status = ""
        self.headers: list[tuple[str, str]] = []
        self.heads = 0
        self.written: list[bytes] = []
        self.page: Page | None = None

        def taken_up(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
            self.seen_by_app = environ
            self.page = environ[PAGE]
            self.page.tag = lambda nonce: script_tag("/pi", None, nonce)
            self.page.exempt = exempt
            return app(environ, start_response)

        def answer(_environ: dict[str, Any]) -> Any:
            raise AssertionError("no route of ours in this test")

        self.wrapper = Injector(
            taken_up,
            innermost=False,
            active=lambda: True,
            inject=inject,
            exempt_path=lambda path: path.startswith("/quiet"),
            answer=answer,
            is_ours=lambda _path: False,
            notices=Notices(),
        )

    def start_response(self, status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Callable[..., None]:
        if exc_info and self.written:
            raise exc_info[1].with_traceback(exc_info[2])
        self.heads += 1
        self.status, self.headers = status, headers
        return self.written.append

    def call(self, headers: dict[str, str] = NAVIGATION, **environ: Any) -> Iterable[bytes]:
        return self.wrapper(
            {"REQUEST_METHOD": "GET", "PATH_INFO": "/", "SCRIPT_NAME": "", **headers, **environ}, self.start_response
        )

    def get(self, headers: dict[str, str] = NAVIGATION, **environ: Any) -> bytes:
        body = self.call(headers, **environ)
        for chunk in body:
            assert self.heads == 1, "a chunk before the head"
            self.written.append(chunk)
        if close := getattr(body, "close", None):
            close()
        return b"".join(self.written)


def page_of(*chunks: bytes, status: str = "200 OK", headers: Iterable[tuple[str, str]] = (HTML,)) -> Any:
    def app(_environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        start_response(status, list(headers))
        return list(chunks)

    return app


# ---- the tag ----


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (b"<head></head><body></body>", b"<head>%b</head><body></body>"),
        (b"<!doctype html><title>x</title><p>y", b"<!doctype html><title>x</title><p>y%b"),
        (b"home page", b"home page%b"),
        (b"", b"%b"),
        (b"\xef\xbb\xbf<p>", b"\xef\xbb\xbf<p>%b"),
        (b"<script>var t='</body>'</script></body>", b"<script>var t='</body>'</script>%b</body>"),
        (b"<p></body><!-- </body> -->", b"<p>%b</body><!-- </body> -->"),
        (b"<p></html>\n", b"<p>%b</html>\n"),
    ],
)
def test_a_page_gets_the_tag_at_its_place(page: bytes, expected: bytes) -> None:
    assert Server(page_of(page)).get() == expected.replace(b"%b", TAG)


def test_a_page_that_is_only_likely_to_be_one_needs_a_place() -> None:
    assert Server(page_of(b"<p></body>")).get(LIKELY) == b"<p>" + TAG + b"</body>"
    assert Server(page_of(b"<li>row</li>")).get(LIKELY) == b"<li>row</li>"


@given(st.lists(PIECES, max_size=25), st.data())
def test_a_page_without_our_tag_is_the_page_without_us(pieces: list[str], data: st.DataObject) -> None:
    document = "".join(pieces).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(document)), max_size=8)))
    chunks = [document[a:b] for a, b in zip([0, *cuts], [*cuts, len(document)], strict=True)]
    sent = Server(page_of(*chunks)).get()
    assert sent.count(TAG) <= 1
    assert sent.replace(TAG, b"") == document
    assert Server(page_of(document)).get() == sent


@pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff"])
def test_a_page_in_utf_16_without_a_charset_is_left_alone(mark: bytes) -> None:
    encoded = mark + "<p>hello".encode("utf-16-le" if mark == b"\xff\xfe" else "utf-16-be")
    assert Server(page_of(encoded)).get() == encoded


def test_a_page_that_has_the_tag_gets_no_second_one() -> None:
    ready = b"<head></head><body>" + TAG + b"</body>"
    assert Server(page_of(ready)).get() == ready


def test_a_tag_that_the_template_writes_while_it_streams_is_the_only_one() -> None:
    def app(environ: dict[str, Any], start_response: Any) -> Iterator[bytes]:
        start_response("200 OK", [HTML])
        yield b"<p>"
        yield environ[PAGE].take_tag(None).encode()
        yield environ[PAGE].take_tag(None).encode()
        yield b"</body>"

    assert Server(app).get() == b"<p>" + TAG + b"</body>"


def test_the_nonce_of_the_policy_is_in_the_tag_and_the_policy_is_as_it_was() -> None:
    policy = ("Content-Security-Policy", "script-src  'nonce-abc' ;;default-src 'self'")
    report = ("Content-Security-Policy-Report-Only", "script-src 'nonce-report'")
    server = Server(page_of(b"<p>", headers=[HTML, report, policy]))
    assert server.get() == b"<p>" + script_tag("/pi", None, "abc").encode()
    assert server.headers == [HTML, report, policy]


def test_a_policy_under_which_nothing_works_is_named_once_and_the_page_left_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    headers = [HTML, ("Content-Security-Policy", "connect-src 'none'"), ("ETag", '"x"'), ("Content-Length", "3")]
    server = Server(page_of(b"<p>", headers=headers))
    assert server.get() == b"<p>"
    assert server.headers == headers
    server.call()
    (record,) = caplog.records
    assert "connect-src" in record.getMessage()


# ---- what stays as it is ----

UNTOUCHED = {
    "json": {"headers": [("Content-Type", "application/json")]},
    "gzip": {"headers": [HTML, ("Content-Encoding", "gzip")]},
    "utf-16": {"headers": [("Content-Type", "text/html; charset=utf-16")]},
    "a redirect": {"status": "302 FOUND", "headers": [HTML, ("Location", "/x")]},
    "a part": {"status": "206 PARTIAL CONTENT"},
    "a download": {"headers": [HTML, ("Content-Disposition", 'attachment; filename="x.html"')]},
}


@pytest.mark.parametrize("name", UNTOUCHED)
def test_an_answer_that_is_no_page_is_the_apps_own_object(name: str) -> None:
    body = [b"<head></head>"]
    answer = UNTOUCHED[name]
    headers = [*answer.get("headers", [HTML]), ("ETag", '"1"'), ("Content-Length", "13")]  # type: ignore[misc]

    def app(_environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        start_response(answer.get("status", "200 OK"), headers)
        return body

    server = Server(app)
    assert server.call() is body
    assert server.headers is headers


@pytest.mark.parametrize(
    "request_headers",
    [
        {},
        {"HTTP_ACCEPT": "*/*"},
        {"HTTP_SEC_FETCH_DEST": "empty", "HTTP_ACCEPT": "text/html"},
        {**NAVIGATION, "HTTP_HX_REQUEST": "true"},
        {**LIKELY, "HTTP_X_REQUESTED_WITH": "XMLHttpRequest"},
    ],
)
def test_a_request_that_is_no_navigation_is_passed_with_all_its_headers(
    request_headers: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    body = [b"<head></head>"]

    def app(_environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        start_response("200 OK", [HTML])
        return body

    server = Server(app)
    asked = {**request_headers, "HTTP_ACCEPT_ENCODING": "gzip", "HTTP_IF_NONE_MATCH": '"x"'}
    assert server.call(asked) is body
    assert asked.items() <= server.seen_by_app.items()
    assert caplog.records == []


@pytest.mark.parametrize("method", ["HEAD", "PUT", "OPTIONS"])
def test_other_methods_are_passed_as_they_are(method: str) -> None:
    server = Server(page_of(b"<p>", headers=[HTML, ("Content-Length", "3")]))
    assert server.get(REQUEST_METHOD=method) == b"<p>"
    assert ("Content-Length", "3") in server.headers


def test_an_exempt_page_an_exempt_path_and_switched_off_injection_leave_the_page_alone() -> None:
    assert Server(page_of(b"<p>"), exempt=True).get() == b"<p>"
    assert Server(page_of(b"<p>"), inject=False).get() == b"<p>"
    server = Server(page_of(b"<p>"))
    assert server.get({**NAVIGATION, "HTTP_IF_NONE_MATCH": "x"}, PATH_INFO="/quiet/x") == b"<p>"
    assert server.seen_by_app["HTTP_IF_NONE_MATCH"] == "x"


def test_a_response_that_the_app_never_saw_is_left_alone() -> None:
    def other(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        environ[PAGE].tag = None  # a middleware inside of ours answered before the app was asked
        return page_of(b"<p>")(environ, start_response)  # type: ignore[no-any-return]

    assert Server(other).get() == b"<p>"


# ---- headers ----


def test_a_page_loses_its_length_and_validators_and_keeps_every_other_header_in_place() -> None:
    kept = [
        HTML,
        ("Set-Cookie", "a=1"),
        ("X-Frame-Options", "DENY"),
        ("Set-Cookie", "b=2"),
        ("Cache-Control", "max-age=60"),
        ("Set-Cookie", "session=x; HttpOnly"),
    ]
    dropped = [("Content-Length", "3"), ("ETag", 'W/"x"'), ("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT")]
    server = Server(page_of(b"<p>", headers=[*dropped, *kept]))
    assert server.get() == b"<p>" + TAG
    assert server.headers == kept


def test_compression_and_conditions_are_hidden_from_the_app_and_from_nobody_else() -> None:
    hidden = {
        "HTTP_ACCEPT_ENCODING": "gzip, br",
        "HTTP_IF_NONE_MATCH": '"x"',
        "HTTP_IF_MODIFIED_SINCE": "Mon, 01 Jan 2024 00:00:00 GMT",
        "HTTP_IF_MATCH": "*",
        "HTTP_IF_UNMODIFIED_SINCE": "Mon, 01 Jan 2024 00:00:00 GMT",
    }
    server = Server(page_of(b"<p>"))
    outside = {"REQUEST_METHOD": "GET", "PATH_INFO": "/", "HTTP_COOKIE": "a=1", **NAVIGATION, **hidden}
    server.wrapper(outside, server.start_response)
    assert not hidden.keys() & server.seen_by_app.keys()
    assert server.seen_by_app["HTTP_COOKIE"] == "a=1"
    assert hidden.items() <= outside.items()


# ---- streaming ----


def test_chunks_pass_as_they_come_and_unchanged_ones_are_the_same_objects() -> None:
    given = [b"<html><head><title>x</title>", b"", b"<link>", b"</head><body>", b"<p>more", b"</body>"]
    step = 0

    def app(_environ: dict[str, Any], start_response: Any) -> Iterator[bytes]:
        nonlocal step
        start_response("200 OK", [HTML])
        for chunk in given:
            step += 1
            yield chunk

    body = iter(Server(app).call())
    for number, chunk in enumerate(given, 1):
        sent = next(body)
        assert step == number, "a chunk was waited for that nobody had asked for"
        assert sent is chunk if number != 4 else sent == TAG + chunk


def test_only_what_may_begin_the_place_is_kept_until_the_next_chunk() -> None:
    chunks = list(Server(page_of(b"<p>hello <", b"/he", b"ad", b"> x")).call())
    assert chunks == [b"<p>hello ", b"", b"", TAG + b"</head> x"]
    chunks = list(Server(page_of(b"<p>hello </b", b">")).call())
    assert chunks == [b"<p>hello ", b"</b>", TAG]


def test_a_stream_that_breaks_off_raises_and_is_closed_once() -> None:
    closed = []

    class Body:
        def __iter__(self) -> Iterator[bytes]:
            yield b"<p>"
            raise OSError("the app broke")

        def close(self) -> None:
            closed.append(True)

    def app(_environ: dict[str, Any], start_response: Any) -> Body:
        start_response("200 OK", [HTML])
        return Body()

    body = Server(app).call()
    chunks = iter(body)
    assert next(chunks) == b"<p>"
    with pytest.raises(OSError, match="the app broke"):
        next(chunks)
    body.close()  # type: ignore[attr-defined]
    assert closed == [True]


def test_a_body_that_is_never_read_is_closed_too() -> None:
    closed = []

    class Body:
        def __iter__(self) -> Iterator[bytes]:
            raise AssertionError("nobody reads this")

        def close(self) -> None:
            closed.append(True)

    def app(_environ: dict[str, Any], start_response: Any) -> Any:
        start_response("200 OK", [HTML])
        return Body()

    Server(app).call().close()  # type: ignore[attr-defined]
    assert closed == [True]


def test_a_finished_body_stays_finished() -> None:
    body = iter(Server(page_of(b"<p>")).call())
    assert list(body) == [b"<p>", TAG]
    assert list(body) == []


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


def test_a_page_that_ends_where_nothing_may_stand_is_left_alone_and_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Server(page_of(b"<p class='"))
    assert server.get() == b"<p class='"
    list(server.call())
    (record,) = caplog.records
    assert "no taskbar" in record.getMessage()
