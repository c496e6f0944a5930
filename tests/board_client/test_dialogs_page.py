"""What is done to the page as a whole: damaged files, links, messages, and what is said aloud."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.board_client.faces import BOB, Faces, Keys
from tests.support.waiting import until

pytestmark = pytest.mark.browser


def test_a_damaged_file_is_set_aside_only_after_two_questions(board: Faces) -> None:
    board.add("First")
    file = Path(board.store.layout.cards) / "1.json"
    file.write_text("{ not json", "utf-8")
    board.open()
    board.click("[data-damaged='1.json'] [data-action=aside]")
    board.click("dialog[data-dialog=confirm] [data-submit]")
    until(lambda: board.text("dialog h2") == "Really?", "it asks again")
    board.click("dialog [data-cancel]")
    assert file.exists()
    board.click("[data-damaged='1.json'] [data-action=aside]")
    board.click("dialog[data-dialog=confirm] [data-submit]")
    until(lambda: board.text("dialog h2") == "Really?", "it asks again")
    board.click("dialog[data-dialog=confirm] [data-submit]")
    until(lambda: not file.exists(), "the file is set aside")
    until(lambda: not board.all("[data-damaged]"), "and off the page")


def test_who_revokes_the_lead_links_keeps_writing_also_after_a_reload(board: Faces) -> None:
    board.open()
    before = board.page.lead_address()
    board.click("#more")
    board.click("#revoke")
    board.click("dialog[data-dialog=confirm] [data-submit]")
    until(lambda: "revoked" in board.text("#toast"), "it says so")
    assert board.page.lead_address() != before
    board.browser.refresh()
    board.one("#live[data-live=live]")
    board.press("n")
    board.one("dialog [name=title]").send_keys("Still here", Keys.ENTER)
    until(lambda: board.cards("todo") == [1], "it may write")


@pytest.mark.parametrize("clipboard", ["gives", "refuses"])
def test_the_viewers_link_is_copied_or_shown(board: Faces, clipboard: str) -> None:
    board.open()
    board.js(
        "const gives = arguments[0] === 'gives';"
        "Object.defineProperty(navigator, 'clipboard', {configurable: true, value: {"
        "writeText: async (text) => { if (!gives) throw new Error('no'); window.copied = text; }}});",
        clipboard,
    )
    board.click("#more")
    board.click("#copy-viewer")
    if clipboard == "gives":
        until(lambda: "copied" in board.text("#toast"), "it says so")
        link = board.js("return window.copied")
    else:
        link = board.one("dialog .link-field").get_attribute("value")
    assert link == board.page.viewer_address()


def test_a_message_takes_no_focus_and_goes_when_it_is_told_to(board: Faces) -> None:
    board.open()
    board.click("#new-card")
    board.one("dialog [name=title]").send_keys("First", Keys.ENTER)
    until(lambda: "#1 added" in board.text("#toast"), "it says so")
    assert board.js("return document.activeElement.name") == "title"
    assert board.js("return Boolean(document.querySelector('#toast').closest('dialog'))"), "where it can be reached"
    board.click("#toast [aria-label]")
    assert board.text("#toast") == ""
    board.press(Keys.ESCAPE)
    assert board.js("return document.querySelector('#toast').isConnected"), "messages outlive the dialog"


def test_what_others_do_is_said_in_one_sentence(board: Faces) -> None:
    for title in ("One", "Two", "Three"):
        board.add(title)
    board.open()
    board.apply("claim", card=1, by=BOB)
    until(lambda: board.text("#announcer") == "#1 moved to Doing by bob", "it is said")
    board.apply("note", card=2, text="Seen", by=BOB)
    board.apply("claim", card=3, by=BOB)
    until(lambda: "#2 changed; 1 more change" in board.text("#announcer"), "two changes are one sentence")


def test_the_count_covers_no_letter_of_a_long_title(board: Faces) -> None:
    board.open(size=(390, 844))
    board.press("n")
    board.one("dialog [name=title]").send_keys("word " * 20)
    room, count = board.js(
        "const title = document.querySelector('dialog [name=title]');"
        "return [parseFloat(getComputedStyle(title).paddingInlineEnd),"
        "document.querySelector('dialog .counter').getBoundingClientRect().width + 12]"
    )
    assert room >= count
