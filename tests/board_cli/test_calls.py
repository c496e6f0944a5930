"""Every call from the command line, once accepted and once refused: JSON, words and exit code."""

from __future__ import annotations

from typing import Any

import pytest

from flask_pi_taskbar.board.refusal import Code
from tests.board_cli.place import Place


class TestAdd:
    def test_it_publishes_a_card_in_todo(self, place: Place) -> None:
        said = place.json(
            "board", "add", "Billing webhook accepts orders", "--paths", "src/billing,tests", "--priority", "high",
            "--note", "Asked for by accounting.",
        )  # fmt: skip
        assert (said.code, said.data["ok"], said.data["action"], said.data["rev"]) == (0, True, "add", 1)
        card = said.card
        assert (card["id"], card["status"], card["priority"], card["owner"]) == (1, "todo", "high", None)
        assert (card["title"], card["paths"]) == ("Billing webhook accepts orders", ["src/billing", "tests"])
        assert [(note["kind"], note["text"]) for note in card["notes"]] == [("add", "Asked for by accounting.")]
        assert card["createdBy"] == {"id": "as:ann", "label": "ann"}

    @pytest.mark.parametrize(
        ("typed", "paths"),
        [
            (["a", "b"], ["a", "b"]),
            (["a, b"], ["a", "b"]),
            (["src/{a,b}/*.ts"], ["src/{a,b}/*.ts"]),
            (['["a,b", "c d"]'], ["a,b", "c d"]),
            (["docs/with a space"], ["docs/with a space"]),
            (["none"], []),
            ([""], []),
        ],
    )
    def test_paths_come_repeated_with_commas_or_as_json(self, place: Place, typed: list[str], paths: list[str]) -> None:
        options = [word for path in typed for word in ("--paths", path)]
        assert place.json("board", "add", "T", *options).card["paths"] == paths

    @pytest.mark.parametrize(
        "typed",
        [["1", "2"], ["1,2"], ["1 2"], ["#1, #2"], ["[1, 2]"], ['["#1", 2]']],
        ids=lambda typed: "|".join(typed),
    )
    def test_links_come_in_every_spelling(self, place: Place, typed: list[str]) -> None:
        place.do("add", title="One")
        place.do("add", title="Two")
        options = [word for one in typed for word in ("--depends-on", one)]
        said = place.json("board", "add", "Three", *options)
        assert said.card["dependsOn"] == [1, 2]
        assert said.data["waits"] == [1, 2]

    def test_the_same_key_adds_nothing_twice(self, place: Place) -> None:
        first = place.json("board", "add", "T", "--key", "k-1")
        again = place.json("board", "add", "T", "--key", "k-1")
        assert (first.code, first.data["replayed"]) == (0, False)
        assert (again.code, again.data["replayed"], again.card["id"]) == (0, True, first.card["id"])
        other = place.json("board", "add", "Another", "--key", "k-1")
        assert (other.code, other.data["code"]) == (3, "key_reused")

    def test_a_note_of_many_lines_comes_from_stdin(self, place: Place) -> None:
        said = place.json("board", "add", "T", "--note", "-", stdin="one\ntwo\n")
        assert said.card["notes"][0]["text"] == "one\ntwo"

    def test_a_title_comes_back_as_it_was_given(self, place: Place) -> None:
        title = 'The XML tag <person> & "x" für Ärzte 日本 👩‍👧'
        assert place.json("board", "add", title).card["title"] == title
        assert title in place.call("board", "list").out
        assert place.json("board", "list").data["cards"][0]["title"] == title


ACCEPTED: list[tuple[str, list[tuple[str, dict[str, Any]]], list[str], dict[str, Any]]] = [
    # name, what was done before, the call, what its card is then
    ("claim", [], ["claim", "1"], {"status": "doing", "owner": {"id": "as:ann", "label": "ann"}}),
    ("claim by #", [], ["claim", "#1"], {"status": "doing"}),
    ("claim again", [("claim", {"card": 1})], ["claim", "1"], {"status": "doing", "rev": 2}),
    ("release", [("claim", {"card": 1})], ["release", "1"], {"status": "todo", "owner": None}),
    ("reclaim", [("claim", {"card": 1})], ["reclaim", "1"], {"status": "todo", "owner": None}),
    ("finish", [("claim", {"card": 1})], ["move", "1", "done"], {"status": "done"}),
    ("park", [], ["move", "1", "blocked"], {"status": "blocked", "owner": None}),
    ("plan", [], ["plan", "1", "docs/plan.md"], {"plan": "docs/plan.md"}),
    ("retitle", [], ["edit", "1", "--title", "New"], {"title": "New", "paths": ["src"]}),
    ("edit paths", [], ["edit", "1", "--paths", "none"], {"title": "First", "paths": []}),
    ("edit priority", [], ["edit", "1", "--priority", "low"], {"priority": "low"}),
    ("link", [], ["edit", "1", "--depends-on", "2"], {"dependsOn": [2]}),
    ("unlink", [("edit", {"card": 1, "dependsOn": [2]})], ["edit", "1", "--depends-on", "none"], {"dependsOn": []}),
    ("drop", [], ["drop", "1"], {"id": 1}),
    ("undo", [("drop", {"card": 1})], ["undo"], {"id": 1, "title": "First"}),
    ("undo that one", [("drop", {"card": 1}), ("drop", {"card": 2})], ["undo", "1"], {"id": 1}),
    ("next", [], ["next"], {"id": 2, "status": "doing"}),
    ("next, dry", [], ["next", "--dry-run"], {"id": 2, "status": "todo"}),
    ("at this rev", [], ["claim", "1", "--if-rev", "1"], {"status": "doing"}),
]


