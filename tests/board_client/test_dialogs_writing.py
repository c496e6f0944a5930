"""Writing on the page: the new card and its draft, Edit, notes, moves, and what a refusal leaves standing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome

from tests.board_client.faces import BOB, NARROW, Faces, Keys, looking
from tests.support.waiting import until

pytestmark = pytest.mark.browser
LOUD = "<img src=x onerror=document.title='ran'> & \"quoted\" \u202e</script>"


@pytest.fixture
def board(chromium_session: Chrome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Faces]:
    (tmp_path / "run").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    with looking(chromium_session, tmp_path) as faces:
        yield faces


def dialogs(board: Faces) -> list[str]:
    found: list[str] = board.js(
        "return [...document.querySelectorAll('dialog[open]')].map((one) => one.dataset.dialog)"
    )
    return found


def card(board: Faces, number: int) -> dict[str, Any]:
    return next(one for one in made(board) if one["id"] == number)


def made(board: Faces) -> list[dict[str, Any]]:
    """The cards in the store, as their files are."""
    return [json.loads(file.read_text("utf-8")) for file in sorted(Path(board.store.layout.cards).glob("*.json"))]


def refused(board: Faces, code: str) -> None:
    """The dialog says so; what the browser's own console says about the answer is expected."""
    board.one(f"dialog .refusal[data-code={code}]")
    board.browser.get_log("browser")  # type: ignore[no-untyped-call]


def type_in(board: Faces, name: str, text: str) -> None:
    field = board.one(f"dialog [name={name}]")
    field.clear()
    field.send_keys(text)


def value(board: Faces, name: str) -> str:
    return str(board.js("return document.querySelector(arguments[0]).value", f"dialog [name={name}]"))


def answering(board: Faces, status: int, body: str, *, path: str) -> None:
    """The next writes to `path` are answered so, and counted in `window.sent`."""
    board.js(
        "const [status, body, path] = arguments; const real = window.fetch; window.sent = 0;"
        "window.unanswer = () => (window.fetch = real);"
        "window.fetch = async (url, options) => {"
        "  if (!String(url).includes(path) || options?.method === 'GET') return real(url, options);"
        "  window.sent += 1;"
        "  if (!status) throw new TypeError('nobody answers');"
        "  return new Response(body, {status}); };",
        status, body, path,
    )  # fmt: skip


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


def opened(board: Faces, number: int = 1) -> None:
    board.click(f'[data-card="{number}"] [data-action="open"]')
    board.one("dialog[data-dialog=card] .history li")


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


# Refusals.

REFUSALS = {
    "bad_field": (422, False),
    "too_long": (422, False),
    "nothing_to_do": (422, False),
    "held": (409, False),
    "not_holder": (409, False),
    "wrong_lane": (409, False),
    "waiting": (409, False),
    "finished": (409, False),
    "stale": (409, False),
    "card_full": (409, False),
    "damaged": (409, False),
    "newer": (409, False),
    "no_such_card": (404, False),
    "cross_site": (403, False),
    "busy": (503, True),
    "store_unwritable": (507, False),
}


@pytest.mark.parametrize(("code", "status", "retry"), [(code, *rest) for code, rest in REFUSALS.items()])
def test_a_refusal_is_shown_in_words_and_loses_nothing(board: Faces, code: str, status: int, retry: bool) -> None:
    board.add("First")
    board.open()
    opened(board)
    body = {
        "ok": False, "code": code, "message": f"No: {LOUD}", "retry": retry,
        "next": [{"action": "note", "card": 1, "why": LOUD}],
    }  # fmt: skip
    answering(board, status, json.dumps(body), path="/note")
    type_in(board, "text", "So far")
    board.js("const go = document.querySelector('dialog [data-submit]'); go.click(); go.click();")
    refused(board, code)
    assert board.js("return window.sent") == 1
    assert LOUD in board.text("dialog .refusal p")
    assert f"write a note on #1: {LOUD}" in board.text("dialog .refusal li")
    assert value(board, "text") == "So far"
    assert bool(board.all("dialog [data-again]")) is retry
    assert board.browser.title != "ran"


