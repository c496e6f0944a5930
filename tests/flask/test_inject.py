"""The wrapper that writes the tag into pages: what it changes, and that it changes nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flask_pi_taskbar.inject import PAGE
from flask_pi_taskbar.tag import script_tag
from tests.flask.test_markup import PIECES
from tests.flask.wsgi import HTML, NAVIGATION, TAG, Server, page_of

LIKELY = {"HTTP_ACCEPT": "text/html"}


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


@pytest.mark.parametrize("cut", range(1, 40))
def test_after_a_base_the_tag_names_the_app_s_own_origin(cut: int) -> None:
    page = b"<head><BASE href=http://evil/></head>x"
    sent = Server(page_of(page[:cut], page[cut:])).get()
    assert sent.replace(b'src="http://own/', b'src="/') == page.replace(b"</head>", TAG + b"</head>")
    assert b'src="http://own/pi/assets/' in sent


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
        yield environ[PAGE].take_tag(None, after_base=False).encode()
        yield environ[PAGE].take_tag(None, after_base=False).encode()
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


def test_a_page_that_ends_where_nothing_may_stand_is_left_alone_and_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Server(page_of(b"<p class='"))
    assert server.get() == b"<p class='"
    list(server.call())
    (record,) = caplog.records
    assert "no taskbar" in record.getMessage()
