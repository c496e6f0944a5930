"""Pages of real Flask apps with us: what users of comparable tools saw broken, one by one."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import flask
import pytest
from flask import Response, redirect, render_template_string, send_file, send_from_directory, session
from flask_compress import Compress

from flask_pi_taskbar import PiTaskbar
from tests.flask.fake_client import FakeClient
from tests.flask.host import BROWSER, browse, host, tags

PAGE = "<!doctype html><html><head><title>Shop</title></head><body><h1>Cards</h1></body></html>"
HTMX = {"HX-Request": "true", "Accept": "*/*", "Sec-Fetch-Dest": "empty"}
FETCH = {"Accept": "*/*", "Sec-Fetch-Dest": "empty", "Sec-Fetch-Mode": "cors"}


@pytest.fixture
def app(project: Path, broker: FakeClient) -> flask.Flask:
    app = host(project)
    PiTaskbar(app)
    return app


def without_us(project: Path) -> flask.Flask:
    return host(project)


def test_a_fragment_is_left_alone_and_nothing_is_said(app: flask.Flask, caplog: pytest.LogCaptureFixture) -> None:
    app.add_url_rule("/row", "row", lambda: "<li>row</li>")
    for headers in (
        HTMX,
        FETCH,
        {"X-Requested-With": "XMLHttpRequest", "Accept": "text/html"},
        {"Accept": "text/html"},
    ):
        assert app.test_client().get("/row", headers=headers).data == b"<li>row</li>"
    assert caplog.records == []


def test_a_page_that_is_only_text_has_the_taskbar(app: flask.Flask) -> None:
    app.add_url_rule("/", "home", lambda: "home page")
    page = browse(app)
    assert page.text.startswith("home page<script")
    assert tags(page) == 1


def test_an_async_view_works_and_has_the_taskbar(app: flask.Flask) -> None:
    @app.get("/")
    async def home() -> str:
        return PAGE

    page = browse(app)
    assert (page.status_code, tags(page)) == (200, 1)


def test_files_are_sent_as_they_are(app: flask.Flask, project: Path) -> None:
    (project / "page.html").write_text(PAGE)
    app.add_url_rule("/file", "file", lambda: send_file(project / "page.html"))
    app.add_url_rule("/folder", "folder", lambda: send_from_directory(project, "page.html"))
    for path in ("/file", "/folder"):
        page = browse(app, path, buffered=True)
        assert (page.status_code, page.text) == (200, PAGE)
        assert page.headers["Content-Length"] == str(len(PAGE))
        assert "ETag" in page.headers


def test_a_compressed_page_of_the_apps_own_is_left_alone(app: flask.Flask) -> None:
    packed = gzip.compress(PAGE.encode())
    app.add_url_rule("/", "home", lambda: Response(packed, headers={"Content-Encoding": "gzip"}))
    assert browse(app).data == packed


@pytest.mark.parametrize("order", ["before us", "after us"])
def test_flask_compress_leaves_pages_to_us_and_compresses_the_rest(
    project: Path, broker: FakeClient, order: str
) -> None:
    app = host(project)
    app.config["COMPRESS_MIN_SIZE"] = 1
    if order == "before us":
        Compress(app)
    PiTaskbar(app)
    if order == "after us":
        Compress(app)
    app.add_url_rule("/", "home", lambda: PAGE)
    page = browse(app)
    assert "Content-Encoding" not in page.headers
    assert tags(page) == 1
    fetched = app.test_client().get("/", headers={**FETCH, "Accept-Encoding": "gzip"})
    assert gzip.decompress(fetched.data).decode() == PAGE


def test_a_page_in_latin_1_keeps_its_bytes(app: flask.Flask) -> None:
    body = "<head></head><p>café".encode("latin-1")
    app.add_url_rule("/", "home", lambda: Response(body, content_type="text/html; charset=iso-8859-1"))
    page = browse(app)
    assert tags(page) == 1
    assert page.data.endswith(b"caf\xe9")


def test_a_validator_never_brings_back_a_page_with_or_without_the_tag(project: Path, broker: FakeClient) -> None:
    def make(**settings: Any) -> flask.Flask:
        app = host(project)
        PiTaskbar(app, **settings)

        @app.get("/")
        def home() -> Response:
            response = flask.make_response(PAGE)
            response.add_etag()
            return response.make_conditional(flask.request)

        return app

    with_bar, without = make(), make(enabled=False)
    plain = browse(without)
    assert plain.headers["ETag"]
    assert browse(without, headers={"If-None-Match": plain.headers["ETag"]}).status_code == 304
    for _ in range(2):
        page = browse(with_bar, headers={"If-None-Match": plain.headers["ETag"]})
        assert (page.status_code, tags(page)) == (200, 1)
        assert "ETag" not in page.headers
    fetched = with_bar.test_client().get("/", headers={**FETCH, "If-None-Match": plain.headers["ETag"]})
    assert fetched.status_code == 304, "what is no navigation keeps its validators"


def test_markup_in_scripts_and_comments_is_not_markup(app: flask.Flask) -> None:
    page = "<body><script>var t='</body>'</script></body><!-- </body> -->"
    app.add_url_rule("/", "home", lambda: page)
    sent = browse(app).text
    assert "var t='</body>'</script><script" not in sent, "the start of the body comes first"
    assert sent.replace(sent[: sent.index("<body>")], "", 1) == page


@pytest.mark.parametrize("policy", ["script-src 'nonce-abc'", "script-src 'self'", "default-src 'self'"])
def test_the_policy_keeps_its_bytes_and_the_tag_takes_its_nonce(app: flask.Flask, policy: str) -> None:
    app.add_url_rule("/", "home", lambda: Response(PAGE, headers={"Content-Security-Policy": policy}))
    page = browse(app)
    assert page.headers.getlist("Content-Security-Policy") == [policy]
    assert tags(page) == 1
    assert (' nonce="abc"' in page.text) is ("nonce" in policy)
    assert "style" not in page.text[page.text.index("<script") :]


def test_every_cookie_arrives(app: flask.Flask) -> None:
    app.secret_key = "host"

    @app.get("/")
    def home() -> Response:
        session["user"] = 1
        response = flask.make_response(PAGE)
        response.set_cookie("a", "1")
        response.set_cookie("b", "2")
        return response

    page = browse(app)
    assert tags(page) == 1
    names = [cookie.split("=")[0] for cookie in page.headers.getlist("Set-Cookie")]
    assert names == ["a", "b", "session"]


@pytest.mark.parametrize("headers", [BROWSER, HTMX, FETCH])
def test_a_redirect_stays_a_redirect(app: flask.Flask, project: Path, headers: dict[str, str]) -> None:
    answers = []
    for each in (app, without_us(project)):
        each.add_url_rule("/old", "old", lambda: redirect("/new"))
        response = each.test_client().get("/old", headers=headers)
        answers.append((response.status_code, dict(response.headers), response.data))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("status", [400, 404, 500])
def test_error_pages_of_the_app_have_the_taskbar_too(app: flask.Flask, status: int) -> None:
    app.add_url_rule("/", "home", lambda: (PAGE, status))
    page = browse(app)
    assert (page.status_code, tags(page)) == (status, 1)


def test_other_kinds_of_answers_are_what_they_are_without_us(app: flask.Flask, project: Path) -> None:
    views: dict[str, Any] = {
        "json": lambda: {"a": "</body>"},
        "text": lambda: Response(PAGE, content_type="text/plain"),
        "xml": lambda: Response(PAGE, content_type="application/xhtml+xml"),
        "empty": lambda: ("", 204),
        "download": lambda: Response(PAGE, headers={"Content-Disposition": "attachment"}),
        "utf16": lambda: Response(PAGE.encode("utf-16"), content_type="text/html; charset=utf-16"),
    }
    plain = without_us(project)
    for each in (app, plain):
        for name, view in views.items():
            each.add_url_rule(f"/{name}", name, view)
    for name in views:
        mine, theirs = browse(app, f"/{name}"), browse(plain, f"/{name}")
        assert (mine.status, mine.data) == (theirs.status, theirs.data)
        assert list(mine.headers) == list(theirs.headers)
    head = app.test_client().head("/json", headers=BROWSER)
    assert head.headers["Content-Length"] == plain.test_client().head("/json").headers["Content-Length"]


def test_a_stream_with_the_request_in_it_passes_and_is_closed(app: flask.Flask) -> None:
    closed = []

    @app.get("/")
    def home() -> Response:
        @flask.stream_with_context
        def body() -> Iterator[str]:
            try:
                yield f"<head><title>{flask.request.path}</title></head>"
                yield "<body>"
            finally:
                closed.append(True)

        return Response(body())

    page = browse(app)
    assert tags(page) == 1
    assert page.text.startswith("<head><title>/</title><script")
    page.close()
    assert closed == [True]


def test_an_exception_in_a_view_reaches_the_debugger_as_it_did(app: flask.Flask) -> None:
    @app.get("/")
    def home() -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        browse(app)


def test_a_login_page_may_be_excluded(project: Path, broker: FakeClient) -> None:
    app = host(project)
    PiTaskbar(app, exclude=["/login"])
    app.add_url_rule("/login", "login", lambda: render_template_string(PAGE + "{{ pi_taskbar() }}"))
    assert browse(app, "/login").text == PAGE


def test_a_cached_page_that_holds_the_tag_is_not_given_another(app: flask.Flask) -> None:
    cache: list[str] = []

    @app.get("/")
    def home() -> str:
        if not cache:
            cache.append(render_template_string("<head></head><body>{{ pi_taskbar() }}</body>"))
        return cache[0]

    assert [tags(browse(app)) for _ in range(3)] == [1, 1, 1]
