"""Every route, with every credential, past every guard, over a real socket."""

from __future__ import annotations

import json
import os
import re
import socket
from datetime import UTC, datetime
from pathlib import Path

import pytest

from flask_pi_taskbar.board.store import Store
from tests.board_page.conftest import ANN, Web
from tests.support.waiting import until

READS = ["/api/board", "/api/cards/1"]
WRITES = [
    ("POST", "/api/cards", {"title": "Two"}),
    ("POST", "/api/cards/1/claim", {}),
    ("POST", "/api/cards/1/release", {}),
    ("POST", "/api/cards/1/reclaim", {}),
    ("POST", "/api/cards/1/assign", {"label": "ann"}),
    ("POST", "/api/cards/1/move", {"status": "blocked"}),
    ("POST", "/api/cards/1/note", {"text": "x"}),
    ("POST", "/api/cards/1/plan", {"path": "p.md"}),
    ("POST", "/api/cards/1/edit", {"title": "Other"}),
    ("POST", "/api/cards/1/reopen", {}),
    ("POST", "/api/undo", {}),
    ("POST", "/api/prune", {"days": 0}),
    ("POST", "/api/damaged/set-aside", {"name": "7.json"}),
    ("POST", "/api/lead/revoke", {}),
    ("DELETE", "/api/cards/1", {}),
]
FURNITURE = ["/", "/favicon.ico", "/theme.js", "/app.js", "/board.css", "/lanes.js"]


def files(store: Store) -> dict[str, bytes]:
    folder = Path(store.layout.root)
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "lock"}


@pytest.mark.parametrize("path", FURNITURE)
def test_the_pages_own_furniture_needs_no_key_and_tells_none(web: Web, path: str) -> None:
    said = web.ask("GET", path)
    assert said.status == (204 if path == "/favicon.ico" else 200)
    assert web.lead.encode() not in said.body
    assert web.viewer.encode() not in said.body
    assert said.body == web.ask("GET", path, key=web.lead).body


def test_every_file_of_the_client_is_served_with_its_type(web: Web) -> None:
    folder = Path(__file__).parents[2] / "static" / "board"
    for file in sorted(folder.iterdir()):
        said = web.ask("GET", f"/{file.name}")
        assert (said.status, said.body) == (200, file.read_bytes())
        assert said.headers["Content-Type"].split(";")[0] == {".js": "text/javascript", ".css": "text/css"}[file.suffix]
        assert web.ask("GET", f"/{file.name}", If_None_Match=said.headers["ETag"]).status == 304


@pytest.mark.parametrize("path", ["/../app.py", "/%2e%2e/app.py", "/page.html", "/nothing.js", "/api", "/api/", "/x/y"])
def test_nothing_else_is_served(web: Web, path: str) -> None:
    said = web.ask("GET", path, key=web.lead)
    assert said.status == 404
    assert said.data["ok"] is False


@pytest.mark.parametrize("path", [*READS, "/events", "/api/links"])
def test_a_read_needs_a_key(web: Web, path: str) -> None:
    for key in (None, "", "x", web.lead + "0", web.lead[:-1], "é"):
        said = web.ask("GET", path, key=None if key == "é" else key)
        assert (said.status, said.data["code"]) == (401, "no_token")


@pytest.mark.parametrize("path", READS)
def test_both_keys_read_also_in_the_query_for_tools(web: Web, path: str) -> None:
    for key in (web.lead, web.viewer):
        assert web.ask("GET", path, key=key).status == 200
        assert web.ask("GET", f"{path}?k={key}").status == 200


@pytest.mark.parametrize(("method", "path", "body"), WRITES, ids=[" ".join(row[:2]) for row in WRITES])
def test_a_write_needs_the_leads_key_in_a_header(web: Web, store: Store, method: str, path: str, body: dict) -> None:
    before = files(store)
    for key, status, code in ((None, 401, "no_token"), ("wrong", 401, "no_token"), (web.viewer, 403, "read_only")):
        said = web.ask(method, path, body, key=key)
        assert (said.status, said.data["code"]) == (status, code)
    assert web.ask(method, f"{path}?k={web.lead}", body).status == 401
    assert files(store) == before
    said = web.ask(method, path, body, key=web.lead)
    assert said.data["ok"] or said.status in (404, 409, 422), "the lead is heard, and at most refused by the rules"


