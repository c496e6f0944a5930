"""`list`: filters, order, one card, bounds, and files that are no cards. Reading changes nothing."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from flask_pi_taskbar.board.model import Lane, evolve
from tests.board_cli.place import Place
from tests.board_core.boards import many


@pytest.fixture
def full(place: Place) -> Place:
    """A card in every lane: 1 todo, 2 waiting for it, 3 doing (bob), 4 blocked (ann), 5 done (ann)."""
    place.do("add", title="Free", paths=["src/billing"])
    place.do("add", title="Waiting", dependsOn=[1], priority="high")
    place.do("add", title="Running")
    place.do("add", title="Stuck")
    place.do("add", title="Over")
    place.do("claim", "bob", card=3)
    place.do("claim", card=4)
    place.do("note", card=4, text="No key for the vendor's sandbox.")
    place.do("move", card=4, status="blocked")
    place.do("claim", card=5)
    place.do("move", card=5, status="done")
    return place


FILTERS = [
    ([], [2, 1, 3, 4, 5]),
    (["--status", "todo"], [2, 1]),
    (["--status", "done"], [5]),
    (["--mine"], [4]),
    (["--mine", "--status", "done"], [5]),
    (["--mine", "--status", "todo"], []),
    (["--query", "BILLING"], [1]),
    (["--query", "#3"], [3]),
    (["--query", "bob running"], [3]),
    (["--query", "bob free"], []),
    (["--card", "4"], [4]),
    (["4"], [4]),
    (["4", "--mine"], [4]),
    (["3", "--mine"], []),
    (["--all"], [2, 1, 3, 4, 5]),
]


@pytest.mark.parametrize(("words", "found"), FILTERS, ids=[" ".join(row[0]) or "everything" for row in FILTERS])
def test_filters_combine(full: Place, words: list[str], found: list[int]) -> None:
    said = full.json("board", "list", *words)
    assert (said.code, said.data["action"]) == (0, "list")
    assert [card["id"] for card in said.data["cards"]] == found


def test_one_card_stands_alone_as_well(full: Place) -> None:
    data = full.json("board", "list", "4").data
    assert data["card"] == data["cards"][0]
    assert data["card"]["notes"][-1]["text"] == "doing → blocked"
    assert (data["card"]["waits"], data["card"]["claimable"]) == ([], False)


def test_finished_cards_are_a_count_until_they_are_asked_for(full: Place) -> None:
    lines = full.call("board", "list").out.splitlines()
    assert lines[-1] == "1 done"
    assert lines[0].endswith("Waiting  [waits #1]")
    assert any(line.endswith("Over") for line in full.call("board", "list", "--all").out.splitlines())


def test_the_round_covers_the_whole_board_whatever_the_filter(full: Place) -> None:
    data = full.json("board", "list", "--status", "todo", "--round").data
    assert (data["round"]["features"], data["round"]["done"], len(data["cards"])) == (5, 1, 2)
    assert full.call("board", "list", "--round").out.startswith("2 owners · 5 features · ")


def test_who_asks_decides_what_is_claimable(full: Place) -> None:
    full.do("assign", card=1, label="bob")
    claimable = {
        who: [card["id"] for card in full.json("board", "list", who=who).data["cards"] if card["claimable"]]
        for who in ("ann", "bob")
    }
    assert claimable == {"ann": [], "bob": [1]}
    for who, numbers in claimable.items():
        for number in (1, 2, 3, 4, 5):
            accepted = full.json("board", "claim", str(number), who=who)
            assert (accepted.code == 0 and not accepted.data["unchanged"]) is (number in numbers)


def test_a_waiting_card_is_never_next(full: Place) -> None:
    assert full.json("board", "next", "--dry-run").card["id"] == 1
    assert full.json("board", "next").card["id"] == 1
    nothing = full.json("board", "next", who="cyd")
    assert (nothing.code, nothing.data["code"]) == (2, "nothing_to_do")
    assert "1 waiting" in nothing.data["message"]


def test_one_bad_file_takes_nothing_but_its_own_line(place: Place) -> None:
    place.plant(*many(40))
    bad = Path(place.store.layout.cards, "7.json")
    bad.write_bytes(b"\0" * 4096)
    data = place.json("board", "list").data
    assert (len(data["cards"]), [entry["name"] for entry in data["damaged"]]) == (39, ["7.json"])
    said = place.call("board", "list")
    assert said.code == 0
    assert [line for line in said.out.splitlines() if "7.json" in line] == [said.out.splitlines()[0]]
    assert said.out.startswith("! 7.json: ")
    assert bad.read_bytes() == b"\0" * 4096


def test_the_text_of_a_large_board_stays_short_and_says_what_it_left_out(place: Place) -> None:
    place.plant(*many(1500))
    for words in (["list"], ["list", "--all"]):
        text = place.call("board", *words).out
        assert len(text) <= 12_000
        assert " more; narrow with status, mine or query" in text
    assert len(place.json("board", "list").data["cards"]) == 1500


def test_reading_changes_nothing_and_joins_nobody(full: Place) -> None:
    def everything() -> list[tuple[str, int, int, int]]:
        return sorted(
            (path, found.st_mtime_ns, found.st_ino, found.st_size)
            for folder, _, names in os.walk(full.store.layout.root)
            for path in [folder, *(os.path.join(folder, name) for name in names)]
            for found in [os.stat(path)]
        )

    before = everything()
    for words in (
        ["board", "list"],
        ["board", "list", "1"],
        ["board", "why", "2"],
        ["team", "round"],
        ["team", "inbox"],
    ):
        assert full.call(*words, who="newcomer").code == 0
    assert full.call("board", "next", "--dry-run", who="newcomer").code == 0
    names = {session.label for session in full.store.roster.sessions(datetime.now(UTC))}
    assert "newcomer" not in names
    unchanged = [entry for entry in everything() if not entry[0].endswith(("/lock", "/tmp", "/board"))]
    assert unchanged == [entry for entry in before if not entry[0].endswith(("/lock", "/tmp", "/board"))]


def test_an_empty_board_says_how_to_begin(place: Place) -> None:
    said = place.call("board", "list")
    assert (said.code, said.out) == (0, "no cards yet; add the first one\n")
    assert place.json("board", "list").data["cards"] == []
    assert not os.path.exists(place.store.layout.root)


def test_a_cycle_on_the_disk_is_shown_and_can_be_taken_apart(place: Place) -> None:
    one, two = many(2)
    place.plant(
        evolve(one, status=Lane.TODO, owner=None, depends_on=(2,)),
        evolve(two, status=Lane.TODO, owner=None, depends_on=(1,)),
    )
    queue = place.json("team", "round").data["queue"]
    assert [row["kind"] for row in queue] == ["cycle"]
    assert place.json("board", "claim", "1").data["code"] == "waiting"
    assert place.json("board", "edit", "1", "--depends-on", "none").code == 0
    assert place.json("board", "claim", "1").code == 0


def test_why_names_the_far_end_and_whom_it_holds_up(full: Place) -> None:
    full.do("add", title="Later", dependsOn=[2])
    data = full.json("board", "why", "6").data
    assert (data["claimable"], data["roots"]) == (False, [1])
    assert data["why"].startswith("#6 waits on #2 (todo)")
    assert full.json("board", "why", "1").data["neededBy"] == [2]
    assert "can be claimed" in full.call("board", "why", "1").out


class TestIds:
    def test_a_dropped_number_never_comes_back(self, place: Place) -> None:
        for number in range(5):
            place.do("add", title=f"Card {number}")
        assert place.json("board", "drop", "5").data["dropped"] == 5
        assert place.json("board", "add", "T").card["id"] == 6
        Path(place.store.layout.seq).unlink()
        place.json("board", "drop", "6")
        assert place.json("board", "add", "T").card["id"] == 7

    def test_dropping_everything_starts_no_new_count(self, place: Place) -> None:
        for number in range(3):
            place.do("add", title=f"Card {number}")
        for number in range(3):
            place.json("board", "drop", str(number + 1))
        assert place.json("board", "add", "T").card["id"] == 4


def test_reclaiming_from_a_dead_holder_keeps_the_notes(place: Place) -> None:
    place.do("add", title="T", note="why")
    place.do("claim", "dead", card=1)
    place.do("note", "dead", card=1, text="half way")
    said = place.json("board", "reclaim", "1")
    assert (said.card["status"], said.card["owner"]) == ("todo", None)
    texts = [note["text"] for note in said.card["notes"]]
    assert texts[0] == "why"
    assert "half way" in texts
    assert "dead" in texts[-1]
