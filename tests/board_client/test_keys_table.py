"""The keys of the page: what each does, and where each is silent."""

from __future__ import annotations

import pytest

from tests.board_client.faces import Faces, Keys
from tests.support.waiting import until

pytestmark = pytest.mark.browser


def dialogs(board: Faces) -> list[str]:
    found: list[str] = board.js(
        "return [...document.querySelectorAll('dialog[open]')].map((one) => one.dataset.dialog)"
    )
    return found


def test_n_opens_the_new_card_dialog_with_the_title_focused(board: Faces) -> None:
    board.open()
    board.press("n")
    assert dialogs(board) == ["new"]
    assert board.js("return document.activeElement.name") == "title"
    board.press("n")
    assert board.js("return document.activeElement.value") == "n", "a field keeps its keys"


def test_slash_goes_to_the_filter_and_escape_clears_it(board: Faces) -> None:
    board.add("One")
    board.open()
    board.press("/")
    assert board.focus() == "filter"
    board.press("zzz")
    until(lambda: not board.cards("todo"), "the filter hides the card")
    board.press(Keys.ESCAPE)
    until(lambda: board.cards("todo") == [1], "the card is back")
    assert board.js("return document.querySelector('#filter').value") == ""


def test_j_and_k_walk_the_cards_and_stop_at_the_ends(board: Faces) -> None:
    for title in ("One", "Two"):
        board.add(title)
    board.open()
    seen = []
    for key in ("j", "j", "j", "k", "k"):
        board.press(key)
        seen.append(board.focus())
    assert seen == ["#1", "#2", "#2", "#1", "#1"]


def test_enter_opens_the_focused_card_and_escape_returns_to_it(board: Faces) -> None:
    board.add("One")
    board.open()
    board.press("j")
    board.press(Keys.ENTER)
    until(lambda: dialogs(board) == ["card"], "the card is open")
    board.press(Keys.ESCAPE)
    until(lambda: not dialogs(board), "the card is closed")
    assert board.focus() == "#1"


def test_t_switches_the_view_and_back(board: Faces) -> None:
    board.add("One")
    board.open()
    for view in ("team", "board"):
        board.press("t")
        assert board.one(f'[data-view="{view}"]').get_attribute("aria-pressed") == "true"


def test_the_sheet_is_the_table_and_greys_what_does_nothing_here(board: Faces) -> None:
    board.add("One")
    board.open("?view=team")
    board.press("?")
    assert dialogs(board) == ["sheet"]
    off = board.js("return [...document.querySelectorAll('.keys-table .off th')].map((one) => one.textContent)")
    assert off == ["j / k", "Enter"]
    board.press(Keys.ESCAPE)
    assert dialogs(board) == []


def test_a_viewers_sheet_greys_what_writes_and_n_does_nothing(board: Faces) -> None:
    board.add("One")
    board.open(viewer=True)
    board.press("n")
    assert dialogs(board) == []
    board.press("?")
    off = board.js("return [...document.querySelectorAll('.keys-table .off th')].map((one) => one.textContent)")
    assert off == ["n", "Ctrl + Enter"]


SILENT = {
    "control": {"key": "n", "ctrlKey": True},
    "command": {"key": "n", "metaKey": True},
    "alt": {"key": "n", "altKey": True},
    "composing": {"key": "n", "isComposing": True},
    "an input method's key": {"key": "Process"},
    "an input method's code": {"key": "n", "keyCode": 229},
    "a key held down": {"key": "n", "repeat": True},
    "a key that means nothing": {"key": "x"},
}


@pytest.mark.parametrize("event", SILENT.values(), ids=SILENT.keys())
def test_a_key_that_is_meant_for_something_else_does_nothing(board: Faces, event: dict[str, object]) -> None:
    board.open()
    source = (
        "const event = new KeyboardEvent('keydown', {...arguments[0], bubbles: true, cancelable: true});"
        "document.body.dispatchEvent(event); return event.defaultPrevented"
    )
    assert board.js(source, event) is False
    assert dialogs(board) == []
    assert board.js(source, {"key": "n"}) is True, "the very same way opens the dialog without it"
    assert dialogs(board) == ["new"]


@pytest.mark.parametrize("key", ["n", "t", "?", "j", "/"])
def test_a_dialog_keeps_the_keys_of_the_page_away(board: Faces, key: str) -> None:
    board.add("One")
    board.open("?card=1")
    board.one("dialog[data-dialog=card] .history li")
    before = board.focus()
    board.press(key)
    assert dialogs(board) == ["card"]
    assert board.focus() == before
    assert board.one('[data-view="board"]').get_attribute("aria-pressed") == "true"
