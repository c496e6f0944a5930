"""The view is content alone: the same bytes until something drawn moves, and rows that stay small (spec 15)."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flask_pi_taskbar.board.model import Actor, Card, Damaged, Lane, Note, NoteKind, evolve
from flask_pi_taskbar.board.rows import MAX_ROW_BYTES, encode_row
from flask_pi_taskbar.board.view import View, build
from flask_pi_taskbar.board.world import Board
from tests.board_core.boards import ME, NOW, OTHER, SEAT, Table, ago, card, many, session, tries

DAMAGED = Damaged(id=8, name="8.json", why="it is empty", mtime=ago(hours=1))
STORE = {"bytes": 4096, "level": 0}


def frame(view: View, rev: int = 1, write: bool = True) -> dict:
    return json.loads(view.snapshot(epoch="k3f9", rev=rev, now=NOW, can_write=write, store=STORE))


def patch(before: View, after: View) -> dict:
    return json.loads(after.patch(before, from_rev=1, to_rev=2, now=NOW))


def view_of(*entries: Card | Damaged, sessions=(), now=NOW, previous: View | None = None) -> View:
    return build(Board(entries, sessions=sessions), SEAT, now, previous=previous)


def test_a_snapshot_holds_what_a_page_draws() -> None:
    view = view_of(
        card(4, "doing", owner=ME, paths=("a", "b", "c", "d"), plan="p.md", said="x"),
        card(5, depends_on=(4, 7)),
        DAMAGED,
        sessions=(session(ME),),
    )
    shown = frame(view)
    assert {name: shown[name] for name in ("v", "epoch", "rev", "now", "can", "store")} == {
        "v": 1,
        "epoch": "k3f9",
        "rev": 1,
        "now": ago(),
        "can": {"write": True},
        "store": STORE,
    }
    assert shown["seat"] == {"id": SEAT.id, "label": "team-lead"}
    assert shown["order"] == {"todo": [5], "doing": [4], "blocked": [], "done": []}
    assert shown["rows"]["4"] == {
        "id": 4,
        "rev": 1,
        "title": "Feature 4",
        "status": "doing",
        "priority": "normal",
        "paths": ["a", "b", "c"],
        "pathCount": 4,
        "owner": {"id": ME.id, "label": ME.label},
        "dependsOn": [],
        "waits": [],
        "waitCount": 0,
        "reason": "planned",
        "tone": "muted",
        "createdAt": ago(hours=1),
        "touchedAt": ago(hours=1),
        "heldTouchedAt": ago(hours=1),
        "notes": 1,
        "plan": True,
        "buttons": ["Move", "Note", "Open"],
        "mark": None,
    }
    assert shown["rows"]["5"]["waits"] == [{"id": 4, "status": "doing"}, {"id": 7, "status": "missing"}]
    assert shown["round"]["features"] == 2
    assert shown["round"]["ownerLines"][0]["cards"] == [{"id": 4, "status": "doing"}]
    assert [row["kind"] for row in shown["queue"]] == ["damaged", "waiting", "idle"]
    assert shown["team"][0]["state"] == "live"
    assert shown["damaged"][0]["name"] == "8.json"
    assert shown["radar"] == []


def test_a_viewer_s_snapshot_differs_in_one_word() -> None:
    view = view_of(card(4))
    lead, viewer = frame(view), frame(view, write=False)
    assert viewer["can"] == {"write": False}
    assert lead | {"can": viewer["can"]} == viewer


@pytest.mark.parametrize(
    ("one", "buttons", "mark"),
    [
        (card(4), ["Claim", "Note", "Open"], None),
        (card(4, "blocked"), ["Claim", "Note", "Open"], None),
        (card(4, owner=SEAT), ["Claim", "Note", "Open"], None),
        (card(4, owner=ME), ["Move", "Note", "Open"], None),
        (card(4, depends_on=(9,)), ["Move", "Note", "Open"], None),
        (card(4, "doing", owner=SEAT), ["Move", "Note", "Open"], None),
        (card(4, "done", owner=SEAT), ["Note", "Open"], None),
        (card(4, v=2), ["Open"], "newer"),
    ],
)
def test_a_face_offers_what_the_rules_accept(one: Card, buttons: list[str], mark: str | None) -> None:
    row = frame(view_of(one))["rows"]["4"]
    assert (row["buttons"], row["mark"]) == (buttons, mark)


WORDS = st.text(st.sampled_from('a"\\\u0600😀é'), min_size=1)


@tries(60)
@given(st.data())
def test_a_row_is_at_most_two_kilobytes_whatever_the_card_holds(data: st.DataObject) -> None:
    links = tuple(range(2**31 - 51, 2**31 - 1))
    big = card(
        2**31 - 1,
        data.draw(st.sampled_from(["todo", "blocked", "doing"])),
        owner=Actor(data.draw(WORDS.map(lambda t: (t * 200)[:200])), data.draw(WORDS.map(lambda t: (t * 40)[:40]))),
        title=data.draw(WORDS.map(lambda t: (t * 120)[:120])),
        paths=tuple(data.draw(WORDS.map(lambda t: (t * 200)[:199])) + str(n) for n in range(20)),
        depends_on=links,
        notes=(
            Note(n=1, at=ago(), by=ME.who, kind=NoteKind.NOTE, text=data.draw(WORDS.map(lambda t: (t * 4000)[:4000]))),
        ),
    )
    for waits_on in ((), links):
        encoded = encode_row(big, waits_on, SEAT.id, Board([big]))
        assert len(encoded) <= MAX_ROW_BYTES
        row = json.loads(encoded)
        assert (row["title"], row["waitCount"], row["pathCount"]) == (big.title, len(waits_on), 20)


def test_time_and_heartbeats_are_no_news() -> None:
    cards = [card(4, "doing", owner=ME), card(5), DAMAGED]
    before = view_of(*cards, sessions=(session(ME),))
    after = view_of(*cards, sessions=(session(ME, heartbeat_at=ago(minutes=-9)),), now=NOW + timedelta(minutes=9))
    assert before.content == after.content
    assert before.shows_the_same(after)


@pytest.mark.parametrize(
    "after",
    [
        [card(4, "doing", owner=ME, rev=2), card(5)],
        [card(4, "doing", owner=ME)],
        [card(4, "doing", owner=ME), card(5), card(6)],
        [card(4, "doing", owner=ME), card(5), DAMAGED],
        [card(4, "doing", owner=ME), card(5, "blocked")],
    ],
)
def test_whatever_is_drawn_is_news(after: list[Card | Damaged]) -> None:
    one, other = view_of(card(4, "doing", owner=ME), card(5)), view_of(*after)
    assert one.content != other.content
    assert not one.shows_the_same(other)


def test_a_card_that_turns_idle_is_news_at_the_moment_that_was_announced() -> None:
    one = card(4, "doing", owner=ME, plan="p.md", held_touched_at=ago(minutes=10))
    before = view_of(one)
    assert before.due == NOW + timedelta(minutes=20)
    assert before.shows_the_same(view_of(one, now=before.due - timedelta(milliseconds=1)))
    assert not before.shows_the_same(view_of(one, now=before.due))


def test_a_live_teammate_may_turn_quiet_ten_minutes_after_its_heartbeat() -> None:
    assert view_of(sessions=(session(ME, heartbeat_at=ago(minutes=4)),)).due == NOW + timedelta(minutes=6)


def test_a_patch_says_what_moved_and_nothing_else() -> None:
    four, five, six = card(4, "doing", owner=ME), card(5), card(6)
    before = view_of(four, five, six)
    after = view_of(evolve(four, title="New", rev=2), five)
    said = patch(before, after)
    assert (said["from"], said["to"], said["now"], said["gone"]) == (1, 2, ago(), [6])
    assert list(said["rows"]) == ["4"]
    assert said["order"] == {"todo": [5]}
    assert said["round"]["features"] == 2
    assert "team" not in said
    assert "damaged" not in said


def test_a_dependency_that_moves_repaints_who_waits_for_it() -> None:
    one, waiting = card(1, "doing", owner=ME), card(2, depends_on=(1,))
    before = view_of(one, waiting)
    done = evolve(one, status=Lane.DONE, rev=2)
    said = patch(before, view_of(done, waiting, previous=before))
    assert set(said["rows"]) == {"1", "2"}
    assert said["rows"]["2"]["buttons"][0] == "Claim"


def test_rows_that_did_not_move_are_the_same_bytes() -> None:
    cards = many(60)
    before = view_of(*cards)
    after = view_of(evolve(cards[0], rev=99), *cards[1:], previous=before)
    again = [card_id for card_id, encoded in after.rows.items() if encoded is not before.rows[card_id]]
    assert set(again) == {1} | {one.id for one in cards if 1 in one.depends_on and one.status != "done"}


CALLS = st.tuples(
    st.sampled_from([ME, OTHER, SEAT]),
    st.sampled_from(
        ["claim", "release", "reclaim", "note", "plan", "drop", "todo", "doing", "blocked", "done", "link", "add"]
    ),
    st.integers(1, 5),
    st.integers(1, 5),
)


@tries(60)
@given(st.lists(CALLS, min_size=1, max_size=12))
def test_patches_lead_to_the_same_board_as_a_snapshot(calls: list[tuple]) -> None:
    table = Table(*(card(n) for n in range(1, 5)))
    view = build(table.world, SEAT, NOW)
    page = frame(view)
    for actor, action, number, other in calls:
        table.later(minutes=7)
        match action:
            case "todo" | "doing" | "blocked" | "done":
                table.do(actor, "move", card=number, status=action)
            case "link":
                table.do(actor, "edit", card=number, dependsOn=[other])
            case "add":
                table.do(actor, "add", title="New", dependsOn=[other])
            case _:
                extra = {"note": {"text": "x"}, "plan": {"path": "p.md"}}.get(action, {})
                table.do(actor, action, card=number, **extra)
        after = build(table.world, SEAT, table.now, previous=view)
        fresh = build(table.world, SEAT, table.now)
        assert after.shows_the_same(fresh)
        assert after.content == fresh.content
        moved = patch(view, after)
        for gone in moved["gone"]:
            del page["rows"][str(gone)]
        page["rows"] |= moved["rows"]
        page["order"] |= moved["order"]
        page |= {
            name: moved[name] for name in ("digest", "round", "queue", "team", "damaged", "radar") if name in moved
        }
        assert page == frame(fresh)
        view = after
