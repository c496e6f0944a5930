"""Where the board's page is in an app, and who gets to it there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from flask import Blueprint, Flask

from flask_pi_taskbar import PiTaskbar, extension
from flask_pi_taskbar.extension import owns
from flask_pi_taskbar.page import mounted

MOUNT = "/dev/pi-browser-taskbar"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "agent"))
    monkeypatch.setattr(
        "flask_pi_taskbar.page.mounted.MountedBoard.keys",
        lambda self: type("Keys", (), {"held": False, "epoch": "e"})(),
    )


def app_with(make: Callable[[Flask], object], root: Path, **settings: object) -> Flask:
    app = Flask(__name__, root_path=str(root))
    app.debug = True
    make(app)
    PiTaskbar(app, **settings)
    return app


def rule(path: str) -> Callable[[Flask], object]:
    return lambda app: app.add_url_rule(path, "own", lambda **_: "the app's own")


def blueprint(app: Flask) -> None:
    made = Blueprint("board", __name__)
    made.add_url_rule("/", "index", lambda: "the app's own")
    app.register_blueprint(made, url_prefix="/board")


OWNED = [rule("/board"), rule("/board/"), rule("/board/<int:number>"), rule("/board/new"), blueprint]
OTHERS = [
    rule("/<path:anything>"),
    rule("/<name>"),
    rule("/boards"),
    rule("/boarding/x"),
    rule("/<section>/new"),
    rule("/board<number>"),
    lambda app: app.add_url_rule("/x", "own", lambda: "", defaults={}),
]


@pytest.mark.parametrize("make", OWNED)
def test_a_route_of_the_apps_own_is_never_shadowed(
    make: Callable, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    web = app_with(make, tmp_path).test_client()
    for path in ("/board", "/board/", "/board/new", "/board/7"):
        assert "data-base" not in web.get(path).text
    moved = web.get(f"{MOUNT}/board")
    assert f'data-base="{MOUNT}/board"' in moved.text
    assert web.get(f"{MOUNT}/board/app.js").status_code == 200
    assert [record.args for record in caplog.records if "a route of its own" in record.msg] == [
        ("/board", f"{MOUNT}/board")
    ]


@pytest.mark.parametrize("make", OTHERS)
def test_a_route_that_takes_any_path_is_no_conflict(make: Callable, tmp_path: Path) -> None:
    web = app_with(make, tmp_path).test_client()
    assert 'data-base="/board"' in web.get("/board").text
    assert web.get("/board/app.js").status_code == 200
    assert "data-base" not in web.get("/boards").text


def test_another_place_can_be_named(tmp_path: Path) -> None:
    web = app_with(lambda app: None, tmp_path, board_path="/dev/cards").test_client()
    assert 'data-base="/dev/cards"' in web.get("/dev/cards/").text
    assert web.get("/board").status_code == 404


def test_below_a_prefix_the_pages_addresses_have_it_too(tmp_path: Path) -> None:
    web = app_with(lambda app: None, tmp_path).test_client()
    shell = web.get("/board/", environ_overrides={"SCRIPT_NAME": "/shop"}).text
    assert 'data-base="/shop/board"' in shell
    assert f'data-taskbar="/shop{MOUNT}"' in shell
    assert 'src="/shop/board/app.js"' in shell


def test_whoever_makes_prefixes_up_makes_nothing_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    real = mounted.create_page
    monkeypatch.setattr(mounted, "create_page", lambda board: made.append(board) or real(board))
    web = app_with(lambda app: None, tmp_path).test_client()
    for number in range(20):
        prefix = {"SCRIPT_NAME": f"/p{number}", "REMOTE_ADDR": "203.0.113.9" if number % 2 else "127.0.0.1"}
        said = web.get("/board/", environ_overrides=prefix)
        assert said.status_code == (403 if number % 2 else 200)
        assert number % 2 or f'data-base="/p{number}/board"' in said.text
    assert len(made) == 1


def test_no_request_sees_the_taskbar_without_the_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = app_with(lambda app: None, tmp_path)
    taskbar = app.extensions["pi-taskbar"]
    seen: list[object] = []
    real = extension.Mount
    monkeypatch.setattr(extension, "Mount", lambda *words: seen.append(taskbar._active) or real(*words))
    assert taskbar.is_active()
    assert seen == [None], "whoever asks while the page's place is made has to make it as well"


@pytest.mark.parametrize(
    "changes",
    [
        {"REMOTE_ADDR": "192.168.0.9"},
        {"HTTP_HOST": "devbox.example"},
        {"HTTP_X_FORWARDED_FOR": "10.0.0.1"},
        {"REMOTE_ADDR": ""},
    ],
    ids=str,
)
def test_only_this_machine_gets_to_it_whatever_hosts_are_allowed(changes: dict[str, str], tmp_path: Path) -> None:
    web = app_with(lambda app: None, tmp_path, allowed_hosts=["devbox.example", "localhost"]).test_client()
    for path in ("/board", "/board/app.js", "/board/api/board", "/board/events"):
        said = web.get(path, environ_overrides=changes)
        assert (said.status_code, said.json["code"]) == (403, "wrong_host")


def test_the_leads_link_needs_the_taskbars_token(tmp_path: Path) -> None:
    web = app_with(lambda app: None, tmp_path).test_client()
    assert web.post(f"{MOUNT}/lead", json={}).json["error"]["code"] == "invalid_csrf"
    assert web.get(f"{MOUNT}/lead").status_code == 405


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        *[(path, True) for path in ("/board", "/board/", "/board/<x>", "/board/a/b")],
        *[(path, False) for path in ("/<x>", "/board<x>", "/boards", "/", "/<path:p>", "/b")],
    ],
)
def test_a_rule_owns_a_path_by_its_own_words(path: str, expected: bool) -> None:
    assert owns(path, "/board") is expected
