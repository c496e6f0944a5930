"""What `next`, `undo` and mail do, and what deciding a call may read and change."""

from __future__ import annotations

import contextlib
import json

import pytest

from flask_pi_taskbar.board import rules
from flask_pi_taskbar.board.card import serialize
from flask_pi_taskbar.board.model import Actor, evolve
from flask_pi_taskbar.board.refusal import Code, Refusal
from flask_pi_taskbar.board.request import read_request
from flask_pi_taskbar.board.rules import Write
from flask_pi_taskbar.board.world import Board
from tests.board_core.boards import ME, NOW, OTHER, STRANGER, Table, ago, card, session


def code(answer: dict[str, object]) -> object:
    assert answer["ok"] is False, answer
    return answer["code"]


class TestNext:
    def test_it_takes_priority_then_what_frees_most_then_the_oldest(self) -> None:
        table = Table(
            card(1),
            card(2),
            card(3, depends_on=(2,)),
            card(4, depends_on=(3,)),
            card(5, priority="high", depends_on=(1,)),
            card(6, "done", owner=OTHER, depends_on=(2,)),
            card(7, priority="low"),
        )
        answer = table.do(ME, "next", dryRun=True)
        assert (answer["card"]["id"], answer["unchanged"], answer["dryRun"]) == (2, True, True)
        taken = [table.do(ME, "next") for _ in range(3)]
        assert [one["card"]["id"] for one in taken] == [2, 1, 7]
        assert taken[0]["reason"] == "normal, frees 2, nothing it waits for"

    def test_it_prefers_what_is_urgent_and_never_offers_what_waits_or_is_another_s(self) -> None:
        table = Table(card(1, priority="high", depends_on=(2,)), card(2, "doing", owner=OTHER), card(3, owner=OTHER))
        answer = table.do(ME, "next")
        assert (code(answer), answer["details"]) == (Code.NOTHING_TO_DO, {"held": 2, "waiting": 1})

    def test_it_takes_what_was_assigned_to_the_caller(self) -> None:
        assert Table(card(3, owner=ME)).do(ME, "next")["card"]["id"] == 3


class TestUndo:
    def test_the_last_drop_comes_back_under_its_number_with_everything(self) -> None:
        table = Table(card(4, said="kept"), card(5))
        table.do(ME, "drop", card=4)
        table.later(minutes=1)
        table.do(ME, "drop", card=5)
        assert table.do(ME, "undo")["card"]["id"] == 5
        answer = table.do(ME, "undo")
        assert (answer["card"]["id"], answer["card"]["rev"]) == (4, 2)
        assert [note["text"] for note in answer["card"]["notes"]] == ["kept", "brought back by agent-1"]
        assert "x-dropped" not in answer["card"]

    def test_a_dropped_copy_says_who_and_when_also_in_its_file(self) -> None:
        table = Table(card(4))
        change = table.decide(ME, "drop", card=4)
        assert change.write is Write.DROP
        assert json.loads(serialize(change.card))["x-dropped"] == {"by": {"id": ME.id, "label": ME.label}, "at": ago()}

    def test_only_who_dropped_it_and_only_for_a_day(self) -> None:
        table = Table(card(4))
        table.do(ME, "drop", card=4)
        assert code(table.do(OTHER, "undo")) == Code.NOTHING_TO_DO
        table.later(hours=24, seconds=1)
        assert code(table.do(ME, "undo")) == Code.NOTHING_TO_DO

    def test_a_number_that_is_taken_again_stays_with_who_took_it(self) -> None:
        table = Table(card(4))
        table.do(ME, "drop", card=4)
        table.cards[4] = card(4, title="a hand made this")
        assert code(table.do(ME, "undo")) == Code.NOTHING_TO_DO

    def test_a_named_card_can_be_brought_back_before_a_later_one(self) -> None:
        table = Table(card(4), card(5))
        table.do(ME, "drop", card=4)
        table.do(ME, "drop", card=5)
        assert table.do(ME, "undo", card=4)["card"]["id"] == 4


class TestMail:
    def test_a_handoff_sends_and_records_no_owner(self) -> None:
        table = Table(card(4, "doing", owner=ME), sessions=(session(OTHER, listening=False), session(ME)))
        change = table.decide(ME, "handoff", card=4, label=OTHER.label, text="Please take over")
        assert [(mail.to, mail.kind, mail.card, mail.text) for mail in change.mails] == [
            (OTHER.id, "handoff", 4, "Please take over")
        ]
        assert change.card.owner == ME.who
        assert change.card.notes[-1].text == "handoff sent to agent-2 by agent-1"
        assert change.extra["notListening"] == [OTHER.label]
        assert "nobody is watching" in str(change.extra["notice"])

    def test_an_offer_goes_to_every_other_live_session(self) -> None:
        sessions = (session(ME), session(OTHER), session(STRANGER), session(Actor("s-gone", "agent-8"), live=False))
        change = Table(card(4), sessions=sessions).decide(ME, "offer", card=4)
        assert [mail.to for mail in change.mails] == [OTHER.id, STRANGER.id]
        assert change.mails[0].text == "#4 Feature 4"
        assert change.card.notes[-1].text == "offered to 2 sessions by agent-1"
        assert change.card.owner is None


def test_a_refused_call_suggests_the_best_other_card_last() -> None:
    table = Table(card(1, "doing", owner=OTHER), card(2, depends_on=(1,)), card(5, priority="high"), card(6))
    answer = table.do(ME, "claim", card=2)
    assert answer["message"] == "#2 waits on #1 (doing, agent-2); it cannot be claimed yet."
    assert answer["details"] == {"waitsOn": [{"id": 1, "status": "doing", "owner": "agent-2"}]}
    assert answer["next"] == [
        {"action": "note", "card": 2},
        {"action": "claim", "card": 5, "why": "high, nothing it waits for"},
    ]
    assert answer["retry"] is False


def test_deciding_reads_only_the_cards_that_a_call_speaks_of() -> None:
    class Narrow(Board):
        def entries(self):
            raise AssertionError("a claim under the lock must not read every card")

        def cards(self):
            return self.entries()

        dependents = keyed = next_id = lambda self, *_: self.entries()

    world = Narrow([card(1, "doing", owner=OTHER), card(2, depends_on=(1,)), card(3, "done", owner=OTHER), card(4)])
    refused = []
    for action, number, fields in (
        ("claim", 4, {}),
        ("claim", 2, {}),
        ("claim", 3, {}),
        ("note", 3, {"text": "x"}),
        ("move", 1, {"status": "blocked"}),
        ("edit", 4, {"dependsOn": [1]}),
    ):
        with contextlib.suppress(Refusal):
            rules.decide(read_request(action, {"card": number, **fields}), ME, world, NOW)
            continue
        refused.append((action, number))
    assert refused == [("claim", 2), ("claim", 3), ("move", 1)]


def test_a_read_is_never_decided() -> None:
    with pytest.raises(ValueError, match="changes nothing"):
        rules.decide(read_request("list", {}), ME, Board([]), NOW)


def test_evolving_a_card_leaves_the_old_one_alone() -> None:
    old = card(4)
    assert (evolve(old, title="New").title, old.title) == ("New", "Feature 4")
