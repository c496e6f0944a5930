"""Every dialog and every key, in each of the engines: it opens, holds Tab, closes, and gives the focus back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

from tests.board_browser.place import Board
from tests.support.waiting import until

pytestmark = pytest.mark.browser


def furnish(board: Board) -> None:
    """Cards 1 (todo), 2 (doing, ann's), 3 (done) and a file that cannot be read."""
    place = board.place
    for title in ("One", "Two", "Three"):
        place.add(title)
    for number in (2, 3):
        place.do("claim", card=number)
    place.do("move", card=3, status="done")
    (Path(place.store.layout.cards) / "9.json").write_text("{ half")
    board.open()
    board.shows('[data-damaged="9.json"]')


def from_card(button: str) -> Callable[[Board], None]:
    def opened(board: Board) -> None:
        board.click('[data-card="2"] [data-action="open"]')
        board.shows("dialog[data-dialog=card] .history > li")
        board.click(f"dialog {button}")

    return opened


DIALOGS: dict[str, tuple[str, Callable[[Board], None], str]] = {
    # name: (data-dialog, how it is opened, what has the focus once it is closed)
    "new": ("new", lambda board: board.click("#new-card"), "#new-card"),
    "card": ("card", lambda board: board.click('[data-card="1"] [data-action="open"]'), '[data-card="1"]'),
    "note": ("card", lambda board: board.click('[data-card="1"] [data-action="note"]'), '[data-card="1"]'),
    "move": ("card", lambda board: board.click('[data-card="2"] [data-action="move"]'), '[data-card="2"]'),
    "claim": ("confirm", lambda board: board.click('[data-card="1"] [data-action="claim"]'), '[data-card="1"]'),
    "edit": ("edit", from_card("[data-edit]"), "dialog [data-edit]"),
    "drop": ("confirm", from_card("[data-drop]"), "dialog [data-drop]"),
    "reclaim": ("confirm", from_card("[data-reclaim]"), "dialog [data-reclaim]"),
    "sheet": ("sheet", lambda board: board.click("#keys"), "#keys"),
    "damaged": ("aside", lambda board: board.click('[data-damaged="9.json"] .id-link'), '[data-damaged="9.json"]'),
    "aside": ("confirm", lambda board: board.click('[data-damaged="9.json"] [data-action]'), '[data-damaged="9.json"]'),
}


@pytest.mark.parametrize("name", DIALOGS)
def test_a_dialog_holds_tab_closes_by_esc_and_gives_the_focus_back(board: Board, name: str) -> None:
    kind, open_it, then = DIALOGS[name]
    furnish(board)
    open_it(board)
    top = f"dialog[data-dialog={kind}]"
    board.shows(top)
    for key in (*[Keys.TAB] * 25, *[(Keys.SHIFT, Keys.TAB)] * 5):
        board.chord(*key) if isinstance(key, tuple) else board.press(key)
        assert board.focused(f"{top} *") or board.focused(top), "Tab stays inside"
    board.press(Keys.ESCAPE)
    board.gone(top)
    until(lambda: board.focused(then) or board.focused(f"{then} *"), f"the focus is back at {then}")
    assert board.place.store.read(1)[0].rev == 1  # type: ignore[index,union-attr]


def test_every_key_of_the_sheet_does_what_it_says(board: Board) -> None:
    furnish(board)
    board.press("?")
    board.shows("dialog[data-dialog=sheet]")
    board.press("n")
    assert not board.has("dialog[data-dialog=new]"), "a dialog keeps the keys of the page away"
    board.press(Keys.ESCAPE)
    board.gone("dialog")
    board.press("n")
    board.shows("dialog[data-dialog=new]")
    until(lambda: board.focused("[name=title]"), "the title has the focus")
    board.press("n")
    assert board.value("[name=title]") == "n"
    board.press(Keys.ESCAPE)
    board.gone("dialog")
    until(lambda: board.focused('[data-card="1"]'), "the first card, since nothing had the focus before")
    board.press("j")
    until(lambda: board.focused('[data-card="2"]'), "the next")
    board.press("k")
    until(lambda: board.focused('[data-card="1"]'), "the one before")
    board.press(Keys.ENTER)
    board.shows("dialog[data-dialog=card]")
    assert "card=1" in board.browser.current_url
    board.press(Keys.ESCAPE)
    board.gone("dialog")
    board.press("t")
    board.shows("[data-team-row]")
    board.press("t")
    board.shows('[data-card="1"]')
    board.press("/")
    until(lambda: board.focused("#filter"), "the filter has the focus")
    board.press("two")
    until(lambda: not board.has('[data-card="1"]'), "only what matches is there")
    board.press(Keys.ESCAPE)
    board.shows('[data-card="1"]')


def test_right_to_left_titles_stand_at_their_own_side(board: Board) -> None:
    board.place.add("استيراد الفواتير من ملفات CSV")
    board.place.add("Import of invoices")
    board.open()
    side = """
    const title = document.querySelector(`[data-card="${arguments[0]}"] .card-title`);
    const range = document.createRange();
    range.selectNodeContents(title);
    const [text, box] = [range.getBoundingClientRect(), title.getBoundingClientRect()];
    return Math.abs(text.left - box.left) < Math.abs(text.right - box.right) ? "left" : "right";
    """
    assert [board.js(side, number) for number in (1, 2)] == ["right", "left"]
