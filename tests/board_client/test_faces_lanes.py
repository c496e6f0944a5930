"""What the lanes draw, and what of it survives a frame."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.webdriver import ActionChains

from tests.board_client.faces import NARROW, Faces, Keys
from tests.support.waiting import until

pytestmark = pytest.mark.browser


def test_a_frame_makes_anew_only_the_card_that_moved(board: Faces) -> None:
    one, other = board.add("One"), board.add("Two")
    board.open()
    board.js("for (const card of document.querySelectorAll('[data-card]')) card.wasHere = true")
    board.apply("edit", card=other, title="Two, renamed")
    board.shows(f'[data-card="{other}"] h3', "Two, renamed")
    kept = "return document.querySelector(arguments[0]).wasHere === true"
    assert board.js(kept, f'[data-card="{one}"]')
    assert not board.js(kept, f'[data-card="{other}"]')


def test_the_button_that_has_focus_keeps_it_when_its_card_is_made_anew(board: Faces) -> None:
    card = board.add("One")
    board.open()
    board.js("document.querySelector('[data-action=note]').focus()")
    board.apply("edit", card=card, title="One, renamed")
    board.shows("h3", "One, renamed")
    until(lambda: board.focus() == f"#{card} note", "focus stands on the same button")


def test_focus_goes_with_a_card_to_another_lane(board: Faces) -> None:
    card = board.add("One")
    board.add("Two")
    board.open()
    board.js("document.querySelector('[data-action=open]').focus()")
    board.apply("claim", card=card)
    until(lambda: board.cards("doing") == [card], "the card is in its new lane")
    until(lambda: board.focus() == f"#{card} open", "focus stands on the same button")


def test_scroll_and_a_half_typed_filter_survive_a_frame(board: Faces) -> None:
    for number in range(30):
        board.add(f"Card {number}")
    board.open()
    board.one("#filter").send_keys("card")
    board.js(
        "document.querySelector('#pane').scrollTop = 700; document.querySelector('#filter').setSelectionRange(1, 3)"
    )
    board.apply("claim", card=30)
    until(lambda: board.cards("doing") == [30], "the frame is drawn")
    state = board.js(
        "const field = document.querySelector('#filter');"
        "return [document.querySelector('#pane').scrollTop, document.activeElement === field, field.value,"
        " field.selectionStart, field.selectionEnd]"
    )
    assert state == [700, True, "card", 1, 3]


def test_a_lane_draws_sixty_cards_and_more_when_asked(board: Faces) -> None:
    for number in range(75):
        board.add(f"Card {number}")
    board.open()
    assert len(board.cards("todo")) == 60
    assert board.text('[data-lane="todo"] [data-count]') == "75"
    board.click('[data-lane="todo"] .show-more')
    until(lambda: len(board.cards("todo")) == 75, "all are drawn")
    assert not board.one('[data-lane="todo"] .show-more').is_displayed()
    assert board.focus() == "#61", "the keyboard goes on where the new ones begin"


def test_the_filter_finds_cards_that_are_not_drawn(board: Faces) -> None:
    for number in range(70):
        board.add(f"Card {number}")
    needle = board.add("Needle")
    board.open()
    assert needle not in board.cards("todo")
    board.press("/")
    board.press("needle")
    until(lambda: board.cards("todo") == [needle], "the filter is applied")
    assert board.text('[data-lane="todo"] [data-count]') == "1/71"
    board.press(Keys.ESCAPE)
    until(lambda: len(board.cards("todo")) == 60, "the filter is cleared")


def test_a_folded_lane_stays_folded_and_keeps_its_count(board: Faces) -> None:
    board.add("One")
    board.open()
    board.click('[data-lane="todo"] [data-fold]')
    until(lambda: not board.cards("todo"), "the cards are away")
    board.add("Two")
    board.shows('[data-lane="todo"] [data-count]', "2")
    board.open()
    assert board.cards("todo") == []
    assert board.one('[data-lane="todo"] [data-fold]').get_attribute("aria-expanded") == "false"
    board.resize(NARROW)
    until(lambda: len(board.cards("todo")) == 2, "where one lane is shown at a time it is not folded")


def test_a_narrow_page_opens_on_the_first_lane_that_holds_a_card_and_stays_there(board: Faces) -> None:
    card = board.add("One")
    board.apply("claim", card=card)
    board.open(size=NARROW)
    shown = "[data-lane][data-narrow]"
    assert board.one(shown).get_attribute("data-lane") == "doing"
    other = board.add("Two")
    board.shows('[data-lane-tab="todo"] .pill', "1")
    assert board.one(shown).get_attribute("data-lane") == "doing"
    board.click('[data-lane-tab="todo"]')
    until(lambda: board.one(f'[data-card="{other}"]').is_displayed(), "the lane that was asked for")
    assert "lane=todo" in board.browser.current_url


def test_a_narrow_page_of_an_empty_board_goes_to_where_the_first_card_appears(board: Faces) -> None:
    board.open(size=NARROW)
    board.one("#first-card")
    card = board.add("One")
    until(lambda: board.one(f'[data-card="{card}"]').is_displayed(), "the first card is shown")


@pytest.mark.parametrize("width", [320, 390, 860, 1000, 1440])
def test_nothing_is_cut_off_at_the_side(board: Faces, width: int) -> None:
    card = board.add("Anunbrokenword" * 8, paths=["src/" + "long/" * 30, "b", "c", "d"], priority="high")
    board.apply("claim", card=card)
    for view in ("board", "team"):
        board.open(f"?view={view}", size=(width, 800))
        over = board.js(
            "const pane = document.querySelector('#pane');"
            "return [document.documentElement.scrollWidth - innerWidth, pane.scrollWidth - pane.clientWidth]"
        )
        assert max(over) <= 0, view


def test_what_a_card_says_is_text_and_nothing_else(board: Faces) -> None:
    payload = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>&amp;"
    card = board.add(payload, paths=["<b>src"], note=payload)
    board.open()
    assert board.text(f'[data-card="{card}"] h3') == payload
    assert board.text(f'[data-card="{card}"] [data-reason]') == payload
    assert board.text(f'[data-card="{card}"] .chip.path') == "<b>src"
    assert not board.all(f'[data-card="{card}"] :is(img, script, b)')
    assert board.browser.title == "shop · board"


def test_a_viewer_gets_not_one_thing_to_write_with(board: Faces) -> None:
    card = board.add("One")
    board.apply("claim", card=card)
    board.apply("move", card=card, status="blocked")
    board.add("Two")
    (Path(board.store.layout.cards) / "9.json").write_text("{")
    for view in ("board", "team"):
        board.open(f"?view={view}", viewer=True)
        assert board.js("return document.documentElement.dataset.writes") == "0"
        actions = {node.get_attribute("data-action") for node in board.all("[data-action]")}
        assert actions == {"open"}
        assert not board.all("#new-card, #more, #copy-viewer, #prune, #revoke, #first-card, textarea")
        assert board.one("#viewer-chip").is_displayed()


def test_a_lead_has_the_actions_that_the_rules_allow(board: Faces) -> None:
    free, waits, done = board.add("Free"), board.add("Waits", dependsOn=[1]), board.add("Done")
    board.apply("claim", card=done)
    board.apply("move", card=done, status="done")
    board.open()
    names = "return [...document.querySelectorAll(`[data-card='${arguments[0]}'] button`)].map((b) => b.textContent)"
    assert [board.js(names, card) for card in (free, waits, done)] == [
        ["Claim", "Note", "Open"],
        ["Move", "Note", "Open"],
        ["Note", "Open"],
    ]
    assert board.js("return document.querySelector('[data-action=claim]').getAttribute('aria-label')") == "Claim #1"


def test_a_dot_is_on_what_moved_since_the_last_visit_and_goes_when_it_is_opened(board: Faces) -> None:
    old, moved = board.add("Old"), board.add("Moved")
    board.open()
    assert not board.all("[data-news]")
    board.browser.get("about:blank")
    board.apply("note", card=moved, text="While you were away.")
    board.open()
    assert [int(card.get_attribute("data-card") or 0) for card in board.all("[data-news]")] == [moved]
    board.apply("note", card=old, text="Before your eyes.")
    board.shows(f'[data-card="{old}"] [data-reason]', "Before your eyes.")
    assert len(board.all("[data-news]")) == 1
    board.click(f'[data-card="{moved}"] [data-action="open"]')
    until(lambda: not board.all("[data-news]"), "the dot is gone")


def test_focus_of_a_card_that_is_gone_goes_to_its_neighbour(board: Faces) -> None:
    first, second, third = (board.add(title) for title in ("One", "Two", "Three"))
    board.open()
    board.js("document.querySelector(`[data-card='${arguments[0]}'] [data-action=open]`).focus()", second)
    board.apply("drop", card=second)
    until(lambda: board.cards("todo") == [first, third], "the card is gone")
    assert board.focus() == f"#{third} open"


def test_a_sentence_too_long_for_its_line_is_the_tooltip_as_a_whole(board: Faces) -> None:
    whole = "Because of this. " * 40 + "And that is all."
    card = board.add("One", note=whole)
    reason = f'[data-card="{card}"] [data-reason]'
    board.open()
    assert len(board.text(reason)) == 160
    ActionChains(board.browser).move_to_element(board.one(reason)).perform()
    until(lambda: board.one(reason).get_attribute("title") == whole, "the whole sentence")


def test_the_head_of_every_lane_stays_in_view_while_a_long_one_scrolls(board: Faces) -> None:
    for number in range(30):
        board.add(f"Card {number}")
    board.open()
    board.click('[data-lane="blocked"] [data-fold]')
    board.js("document.querySelector('#pane').scrollTop = 1500")
    tops = board.js(
        "const top = document.querySelector('#pane').getBoundingClientRect().top;"
        "return [...document.querySelectorAll('.lane-head')].map((head) => head.getBoundingClientRect().top - top)"
    )
    assert all(abs(top) <= 1 for top in tops), tops  # a folded lane sticks with its border