GUARDS = [
    ({"Host": "evil.example"}, "wrong_host"),
    ({"Host": "evil.example:80"}, "wrong_host"),
    ({"Host": "127.0.0.1"}, "wrong_host"),
    ({"Host": "127.0.0.1:1"}, "wrong_host"),
    ({"Host": ""}, "wrong_host"),
    ({"X_Forwarded_For": "10.0.0.1"}, "wrong_host"),
    ({"Forwarded": "for=10.0.0.1"}, "wrong_host"),
]


@pytest.mark.parametrize(("headers", "code"), GUARDS, ids=[str(row[0]) for row in GUARDS])
def test_another_host_is_refused_on_every_route(web: Web, headers: dict[str, str], code: str) -> None:
    for method, path in [
        *(("GET", path) for path in (*FURNITURE, *READS, "/api/ping", "/events")),
        ("POST", "/api/cards"),
    ]:
        body = None if method == "GET" else {"title": "x"}
        said = web.ask(method, path, body, key=web.lead, **headers)
        assert (said.status, said.data["code"]) == (403, code), path


def test_its_own_names_are_answered(web: Web) -> None:
    for name in ("127.0.0.1", "localhost", "LOCALHOST", "[::1]"):
        assert web.ask("GET", "/api/board", key=web.lead, Host=f"{name}:{web.port}").status == 200


CROSS = [
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:1"},
    {"Sec_Fetch_Site": "cross-site"},
    {"Sec_Fetch_Site": "same-site"},
    {"Sec_Fetch_Site": "none"},
    {"Content_Type": "text/plain"},
    {"Content_Type": "application/x-www-form-urlencoded"},
    {"Content_Type": None},
]


@pytest.mark.parametrize("headers", CROSS, ids=str)
def test_a_write_from_another_sites_page_is_refused(web: Web, store: Store, headers: dict[str, str]) -> None:
    before = files(store)
    said = web.ask("POST", "/api/cards", {"title": "x"}, key=web.lead, **headers)
    assert (said.status, said.data["code"]) == (403, "cross_site")
    assert files(store) == before


def test_a_write_from_the_page_itself_is_taken(web: Web) -> None:
    own = {"Origin": f"http://127.0.0.1:{web.port}", "Sec_Fetch_Site": "same-origin"}
    said = web.ask("POST", "/api/cards", {"title": "x"}, key=web.lead, **own)
    assert (said.status, said.data["card"]["title"]) == (201, "x")


def test_a_link_to_the_page_may_stand_on_any_site_and_gives_nothing_away(web: Web) -> None:
    said = web.ask("GET", "/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")
    assert said.status == 200
    assert web.ask("GET", "/api/board", key=web.lead, Sec_Fetch_Site="cross-site").status == 403


def test_every_answer_carries_the_strict_headers(web: Web) -> None:
    for said in (
        web.ask("GET", "/"),
        web.ask("GET", "/app.js"),
        web.ask("GET", "/api/board", key=web.lead),
        web.ask("GET", "/api/board"),
        web.ask("GET", "/nothing"),
        web.ask("POST", "/api/cards", b"{", key=web.lead),
        web.ask("PUT", "/api/cards", {}, key=web.lead),
        web.ask("GET", "/", Host="evil.example"),
    ):
        policy = said.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "require-trusted-types-for 'script'" in policy
        assert "unsafe" not in policy
        assert said.headers["X-Content-Type-Options"] == "nosniff"
        assert said.headers["Referrer-Policy"] == "no-referrer"
        assert said.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert said.headers["Cache-Control"] in ("no-store", "no-cache")
        assert "Access-Control-Allow-Origin" not in said.headers
        assert "Set-Cookie" not in said.headers


def test_the_document_is_inert(web: Web) -> None:
    said = web.ask("GET", "/").body.decode()
    assert not re.search(r"<script(?![^>]*src=)", said), "no script in the page"
    assert not re.search(r"\son\w+=|style=", said)
    assert "One" not in said, "no card in the page"


def test_a_write_is_the_seats_and_says_that_it_came_by_the_page(web: Web, store: Store) -> None:
    said = web.ask("POST", "/api/cards/1/claim", {}, key=web.lead)
    assert (said.status, said.data["card"]["owner"]) == (200, {"id": store.seat.id, "label": "team-lead"})
    assert said.data["card"]["notes"][-1]["via"] == "page"


