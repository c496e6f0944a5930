"""Reason lines, the round, the decision queue, teammates and the radar say what spec 13 and 19 say."""

from __future__ import annotations

from datetime import timedelta

import pytest

from flask_pi_taskbar.board.decisions import take_queue
from flask_pi_taskbar.board.links import graph
from flask_pi_taskbar.board.model import Actor, Card, Damaged, Note, NoteKind, Session, evolve
from flask_pi_taskbar.board.radar import collisions
from flask_pi_taskbar.board.reason import clamped, reason
from flask_pi_taskbar.board.rollup import owner_text, take_round
from flask_pi_taskbar.board.stamps import moment
from flask_pi_taskbar.board.team import name_text, state_text, take_team
from flask_pi_taskbar.board.world import Board
from tests.board_core.boards import ME, NOW, OTHER, SEAT, STRANGER, Table, ago, card, session

DAMAGED = Damaged(id=8, name="8.json", why="it is empty")
AROUND = [card(1, "doing", owner=STRANGER), card(2), card(3, "done"), card(6, "blocked", owner=OTHER), DAMAGED]


@pytest.mark.parametrize(
    ("one", "text", "tone"),
    [
        (card(4, depends_on=(1,), said="hidden"), "waits on #1 (doing, agent-3)", "dim"),
        (card(4, depends_on=(2, 3)), "waits on #2 (todo)", "dim"),
        (card(4, depends_on=(1, 2)), "waits on #1 and #2", "dim"),
        (card(4, depends_on=(1, 2, 6, 7)), "waits on #1, #2 and 2 more", "dim"),
        (card(4, depends_on=(7,)), "waits on #7 (missing)", "dim"),
        (card(4, depends_on=(8,)), "waits on #8 (unreadable)", "dim"),
        (card(4, "doing", owner=ME, depends_on=(7, 8)), "waits on #7 (missing) and #8 (unreadable)", "dim"),
        (card(4, "blocked", owner=ME, said="legal must answer"), "legal must answer", "danger"),
        (card(4, "blocked", owner=ME, plan="p.md"), "blocked, with nothing recorded", "danger"),
        (card(4, "done", owner=STRANGER, depends_on=(1,)), "✓ done by agent-3", "success"),
        (card(4, "done"), "✓ done", "success"),
        (card(4, "doing", owner=ME, said="working"), "no plan recorded", "dim"),
        (card(4, "doing", owner=ME, said="working", plan="p.md"), "planned", "muted"),
        (card(4, plan="p.md"), "planned", "muted"),
        (card(4, said="try the new API"), "try the new API", "plain"),
        (card(4), "", "plain"),
    ],
)
def test_the_reason_line_is_the_first_that_applies(one: Card, text: str, tone: str) -> None:
    why = reason(one, Board([*AROUND, one]))
    assert (why.text, why.tone) == (text, tone)


def test_a_blocked_card_speaks_with_words_not_with_the_board_s_own_entries() -> None:
    table = Table(card(4, "doing", owner=ME))
    table.do(ME, "note", card=4, text="the API key is missing")
    table.do(ME, "move", card=4, status="blocked")
    assert reason(table.cards[4], table.world).text == "the API key is missing"
    table.do(OTHER, "note", card=4, text="ordered one")
    assert reason(table.cards[4], table.world).text == "ordered one"


def test_a_line_is_clamped_to_a_hundred_and_sixty_code_points() -> None:
    assert clamped("two\nlines\t and  more") == "two lines and more"
    assert clamped("😀" * 161) == "😀" * 159 + "…"
    assert clamped("x" * 160) == "x" * 160