@pytest.fixture
def two(place: Place) -> Place:
    place.do("add", title="First", paths=["src"])
    place.do("add", title="Second", priority="high")
    return place


@pytest.mark.parametrize(("name", "before", "words", "becomes"), ACCEPTED, ids=[row[0] for row in ACCEPTED])
def test_an_accepted_call_answers_with_the_card_as_it_is_now(
    two: Place, name: str, before: list[tuple[str, dict[str, Any]]], words: list[str], becomes: dict[str, Any]
) -> None:
    for action, fields in before:
        two.do(action, **fields)
    said = two.json("board", *words)
    assert (said.code, said.err) == (0, "")
    assert (said.data["ok"], said.data["action"]) == (True, words[0])
    assert becomes.items() <= said.card.items()
    assert said.data["rev"] == said.card["rev"]


def test_a_note_is_appended_under_the_callers_name(two: Place) -> None:
    said = two.json("board", "note", "1", "The webhook answers 202.", who="bob")
    assert said.card["notes"][-1] | {"at": ""} == {
        "n": 1, "at": "", "by": {"id": "as:bob", "label": "bob"}, "kind": "note", "text": "The webhook answers 202.",
    }  # fmt: skip
    dashed = two.json("board", "note", "1", "--", "--json is an option")
    assert dashed.card["notes"][-1]["text"] == "--json is an option"


def test_finishing_says_what_has_just_become_ready(two: Place) -> None:
    two.do("edit", card=2, dependsOn=[1])
    two.do("claim", card=1)
    said = two.json("board", "move", "1", "done")
    assert said.data["unblocked"] == [2]
    two.do("add", title="Third", dependsOn=[2])
    two.do("claim", card=2)
    assert "ready now: #3" in two.call("board", "move", "2", "done").out


def test_assigning_records_and_sends_nothing(two: Place) -> None:
    two.do("note", "bob", card=2, text="I am here.")
    said = two.json("board", "assign", "1", "bob")
    assert said.card["owner"] == {"id": "as:bob", "label": "bob"}
    assert "no handoff was sent" in said.card["notes"][-1]["text"]
    assert two.json("team", "inbox", who="bob").data["mail"] == []


REFUSED: list[tuple[str, list[tuple[str, str, dict[str, Any]]], list[str], Code]] = [
    # code, what was done before and by whom, the call, the code
    ("bad_field", [], ["move", "1", "doingg"], Code.BAD_FIELD),
    ("bad_field: 04", [], ["claim", "04"], Code.BAD_FIELD),
    ("bad_field: 4.0", [], ["claim", "4.0"], Code.BAD_FIELD),
    ("bad_field: rev", [], ["claim", "1", "--if-rev", "latest"], Code.BAD_FIELD),
    ("bad_field: label", [], ["claim", "1", "--as", "a/b"], Code.BAD_FIELD),
    ("bad_field: seat", [], ["claim", "1", "--as", "team-lead"], Code.BAD_FIELD),
    ("bad_field: repo", [], ["claim", "1", "--repo", "/nowhere/at/all"], Code.BAD_FIELD),
    ("too_long", [], ["add", "x" * 121], Code.TOO_LONG),
    ("nothing_to_do", [], ["edit", "1"], Code.NOTHING_TO_DO),
    ("nothing_to_do: undo", [], ["undo"], Code.NOTHING_TO_DO),
    ("held", [("claim", "bob", {"card": 1})], ["claim", "1"], Code.HELD),
    ("not_holder", [("claim", "bob", {"card": 1})], ["release", "1"], Code.NOT_HOLDER),
    ("not_held", [], ["release", "1"], Code.NOT_HELD),
    ("wrong_lane", [("claim", "ann", {"card": 1}), ("move", "ann", {"card": 1, "status": "blocked"})],
     ["claim", "1"], Code.WRONG_LANE),
    ("waiting", [("edit", "bob", {"card": 1, "dependsOn": [2]})], ["claim", "1"], Code.WAITING),
    ("finished", [("claim", "ann", {"card": 1}), ("move", "ann", {"card": 1, "status": "done"})],
     ["move", "1", "doing"], Code.FINISHED),
    ("stale", [("note", "bob", {"card": 1, "text": "x"})], ["move", "1", "blocked", "--if-rev", "1"], Code.STALE),
    ("waited_on", [("edit", "bob", {"card": 1, "dependsOn": [2]})], ["drop", "2"], Code.WAITED_ON),
    ("cycle", [("edit", "bob", {"card": 1, "dependsOn": [2]})], ["edit", "2", "--depends-on", "1"], Code.CYCLE),
    ("self", [], ["edit", "1", "--depends-on", "1"], Code.SELF),
    ("no_such_teammate", [], ["assign", "1", "nobody-here"], Code.NO_SUCH_TEAMMATE),
    ("no_such_card", [], ["claim", "99"], Code.NO_SUCH_CARD),
    ("no_such_card: list", [], ["list", "99"], Code.NO_SUCH_CARD),
    ("no_such_card: link", [], ["edit", "1", "--depends-on", "99"], Code.NO_SUCH_CARD),
]  # fmt: skip