def test_a_refusal_has_its_status_its_words_and_the_card_as_it_is(web: Web, store: Store) -> None:
    store.apply("claim", {"card": 1}, ANN, now=datetime.now(UTC))
    said = web.ask("POST", "/api/cards/1/claim", {}, key=web.lead)
    assert (said.status, said.data["code"], said.data["card"]["owner"]["label"]) == (409, "held", "ann")
    assert said.data["next"]
    assert web.ask("POST", "/api/cards/9/claim", {}, key=web.lead).status == 404
    assert web.ask("POST", "/api/cards/1/move", {"status": "nowhere"}, key=web.lead).status == 422
    assert web.ask("POST", "/api/cards/1/shout", {}, key=web.lead).data["code"] == "unknown_action"
    stale = web.ask("POST", "/api/cards/1/note", {"text": "x", "ifRev": 1}, key=web.lead)
    assert (stale.status, stale.data["code"], stale.data["card"]["rev"]) == (409, "stale", 2)


def test_an_edit_is_refused_only_if_what_it_changes_has_changed(web: Web, store: Store) -> None:
    store.apply("note", {"card": 1, "text": "by an agent"}, ANN, now=datetime.now(UTC))
    base = {"title": "One"}
    assert web.ask("POST", "/api/cards/1/edit", {"title": "Mine", "base": base}, key=web.lead).status == 200
    said = web.ask("POST", "/api/cards/1/edit", {"title": "Again", "base": base}, key=web.lead)
    assert (said.status, said.data["code"], said.data["card"]["title"]) == (409, "stale", "Mine")


BODIES = [
    (b"", 422, "bad_field"),
    (b"[]", 422, "bad_field"),
    (b"{", 422, "bad_field"),
    (b"null", 422, "bad_field"),
    (b"\xff", 422, "bad_field"),
    (b"[" * 60_000, 422, "bad_field"),
    (b'{"title": "\\ud800"}', 422, "bad_field"),
    (b'{"title": "x", "colour": "red"}', 422, "bad_field"),
    (b'{"title": 5}', 422, "bad_field"),
    (json.dumps({"title": "x" * 121}).encode(), 422, "too_long"),
    (json.dumps({"title": "x", "note": "y" * 70_000}).encode(), 422, "too_long"),
]


@pytest.mark.parametrize(("body", "status", "code"), BODIES, ids=[str(row[0][:30]) for row in BODIES])
def test_a_bad_body_is_refused_and_changes_nothing(web: Web, store: Store, body: bytes, status: int, code: str) -> None:
    before = files(store)
    said = web.ask("POST", "/api/cards", body, key=web.lead)
    assert (said.status, said.data["code"]) == (status, code)
    assert files(store) == before


def test_a_body_that_is_longer_than_it_says_is_not_read_on(web: Web) -> None:
    said = web.ask("POST", "/api/cards", b"{}", key=web.lead, Content_Length=str(10**9))
    assert said.data["code"] == "too_long"


def test_the_snapshot_is_sent_again_only_if_it_changed(web: Web, store: Store) -> None:
    said = web.ask("GET", "/api/board", key=web.viewer)
    tag = said.headers["ETag"]
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        assert web.ask("GET", "/api/board", key=web.viewer, If_None_Match=known).status == 304
    store.apply("note", {"card": 1, "text": "x"}, ANN, now=datetime.now(UTC))
    again = web.ask("GET", "/api/board", key=web.viewer, If_None_Match=tag)
    assert (again.status, again.data["rows"]["1"]["notes"]) == (200, 1)
    assert again.data["can"] == {"write": False}
    assert web.ask("GET", "/api/board", key=web.lead).data["can"] == {"write": True}


def test_a_whole_card_comes_with_what_it_waits_for_and_what_waits_for_it(web: Web, store: Store) -> None:
    store.apply("add", {"title": "Two", "dependsOn": [1]}, ANN, now=datetime.now(UTC))
    one, two = (web.ask("GET", f"/api/cards/{number}", key=web.viewer).data for number in (1, "%232"))
    assert (one["dependents"], two["waits"]) == ([2], [{"id": 1, "status": "todo"}])
    assert web.ask("GET", "/api/cards/3", key=web.viewer).status == 404
    assert web.ask("GET", "/api/cards/x", key=web.viewer).status == 422


