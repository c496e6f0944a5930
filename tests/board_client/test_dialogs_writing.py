"""Writing on the page: the new card and its draft, Edit, notes and moves."""

from __future__ import annotations

import pytest

from tests.board_client.dialogs import card, dialogs, made, opened, refused, type_in, value
from tests.board_client.faces import BOB, Faces, Keys
from tests.support.waiting import until

pytestmark = pytest.mark.browser


# The new card.


def test_a_new_card_is_published_and_the_dialog_stays_for_the_next(board: Faces) -> None:
    board.add("First")
    board.open()
    board.click("#new-card")
    type_in(board, "title", "Exports open in a spreadsheet")
    assert board.text("dialog .counter") == "29/120"
    type_in(board, "paths", "src/export  tests/export")
    board.js("document.querySelector('dialog [name=priority][value=high]').click()")
    board.one("dialog [name=dependsOn]").send_keys("first", Keys.ENTER)
    type_in(board, "note", "Asked for twice.")
    board.press(Keys.CONTROL, Keys.ENTER)
    until(lambda: board.cards("todo") == [2, 1], "it is on the board, the urgent one first")
    assert dialogs(board) == ["new"]
    assert board.js("return document.activeElement.name") == "title"
    assert [value(board, name) for name in ("title", "paths", "note")] == ["", "", ""]
    new = card(board, 2)
    assert (new["paths"], new["priority"], new["dependsOn"]) == (["src/export", "tests/export"], "high", [1])


def test_a_draft_survives_escape_and_a_click_beside_it_and_a_reload(board: Faces) -> None:
    board.open()
    board.press("n")
    type_in(board, "title", "Half a thought")
    board.press(Keys.ESCAPE)
    assert dialogs(board) == []
    assert board.focus() in {"pane", "BODY"}
    board.click("#new-card")
    assert value(board, "title") == "Half a thought"
    board.js(
        "const node = document.querySelector('dialog'); for (const type of ['pointerdown', 'click'])"
        "node.dispatchEvent(new PointerEvent(type, {bubbles: true, clientX: 2, clientY: 2}));"
    )
    assert dialogs(board) == []
    assert board.focus() == "new-card", "focus is back on what opened it"
    board.browser.refresh()
    board.one("#live[data-live=live]")
    board.click("#new-card")
    assert value(board, "title") == "Half a thought"


def test_cancel_alone_discards_a_draft(board: Faces) -> None:
    board.open()
    board.click("#new-card")
    type_in(board, "title", "Half a thought")
    board.click("dialog [data-cancel]")
    board.click("#new-card")
    assert value(board, "title") == ""


@pytest.mark.parametrize(("title", "says"), [("", "needs a title"), ("x" * 121, "at most 120")])
def test_a_title_that_cannot_be_is_told_without_asking_the_server(board: Faces, title: str, says: str) -> None:
    board.open()
    board.click("#new-card")
    board.js("document.querySelector('dialog [name=title]').value = arguments[0]", title)
    board.js("document.querySelector('dialog [name=title]').dispatchEvent(new Event('input', {bubbles: true}))")
    board.click("dialog [data-submit]")
    assert says in board.text("dialog .form")
    assert not made(board)
    assert value(board, "title") == title


def test_words_that_name_no_card_yet_are_not_dropped_silently(board: Faces) -> None:
    board.add("First")
    board.open()
    board.click("#new-card")
    type_in(board, "title", "Second")
    board.one("dialog [name=dependsOn]").send_keys("nothing like it")
    board.click("dialog [data-submit]")
    assert "nothing like it" in board.text("dialog .refusal")
    assert len(made(board)) == 1


def test_a_double_click_sends_once(board: Faces) -> None:
    board.open()
    board.click("#new-card")
    type_in(board, "title", "Once")
    board.js("const go = document.querySelector('dialog [data-submit]'); go.click(); go.click();")
    until(lambda: board.cards("todo") == [1], "it is there")
    until(lambda: value(board, "title") == "", "the form is empty again")
    assert len(made(board)) == 1


