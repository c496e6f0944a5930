"""Real processes on one store at once: nothing acknowledged is lost, and every contest has one winner.

By default a small race on every level; with `--slow=N` the full one: 16 processes with 500 mixed operations each, N
times.
"""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path

import psutil
import pytest

from flask_pi_taskbar.board.faults import WatchedDisk, unsynced
from flask_pi_taskbar.board.links import graph
from flask_pi_taskbar.board.races import Race, faults_of, unfair_claims
from flask_pi_taskbar.board.refusal import Code, Refusal
from flask_pi_taskbar.board.store import Store
from tests.board_store.boards import ANN, BOB, NOW

LEVELS = ["0", "1", "2"]
pytestmark = pytest.mark.timeout(600)


def accepted(race: Race) -> int:
    return sum(1 for told in race.told if not told.code)


@pytest.mark.parametrize("level", LEVELS)
def test_of_mixed_writes_nothing_is_lost(level: str, quick: Path) -> None:
    """Several windows write at once -> 8 processes x 50 mixed writes: every ok is on disk, every file parses."""
    with Race(quick, level, synced=False) as race:
        race.run("mixed", workers=8, cards=race.cards(20), count=50)
        assert list(faults_of(race)) == []
        assert accepted(race) > 100


@pytest.mark.parametrize("level", LEVELS)
def test_killed_writers_lose_nothing_that_was_acknowledged(level: str, quick: Path) -> None:
    with Race(quick, level, synced=False) as race:
        race.run("mixed", workers=6, cards=race.cards(10), count=100_000, seconds=2.0, kills=4, seed=7)
        assert list(faults_of(race)) == []


@pytest.mark.parametrize("level", LEVELS)
def test_a_card_is_claimed_by_exactly_one(level: str, quick: Path) -> None:
    """Two agents fetch, both start the same task -> exactly one ok each; losers get `held` with the winner's name."""
    with Race(quick, level, synced=False) as race:
        cards = race.cards(60)
        told = race.run("claims", workers=6, cards=cards)
        assert list(unfair_claims(race, told, cards)) == []
        assert list(faults_of(race)) == []


def test_next_gives_every_card_to_one_and_leaves_none(quick: Path) -> None:
    with Race(quick, synced=False) as race:
        cards = race.cards(40)
        told = race.run("pulls", workers=4, cards=cards)
        assert sorted(line.card or 0 for line in told if not line.code) == cards
        assert {line.code for line in told} == {"", Code.NOTHING_TO_DO}


def test_notes_to_one_card_are_all_kept_in_each_writers_order(quick: Path) -> None:
    """`--append-notes` in a loop, half are gone -> 100 notes from 4 processes: 100 kept, in order, rev = 101."""
    with Race(quick, synced=False) as race:
        cards = race.cards(1)
        race.run("notes", workers=4, cards=cards, count=25)
        card = race.store.read_all(NOW).get(cards[0])
        assert card is not None
        assert card.rev == 101  # type: ignore[union-attr]
        said = [note.text.split(".") for note in card.notes]  # type: ignore[union-attr]
        for worker in range(4):
            assert [int(number) for who, number in said if int(who) == worker] == list(range(25))


def test_two_that_link_both_ways_never_make_a_ring(quick: Path) -> None:
    """Two processes edit 1->2 and 2->1 at the same instant, 150 rounds: never a cycle."""
    with Race(quick, synced=False) as race:
        cards = race.cards(300)
        told = race.run("rings", workers=2, cards=cards)
        board = race.store.read_all(NOW)
        assert not graph(board.cards()).rings
        assert sum(1 for line in told if not line.code) == 150
        assert {line.code for line in told} == {"", Code.CYCLE}


def test_adds_from_everywhere_get_distinct_numbers(quick: Path) -> None:
    """max+1 collides between worktrees -> add from several at once: one store, distinct ids."""
    with Race(quick, synced=False) as race:
        told = race.run("adds", workers=3, count=60)
        assert sorted(line.card or 0 for line in told) == list(range(1, 181))
        assert list(faults_of(race)) == []