@pytest.mark.parametrize(("name", "before", "words", "code"), REFUSED, ids=[row[0] for row in REFUSED])
def test_a_refused_call_says_why_and_exits_with_its_codes_number(
    two: Place, name: str, before: list[tuple[str, str, dict[str, Any]]], words: list[str], code: Code
) -> None:
    for action, who, fields in before:
        two.do(action, who, **fields)
    said = two.json("board", *words)
    data = said.data
    assert (said.code, data["ok"], data["code"], data["action"]) == (code.exit, False, code.value, words[0])
    assert (data["retry"], said.err) == (False, "")
    assert set(data) - {"card"} == {"ok", "action", "code", "message", "details", "next", "retry"}
    assert len(data["next"]) <= 3
    told = two.call("board", *words)
    assert (told.code, told.out) == (code.exit, "")
    assert data["message"].replace("dependsOn", "--depends-on").replace("ifRev", "--if-rev") in told.err


def test_a_refusal_carries_the_card_and_what_can_be_done_instead(two: Place) -> None:
    two.do("claim", "bob", card=1)
    data = two.json("board", "claim", "1").data
    assert (data["card"]["id"], data["card"]["owner"]["label"]) == (1, "bob")
    assert {"action": "claim", "card": 2, "why": "high, nothing it waits for"} in data["next"]
    told = two.call("board", "claim", "1", "--repo", str(two.root)).err
    assert "#1  bob" in told
    again = f" --as ann --repo {two.root}"
    assert f"  pi-taskbar board reclaim 1{again}" in told
    assert f"  pi-taskbar board claim 2{again}" in told
    assert "high, nothing it waits for" in told


def test_what_is_suggested_can_be_typed_as_it_stands(two: Place) -> None:
    two.do("edit", "bob", card=1, dependsOn=[2])
    told = two.call("board", "drop", "2").err
    calls = [line.strip() for line in told.splitlines() if line.startswith("  pi-taskbar")]
    assert "pi-taskbar board edit 1 --depends-on none --as ann" in calls
    assert two.call(*calls[0].split()[1:], who=None).code == 0
    assert two.json("board", "list", "1").card["dependsOn"] == []


def test_a_damaged_and_a_newer_card_are_refused_by_their_own_code(two: Place) -> None:
    cards = two.store.layout.cards
    with open(f"{cards}/7.json", "wb") as file:
        file.write(b"\0" * 4096)
    with open(f"{cards}/1.json", encoding="utf-8") as file:
        newer = file.read().replace('"v": 1', '"v": 2').replace('"id": 1', '"id": 8')
    with open(f"{cards}/8.json", "w", encoding="utf-8") as file:
        file.write(newer)
    for number, code in (("7", "damaged"), ("8", "newer")):
        said = two.json("board", "claim", number)
        assert (said.code, said.data["code"]) == (6, code)
    with open(f"{cards}/7.json", "rb") as file:
        assert file.read() == b"\0" * 4096


def test_a_store_that_cannot_be_written_is_8(two: Place) -> None:
    foreign = two.root.parent / "file"
    foreign.write_text("")
    two.environ["PI_CODING_AGENT_DIR"] = str(foreign)
    said = two.json("board", "add", "T")
    assert (said.code, said.data["code"]) == (8, "store_unwritable")
    assert "Not a directory" in said.data["message"]
    assert two.json("board", "list").code == 8