def test_a_card_whose_answer_was_lost_is_not_made_twice(board: Faces) -> None:
    board.open()
    board.click("#new-card")
    type_in(board, "title", "Once")
    board.js(
        "const real = window.fetch; window.fetch = async (url, options) => {"
        "if (options?.method === 'POST') { window.fetch = real; await real(url, options);"
        " throw new TypeError('lost'); }"
        "return real(url, options); };"
    )
    board.click("dialog [data-submit]")
    board.one("dialog .refusal[data-code=offline]")
    assert value(board, "title") == "Once"
    board.click("dialog [data-again]")
    until(lambda: value(board, "title") == "", "the second time it has an answer")
    assert len(made(board)) == 1


# Edit.


def edit(board: Faces, number: int) -> None:
    board.click(f'[data-card="{number}"] [data-action="open"]')
    board.click("dialog [data-edit]")
    board.one("dialog[data-dialog=edit]")


def test_edit_is_prefilled_and_sends_only_what_was_changed(board: Faces) -> None:
    for title in ("First", "Second"):
        board.add(title, paths=["src/a"])
    board.open()
    edit(board, 1)
    assert board.text("dialog[data-dialog=edit] h2") == "Edit card #1"
    assert (value(board, "title"), value(board, "paths")) == ("First", "src/a")
    board.apply("edit", card=1, paths=["src/b"])
    type_in(board, "title", "First and best")
    board.one("dialog [name=dependsOn]").send_keys("2", Keys.ENTER)
    type_in(board, "plan", "docs/plan.md")
    board.click("dialog[data-dialog=edit] [data-submit]")
    until(lambda: dialogs(board) == ["card"], "the edit is saved")
    now = card(board, 1)
    assert (now["title"], now["paths"], now["dependsOn"], now["plan"]) == (
        "First and best", ["src/b"], [2], "docs/plan.md",
    )  # fmt: skip
    until(lambda: board.text("dialog h2") == "First and best", "the card shows it")
    assert board.js("return document.activeElement.dataset.edit") == ""


def test_leaving_edit_throws_its_text_away(board: Faces) -> None:
    board.add("First")
    board.open()
    edit(board, 1)
    type_in(board, "title", "Other")
    board.press(Keys.ESCAPE)
    assert dialogs(board) == ["card"]
    board.click("dialog [data-edit]")
    assert value(board, "title") == "First"


def test_a_field_that_somebody_else_changed_is_told_and_the_text_is_kept(board: Faces) -> None:
    board.add("First")
    board.open()
    edit(board, 1)
    type_in(board, "title", "Mine")
    board.apply("edit", card=1, title="Theirs")
    board.click("dialog[data-dialog=edit] [data-submit]")
    refused(board, "stale")
    assert "What you typed is still here" in board.text("dialog .refusal")
    assert value(board, "title") == "Mine"
    assert card(board, 1)["title"] == "Theirs"
    board.click("dialog[data-dialog=edit] [data-submit]")
    until(lambda: dialogs(board) == ["card"], "who saves again means it")
    assert card(board, 1)["title"] == "Mine"


def test_back_closes_the_card_and_what_lies_on_it(board: Faces) -> None:
    board.add("First")
    board.open()
    edit(board, 1)
    board.browser.back()
    until(lambda: dialogs(board) == [], "both are closed")


# The card.


def test_a_half_typed_note_stays_while_the_card_moves_and_after_the_dialog(board: Faces) -> None:
    board.add("First")
    board.add("Second")
    board.open()
    opened(board)
    type_in(board, "text", "So far")
    board.apply("claim", card=1)
    until(lambda: board.text("dialog .lane-word").startswith("Doing"), "the dialog follows the card")
    assert value(board, "text") == "So far"
    assert board.js("return document.activeElement.name") == "text"
    board.press(Keys.ESCAPE)
    opened(board, 2)
    assert value(board, "text") == "", "a draft is its card's"
    board.press(Keys.ESCAPE)
    opened(board)
    assert value(board, "text") == "So far"
    board.click("dialog [data-submit]")
    until(lambda: value(board, "text") == "", "it is sent")
    until(lambda: "So far" in board.text("dialog .history"), "and in the history")
    assert [note["text"] for note in card(board, 1)["notes"]][-1] == "So far"


@pytest.mark.parametrize(("lane", "others"), [("todo", "doing blocked done"), ("doing", "todo blocked done")])
def test_a_card_can_move_to_every_lane_but_its_own(board: Faces, lane: str, others: str) -> None:
    board.add("First")
    if lane == "doing":
        board.apply("claim", card=1)
    board.open()
    opened(board)
    until(lambda: board.all("dialog [data-move]"), "the moves are there")
    shown = board.js("return [...document.querySelectorAll('dialog [data-move]')].map((one) => one.dataset.move)")
    assert shown == others.split()