def test_a_server_that_is_gone_is_told_and_tried_again_by_a_button(board: Faces) -> None:
    board.add("First")
    board.open()
    opened(board)
    answering(board, 0, "", path="/note")
    type_in(board, "text", "So far")
    board.click("dialog [data-submit]")
    board.one("dialog .refusal[data-code=offline]")
    assert value(board, "text") == "So far"
    board.js("window.unanswer()")
    board.click("dialog [data-again]")
    until(lambda: "So far" in board.text("dialog .history"), "the second time it is written")
    assert not board.all("dialog .refusal")


def test_an_answer_that_is_no_json_is_told(board: Faces) -> None:
    board.add("First")
    board.open()
    opened(board)
    answering(board, 502, "<h1>Bad gateway</h1>", path="/move")
    until(lambda: board.all("dialog [data-move=blocked]"), "the moves are there")
    board.click("dialog [data-move=blocked]")
    until(lambda: "could not be read" in board.text("dialog .refusal"), "it says so")


def test_the_rules_refusal_of_a_waiting_card_names_what_it_waits_for(board: Faces) -> None:
    board.add("First")
    board.add("Second", dependsOn=[1])
    board.open()
    opened(board, 2)
    until(lambda: board.all("dialog [data-move=doing]"), "the moves are there")
    assert board.text("dialog .waits").startswith("#1")
    board.click("dialog [data-move=doing]")
    refused(board, board.one("dialog .refusal").get_attribute("data-code") or "")
    assert "#1" in board.text("dialog .refusal")
    board.click("dialog [data-link]")
    until(lambda: board.text("dialog h2") == "First", "a link opens its card")


# Words from outside, viewers, small windows.


def test_what_others_wrote_is_text_everywhere(board: Faces) -> None:
    title = LOUD.replace("\u202e", "")
    board.add(title, note=title, paths=["<b>x</b>"])
    board.open()
    opened(board)
    assert title in board.text("dialog h2")
    assert title in board.text("dialog .history")
    until(lambda: board.all("dialog [data-edit]"), "it can be edited")
    board.click("dialog [data-edit]")
    assert value(board, "title") == title
    assert not board.all("dialog img, dialog b")
    assert board.browser.title != "ran"


def test_a_viewers_card_has_nothing_that_writes(board: Faces) -> None:
    board.add("First", note="Seen")
    board.open(viewer=True)
    opened(board)
    until(lambda: "Seen" in board.text("dialog .history"), "the history is there")
    assert not board.all("dialog textarea, dialog input, dialog select, dialog form")
    assert board.js("return [...document.querySelectorAll('dialog button')].map((one) => one.textContent)") == ["Close"]


@pytest.mark.parametrize("size", [NARROW, (320, 640)])
def test_a_dialog_fills_a_phone_and_nothing_is_cut(board: Faces, size: tuple[int, int]) -> None:
    board.add("A title " + "w" * 60, paths=["a/" + "b" * 90])
    board.open(size=size)
    opened(board)
    until(lambda: board.all("dialog [data-edit]"), "all of it is there")
    wide = (
        "const box = document.querySelector('dialog:last-of-type');"
        "return [box.clientWidth, box.scrollWidth, box.offsetWidth === innerWidth]"
    )
    seen, whole, full = board.js(wide)
    assert (whole, full) == (seen, True)
    board.click("dialog [data-edit]")
    seen, whole, full = board.js(wide)
    assert (whole, full) == (seen, True)
    small = board.js(
        "return [...document.querySelectorAll('dialog button')].filter((one) => one.getClientRects().length)"
        ".map((one) => one.getBoundingClientRect()).filter((box) => box.width < 24 || box.height < 24).length"
    )
    assert small == 0


def test_a_finished_card_is_pruned_only_after_it_was_shown(board: Faces) -> None:
    board.add("First")
    board.apply("claim", card=1)
    board.apply("move", card=1, status="done")
    board.open()
    until(lambda: board.cards("done") == [1], "it is finished")
    board.click("#more")
    board.click("#prune")
    until(lambda: "No card is that old" in board.text("dialog .prune-result"), "nothing is old enough")
    assert not board.one("dialog [data-submit]").is_enabled()
    type_in(board, "days", "0")
    until(lambda: "#1 First" in board.text("dialog .prune-result"), "what would go is shown")
    assert board.cards("done") == [1]
    board.click("dialog [data-submit]")
    until(lambda: not made(board), "it is gone")


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
