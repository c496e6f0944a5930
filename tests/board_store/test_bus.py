"""The bus: joining, living, listening, and mail. Sections 4 and 20 of the rules."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from flask_pi_taskbar.board.bus import Bus, Membership
from flask_pi_taskbar.board.faults import NoFlock, WatchedDisk
from flask_pi_taskbar.board.identity import session
from flask_pi_taskbar.board.mail import KEPT
from flask_pi_taskbar.board.model import MAX_LABEL, Actor, Session
from flask_pi_taskbar.board.races import environment
from flask_pi_taskbar.board.refusal import Code, Refusal
from flask_pi_taskbar.board.stamps import stamp
from tests.board_store.boards import ANN, BOB, NOW, Board, everything, later


def join(board: Board, actor: Actor = ANN, *, now: datetime = NOW, mode: str = "rpc", **also: bool) -> Membership:
    return Bus(board.store).join(actor, mode=mode, cwd="/src", now=now, **also)


def roster(board: Board, now: datetime = NOW) -> dict[str, Session]:
    return {found.id: found for found in Bus(board.store).roster(now)}


def mail(board: Board, actor: Actor, now: datetime = NOW) -> list[dict[str, object]]:
    found = Bus(board.store).inbox(actor, now=now)["mail"]
    assert isinstance(found, list)
    return found


# Joining


def test_a_session_that_joins_has_a_record_and_lives_until_it_leaves(board: Board) -> None:
    member = join(board, listening=True)
    found = roster(board)[ANN.id]
    assert (found.label, found.live, found.listening, found.mode) == ("ann", True, True, "rpc")
    record = json.loads((board.path / "sessions" / "s-ann.json").read_text())
    assert {"v", "id", "label", "mode", "pid", "host", "boot", "start", "cwd", "startedAt", "heartbeatAt"} <= set(
        record
    )
    assert (record["pid"], record["cwd"], record["startedAt"]) == (os.getpid(), "/src", stamp(NOW))
    member.leave(now=NOW)
    found = roster(board)[ANN.id]
    assert (found.live, found.listening) == (False, False)


def test_the_first_card_write_joins_and_says_under_which_label(board: Board) -> None:
    answer = board.ann("add", title="First")
    assert answer["team"] == {"label": "ann", "joined": True}
    assert "team" not in board.ann("add", title="Second")
    assert roster(board)[ANN.id].mode == "cli"


def test_a_refused_call_and_a_read_join_nobody(board: Board) -> None:
    board.ann("add", title="First")
    board.refused(BOB, "claim", 9)
    board.store.read_all(NOW)
    mail(board, BOB)
    assert set(roster(board)) == {ANN.id}


def test_the_seat_has_no_record(board: Board) -> None:
    board.call(board.store.seat, "add", title="From the page")
    assert roster(board) == {}
    assert board.card(1).created_by is not None
    assert board.card(1).created_by.label == "team-lead"  # type: ignore[union-attr]


def test_a_join_that_fails_is_a_remark_and_the_write_stands(board: Board, tmp_path: Path) -> None:
    board.add()

    def watch(name: str, arguments: tuple[object, ...], call: object) -> object:
        if name == "rename" and "/sessions/" in str(arguments[1]):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return call()  # type: ignore[operator]

    answer = Board(tmp_path, disk=WatchedDisk(watch)).bob("claim", 1)
    assert answer["ok"]
    assert answer["team"] == {"label": "bob", "joined": False, "why": os.strerror(errno.ENOSPC)}
    assert board.card(1).owner is not None


def test_labels_are_unique_among_the_living(board: Board) -> None:
    members = [join(board, session(f"s-{number}", "agent")) for number in range(3)]
    assert [member.actor.label for member in members] == ["agent", "agent-2", "agent-3"]
    members[1].leave(now=NOW)
    assert join(board, session("s-9", "agent")).actor.label == "agent-2", "a label of the dead is free"
    assert join(board, session("s-10", "agent-2")).actor.label == "agent-2-2"


def test_a_long_label_keeps_its_length_with_a_suffix(board: Board) -> None:
    labels = [join(board, session(f"s-{number}", "x" * MAX_LABEL)).actor.label for number in range(12)]
    assert len(set(labels)) == 12
    assert all(len(label) <= MAX_LABEL for label in labels)
    assert labels[11] == "x" * 37 + "-12"


def test_a_session_keeps_the_label_that_it_was_given(board: Board) -> None:
    first = join(board, session("s-1", "agent"))
    again = session("s-2", "agent")
    board.call(again, "add", title="By the second")
    board.call(again, "claim", 1)
    owner = board.card(1).owner
    assert owner is not None
    assert (owner.id, owner.label) == ("s-2", "agent-2")
    first.leave(now=NOW)
    board.call(again, "note", 1, text="still the same name")
    assert board.card(1).notes[-1].by.label == "agent-2"
    board.call(session("s-2", "renamed"), "note", 1, text="a name of its own choice")
    assert board.card(1).notes[-1].by.label == "renamed"


def test_the_seats_label_is_not_for_sessions(board: Board) -> None:
    with pytest.raises(Refusal) as caught:
        board.call(session("s-1", "team-lead"), "add", title="x")
    assert caught.value.code is Code.BAD_FIELD
    with pytest.raises(Refusal):
        join(board, session("s-1", "team-lead"))


@pytest.mark.parametrize("session_id", ["a/b", "../x", ".", "x" * 200, "ä ö", "as:a b", "a%2Fb", "\n"])
def test_any_session_id_makes_a_safe_file_name_of_its_own(session_id: str, board: Board) -> None:
    join(board, ANN)
    join(board, session(session_id, "odd"))
    join(board, session(session_id + "2", "odd"))
    assert len(list((board.path / "sessions").glob("*.json"))) == 3
    assert roster(board)[session_id].id == session_id
    assert sorted(path.name for path in board.path.parent.iterdir()) == ["board"]


# Living


def test_a_killed_session_is_not_live_for_certain(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from datetime import UTC, datetime\n"
        "from flask_pi_taskbar.board.bus import Bus\n"
        "from flask_pi_taskbar.board.identity import session\n"
        "from flask_pi_taskbar.board.store import Store\n"
        f"member = Bus(Store({str(tmp_path / 'board')!r})).join(session('s-x', 'x'), mode='rpc', cwd='', "
        "now=datetime(2026, 11, 30, 20, tzinfo=UTC))\n"
        "print('in', flush=True)\n"
        "sys.stdin.read()\n"
    )
    board = Board(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"in\n"
        assert roster(board, later(days=1))["s-x"].live, "its lock is held, however old its heartbeat"
        assert not join(board, session("s-x", "x"), now=NOW).holds_lock, "the same session in a second process"
        process.kill()
        process.wait()
    record = board.path / "sessions" / "s-x.json"
    data = json.loads(record.read_text())
    assert not roster(board)["s-x"].live, "its lock is free, however new its heartbeat"
    record.write_text(json.dumps(data | {"host": "elsewhere"}))
    assert roster(board, later(minutes=10))["s-x"].live, "of another host only the heartbeat tells"
    assert not roster(board, later(minutes=10, milliseconds=1))["s-x"].live


def test_a_call_from_a_command_line_counts_as_live_for_ten_minutes(board: Board) -> None:
    board.add()
    assert roster(board, later(minutes=10))[ANN.id].live
    assert not roster(board, later(minutes=10, milliseconds=1))[ANN.id].live
    board.store.apply("claim", {"card": 1}, ANN, now=later(minutes=9))
    assert roster(board, later(minutes=19))[ANN.id].live


def test_heartbeats_are_told_and_change_nothing_else(board: Board) -> None:
    member = join(board, listening=True)
    before = roster(board)[ANN.id]
    member.heartbeat(now=later(seconds=10))
    after = roster(board, later(seconds=10))[ANN.id]
    assert after.heartbeat_at == stamp(later(seconds=10))
    assert (after.label, after.listening, after.live) == (before.label, before.listening, before.live)
    member.listen(now=later(seconds=11), listening=False)
    assert not roster(board)[ANN.id].listening


def test_a_session_lives_on_a_disk_without_locks_too(tmp_path: Path) -> None:
    board = Board(tmp_path, disk=NoFlock())
    member = join(board)
    assert roster(board, later(days=1))[ANN.id].live
    member.heartbeat(now=later(seconds=10))
    member.leave(now=later(seconds=20))
    assert not roster(board, later(seconds=20))[ANN.id].live


def test_records_of_a_week_of_silence_are_forgotten(board: Board) -> None:
    join(board, ANN).leave(now=NOW)
    living = join(board, BOB)
    week = NOW + timedelta(days=7)
    Bus(board.store).sweep(board.store.seat, now=week)
    assert set(roster(board)) == {ANN.id, BOB.id}
    Bus(board.store).sweep(board.store.seat, now=week + timedelta(milliseconds=1))
    assert set(roster(board)) == {BOB.id}, "who lives is never forgotten"
    assert sorted(path.name for path in (board.path / "sessions").iterdir()) == ["s-bob.json", "s-bob.lock"]
    living.close()


def test_a_damaged_record_takes_its_own_row_only(board: Board) -> None:
    join(board, ANN)
    (board.path / "sessions" / "x.json").write_bytes(b"\0")
    (board.path / "sessions" / "y.json").mkdir()
    (board.path / "sessions" / "z.json").symlink_to("s-ann.json")
    assert set(roster(board)) == {ANN.id}
    assert board.add() == 1


# Mail


def test_a_handoff_is_delivered_and_records_no_owner(board: Board) -> None:
    board.add("The card")
    join(board, BOB, listening=True)
    answer = Bus(board.store).assign(1, "bob", ANN, now=NOW, text="Please take it.")
    assert (answer["ok"], answer["notListening"]) == (True, [])
    card = board.card(1)
    assert (card.owner, card.notes[-1].text) == (None, "handoff sent to bob by ann")
    assert roster(board)[BOB.id].unread == 1
    assert mail(board, BOB) == [
        {
            "n": 1,
            "kind": "handoff",
            "card": 1,
            "from": {"id": ANN.id, "label": "ann"},
            "at": stamp(NOW),
            "text": "Please take it.",
        }
    ]
    board.bob("claim", 1)


def test_mail_is_reported_once_and_then_kept_as_seen(board: Board) -> None:
    board.add()
    join(board, BOB)
    Bus(board.store).assign(1, "bob", ANN, now=NOW)
    assert len(mail(board, BOB)) == 1
    before = everything(board.path)
    assert mail(board, BOB) == []
    assert everything(board.path) == before, "no mail, no write"
    assert (board.path / "inbox" / "s-bob" / "seen" / "1.json").exists()


def test_letters_are_numbered_on_and_a_hundred_seen_are_kept(board: Board) -> None:
    board.add()
    join(board, BOB)
    for _ in range(KEPT + 5):
        Bus(board.store).assign(1, "bob", ANN, now=NOW, text="again")
        assert len(mail(board, BOB)) == 1
    Bus(board.store).assign(1, "bob", ANN, now=NOW, text="last")
    assert mail(board, BOB)[0]["n"] == KEPT + 6
    seen = sorted(int(path.stem) for path in (board.path / "inbox" / "s-bob" / "seen").iterdir())
    assert len(seen) <= KEPT + 1
    assert seen[-1] == KEPT + 6


def test_an_offer_reaches_every_other_live_session_and_the_first_claim_wins(board: Board) -> None:
    board.add()
    members = [join(board, session(f"s-{number}", f"agent{number}")) for number in range(3)]
    members[2].leave(now=NOW)
    answer = Bus(board.store).offer(1, members[0].actor, now=NOW)
    sent = answer["sentTo"]
    assert isinstance(sent, list)
    assert sorted(who["label"] for who in sent) == ["agent1", "ann"]
    assert board.card(1).notes[-1].text == "offered to 2 sessions by agent0"
    assert [letter["kind"] for letter in mail(board, members[1].actor)] == ["offer"]
    assert mail(board, members[2].actor) == []
    board.call(members[1].actor, "claim", 1)
    assert board.code(ANN, "claim", 1) is Code.HELD
    assert board.code(ANN, "offer", 1) is Code.HELD


def test_an_offer_to_nobody_is_refused(board: Board) -> None:
    board.add()
    assert board.code(ANN, "offer", 1) is Code.NO_SUCH_TEAMMATE
    assert not list((board.path / "inbox").iterdir())


def test_a_handoff_to_a_deaf_session_is_sent_and_says_so(board: Board) -> None:
    board.add()
    join(board, BOB, listening=False)
    answer = Bus(board.store).assign(1, "bob", ANN, now=NOW)
    assert answer["notListening"] == ["bob"]
    assert "nobody is watching" in str(answer["notice"])
    assert len(mail(board, BOB)) == 1


@pytest.mark.parametrize(("label", "code"), [("nobody", Code.NO_SUCH_TEAMMATE), ("twin", Code.AMBIGUOUS)])
def test_a_handoff_to_no_one_or_to_two_is_refused(label: str, code: Code, board: Board) -> None:
    board.add()
    join(board, session("s-1", "twin"))
    second = join(board, session("s-2", "other"))
    record = board.path / "sessions" / "s-2.json"
    record.write_text(record.read_text().replace('"other"', '"twin"'))
    assert board.code(ANN, "handoff", 1, label=label) is code
    assert board.code(ANN, "assign", 1, label=label) is code
    second.close()


def test_assign_on_the_board_records_and_sends_nothing(board: Board) -> None:
    board.add()
    join(board, BOB)
    board.ann("assign", 1, label="bob")
    card = board.card(1)
    assert card.owner is not None
    assert card.owner.id == BOB.id
    assert "no handoff was sent" in card.notes[-1].text
    assert mail(board, BOB) == []


def test_mail_to_the_team_lead_reaches_whoever_serves_the_page(board: Board) -> None:
    board.add()
    answer = Bus(board.store).assign(1, "team-lead", ANN, now=NOW, text="Decide, please.")
    assert answer["notListening"] == ["team-lead"]
    assert mail(board, BOB) == []
    serving = join(board, BOB, listening=True, serves=True)
    assert Bus(board.store).unread(board.store.seat.id) == 1
    assert [letter["text"] for letter in mail(board, BOB)] == ["Decide, please."]
    assert Bus(board.store).assign(1, "team-lead", ANN, now=NOW)["notListening"] == []
    serving.serve(now=NOW, serves=False)
    assert mail(board, BOB) == []
    assert len(mail(board, board.store.seat)) == 1, "and the seat itself"


def test_a_damaged_letter_stays_and_hides_no_other(board: Board) -> None:
    board.add()
    join(board, BOB)
    Bus(board.store).assign(1, "bob", ANN, now=NOW, text="first")
    Bus(board.store).assign(1, "bob", ANN, now=NOW, text="second")
    (board.path / "inbox" / "s-bob" / "1.json").write_bytes(b"\0")
    assert [letter["text"] for letter in mail(board, BOB)] == ["second"]
    assert (board.path / "inbox" / "s-bob" / "1.json").read_bytes() == b"\0"


def test_team_reclaim_takes_the_card_alone(board: Board) -> None:
    """Dead agent's claim stays in progress for ever -> `reclaim` by another returns it with its notes."""
    board.add(note="words")
    board.bob("claim", 1)
    Bus(board.store).reclaim(1, ANN, now=NOW)
    card = board.card(1)
    assert (card.owner, card.status) == (None, "todo")
    assert [note.kind for note in card.notes] == ["add", "claim", "reclaim"]
    assert mail(board, BOB) == []
