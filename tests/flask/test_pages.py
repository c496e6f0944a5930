"""Which requests ask for a page, and which answers are one."""

from __future__ import annotations

from typing import Any

import pytest

from flask_pi_taskbar.pages import PARTIAL_HEADERS, Navigation, is_ascii_html, is_page, navigation, prefers_html

CHROME = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
NO, LIKELY, SURE = Navigation.NO, Navigation.LIKELY, Navigation.SURE


def request(method: str = "GET", **headers: str) -> dict[str, Any]:
    return {"REQUEST_METHOD": method, **{f"HTTP_{name.upper()}": value for name, value in headers.items()}}


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        (request(sec_fetch_dest="document", accept=CHROME), SURE),
        (request(sec_fetch_dest="document"), SURE),
        (request("POST", sec_fetch_dest="document"), SURE),
        (request(sec_fetch_dest="iframe", accept=CHROME), NO),
        (request(sec_fetch_dest="empty", accept=CHROME), NO),
        (request(sec_fetch_dest="script"), NO),
        (request(sec_fetch_dest=""), NO),
        (request(accept=CHROME), LIKELY),
        (request("POST", accept=CHROME), LIKELY),
        (request(accept=CHROME, upgrade_insecure_requests="1"), SURE),
        (request(accept="text/html"), LIKELY),
        (request(accept="*/*"), NO),
        (request(accept="*/*", upgrade_insecure_requests="1"), NO),
        (request(), NO),
        (request(accept="application/json"), NO),
        (request("HEAD", sec_fetch_dest="document"), NO),
        (request("PUT", accept=CHROME), NO),
        (request("OPTIONS", accept=CHROME), NO),
        (request(sec_fetch_dest="document", range="bytes=0-"), NO),
    ],
)
def test_a_navigation_is_told_by_the_browsers_own_headers(environ: dict[str, Any], expected: Navigation) -> None:
    assert navigation(environ) is expected


@pytest.mark.parametrize("header", PARTIAL_HEADERS)
def test_a_request_for_a_part_is_no_navigation_whatever_else_it_says(header: str) -> None:
    assert navigation({**request(sec_fetch_dest="document", accept=CHROME), header: "x"}) is NO


@pytest.mark.parametrize(
    ("accept", "html"),
    [
        (CHROME, True),
        ("text/html", True),
        ("TEXT/HTML; charset=utf-8", True),
        ("application/json, text/html", True),
        ("application/json, text/html;q=0.9", False),
        ("text/html;q=0.9, */*;q=0.8", True),
        ("text/html;q=0", False),
        ("text/html;q=nonsense", False),
        ("text/*", False),
        ("*/*", False),
        ("", False),
        (",,;", False),
    ],
)
def test_html_must_be_named_and_liked_best(accept: str, html: bool) -> None:
    assert prefers_html(accept) is html


HTML = ("Content-Type", "text/html; charset=utf-8")


@pytest.mark.parametrize(
    ("status", "headers", "page"),
    [
        ("200 OK", [HTML], True),
        ("200", [("content-type", "text/html")], True),
        ("201 CREATED", [HTML], True),
        ("404 NOT FOUND", [HTML], True),
        ("422 X", [HTML], True),
        ("500 X", [HTML], True),
        ("204 NO CONTENT", [HTML], False),
        ("205 RESET CONTENT", [HTML], False),
        ("206 PARTIAL CONTENT", [HTML], False),
        ("302 FOUND", [HTML, ("Location", "/")], False),
        ("304 NOT MODIFIED", [HTML], False),
        ("103 EARLY HINTS", [HTML], False),
        ("200 OK", [], False),
        ("200 OK", [("Content-Type", "application/json")], False),
        ("200 OK", [("Content-Type", "application/xhtml+xml")], False),
        ("200 OK", [("Content-Type", "text/plain"), HTML], False),
        ("200 OK", [HTML, ("Content-Encoding", "gzip")], False),
        ("200 OK", [HTML, ("Content-Encoding", "identity")], True),
        ("200 OK", [HTML, ("content-range", "bytes 0-1/2")], False),
        ("200 OK", [HTML, ("Content-MD5", "x")], False),
        ("200 OK", [HTML, ("Repr-Digest", "x")], False),
        ("200 OK", [HTML, ("Content-Disposition", "attachment; filename=x.html")], False),
        ("200 OK", [HTML, ("Content-Disposition", "inline; filename=x.html")], True),
    ],
)
def test_a_page_is_told_by_its_final_head(status: str, headers: list[tuple[str, str]], page: bool) -> None:
    assert is_page(status, headers) is page


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("text/html", True),
        ("Text/HTML;Charset=UTF-8", True),
        ('text/html; charset="utf-8"', True),
        ("text/html; charset=iso-8859-1", True),
        ("text/html; charset=windows-1252; x=y", True),
        ("text/html; charset=shift_jis", True),
        ("text/html; charset=gb18030", True),
        ("text/html; charset=utf-16", False),
        ("text/html; charset=UTF-16LE", False),
        ("text/html; charset=utf-32", False),
        ("text/html; charset=utf-7", False),
        ("text/html; charset=iso-2022-jp", False),
        ("text/html; charset=hz-gb-2312", False),
        ("text/html; charset=cp037", False),
        ("text/html; charset=klingon", False),
        ("text/html; charset=a\0b", False),
        ("text/html2", False),
        ("text", False),
    ],
)
def test_the_tag_must_be_ascii_in_the_charset_of_the_page(content_type: str, expected: bool) -> None:
    assert is_ascii_html(content_type) is expected
