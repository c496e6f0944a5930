"""The two views, the address, and the page around the lanes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.board_client.faces import BOB, Faces
from tests.support.waiting import until

pytestmark = pytest.mark.browser


def test_the_key_leaves_the_address_at_once(board: Faces) -> None:
    board.open("?view=team")
    assert board.browser.current_url == f"{board.page.address}?view=team"
    board.browser.refresh()
    board.one("#live[data-live=live]")
    assert board.all("#new-card"), "the tab still knows its key"


def test_the_view_is_in_the_address_and_back_undoes_it(board: Faces) -> None:
    board.add("One")
    board.open()
    board.click('[data-view="team"]')
    board.one("[data-queue-row]")
    assert board.browser.current_url.endswith("?view=team")
    board.browser.back()
    board.one("[data-lane] [data-card]")
    assert board.one('[data-view="board"]').get_attribute("aria-pressed") == "true"


def test_many_opened_cards_cost_one_step_back(board: Faces) -> None:
    cards = [board.add(f"Card {number}") for number in range(4)]
    board.open()
    before = board.js("return history.length")
    for card in cards:
        board.click(f'[data-card="{card}"] [data-action="open"]')
        board.one("dialog[data-dialog=card]")
        assert f"card={card}" in board.browser.current_url
        board.click("dialog [data-close]")
        until(lambda: "card=" not in board.browser.current_url, "the card has left the address")
    assert board.js("return history.length") == before + 1


def test_back_closes_a_card_and_focus_is_where_it_was(board: Faces) -> None:
    card = board.add("One")
    board.open()
    board.click(f'[data-card="{card}"] [data-action="open"]')
    board.one("dialog[data-dialog=card]")
    board.browser.back()
    until(lambda: not board.all("dialog[open]"), "the dialog is closed")
    until(lambda: board.focus().startswith(f"#{card}"), "focus is back on the card")


def test_a_view_is_found_again_where_it_was_left(board: Faces) -> None:
    for number in range(30):
        board.add(f"Card {number}")
    board.open()
    board.press("j")
    board.press("j")
    assert board.focus() == "#2"
    board.js("document.querySelector('#pane').scrollTop = 500")
    until(lambda: board.js("return document.querySelector('#pane').scrollTop") == 500, "scrolled")
    board.press("t")
    board.one("[data-queue-row]")
    board.press("t")
    until(lambda: board.focus() == "#2", "the same card has the focus")
    assert board.js("return document.querySelector('#pane').scrollTop") == 500


def test_the_queue_says_what_is_to_decide_and_how_many_of_them_the_filter_shows(board: Faces) -> None:
    stuck = board.add("Stuck", paths=["src/a"])
    board.apply("claim", card=stuck)
    board.apply("note", card=stuck, text="No key for the relay.")
    board.apply("move", card=stuck, status="blocked")
    free = board.add("Free")
    board.add("Waits", dependsOn=[stuck, free])
    board.open("?view=team")
    assert [row.get_attribute("data-kind") for row in board.all("[data-queue-row]")] == [
        "blocked",
        "waiting",
        "unassigned",
    ]
    assert "No key for the relay. · unblocks 1" in board.text(f'[data-queue-row="{stuck}"]')
    assert board.text("#queue-name") == "Needs a decision 3"
    buttons = "return [...document.querySelectorAll('.decision')].map((row) => row.querySelector('.main')?.textContent)"
    assert board.js(buttons) == ["Reclaim", None, "Claim"]
    board.press("/")
    board.press("free")
    board.shows("#queue-name", "Needs a decision 1/3")
    assert board.one("[data-queue-row]").get_attribute("data-queue-row") == str(free)


def test_a_row_of_the_queue_keeps_focus_through_a_frame(board: Faces) -> None:
    card = board.add("Free")
    board.open("?view=team")
    board.js("document.querySelector('[data-queue-row] .main').focus()")
    board.apply("edit", card=card, title="Free, renamed")
    board.shows(".decision-title", "Free, renamed")
    assert board.js("return document.activeElement.textContent") == "Claim"


def test_teammates_and_what_they_hold(board: Faces) -> None:
    card = board.add("One")
    board.apply("claim", card=card)
    board.open("?view=team")
    row = "[data-team-row='as:ann']"
    until(lambda: "live · 1 held" in board.text(row), "her row")
    assert "serves" in board.text(row)


def test_the_ages_go_on_without_a_frame(board: Faces) -> None:
    board.add("One")
    board.open()
    drawn = board.one(".card")
    first = board.text(".card .age")
    until(lambda: board.text(".card .age") != first, "the age has moved")
    assert board.one(".card") == drawn


def test_a_damaged_file_stands_above_the_lanes_and_its_button_keeps_focus(board: Faces) -> None:
    card = board.add("One")
    (Path(board.store.layout.cards) / "7.json").write_text("{")
    board.open()
    board.js("document.querySelector('[data-damaged=\"7.json\"] [data-action=aside]').focus()")
    board.apply("claim", card=card)
    until(lambda: board.cards("doing") == [card], "a frame")
    assert board.focus() != "BODY"
    board.click('[data-view="team"]')
    board.one('[data-queue-row="7"]')
    assert not board.one('[data-damaged="7.json"]').is_displayed(), "the queue says it there"


def test_two_cards_in_flight_that_name_the_same_files_are_said(board: Faces) -> None:
    one, other = board.add("One", paths=["src/search"]), board.add("Two", paths=["src/search/index"])
    board.apply("claim", card=one)
    board.apply("claim", by=BOB, card=other)
    board.open()
    until(lambda: "src/search/index" in board.text(".radar-list"), "the collision is said")


def test_an_empty_board_explains_itself_and_its_button_opens_the_dialog(board: Faces) -> None:
    board.open()
    assert "No cards yet" in board.text(".empty-board")
    assert not board.all("dialog[open]")
    board.click("#first-card")
    board.one("dialog[data-dialog=new]")


def test_without_a_key_the_page_says_so_and_how_to_come_in(board: Faces) -> None:
    board.browser.get(board.page.address)
    assert "/board" in board.one("#refused").text
    assert not board.all("[data-lane], #filter, #open-lead")


def test_a_revoked_key_ends_in_words(board: Faces) -> None:
    board.add("One")
    board.open()
    board.page.revoke()
    board.browser.refresh()
    board.one("#refused")
    assert "no longer good" in board.text("#refused h1")
    assert not board.all("[data-card]")
    board.browser.get_log("browser")  # type: ignore[no-untyped-call]  # a browser writes down every 401 by itself


def test_the_theme_turns_and_is_remembered(board: Faces) -> None:
    board.open()
    assert board.one("#theme").get_attribute("aria-label") == "Dark theme"
    page = "return getComputedStyle(document.body).backgroundColor"
    light = board.js(page)
    board.click("#theme")
    until(lambda: board.js(page) != light, "the colours have turned")
    dark = board.js(page)
    board.open()
    assert board.js(page) == dark
    assert board.one("#theme").get_attribute("aria-label") == "Light theme"


def test_the_address_follows_the_filter_and_brings_it_back(board: Faces) -> None:
    board.add("One")
    other = board.add("Two")
    board.open()
    board.press("/")
    board.press("two")
    until(lambda: board.browser.current_url.endswith("?q=two"), "the filter is in the address")
    board.browser.refresh()
    until(lambda: board.cards("todo") == [other], "the filter is still there")
    assert board.one("#filter").get_attribute("value") == "two"


def test_a_page_that_has_stopped_leaves_its_board_readable_and_says_so(board: Faces) -> None:
    card = board.add("One")
    board.open()
    assert not board.one("#stopped").is_displayed()
    board.page.stop()
    until(lambda: board.one("#stopped").is_displayed(), "the page says that it has stopped")
    assert board.one("#live").get_attribute("data-live") == "stopped"
    assert board.cards("todo") == [card]
