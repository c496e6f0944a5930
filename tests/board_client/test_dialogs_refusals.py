"""What a refusal leaves standing, what others wrote, viewers, and small windows."""

from __future__ import annotations

import json

import pytest

from tests.board_client.dialogs import answering, made, opened, refused, type_in, value
from tests.board_client.faces import NARROW, Faces
from tests.support.waiting import until

pytestmark = pytest.mark.browser
LOUD = "<img src=x onerror=document.title='ran'> & \"quoted\" \u202e</script>"


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