def test_prune_shows_first_and_undo_brings_back(web: Web, store: Store) -> None:
    for action, fields in (("claim", {}), ("move", {"status": "done"})):
        store.apply(action, {"card": 1, **fields}, ANN, now=datetime.now(UTC))
    preview = web.ask("POST", "/api/prune", {"days": 0, "dryRun": True}, key=web.lead).data
    assert [card["id"] for card in preview["cards"]] == [1]
    assert web.ask("GET", "/api/cards/1", key=web.lead).status == 200
    assert web.ask("POST", "/api/prune", {"days": 0}, key=web.lead).data["cards"] == preview["cards"]
    assert web.ask("GET", "/api/cards/1", key=web.lead).status == 404
    assert web.ask("POST", "/api/undo", {"card": 1}, key=web.lead).status == 200
    assert web.ask("POST", "/api/prune", {"days": -1}, key=web.lead).status == 422
    assert web.ask("POST", "/api/prune", {"days": 1, "hours": 2}, key=web.lead).status == 422


def test_a_damaged_file_is_shown_and_can_be_set_aside(web: Web, store: Store) -> None:
    Path(store.layout.card(7)).write_text("{ half <img onerror=alert(1)>")
    until(lambda: web.ask("GET", "/api/board", key=web.viewer).data["damaged"], "the damage is shown")
    assert web.ask("POST", "/api/cards/7/note", {"text": "x"}, key=web.lead).data["code"] == "damaged"
    assert web.ask("POST", "/api/damaged/set-aside", {"name": "../lock"}, key=web.lead).status == 404
    assert web.ask("POST", "/api/damaged/set-aside", {"name": "7.json"}, key=web.lead).status == 200
    assert web.ask("GET", "/api/board", key=web.viewer).data["damaged"] == []
    assert len(list(Path(store.layout.damaged).iterdir())) == 1


@pytest.mark.parametrize("how", ["name", "date"])
def test_a_file_of_any_name_and_any_date_leaves_the_page_standing(web: Web, store: Store, how: str) -> None:
    cards = Path(store.layout.cards)
    if how == "name":
        (cards / os.fsdecode(b"41.\xff.json")).write_text("x")
    else:
        owned = {"id": "as:z", "label": "z"}
        whole = json.loads((cards / "1.json").read_text())
        end = {"id": 40, "owner": owned, "touchedAt": "9999-12-31T23:59:59.999Z"}
        (cards / "40.json").write_text(json.dumps(whole | end))
    said = until(lambda: web.ask("GET", "/api/board", key=web.lead), "an answer")
    assert said.status == 200
    note = web.ask("POST", "/api/cards/1/note", {"text": "still here"}, key=web.lead)
    assert note.status == 200
    if how == "name":
        (name,) = [entry["name"] for entry in web.ask("GET", "/api/board", key=web.lead).data["damaged"]]
        assert web.ask("POST", "/api/damaged/set-aside", {"name": name}, key=web.lead).status == 200
        assert web.ask("GET", "/api/board", key=web.lead).data["damaged"] == []


