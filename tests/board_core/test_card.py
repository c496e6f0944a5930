"""Files become cards and cards become files; nothing unknown is lost, and nothing hostile raises (spec 3, 8)."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flask_pi_taskbar.board import repair
from flask_pi_taskbar.board.card import RAW, etag, parse, serialize
from flask_pi_taskbar.board.model import MAX_FILE_BYTES, Card, Damaged, Lane, Priority
from flask_pi_taskbar.board.plain import as_json
from tests.board_core.boards import ME, card, many, tries

WHOLE: dict[str, Any] = {
    "v": 1,
    "id": 4,
    "rev": 7,
    "title": "Billing webhook accepts orders",
    "status": "doing",
    "priority": "normal",
    "paths": ["src/billing"],
    "dependsOn": [1],
    "plan": "docs/plans/billing.md",
    "owner": {"id": "s-0198f0c2", "label": "agent-3"},
    "createdAt": "2026-11-30T20:00:00.123Z",
    "createdBy": {"id": "seat:1f3a", "label": "team-lead"},
    "touchedAt": "2026-11-30T20:00:01.123Z",
    "heldTouchedAt": "2026-11-30T20:00:02.123Z",
    "claimedAt": "2026-11-30T20:00:03.123Z",
    "finishedAt": None,
    "notes": [
        {
            "n": 1,
            "at": "2026-11-30T20:00:00.123Z",
            "by": {"id": "s-1", "label": "agent-3"},
            "kind": "note",
            "text": "Two\nlines — and “quotes”",
        }
    ],
    "key": None,
}


def as_file(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, sort_keys=True, indent=1) + "\n").encode("utf-8", "surrogatepass")


def changed(**fields: object) -> bytes:
    return as_file(WHOLE | fields)


def read_card(data: bytes, file_id: int = 4) -> Card:
    entry = parse(data, file_id)
    assert isinstance(entry, Card)
    return entry


def read_damaged(data: bytes, file_id: int = 4) -> Damaged:
    entry = parse(data, file_id)
    assert isinstance(entry, Damaged)
    return entry


def test_a_file_as_we_write_it_is_read_and_written_back_byte_for_byte() -> None:
    one = read_card(as_file(WHOLE))
    assert one == repair.read(as_file(WHOLE), 4, None), "the quick way and the careful way agree"
    assert (one.status, one.owner and one.owner.label, one.depends_on) == (Lane.DOING, "agent-3", (1,))
    assert as_json(one) == WHOLE
    assert list(as_json(one)) == list(WHOLE)
    assert serialize(one) == as_file(WHOLE)


def test_a_minimal_file_by_hand_gets_every_default_and_the_file_s_own_time() -> None:
    one = parse(b'{"id": 4, "title": "x", "status": "todo"}', 4, "2026-01-01T00:00:00.000Z")
    assert isinstance(one, Card)
    assert (one.v, one.rev, one.priority, one.repaired) == (1, 1, Priority.NORMAL, ())
    assert one.created_at == one.touched_at == "2026-01-01T00:00:00.000Z"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "empty"),
        (b" \n ", "empty"),
        (b"\0" * 4096, "NUL"),
        (b"not json", "not JSON"),
        (b'{"id": 4, "title": "cut of', "not JSON"),
        (b"\xff\xfe{}", "not JSON"),
        (b'{"id": NaN}', "not JSON"),
        (b'{"id":4,"title":"\\ud800","status":"todo"}', "not JSON"),
        (b"[" * 100_000, "nested"),
        (b"[4]", "not an object"),
        (b"null", "not an object"),
        (b'"4"', "not an object"),
        (b" " * (MAX_FILE_BYTES + 1), "512 KiB"),
        (changed(id=9), "says it is #9"),
        (changed(id="4"), '"id" is "4"'),
        (changed(id=True), '"id" is true'),
        (changed(id=4.0), '"id" is 4.0'),
        (as_file({"title": "x", "status": "todo"}), 'no "id"'),
        (changed(title=""), '"title" is ""'),
        (changed(title=None), '"title" is missing'),
        (changed(title=["x"]), '"title" is ["x"]'),
        (changed(title="x" * 121), '"title" is'),
        (changed(status="urgent"), '"status" is "urgent"'),
        (changed(status=None), '"status" is missing'),
        (changed(status=["todo"]), '"status" is ["todo"]'),
    ],
)
def test_what_is_no_card_is_damaged_and_says_why(data: bytes, why: str) -> None:
    entry = read_damaged(data)
    assert why in entry.why
    assert (entry.id, entry.name, entry.size) == (4, "4.json", len(data))
    assert len(entry.head) <= 200
    assert "\x1b" not in entry.head


@pytest.mark.parametrize(
    ("field", "raw", "default"),
    [
        ("rev", 0, 1),
        ("rev", "7", 1),
        ("rev", True, 1),
        ("v", -3, 1),
        ("priority", "urgent", "normal"),
        ("priority", {"x": 1}, "normal"),
        ("paths", "src", []),
        ("paths", {"a": 1}, []),
        ("dependsOn", "1", []),
        ("dependsOn", [1, "x", -2, 1.5], [1]),
        ("plan", 7, None),
        ("plan", "p" * 401, None),
        ("owner", "agent-3", None),
        ("owner", {"label": "agent-3"}, None),
        ("createdBy", [], None),
        ("heldTouchedAt", "yesterday", None),
        ("claimedAt", "2026-02-30T00:00:00.000Z", None),
        ("finishedAt", 5, None),
        ("key", "a b", None),
        ("notes", "hello", []),
        ("notes", [7, {"text": ""}], []),
    ],
)
def test_an_unusable_field_stands_at_its_default_and_a_rewrite_keeps_what_it_was(
    field: str, raw: object, default: object
) -> None:
    one = read_card(changed(**{field: raw}))
    assert one.repaired == (field,)
    assert as_json(one)[field] == default
    rewritten = json.loads(serialize(one))
    kept = rewritten[RAW][field]
    assert kept == (raw if field != "notes" or isinstance(raw, list) else [raw])
    again = read_card(serialize(one))
    assert again.repaired == ()
    assert again.unknown[RAW] == rewritten[RAW]


def test_a_second_repair_does_not_forget_the_first() -> None:
    one = read_card(changed(priority="urgent", **{RAW: {"plan": 7}}))
    assert json.loads(serialize(one))[RAW] == {"plan": 7, "priority": "urgent"}
    odd = read_card(changed(priority="urgent", **{RAW: "mine"}))
    assert json.loads(serialize(odd))[RAW] == {RAW: "mine", "priority": "urgent"}


def test_links_and_paths_are_made_distinct() -> None:
    one = read_card(changed(dependsOn=[2, 1, 2], paths=["a", "b", "a"]))
    assert (one.depends_on, one.paths) == ((2, 1), ("a", "b"))


@pytest.mark.parametrize("said", ["2026-11-30T21:00:00.123+01:00", "2026-11-30T20:00:00.123000Z"])
def test_another_spelling_of_a_time_is_the_same_time(said: str) -> None:
    one = read_card(changed(createdAt=said))
    assert (one.created_at, one.repaired) == ("2026-11-30T20:00:00.123Z", ())


def test_texts_that_could_mislead_are_cleaned_on_reading() -> None:
    note = WHOLE["notes"][0] | {"text": "red \x1b[31m"}
    one = read_card(changed(title="evil\u202egnp", paths=["a\x07b"], notes=[note]))
    assert (one.title, one.paths, one.notes[0].text) == ("evilgnp", ("ab",), "red [31m")
    kept = json.loads(serialize(one))
    assert kept[RAW]["title"] == "evil\u202egnp"
    assert kept["notes"][0][RAW]["text"] == "red \x1b[31m"


def test_a_broken_note_loses_neither_itself_nor_its_neighbours() -> None:
    good = WHOLE["notes"][0]
    strange = {"n": 0, "at": "?", "by": "me", "kind": "shout", "text": "kept", "via": "mail", "mood": 3}
    one = read_card(changed(notes=[good, 5, strange]))
    assert [note.text for note in one.notes] == [good["text"], "kept"]
    assert (one.notes[1].n, one.notes[1].by.label, one.notes[1].kind) == (2, "?", "note")
    again = json.loads(serialize(one))
    assert again[RAW]["notes"] == [5]
    assert again["notes"][1]["mood"] == 3
    assert again["notes"][1][RAW] == {"n": 0, "at": "?", "by": "me", "kind": "shout", "via": "mail"}


def test_a_byte_order_mark_does_not_hide_a_card() -> None:
    assert read_card(b"\xef\xbb\xbf" + as_file(WHOLE)).title == WHOLE["title"]


def test_a_newer_card_is_shown_and_known_to_be_newer() -> None:
    one = read_card(changed(v=2, lane="review"))
    assert one.newer
    assert one.unknown == {"lane": "review"}
    unusable = read_damaged(changed(v=2, status="review"))
    assert unusable.newer
    assert "newer board (version 2)" in unusable.why


def test_doing_that_nobody_holds_counts_as_blocked() -> None:
    one = read_card(changed(owner=None))
    assert (one.status, one.lane) == (Lane.DOING, Lane.BLOCKED)
    assert as_json(one)["status"] == "doing", "the file is shown as it is"


def test_no_field_of_a_file_can_pose_as_what_was_kept() -> None:
    for raw in ({"was": {"title": "x"}}, None, "x"):
        one = read_card(changed(kept=raw, owner=WHOLE["owner"] | {"kept": raw}))
        assert one.unknown == {"kept": raw}
        assert one.repaired == ()
        assert json.loads(serialize(one))["owner"]["kept"] == raw


def test_a_hand_s_edit_that_forgot_rev_has_another_etag() -> None:
    assert etag(4, 7, b"{}") == "4.7.44136fa3"
    assert etag(4, 7, b"{ }") != etag(4, 7, b"{}")


def test_what_we_write_is_what_the_standard_library_would_write() -> None:
    for one in [*many(50), card(4, "doing", owner=ME, said='a "quote"\n\ttab \u2028 — é')]:
        assert serialize(one) == as_file(as_json(one))
        assert parse(serialize(one), one.id) == one


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=8).filter(
    lambda name: name not in {*WHOLE, *WHOLE["notes"][0], RAW}
)
UNKNOWN = st.dictionaries(NAMES, JSON, max_size=3)


@tries(100)
@given(UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN)
def test_unknown_fields_survive_at_every_level(top: dict, who: dict, note: dict, author: dict) -> None:
    file = WHOLE | top
    file["owner"] = WHOLE["owner"] | who
    by = WHOLE["notes"][0]["by"] | author
    file["notes"] = [WHOLE["notes"][0] | note | {"by": by}]
    one = read_card(as_file(file))
    assert one.repaired == ()
    assert json.loads(serialize(one)) == json.loads(as_file(file))
    assert parse(serialize(one), 4) == one


@tries(400)
@given(st.binary(max_size=300))
def test_no_bytes_at_all_make_reading_raise(data: bytes) -> None:
    assert isinstance(parse(data, 4), Card | Damaged)


FIELD_VALUES = st.one_of(JSON, *(st.just(value) for value in WHOLE.values()))


@tries(400)
@given(st.dictionaries(st.sampled_from([*WHOLE, RAW, "kept"]), FIELD_VALUES), st.booleans())
def test_no_json_object_makes_reading_or_rewriting_raise(fields: dict, complete: bool) -> None:
    data = as_file(WHOLE | fields if complete else {"id": 4, "title": "t", "status": "todo"} | fields)
    entry = parse(data, 4)
    if isinstance(entry, Card):
        again = parse(serialize(entry), 4)
        assert isinstance(again, Card), "what we write, we can read"
        assert again.repaired == ()
        assert as_json(again) == as_json(read_card(serialize(again)))
        stored = msgspec.json.decode(serialize(entry))
        for name, value in fields.items():
            if name not in WHOLE and name != RAW:
                assert stored[name] == value


@tries(100)
@given(st.data())
def test_a_torn_or_overwritten_file_never_raises(data: st.DataObject) -> None:
    whole = bytearray(as_file(WHOLE))
    cut = data.draw(st.integers(0, len(whole)))
    assert isinstance(parse(bytes(whole[:cut]), 4), Card | Damaged)
    for _ in range(3):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    assert isinstance(parse(bytes(whole), 4), Card | Damaged)