def test_the_round_counts_the_whole_board() -> None:
    world = Board(
        [
            card(1, "doing", owner=ME, held_touched_at=ago(minutes=30)),
            card(2, "blocked", owner=ME, plan="p.md"),
            card(3, "done", owner=OTHER),
            card(4),
            card(5, depends_on=(1,)),
            card(6, "blocked"),
            card(7, "done"),
            card(9, "doing"),
            DAMAGED,
        ]
    )
    taken = take_round(world, NOW)
    counts = (taken.features, taken.owners, taken.unassigned, taken.unplanned, taken.blocked, taken.idle)
    assert counts == (8, 2, 4, 3, 3, 1)
    assert (taken.waiting, taken.done, taken.damaged, taken.claimable) == (1, 2, 1, 3)
    assert taken.text == (
        "2 owners · 8 features · 4 unassigned · 3 unplanned · 3 blocked · 1 idle · 1 waiting · 2 done · 1 damaged"
    )
    assert [owner_text(line) for line in taken.owner_lines] == [
        "agent-1 · 2 live (#1 doing, #2 blocked)",
        "agent-2 · 1 done",
    ]


def test_a_small_round_leaves_out_the_zeros_that_may_be_left_out() -> None:
    assert take_round(Board([]), NOW).text == "0 owners · 0 features · 0 unassigned · 0 unplanned"
    one = take_round(Board([card(1, "doing", owner=ME), card(2, "done", owner=ME)]), NOW - timedelta(minutes=59))
    assert one.text == "1 owner · 2 features · 0 unassigned · 1 unplanned · 1 done"
    assert owner_text(one.owner_lines[0]) == "agent-1 · 1 live (#1 doing) · 1 done"


def test_owners_are_sorted_by_what_they_hold_and_carry_their_latest_label() -> None:
    renamed = Actor(OTHER.id, "agent-2b")
    cards = [
        card(1, "done", owner=OTHER, touched_at=ago(hours=2)),
        card(2, "done", owner=renamed),
        card(3, "done", owner=STRANGER),
        card(4, "doing", owner=ME),
    ]
    lines = take_round(Board(cards), NOW).owner_lines
    assert [(line.label, line.live, line.finished) for line in lines] == [
        ("agent-1", 1, 0),
        ("agent-2b", 0, 2),
        ("agent-3", 0, 1),
    ]


def queue_of(*entries: Card | Damaged, idle_minutes: int = 30):
    cards = [entry for entry in entries if isinstance(entry, Card)]
    return take_queue(Board(entries), graph(cards), NOW, idle_minutes)


@pytest.mark.parametrize(
    ("one", "kind", "action", "edge", "reason_text"),
    [
        (card(4, "blocked", owner=ME, said="stuck"), "blocked", "reclaim", "danger", "stuck"),
        (card(4, "blocked"), "blocked", "claim", "danger", "blocked, with nothing recorded"),
        (card(4, "doing"), "blocked", "claim", "danger", "blocked, with nothing recorded"),
        (card(4, "blocked", depends_on=(9,)), "waiting", None, "dim", "waits on #9 (missing)"),
        (card(4, depends_on=(9,)), "waiting", None, "dim", "waits on #9 (missing)"),
        (card(4, "doing", owner=ME, plan="p.md"), "idle", "reclaim", "warn", "no sign of agent-1"),
        (card(4, owner=ME), "unstarted", "reclaim", "warn", "assigned to agent-1, not started"),
        (card(4, "doing", owner=ME, held_touched_at=ago()), "unplanned", "reclaim", "dim", "no plan recorded"),
        (card(4), "unassigned", "claim", "dashed", "nobody holds it"),
        (DAMAGED, "damaged", "open", "danger", "8.json: it is empty"),
    ],
)
def test_each_kind_of_decision(one: Card | Damaged, kind: str, action: str, edge: str, reason_text: str) -> None:
    (row,) = queue_of(one).rows
    assert (row.kind, row.action, row.edge, row.reason) == (kind, action, edge, reason_text)


def test_a_card_arrives_once_with_its_strongest_reason_and_names_the_others() -> None:
    (row,) = queue_of(card(4, "doing", owner=ME)).rows
    assert (row.kind, row.also) == ("idle", ("unplanned",))


@pytest.mark.parametrize(
    ("spoken", "kinds"),
    [
        (timedelta(minutes=30) - timedelta(milliseconds=1), []),
        (timedelta(minutes=30), ["idle"]),
        (timedelta(days=-9), []),
    ],
)
def test_idle_begins_at_thirty_minutes_to_the_millisecond(spoken: timedelta, kinds: list[str]) -> None:
    one = card(4, "doing", owner=ME, plan="p.md", held_touched_at=ago(seconds=spoken.total_seconds()))
    assert [row.kind for row in queue_of(one).rows] == kinds


