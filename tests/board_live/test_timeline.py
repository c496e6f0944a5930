"""The numbered states: whoever follows, resumes, sleeps or changes the server ends with the board as it is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from flask_pi_taskbar.board.live import frames
from flask_pi_taskbar.board.live.timeline import MAX_STEPS, Timeline
from flask_pi_taskbar.board.view import build
from tests.board_core.boards import NOW, SEAT, Board, card

FACTS: dict[str, object] = {"bytes": 0, "level": 0, "notice": None, "others": 0}


def view_of(titles: dict[int, str]):
    return build(Board([card(number, title=title) for number, title in titles.items()]), SEAT, NOW)


def events(chunks: list[bytes]) -> list[dict[str, Any]]:
    """The frames as a browser reads them."""
    found = []
    for text in b"".join(chunks).decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in text.splitlines())
        if "data" in fields:
            found.append({"event": fields["event"], "id": fields.get("id"), "data": json.loads(fields["data"])})
    return found


class Page:
    """A page that does what the specification asks of one, and nothing more."""

    def __init__(self) -> None:
        self.state: dict[str, Any] | None = None
        self.told: tuple[str, int] | None = None

    @property
    def last(self) -> str | None:
        return None if self.told is None else f"{self.told[0]}.{self.told[1]}"

    @property
    def have(self) -> str | None:
        return None if self.state is None else self.state["digest"]

    def take(self, chunks: list[bytes]) -> None:
        for event in events(chunks):
            data = event["data"]
            if event["event"] == "snapshot":
                self.state = data
                self.told = data["epoch"], data["rev"]
            elif event["event"] == "rebase":
                self.told = data["epoch"], data["rev"]
            else:
                assert self.state is not None
                assert self.told is not None
                assert data["from"] == self.told[1], "a patch that does not start from what the page shows"
                self.told = self.told[0], data["to"]
                for gone in data["gone"]:
                    del self.state["rows"][str(gone)]
                self.state["rows"] |= data["rows"]
                self.state["order"] |= data["order"]
                self.state |= {
                    name: data[name] for name in ("digest", "round", "queue", "team", "damaged") if name in data
                }


def shown(state: dict[str, Any] | None) -> object:
    return state and {name: state[name] for name in ("rows", "order", "round", "queue", "digest")}


class Followers(RuleBasedStateMachine):
    """Invariant: a page that has taken every frame it was sent shows what a snapshot shows, whichever of two workers it
    asks, however long it was away, and whatever moved meanwhile."""

    @initialize()
    def begin(self) -> None:
        self.titles = {1: "one"}
        self.starts = 0
        self.workers = [self.timeline(name) for name in ("a", "b")]
        self.pages = [Page() for _ in range(3)]

    def timeline(self, name: str) -> Timeline:
        return Timeline(name, view_of(self.titles), store=FACTS, board={})

    @rule(number=st.integers(1, 4), title=st.sampled_from(["", "x", "y", "z"]))
    def move(self, number: int, title: str) -> None:
        if title:
            self.titles[number] = title
        else:
            self.titles.pop(number, None)
        self.workers[0].push(view_of(self.titles), NOW, FACTS)

    @rule()
    def second_worker_looks(self) -> None:
        self.workers[1].push(view_of(self.titles), NOW, FACTS)

    @rule()
    def worker_restarts(self) -> None:
        self.starts += 1
        self.workers[1] = self.timeline(f"b{self.starts}")

    @rule(page=st.integers(0, 2), worker=st.integers(0, 1))
    def connect(self, page: int, worker: int) -> None:
        one = self.pages[page]
        timeline = self.workers[worker]
        one.take(timeline.resume(one.last, one.have, NOW, can_write=False))
        whole = json.loads(timeline.snapshot(NOW, can_write=False))
        assert shown(one.state) == shown(whole)
        assert one.told == (timeline.epoch, timeline.rev)

    @invariant()
    def a_page_that_is_up_to_date_is_sent_nothing(self) -> None:
        for page in getattr(self, "pages", []):
            for timeline in self.workers:
                if page.told == (timeline.epoch, timeline.rev):
                    assert timeline.resume(page.last, page.have, NOW, can_write=True) == []


Followers.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
test_followers = Followers.TestCase


def test_what_shows_the_same_is_no_new_state() -> None:
    timeline = Timeline("a", view_of({1: "x"}), store=FACTS, board={})
    assert not timeline.push(view_of({1: "x"}), NOW, FACTS)
    assert timeline.rev == 1
    assert timeline.push(view_of({1: "y"}), NOW, FACTS)
    assert timeline.rev == 2


def test_a_word_about_the_disk_is_a_new_state() -> None:
    timeline = Timeline("a", view_of({1: "x"}), store=FACTS, board={})
    assert timeline.push(timeline.view, NOW, {**FACTS, "notice": "The board cannot be read."})
    (patch,) = events(timeline.resume("a.1", None, NOW, can_write=False))
    assert patch["data"]["store"]["notice"] == "The board cannot be read."


def test_figures_of_the_store_are_no_news_and_right_for_whoever_comes() -> None:
    timeline = Timeline("a", view_of({1: "x"}), store=FACTS, board={})
    timeline.snapshot(NOW, can_write=True)
    assert not timeline.push(timeline.view, NOW, {**FACTS, "bytes": 4711})
    assert timeline.rev == 1
    assert json.loads(timeline.snapshot(NOW, can_write=True))["store"]["bytes"] == 4711


def test_whoever_is_further_behind_than_the_steps_that_are_kept_gets_the_whole_board() -> None:
    timeline = Timeline("a", view_of({1: "start"}), store=FACTS, board={})
    for number in range(MAX_STEPS + 1):
        timeline.push(view_of({1: f"title {number}"}), NOW, FACTS)
    assert [one["event"] for one in events(timeline.resume("a.1", None, NOW, can_write=False))] == ["snapshot"]
    kept = events(timeline.resume("a.2", None, NOW, can_write=False))
    assert [one["data"]["from"] for one in kept] == list(range(2, MAX_STEPS + 2))


def test_an_id_that_means_nothing_gets_the_whole_board() -> None:
    timeline = Timeline("a", view_of({1: "x"}), store=FACTS, board={})
    for last in (None, "", "a", "a.", "a.x", "a.0", "a.2", "a.-1", "b.1", "a.1.1", "a." + "9" * 40):
        assert [one["event"] for one in events(timeline.resume(last, "0" * 32, NOW, can_write=False))] == ["snapshot"]


def test_lead_and_viewer_get_the_same_but_for_what_they_may_do() -> None:
    timeline = Timeline("a", view_of({1: "x"}), store=FACTS, board={})
    lead, viewer = (json.loads(timeline.snapshot(NOW, can_write=can)) for can in (True, False))
    assert (lead.pop("can"), viewer.pop("can")) == ({"write": True}, {"write": False})
    assert lead == viewer


def test_a_frame_is_one_line_of_data_whatever_a_title_holds() -> None:
    view = view_of({1: "two\u2028lines data: x id: 7"})
    timeline = Timeline("a", view, store=FACTS, board={})
    (chunk,) = timeline.resume(None, None, NOW, can_write=True)
    assert chunk.count(b"\n") == 4
    assert frames.bye("idle") == b'event: bye\ndata: {"why":"idle"}\n\n'


def test_steps_are_kept_within_a_number_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    timeline = Timeline("a", view_of({1: "start"}), store=FACTS, board={})
    timeline.push(view_of({1: "first"}), NOW, FACTS)
    (frame,) = timeline.since(1) or []
    monkeypatch.setattr("flask_pi_taskbar.board.live.timeline.MAX_BYTES", 3 * len(frame) + 50)
    for number in range(9):
        timeline.push(view_of({1: f"no. {number}"}), NOW, FACTS)
    assert timeline.since(timeline.rev - 4) is None
    assert len(timeline.since(timeline.rev - 3) or []) == 3