def test_a_claim_asks_and_a_no_changes_nothing(board: Faces) -> None:
    board.add("First")
    board.open()
    board.click('[data-card="1"] [data-action="claim"]')
    assert dialogs(board) == ["confirm"]
    board.click("dialog [data-cancel]")
    assert card(board, 1)["status"] == "todo"
    board.click('[data-card="1"] [data-action="claim"]')
    board.click("dialog [data-submit]")
    until(lambda: board.cards("doing") == [1], "it is claimed")
    assert dialogs(board) == []


def test_a_reclaim_asks_on_top_of_the_card(board: Faces) -> None:
    board.add("First")
    board.apply("claim", card=1, by=BOB)
    board.open()
    opened(board)
    board.click("dialog [data-reclaim]")
    assert dialogs(board) == ["card", "confirm"]
    assert board.js("return 'cancel' in document.activeElement.dataset"), "the safe answer has the focus"
    board.press(Keys.ESCAPE)
    assert dialogs(board) == ["card"]
    board.click("dialog [data-reclaim]")
    board.click("dialog[data-dialog=confirm] [data-submit]")
    until(lambda: board.cards("todo") == [1], "it is in To do")


def test_a_dropped_card_comes_back_with_undo(board: Faces) -> None:
    board.add("First")
    board.add("Second")
    board.open()
    opened(board)
    board.click("dialog [data-drop]")
    board.click("dialog[data-dialog=confirm] [data-submit]")
    until(lambda: board.cards("todo") == [2], "it is gone")
    assert dialogs(board) == []
    assert board.focus().startswith("#2"), "focus is on what is left"
    board.click("#toast .button.quiet")
    until(lambda: board.cards("todo") == [1, 2], "it is back")


def test_a_finished_card_can_be_reopened_and_not_moved(board: Faces) -> None:
    board.add("First")
    board.apply("claim", card=1)
    board.apply("move", card=1, status="done")
    board.open()
    opened(board)
    until(lambda: board.all("dialog [data-reopen]"), "it can be reopened")
    assert not board.all("dialog [data-move]")
    board.click("dialog [data-reopen]")
    until(lambda: len(board.cards("todo")) == 1, "it is open again")
    until(lambda: board.text("dialog .lane-word").startswith("To do"), "the dialog shows the open one")


def test_a_card_that_is_dropped_under_the_dialog_says_so(board: Faces) -> None:
    board.add("First")
    board.add("Second")
    board.open()
    opened(board)
    type_in(board, "text", "So far")
    board.apply("drop", card=1)
    until(lambda: "is gone" in board.text("dialog .problem-place"), "it says so")
    assert not board.all("dialog [data-drop]")
    board.press(Keys.ESCAPE)
    assert board.focus().startswith("#2")


def test_tab_stays_inside_and_wraps(board: Faces) -> None:
    board.add("First")
    board.open()
    opened(board)
    until(lambda: board.all("dialog [data-drop]"), "all of it is there")
    inside = "return document.querySelector('dialog').contains(document.activeElement)"
    for keys in ([Keys.TAB], [Keys.SHIFT, Keys.TAB]):
        for _ in range(14):
            board.press(*keys)
            assert board.js(inside)


def test_a_card_is_handed_over_by_a_button_and_not_by_looking_through_the_names(board: Faces) -> None:
    board.add("First")
    board.open()
    opened(board)
    select = board.one("dialog [data-assign]")
    select.send_keys(Keys.ARROW_DOWN)
    name = board.js("return document.querySelector('dialog [data-assign]').selectedOptions[0].textContent")
    assert name == "ann"
    board.apply("note", card=1, text="Meanwhile")
    until(lambda: "Meanwhile" in board.text("dialog .history"), "the dialog is drawn anew")
    assert board.js("return document.querySelector('dialog [data-assign]').selectedOptions[0].textContent") == "ann"
    assert card(board, 1)["owner"] is None
    board.click("dialog [data-assign-to]")
    until(lambda: "held by ann" in board.text("dialog .meta"), "it is handed over")
    assert card(board, 1)["owner"]["label"] == "ann"