def test_a_new_claim_has_five_minutes_before_it_counts_as_unplanned() -> None:
    fresh = card(4, "doing", owner=ME, claimed_at=ago(seconds=299), held_touched_at=ago())
    assert queue_of(fresh).rows == ()
    assert [row.kind for row in queue_of(evolve(fresh, claimed_at=ago(seconds=300))).rows] == ["unplanned"]


def test_the_queue_is_sorted_by_kind_priority_impact_and_time() -> None:
    queue = queue_of(
        card(1, created_at=ago(hours=1)),
        card(2, created_at=ago(hours=2)),
        card(3, priority="high"),
        card(4, "blocked", owner=ME),
        card(5, "doing", owner=OTHER),
        card(6, owner=STRANGER),
        card(7, depends_on=(1,)),
        DAMAGED,
        card(11, depends_on=(12,)),
        card(12, depends_on=(11,)),
    )
    assert [(row.kind, row.card) for row in queue.rows] == [
        ("damaged", 8),
        ("cycle", 11),
        ("blocked", 4),
        ("waiting", 7),
        ("idle", 5),
        ("unstarted", 6),
        ("unassigned", 3),
        ("unassigned", 1),
        ("unassigned", 2),
    ]
    assert {row.card: row.frees for row in queue.rows if row.frees} == {1: 1}


def test_a_ring_on_disk_is_one_row_and_an_edit_repairs_it() -> None:
    table = Table(
        card(4, depends_on=(2,)), card(2, depends_on=(9,)), card(9, depends_on=(4,)), card(1, depends_on=(4,))
    )
    rows = take_queue(table.world, graph(table.world.cards()), NOW).rows
    assert [(row.kind, row.card, row.cards) for row in rows] == [("cycle", 2, (2, 4, 9)), ("waiting", 1, ())]
    assert rows[0].reason == "waits for itself: #2 → #9 → #4 → #2"
    table.do(ME, "edit", card=9, dependsOn=[])
    assert "cycle" not in [row.kind for row in take_queue(table.world, graph(table.world.cards()), NOW).rows]


def test_waiting_on_work_in_progress_is_folded_and_on_stalled_work_is_not() -> None:
    active = card(1, "doing", owner=ME, plan="p.md", held_touched_at=ago())
    idle = card(2, "doing", owner=ME, plan="p.md")
    queue = queue_of(active, idle, card(5, depends_on=(1,)), card(6, depends_on=(1, 2)), card(7, depends_on=(1, 99)))
    assert queue.in_progress == (5,)
    assert [(row.kind, row.card) for row in queue.rows] == [("waiting", 6), ("waiting", 7), ("idle", 2)]


def test_the_queue_knows_when_time_alone_will_change_it() -> None:
    doing = card(4, "doing", owner=ME, plan="p.md", held_touched_at=ago(minutes=10))
    assert queue_of(doing).due == NOW + timedelta(minutes=20)
    given = card(5, owner=ME, held_touched_at=ago(minutes=12))
    assert queue_of(doing, given).due == NOW + timedelta(minutes=18)
    claimed = card(6, "doing", owner=ME, claimed_at=ago(minutes=1), held_touched_at=ago())
    assert queue_of(doing, given, claimed).due == NOW + timedelta(minutes=4)
    assert queue_of(card(7)).due is None
    assert queue_of(doing, idle_minutes=11).due == NOW + timedelta(minutes=1)


