"""What the rows say: each reason line, each kind of decision, the teammates, the files that could not be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.board_browser.place import NARROW, Board
from tests.board_browser.world import full
from tests.support.waiting import until

pytestmark = pytest.mark.browser


def test_each_reason_line_is_on_its_card(board: Board) -> None:
    world = full(board.place)
    board.open()
    source = "return Object.fromEntries([...document.querySelectorAll('[data-card]')].map((card) => [card.dataset.card, card.querySelector('[data-reason]').textContent]))"  # noqa: E501
    until(lambda: len(board.js(source)) >= len(world.reasons), "all cards are drawn")
    shown = board.js(source)
    assert {number: shown[str(number)] for number in world.reasons} == world.reasons


def test_each_kind_of_decision_stands_in_the_queue(board: Board) -> None:
    world = full(board.place)
    board.open("?view=team")
    source = "return Object.fromEntries([...document.querySelectorAll('[data-queue-row]')].map((row) => [row.dataset.queueRow, row.dataset.kind]))"  # noqa: E501
    until(lambda: board.count("[data-queue-row]") >= len(world.decisions), "the queue is drawn")
    assert board.js(source) == world.decisions
    ranks = ["damaged", "cycle", "blocked", "waiting", "idle", "unstarted", "unplanned", "unassigned"]
    kinds = board.js("return [...document.querySelectorAll('[data-queue-row]')].map((row) => row.dataset.kind)")
    seen = list(dict.fromkeys(kind.replace("cycle", "damaged") for kind in kinds))
    assert seen == sorted(seen, key=ranks.index)


def test_two_who_touch_the_same_files_are_told(board: Board) -> None:
    full(board.place)
    board.open()
    board.says(".radar-list li", "src/billing/mail.py")
    assert board.text("#radar-name") == "Same files"


def test_the_team_names_who_is_here_and_who_only_left_cards(board: Board) -> None:
    full(board.place)
    board.open("?view=team")
    until(lambda: board.count("[data-team-row]") >= 4, "the team is drawn")
    pairs = "[...document.querySelectorAll('[data-team-row]')].map((row) => [name(row), row.dataset.state])"
    team = board.js(
        f"const name = (row) => row.querySelector('.label').textContent.trim(); return Object.fromEntries({pairs})"
    )
    assert {"ann", "bob", "mei", "server"} <= set(team)
    assert team["server"] == "live"
    board.says('[data-team-row="as:bob"]', "held")


def test_a_damaged_file_has_its_strip_and_is_set_aside_after_two_questions(board: Board) -> None:
    cards = Path(board.place.store.layout.cards)
    board.place.add("One")
    (cards / "7.json").write_text('{"half a f')
    board.open()
    board.shows('[data-damaged="7.json"]')
    board.click('[data-damaged="7.json"] [data-action="aside"]')
    board.click("dialog[data-dialog=confirm] [data-cancel]")
    assert (cards / "7.json").exists()
    for _ in range(2):
        board.click('[data-damaged="7.json"] [data-action="aside"]') if not board.has("dialog") else None
        board.says("dialog[data-dialog=confirm]", "7.json")
        board.click("dialog[data-dialog=confirm] [data-submit]")
    board.gone('[data-damaged="7.json"]')
    assert not (cards / "7.json").exists()


def test_a_viewer_sees_a_damaged_file_and_cannot_set_it_aside(board: Board) -> None:
    (Path(board.place.store.layout.cards)).mkdir(parents=True, exist_ok=True)
    board.place.add("One")
    (Path(board.place.store.layout.cards) / "7.json").write_text('{"half a f')
    board.open(viewer=True)
    board.shows('[data-damaged="7.json"]')
    assert not board.has('[data-action="aside"]')


def test_a_narrow_page_shows_one_lane_and_a_switch(chromium_board: Board) -> None:
    board = chromium_board
    todo = board.place.add("One")
    doing = board.place.add("Two")
    board.place.do("claim", card=doing)
    board.resize(NARROW, 844)
    board.open()
    board.shows(f'[data-card="{todo}"]')
    assert not board.shown(f'[data-card="{doing}"]')
    board.click('[data-lane-tab="doing"]')
    board.shows(f'[data-card="{doing}"]')
    assert not board.shown(f'[data-card="{todo}"]')
    assert "lane=doing" in board.browser.current_url
    assert board.js("return document.documentElement.scrollWidth") <= NARROW


@pytest.mark.parametrize("count", [1_000, 10_000])
def test_a_large_board_is_drawn_in_parts(chromium_board: Board, count: int) -> None:
    from flask_pi_taskbar.board.card import serialize
    from tests.board_core.boards import many

    board = chromium_board
    board.place.add("The first")
    for card in many(count):
        path = Path(board.place.store.layout.card(card.id))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(serialize(card))
    board.open(live=False)
    until(lambda: board.has("#live[data-live=live]"), "live", seconds=60)
    until(lambda: board.count("[data-card]") > 100, "cards are drawn", seconds=60)
    assert board.count("[data-card]") <= 60 * 4
    assert board.count("*") < 6_000
    counts = board.js("return [...document.querySelectorAll('[data-count]')].map((one) => Number(one.textContent))")
    assert sum(counts) >= count
    before = board.count("[data-card]")
    board.click('[data-lane="todo"] .show-more')
    until(lambda: board.count("[data-card]") > before, "more are drawn")