def test_whatever_goes_wrong_while_looking_the_last_board_stays_and_says_so(
    web: Web, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    assert web.ask("GET", "/api/board", key=web.lead).status == 200
    with monkeypatch.context() as patched:
        patched.setattr("flask_pi_taskbar.board.live.hub.build", fail)
        note = web.ask("POST", "/api/cards/1/note", {"text": "written"}, key=web.lead)
        assert note.status == 200, "what was written is not called a failure"
        said = web.ask("GET", "/api/board", key=web.lead).data
        assert "ZeroDivisionError" in said["store"]["notice"]
    said = until(lambda: web.ask("GET", "/api/board", key=web.lead).data, "the board")
    assert (said["store"]["notice"], said["rows"]["1"]["notes"]) == (None, 1)


def test_only_the_lead_hands_out_the_viewers_link(web: Web) -> None:
    assert web.ask("GET", "/api/links", key=web.lead).data["viewer"].endswith(f"#k={web.viewer}")
    assert web.ask("GET", "/api/links", key=web.viewer).status == 403


def test_a_revoked_key_is_worthless_and_viewers_stay(web: Web) -> None:
    fresh = web.ask("POST", "/api/lead/revoke", {}, key=web.lead).data["key"]
    assert fresh not in (web.lead, web.viewer)
    assert web.ask("GET", "/api/board", key=web.lead).status == 401
    assert web.ask("POST", "/api/cards", {"title": "x"}, key=web.lead).status == 401
    assert web.ask("POST", "/api/cards", {"title": "x"}, key=fresh).status == 201
    assert web.ask("GET", "/api/board", key=web.viewer).status == 200


def test_a_revoked_key_ends_the_streams_that_were_opened_with_it(web: Web) -> None:
    with web.stream() as lead, web.stream(key=web.viewer) as viewer:
        assert lead.next() is not None
        assert viewer.next() is not None
        fresh = web.ask("POST", "/api/lead/revoke", {}, key=web.lead).data["key"]
        web.ask("POST", "/api/cards", {"title": "After the revoke"}, key=fresh)
        assert lead.next() is None, "it ended, and told nothing more"
        told = viewer.next()
        assert told is not None
        assert "2" in told["data"]["rows"]


def test_the_ping_knows_its_epoch_alone(web: Web) -> None:
    epoch = web.page.epoch
    assert web.ask("GET", f"/api/ping?epoch={epoch}").data == {"ok": True, "epoch": epoch, "watching": 0}
    assert web.ask("GET", "/api/ping?epoch=other").status == 401
    assert web.ask("GET", "/api/ping").status == 401


def test_an_own_write_reaches_every_stream_at_once(web: Web) -> None:
    with web.stream() as lead, web.stream(key=web.viewer) as viewer:
        first = [one.next() for one in (lead, viewer)]
        assert [one and one["data"]["can"]["write"] for one in first] == [True, False]
        web.ask("POST", "/api/cards/1/claim", {}, key=web.lead)
        for one in (lead, viewer):
            patch = one.next()
            assert patch is not None
            assert (patch["event"], patch["data"]["rows"]["1"]["status"]) == ("patch", "doing")


def test_a_stream_is_resumed_where_it_ended(web: Web) -> None:
    with web.stream() as stream:
        first = stream.next()
    assert first is not None
    web.ask("POST", "/api/cards/1/claim", {}, key=web.lead)
    with web.stream(f"?last={first['id']}") as stream:
        patch = stream.next()
    assert patch is not None
    assert (patch["event"], patch["data"]["from"]) == ("patch", first["data"]["rev"])


def test_a_closed_tab_is_noticed(web: Web) -> None:
    stream = web.stream()
    stream.next()
    assert web.page.hub.viewers == 1
    stream.close()
    until(lambda: web.page.hub.viewers == 0, "the stream is given back")


def test_many_streams_leave_the_page_answering(web: Web) -> None:
    streams = [web.stream(key=web.viewer) for _ in range(120)]
    try:
        until(lambda: web.page.hub.viewers == 120, "all follow")
        assert web.ask("POST", "/api/cards/1/claim", {}, key=web.lead).status == 200
        for stream in streams:
            assert stream.next() is not None
            patch = stream.next()
            assert patch is not None
            assert patch["data"]["rows"]["1"]["status"] == "doing"
    finally:
        for stream in streams:
            stream.close()


def test_garbage_on_the_socket_harms_nobody(web: Web) -> None:
    for data in (
        b"\0\1\2",
        b"GET / HTTP/1.1\r\nHost: " + b"x" * 70_000,
        b"GET /\xff HTTP/9\r\n\r\n",
        b"POST / HTTP/1.1\r\n",
    ):
        with socket.create_connection(("127.0.0.1", web.port)) as connection:
            connection.sendall(data)
    assert web.ask("GET", "/api/board", key=web.lead).status == 200


PAYLOADS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</title><svg onload=alert(1)>",
    "${7*7}{{7*7}}",
]


@pytest.mark.parametrize("payload", PAYLOADS)
def test_what_is_written_on_a_card_comes_back_as_data(web: Web, payload: str) -> None:
    said = web.ask("POST", "/api/cards", {"title": payload, "paths": [payload], "note": payload}, key=web.lead)
    card = web.ask("GET", f"/api/cards/{said.data['card']['id']}", key=web.viewer)
    assert card.headers["Content-Type"] == "application/json"
    assert (card.data["card"]["title"], card.data["card"]["notes"][0]["text"]) == (payload, payload)
    assert payload.encode() not in web.ask("GET", "/").body