def test_teammates_are_every_session_and_every_owner() -> None:
    quiet, lost = Actor("s-quiet", "agent-7"), Actor("s-lost", "agent-8")
    cards = [
        card(1, "doing", owner=ME, held_touched_at=ago(minutes=21)),
        card(2, "blocked", owner=ME, held_touched_at=ago(minutes=5)),
        card(3, owner=ME, held_touched_at=ago(minutes=1)),
        card(4, "done", owner=ME),
        card(5, "doing", owner=lost),
        card(6, "done", owner=quiet),
    ]
    sessions = [
        session(ME, unread=2),
        session(STRANGER, listening=False),
        session(quiet, live=False, heartbeat_at=ago(hours=2)),
    ]
    rows = take_team(Board(cards, sessions=sessions))
    assert [(row.label, state_text(row, NOW)) for row in rows] == [
        ("agent-1", "live · 3 held · 1 done · oldest 21m"),
        ("agent-3", "live · 0 held"),
        ("agent-7", "quiet for 2h · 0 held · 1 done"),
        ("agent-8", "no record · 1 held · oldest 1h"),
    ]
    assert [(row.listening, row.unread) for row in rows[:2]] == [(True, 2), (False, 0)]
    assert take_team(Board(cards, sessions=sessions), me=quiet.id)[0].label == "agent-7"


def test_where_nobody_has_joined_every_state_is_a_dash() -> None:
    (row,) = take_team(Board([card(1, "doing", owner=ME)]))
    assert state_text(row, NOW) == "— · 1 held · oldest 1h"


def test_the_seat_is_as_live_as_the_session_that_serves_its_page() -> None:
    held = card(1, "doing", owner=SEAT)
    serving = session(ME, serves=True, unread=3)
    rows = take_team(Board([held], sessions=[serving]), seat=SEAT)
    assert [(row.label, row.state, row.unread) for row in rows] == [("team-lead", "live", 0), ("agent-1", "live", 3)]
    gone = take_team(Board([held], sessions=[session(ME, serves=True, live=False)]), seat=SEAT)
    assert {row.label: row.state for row in gone} == {"agent-1": "quiet", "team-lead": "no record"}


def test_two_of_one_label_are_two_rows_told_apart() -> None:
    twin = Session(id="s-twin", label=ME.label, live=True)
    rows = take_team(Board([card(1, "doing", owner=ME)], sessions=[twin]))
    assert [name_text(row) for row in rows] == ["agent-1 (…twin)", "agent-1 (…s-me)"]


@pytest.mark.parametrize(
    ("mine", "theirs", "path"),
    [
        (("src/billing",), ("src/billing/",), "src/billing"),
        (("src",), ("./src/billing/hook.py",), "src/billing/hook.py"),
        (("src/bill",), ("src/billing",), None),
        ((), ("src",), None),
    ],
)
def test_the_radar_sees_paths_that_contain_each_other(mine: tuple, theirs: tuple, path: str | None) -> None:
    found = collisions([card(4, "doing", owner=ME, paths=mine), card(9, "blocked", owner=OTHER, paths=theirs)])
    assert [(one.cards, one.path) for one in found] == ([((4, 9), path)] if path else [])


def test_the_radar_ignores_one_holder_idle_hands_and_counts_changed_files() -> None:
    one = card(4, "doing", owner=ME, paths=("src",))
    assert collisions([one, card(5, "doing", owner=ME, paths=("src",))]) == []
    assert collisions([one, card(5, owner=OTHER, paths=("src",)), card(6, "done", owner=OTHER, paths=("src",))]) == []
    bare = card(5, "doing", owner=OTHER)
    assert [found.path for found in collisions([one, bare], {5: ["src/app.py"]})] == ["src/app.py"]


def test_moments_in_rows_are_not_ages() -> None:
    one = card(4, "doing", owner=ME)
    early = take_queue(Board([one]), graph([one]), NOW)
    late = take_queue(Board([one]), graph([one]), NOW + timedelta(minutes=7))
    assert early.rows == late.rows
    assert early.rows[0].since is not None
    assert moment(early.rows[0].since) < NOW


def test_the_longest_in_a_state_is_told_by_the_history() -> None:
    moved = Note(n=1, at=ago(minutes=9), by=ME.who, kind=NoteKind.MOVE, text="doing → blocked")
    said = Note(n=2, at=ago(minutes=1), by=SEAT.who, kind=NoteKind.NOTE, text="news?")
    (row,) = queue_of(card(4, "blocked", owner=ME, notes=(moved, said))).rows
    assert row.since == ago(minutes=9)