def test_adds_of_killed_clients_are_found_again_by_their_keys(quick: Path) -> None:
    """Client times out, server created it, retry duplicates -> kill the client after commit, retry -> same id."""
    with Race(quick, synced=False) as race:
        race.run("adds", workers=3, count=400, seconds=3.0, kills=3, seed=3)
        before = race.store.read_all(NOW)
        race.run("adds", workers=3, count=60)
        after = race.store.read_all(NOW)
        keys = [card.key for card in after.cards()]
        assert len(keys) == len(set(keys)), "no key stands on two cards"
        assert {card.id for card in before.cards()} <= {card.id for card in after.cards()}


def test_every_session_got_a_label_of_its_own(quick: Path) -> None:
    with Race(quick, synced=False) as race:
        race.run("adds", workers=5, count=3)
        labels = sorted(record.label for record in race.store.roster.records() if record.label.startswith("worker"))
        assert labels == ["worker", "worker-2", "worker-3", "worker-4", "worker-5"]


def test_a_race_without_a_lock_is_lost_and_it_is_noticed(quick: Path) -> None:
    """The races can fail: with locks that do not reach other processes they do."""
    with Race(quick, "broken", synced=False) as race:
        race.run("mixed", workers=4, cards=race.cards(3), count=150)
        assert list(faults_of(race))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("level", LEVELS)
def test_sixteen_writers_with_five_hundred_operations_each(level: str, tmp_path: Path, slow: int) -> None:
    for number in range(slow):
        folder = tmp_path / str(number)
        folder.mkdir()
        with Race(folder, level) as race:
            race.run("mixed", workers=16, cards=race.cards(40), count=500, seconds=1200.0, seed=number)
            assert list(faults_of(race)) == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_two_thousand_cards_have_one_winner_each(tmp_path: Path, slow: int) -> None:
    for number in range(slow):
        folder = tmp_path / str(number)
        folder.mkdir()
        with Race(folder) as race:
            cards = race.cards(2000)
            told = race.run("claims", workers=8, cards=cards, seconds=1200.0)
            assert list(unfair_claims(race, told, cards)) == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_rev_never_goes_back_over_a_soak(quick: Path, slow: int) -> None:
    """`rev` of a card never decreases: read all the time while others write."""
    with Race(quick, synced=False) as race:
        race.cards(20)
        revs: dict[int, int] = {}
        for number in range(slow):
            race.run("mixed", workers=4, cards=list(range(1, 21)), count=100_000, seconds=10.0, seed=number)
            for card in race.store.read_all(NOW).cards():
                assert card.rev >= revs.get(card.id, 0)
                revs[card.id] = card.rev
        assert list(faults_of(race)) == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_ten_thousand_writes_leave_a_process_as_it_was(quick: Path, slow: int) -> None:
    """Flat memory and descriptors: the same process writes, reads and is refused for a long time."""
    store = Store(quick / "board", disk=WatchedDisk(unsynced))
    for number in range(50):
        store.apply("add", {"title": f"Card {number}"}, ANN, now=NOW)
    me = psutil.Process()
    before = (0, 0)
    for number in range(10_000 * slow):
        card = number % 50 + 1
        if number == 2000:
            before = (me.memory_info().rss, me.num_fds())
        actor = (ANN, BOB)[number // 50 % 2]
        with contextlib.suppress(Refusal):
            store.apply(
                ("claim", "plan", "release", "reclaim")[number // 50 % 4], _fields(card, number), actor, now=NOW
            )
        if number % 50 == 0:
            store.glance(NOW)
    assert me.num_fds() == before[1]
    assert me.memory_info().rss - before[0] < 20_000_000


def _fields(card: int, number: int) -> dict[str, object]:
    return {"card": card} | ({"path": f"plan-{number}.md"} if number // 50 % 4 == 1 else {})


def test_a_reader_sees_whole_cards_whose_rev_never_goes_back_while_others_write(quick: Path) -> None:
    with Race(quick, synced=False) as race:
        cards = race.cards(5)
        writing = threading.Thread(
            target=race.run, args=("mixed",), kwargs={"workers": 3, "cards": cards, "count": 120}
        )
        reader = Store(race.store.layout.root)
        seen: dict[int, int] = {}
        damaged: list[str] = []
        writing.start()
        while writing.is_alive():
            board = reader.read_all(NOW)
            damaged += [entry.name for entry in board.damaged()]
            for card in board.cards():
                assert card.rev >= seen.get(card.id, 0)
                seen[card.id] = card.rev
        writing.join()
        assert damaged == []
        assert len(seen) > 20
