"""The tables and samples of the document say what the code does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from itertools import product
from pathlib import Path

import msgspec
import pytest

from flask_pi_taskbar.board import (
    decisions,
    directory_lock,
    journal,
    lock,
    mail,
    model,
    reader,
    rules,
    sessions,
    stamps,
    store,
    tooltext,
)
from flask_pi_taskbar.board.card import parse, serialize
from flask_pi_taskbar.board.identity import seat
from flask_pi_taskbar.board.layout import file_stem
from flask_pi_taskbar.board.model import Card, Lane, NoteKind
from flask_pi_taskbar.board.names import Kind, classify
from flask_pi_taskbar.board.refusal import Code
from flask_pi_taskbar.board.request import FIELDS, Action
from flask_pi_taskbar.board.table import CELLS, TARGETS, Cell, Effect, Outcome, Relation
from flask_pi_taskbar.commands import answers
from flask_pi_taskbar.commands import tool as tools
from tests.board_cli.place import Place
from tests.board_docs import document

CALLS = {"team assign": Action.HANDOFF, "team offer": Action.OFFER}
HOLDERS = {"caller": Relation.HOLDER, "another": Relation.OTHER, "nobody": Relation.NOBODY}
OUTCOMES = {
    "becomes doing and the caller's": Effect.TAKE,
    "goes to todo and is nobody's": Effect.FREE,
    "goes back to todo": Effect.UNPARK,
    "changes its lane": Effect.SHIFT,
    "is done; its holder stays recorded": Effect.FINISH,
    "the teammate is recorded as its holder": Effect.ASSIGN,
    "the note is appended": Effect.APPEND,
    "the plan is recorded": Effect.RECORD,
    "the fields are changed": Effect.REWRITE,
    "is gone; a copy stays": Effect.REMOVE,
    "a letter goes to the teammate": Effect.SEND,
    "a letter goes to every other live session": Effect.SPREAD,
    "a new card in todo has what it says, with its notes": Effect.COPY,
    "nothing changes": Effect.KEEP,
}
TARGET_WORDS = {
    "the label names one teammate": ["one"],
    "the label names nobody": ["none"],
    "the label names several": ["several"],
    "another plan": ["new"],
    "the same plan": ["same"],
    "something differs": ["words", "unlink", "link"],
    "nothing differs": ["same"],
    "no link comes": ["words", "unlink"],
    "a link comes": ["link"],
    "another card names it": ["named"],
    "no other card names it": ["free"],
    "another session is live": ["some"],
    "no other session is live": ["none"],
}


def targets_of(action: Action, words: str, lane: Lane) -> list[str]:
    if words == "—":
        return list(TARGETS[action])
    if action is not Action.MOVE:
        return TARGET_WORDS[words]
    own = lane.value
    if words == "to its own lane":
        return [own]
    lanes = TARGETS[action] if words == "to another lane" else words.removeprefix("to ").split(", ")
    return [target for target in lanes if target != own]


def cells_of(row: document.Row) -> Iterator[tuple[Cell, Outcome]]:
    """Every combination that a row of the document speaks of."""
    call = document.code(row["Call"])
    action = CALLS.get(call) or Action(call)
    said = row["Outcome"]
    if said.startswith("refused: "):
        outcome = Outcome(code=Code[document.code(said).upper()])
    else:
        outcome = Outcome(effect=OUTCOMES[said])
    lanes = list(Lane) if row["Card is in"] == "any" else [Lane(word) for word in row["Card is in"].split(", ")]
    holders = list(Relation) if row["Held by"] == "any" else [HOLDERS[word] for word in row["Held by"].split(", ")]
    waiting = {"yes": [True], "no": [False], "—": [True, False]}[row["Waits"]]
    for lane, who, waits in product(lanes, holders, waiting):
        if (lane, who) != (Lane.DOING, Relation.NOBODY):
            for target in targets_of(action, row["And"], lane):
                yield (action, lane, who, waits, target), outcome


def test_the_table_of_rules_is_the_rules() -> None:
    said: dict[Cell, Outcome] = {}
    for row in document.table("Call", "Card is in", "Held by", "Waits", "And", "Outcome"):
        for cell, outcome in cells_of(row):
            assert cell not in said, f"two rows speak of {cell}"
            said[cell] = outcome
    assert said == CELLS


def test_the_table_of_lanes_names_them_in_their_order() -> None:
    assert [document.code(row["Lane"]) for row in document.table("Lane", "What is in it")] == list(Lane)


def test_the_table_of_refusals_has_every_code_and_its_exit_code() -> None:
    rows = document.table("Code", "Exit", "When")
    assert {document.code(row["Code"]): int(row["Exit"]) for row in rows} == {code.value: code.exit for code in Code}


def test_the_table_of_requests_has_every_action_and_its_fields() -> None:
    rows = document.table("Action", "Needs", "May have")
    said = {
        document.code(row["Action"]): (document.codes(row["Needs"]), document.codes(row["May have"])) for row in rows
    }
    assert said == {action.value: (needs.split(), may.split()) for action, (needs, may) in FIELDS.items()}


def test_the_table_of_fields_has_every_field_of_a_card_in_its_order() -> None:
    rows = document.table("Field", "Type and bound", "Meaning")
    said = {document.code(row["Field"]): row["Type and bound"] for row in rows}
    assert list(said) == [field.encode_name for field in msgspec.structs.fields(Card) if field.name != "kept"]
    assert said["v"] == str(model.VERSION)
    assert said["id"] == f"1 to {model.MAX_ID}"
    assert said["title"] == f"1 to {model.MAX_TITLE}"
    assert document.codes(said["status"]) == list(Lane)
    assert document.codes(said["priority"]) == list(model.Priority)
    assert said["paths"] == f"at most {model.MAX_PATHS}, each 1 to {model.MAX_PATH}"
    assert said["dependsOn"] == f"at most {model.MAX_LINKS} ids"
    assert said["plan"] == f"null or 1 to {model.MAX_PLAN}"
    assert said["notes"] == f"at most {model.MAX_NOTES}"
    assert said["key"] == f"null or 1 to {model.MAX_KEY}"


def test_the_text_names_every_kind_of_note() -> None:
    assert ", ".join(f"`{kind}`" for kind in NoteKind) in document.TEXT.replace("\n", " ")


def duration(span: timedelta, unit: str) -> str:
    return f"{span // timedelta(**{{'d': 'days', 'h': 'hours', 'min': 'minutes', 's': 'seconds'}[unit]: 1})} {unit}"


def test_the_table_of_limits_has_the_bounds_of_the_code() -> None:
    assert timedelta(minutes=decisions.IDLE_MINUTES) == decisions.UNSTARTED_AFTER
    expected = {
        "title": f"1 to {model.MAX_TITLE}",
        "path hint": f"1 to {model.MAX_PATH}, at most {model.MAX_PATHS}",
        "dependsOn": f"at most {model.MAX_LINKS}",
        "plan": f"1 to {model.MAX_PLAN}",
        "note": f"1 to {model.MAX_NOTE}, at most {model.MAX_NOTES}",
        "label": f"1 to {model.MAX_LABEL}",
        "id of an actor": f"1 to {model.MAX_ACTOR_ID}",
        "key": f"1 to {model.MAX_KEY}",
        "query": f"at most {model.MAX_QUERY}",
        "number of a card": f"1 to {model.MAX_ID}",
        "file of a card": f"{model.MAX_FILE_BYTES} bytes",
        "copy of a dropped card": f"{model.MAX_COPY_BYTES} bytes",
        "numbers tried for a new card": f"{store.ID_ATTEMPTS}",
        "wait for the lock": f"{lock.WAIT_SECONDS:.0f} s",
        "second looks at a damaged file": f"{reader.AGAIN}, {reader.AGAIN_SECONDS * 1000:.0f} ms apart",
        "text of a list": f"{tooltext.LIST_LIMIT} characters",
        "request of a tool": f"{tools.REQUEST_BYTES} bytes",
        "cards in an answer to a tool": f"{answers.BRIEF_CARDS}",
        "notes in an answer to a tool": f"{answers.BRIEF_NOTES}",
        "journal": f"{journal.MOST_BYTES} bytes",
        "read letters kept": f"{mail.KEPT}",
        "heartbeat of a session": duration(sessions.HEARTBEAT, "s"),
        "live after the last heartbeat": duration(sessions.LIVE_FOR, "min"),
        "session forgotten after": duration(sessions.FORGOTTEN_AFTER, "d"),
        "undo within": duration(rules.UNDO_WITHIN, "h"),
        "idle and unstarted after": f"{decisions.IDLE_MINUTES} min",
        "unplanned after": duration(decisions.UNPLANNED_AFTER, "min"),
        "clock ahead": duration(stamps.SKEW, "min"),
        "folder lock renewed every": f"{directory_lock.RENEW_SECONDS:.0f} s",
        "folder lock dead after": f"{directory_lock.DEAD_AFTER_SECONDS:.0f} s",
    }
    assert {row["What"]: row["Bound"] for row in document.table("What", "Bound")} == expected


def test_the_sample_of_a_file_is_what_we_would_write() -> None:
    data = document.only_block("json card").encode()
    card = parse(data, 4)
    assert isinstance(card, Card)
    assert not card.repaired
    assert not card.unknown
    assert serialize(card) == data


def test_the_samples_of_a_session_and_a_letter_are_what_we_would_write() -> None:
    session = document.only_block("json session")
    assert sessions.encode(msgspec.json.decode(session, type=sessions.Record)).decode() == session
    letter = document.only_block("json letter")
    read = msgspec.json.decode(letter, type=mail.Letter)
    assert msgspec.json.format(msgspec.json.encode(read), indent=1).decode() + "\n" == letter


def test_the_sample_of_the_journal_is_a_line_of_it() -> None:
    sample = document.only_block("json journal")
    assert json.loads(msgspec.json.encode(msgspec.json.decode(sample, type=journal.Line))) == json.loads(sample)


def test_the_names_in_the_text_mean_what_it_says() -> None:
    for name in ("07.json", "7 (1).json", "7.JSON"):
        assert name in document.TEXT
        assert classify(name).kind is Kind.COPY
        assert classify(name).number == 7
    assert "`7.20261130T200500.json`" in document.TEXT
    assert classify("7.20261130T200500.json").number == 7
    assert "`as:bob`" in document.TEXT
    assert "`as%3Abob`" in document.TEXT
    assert file_stem("as:bob") == "as%3Abob"


def test_the_table_of_the_store_names_what_a_store_holds(tmp_path: Path) -> None:
    made = store.Store(tmp_path / "shop-59e6e4de8d35")
    made.level(stamps.moment("2026-11-30T20:00:00.000Z").astimezone())
    named = {name.split("/")[0] for row in document.table("Name", "What it is") for name in document.codes(row["Name"])}
    assert {path.name for path in (tmp_path / "shop-59e6e4de8d35").iterdir()} <= named
    assert made.seat.id == seat("shop-59e6e4de8d35").id


@pytest.mark.parametrize(
    ("environ", "typed", "who"),
    [
        ({}, ["--as", "bob"], "as:bob"),
        ({"PI_TASKBAR_SESSION": "s-42"}, ["--as", "bob"], "as:bob"),
        ({"PI_TASKBAR_SESSION": "s-42", "PI_TASKBAR_LABEL": "bob"}, [], "s-42"),
        ({"PI_TASKBAR_LABEL": "bob"}, [], "as:bob"),
    ],
)
def test_the_first_thing_given_says_who_calls(
    place: Place, environ: dict[str, str], typed: list[str], who: str
) -> None:
    place.environ |= environ
    assert place.json("board", "status", *typed, who=None).data["you"]["id"] == who
