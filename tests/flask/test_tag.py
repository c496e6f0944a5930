"""The tag, and the route that it tells."""

from __future__ import annotations

import functools
import json
from html.parser import HTMLParser

import flask
import flask.views
import pytest

from flask_pi_taskbar.tag import mount_base, route_json, script_tag, view_name


class Attributes(HTMLParser):
    """The attributes of the one script tag in a text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[dict[str, str | None]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag == "script"
        self.tags.append(dict(attrs))


def test_the_tag_is_what_the_client_looks_for() -> None:
    assert script_tag("/dev/pi") == (
        '<script type="module" src="/dev/pi/assets/pi_browser_taskbar.js" data-pi-browser-taskbar'
        ' data-mount-base="/dev/pi"></script>'
    )


def test_route_and_nonce_survive_the_attribute_whatever_is_in_them() -> None:
    route = json.dumps({"pattern": "/<x>/'\"&amp;</script>"})
    text = script_tag("/pi", route, "a'\"><b")
    (attributes,) = Attributes(text).tags
    assert attributes["data-route"] == route
    assert attributes["nonce"] == "a'\"><b"
    assert text.isascii()
    assert text.count("<") == 2


@pytest.mark.parametrize(
    ("script_name", "base"),
    [
        ("", "/dev/pi"),
        ("/", "/dev/pi"),
        ("/app", "/app/dev/pi"),
        ("/app/", "/app/dev/pi"),
        ("/~me/a'b", "/~me/a'b/dev/pi"),
        ("/b\u00c3\u00bccher", "/b%C3%BCcher/dev/pi"),
        ('/a b"<c>', "/a%20b%22%3Cc%3E/dev/pi"),
    ],
)
def test_the_base_is_the_path_that_a_browser_asks_for(script_name: str, base: str) -> None:
    assert mount_base(script_name, "/dev/pi") == base


def view() -> None:
    """A view."""


class Cards(flask.views.MethodView):
    def get(self) -> str:
        return ""


class Callable_:
    def __call__(self) -> str:
        return ""


def test_a_view_is_named_by_its_module_and_qualified_name() -> None:
    here = __name__

    @functools.wraps(view)
    def decorated() -> None: ...

    assert view_name(view) == f"{here}:view"
    assert view_name(decorated) == f"{here}:view"
    assert view_name(Cards.as_view("cards")) == f"{here}:Cards"
    assert view_name(Cards().get) == f"{here}:Cards.get"
    assert view_name(functools.partial(view)) == f"{here}:view"
    assert view_name(Callable_()) == f"{here}:Callable_"


def test_a_route_has_the_contracts_four_fields() -> None:
    text = route_json("GET", "/cards/<int:id>", view, "cards.show")
    assert text is not None
    assert json.loads(text) == {
        "method": "GET",
        "pattern": "/cards/<int:id>",
        "handler": f"{__name__}:view",
        "action": "cards.show",
    }
    assert list(json.loads(text)) == ["method", "pattern", "handler", "action"]


@pytest.mark.parametrize(
    ("method", "pattern"),
    [("get", "/"), ("X" * 17, "/"), ("GET", ""), ("GET", " "), ("GET", "/" + "a" * 1000), ("GET", "/\udc80")],
)
def test_a_route_beyond_the_contracts_bounds_is_left_out(method: str, pattern: str) -> None:
    assert route_json(method, pattern, view, "x") is None


def test_a_view_beyond_the_bounds_or_without_a_name_is_left_out_and_so_is_an_endpoint() -> None:
    def long() -> None: ...

    long.__qualname__ = "é" * 251
    assert route_json("GET", "/", long, "x") is None
    assert route_json("GET", "/", None, "x") is None
    text = route_json("GET", "/", view, "e" * 257)
    assert text is not None
    assert json.loads(text)["action"] is None
