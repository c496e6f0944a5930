"""Every surface's call is read once, and a mistake in it is named with its remedy (spec 5, 6.3)."""

from __future__ import annotations

import pytest

from flask_pi_taskbar.board.model import Lane, Priority
from flask_pi_taskbar.board.refusal import Code, Refusal
from flask_pi_taskbar.board.request import FIELDS, Action, read_request


def refused(action: object, **fields: object) -> Refusal:
    with pytest.raises(Refusal) as caught:
        read_request(action, fields)
    return caught.value


def test_fields_are_cleaned_and_null_means_not_given() -> None:
    request = read_request("edit", {"card": "#4", "title": " A  b ", "dependsOn": ["#1", 2], "paths": None})
    assert (request.card, request.title, request.depends_on, request.paths) == (4, "A b", (1, 2), None)
    assert read_request("add", {"title": "x", "priority": "low"}).priority is Priority.LOW
    assert read_request("move", {"card": 4, "status": "done"}).status is Lane.DONE


def test_an_empty_list_is_given() -> None:
    assert read_request("edit", {"card": 4, "dependsOn": []}).depends_on == ()


@pytest.mark.parametrize("action", list(Action))
def test_every_action_names_the_first_field_that_is_missing(action: Action) -> None:
    required = FIELDS[action][0].split()
    if not required:
        assert read_request(action.value, {}).action is action
        return
    refusal = refused(action.value)
    assert (refusal.code, refusal.details["field"], refusal.action) == (Code.BAD_FIELD, required[0], action)
    assert refusal.message == f"{action} needs {required[0]}."


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("start", "claim"),
        ("finish", "done"),
        ("block", "blocked"),
        ("clam", "claim"),
        ("relation", "dependsOn"),
        ("xyzzy", ""),
    ],
)
def test_an_unknown_action_lists_all_and_the_nearest(word: str, hint: str) -> None:
    refusal = refused(word, card=4)
    assert refusal.code is Code.UNKNOWN_ACTION
    assert refusal.details["valid"] == [action.value for action in Action]
    assert hint in str(refusal.details.get("nearest", ""))


@pytest.mark.parametrize("nothing", [None, 7, [], "", "x" * 10_000])
def test_what_is_no_action_is_refused_briefly(nothing: object) -> None:
    refusal = refused(nothing)
    assert refusal.code is Code.UNKNOWN_ACTION
    assert len(refusal.message) < 400


@pytest.mark.parametrize(("name", "meant"), [("lane", "status"), ("id", "card"), ("statsu", "status")])
def test_an_unknown_field_lists_all_and_the_nearest(name: str, meant: str) -> None:
    refusal = refused("move", **{"card": 4, "status": "done", name: "x"})
    assert (refusal.code, refusal.details["nearest"]) == (Code.BAD_FIELD, meant)
    assert refusal.details["valid"] == ["card", "status", "ifRev"]


@pytest.mark.parametrize(
    ("action", "fields", "code"),
    [
        ("move", {"card": 4, "status": "dome"}, Code.BAD_FIELD),
        ("add", {"title": "x", "priority": "urgent"}, Code.BAD_FIELD),
        ("add", {"title": "x", "priority": ["high"]}, Code.BAD_FIELD),
        ("add", {"title": "x" * 121}, Code.TOO_LONG),
        ("add", {"title": "x", "note": "n" * 4001}, Code.TOO_LONG),
        ("list", {"mine": "yes"}, Code.BAD_FIELD),
        ("list", {"query": "q" * 201}, Code.TOO_LONG),
        ("claim", {"card": 4, "ifRev": 0}, Code.BAD_FIELD),
        ("claim", {"card": 4, "ifRev": True}, Code.BAD_FIELD),
        ("edit", {"card": 4, "title": "x", "base": []}, Code.BAD_FIELD),
        ("edit", {"card": 4, "title": "x", "base": {"notes": 1}}, Code.BAD_FIELD),
        ("wait", {"card": 4, "until": "never"}, Code.BAD_FIELD),
        ("edit", {"card": 4}, Code.NOTHING_TO_DO),
        ("edit", {"card": 4, "ifRev": 3, "base": {}}, Code.NOTHING_TO_DO),
    ],
)
def test_a_bad_field_is_refused_before_any_card_is_looked_at(action: str, fields: dict, code: Code) -> None:
    refusal = refused(action, **fields)
    assert refusal.code is code
    assert (refusal.code.http, refusal.code.exit) == (422, 2)


def test_codes_have_the_statuses_and_exits_of_the_specification() -> None:
    groups = {
        (422, 2): "bad_field too_long nothing_to_do unknown_action",
        (
            409,
            3,
        ): "held not_holder not_held wrong_lane waiting finished stale waited_on cycle self key_reused card_full "
        "no_such_teammate ambiguous",
        (404, 4): "no_such_card",
        (503, 5): "busy",
        (409, 6): "damaged newer",
        (403, 7): "read_only wrong_host cross_site",
        (401, 7): "no_token",
        (507, 8): "store_unwritable",
    }
    expected = {word: pair for pair, words in groups.items() for word in words.split()}
    assert {code.value: (code.http, code.exit) for code in Code} == expected
    assert [code for code in Code if Refusal(code, "x").retry] == [Code.BUSY]
