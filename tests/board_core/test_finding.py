"""Cards stand in one order and are found by one rule, here and in the page (spec 13)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flask_pi_taskbar.board.listing import take_list
from flask_pi_taskbar.board.model import Actor, Lane
from flask_pi_taskbar.board.order import by_lane, in_order
from flask_pi_taskbar.board.query import compile_query
from flask_pi_taskbar.board.refusal import Code, Refusal
from flask_pi_taskbar.board.request import read_request
from flask_pi_taskbar.board.world import Board
from tests.board_core.boards import ME, NOW, OTHER, ago, card

VECTORS = json.loads((Path(__file__).parent / "query_vectors.json").read_text(encoding="utf-8"))
SHELF = [
    card(
        one["id"],
        owner=Actor("s", one["owner"]) if one["owner"] else None,
        title=one["title"],
        paths=tuple(one["paths"]),
    )
    for one in VECTORS["cards"]
]


@pytest.mark.parametrize("vector", VECTORS["queries"], ids=lambda vector: repr(vector["query"]))
def test_a_query_finds_what_the_shared_vectors_say(vector: dict) -> None:
    query = compile_query(vector["query"])
    assert [one.id for one in SHELF if query.matches(one)] == vector["match"]


def test_lanes_are_read_by_priority_then_age_and_done_newest_first() -> None:
    cards = [
        card(1, priority="low"),
        card(2),
        card(3, priority="high"),
        card(4),
        card(5, "done", finished_at=ago(hours=3)),
        card(6, "done", finished_at=ago(hours=1)),
        card(7, "done", finished_at=None),
        card(8, "done", finished_at=ago(days=-30)),
        card(9, "doing", owner=ME),
        card(10, "doing"),
        card(11, "blocked", owner=ME, priority="high"),
    ]
    lanes = {lane: [one.id for one in inside] for lane, inside in by_lane(cards, NOW).items()}
    assert lanes == {"todo": [3, 2, 4, 1], "doing": [9], "blocked": [11, 10], "done": [8, 6, 5, 7]}
    assert [one.id for one in in_order(cards, NOW)] == [3, 2, 4, 1, 9, 11, 10, 8, 6, 5, 7]


def test_a_wrong_clock_cannot_reorder_a_lane() -> None:
    skewed = [card(1, created_at=ago(days=-9)), card(2, created_at=ago(days=9))]
    assert [one.id for one in by_lane(skewed, NOW)[Lane.TODO]] == [1, 2]


BOARD = Board(
    [
        card(1, title="alpha"),
        card(2, "doing", owner=ME, title="alpha"),
        card(3, "doing", owner=OTHER, title="beta"),
        card(4, "done", owner=ME, title="alpha"),
        card(5, "blocked", owner=ME, title="beta"),
        card(6, depends_on=(3,)),
    ]
)


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({}, [1, 6, 2, 3, 5, 4]),
        ({"mine": True}, [2, 5]),
        ({"mine": True, "status": "done"}, [4]),
        ({"status": "doing"}, [2, 3]),
        ({"status": "doing", "query": "beta"}, [3]),
        ({"query": "alpha"}, [1, 2, 4]),
        ({"query": "alpha", "mine": True}, [2]),
        ({"query": "#5"}, [5]),
        ({"card": 3}, [3]),
        ({"card": 3, "status": "todo"}, []),
    ],
)
def test_filters_combine_with_and(fields: dict, found: list[int]) -> None:
    listing = take_list(read_request("list", fields), ME, BOARD, NOW)
    assert [one.id for one in listing.cards] == found
    assert listing.total == 6


def test_a_list_says_what_waits_and_what_could_be_claimed() -> None:
    listing = take_list(read_request("list", {"round": True, "query": "nothing"}), ME, BOARD, NOW)
    assert listing.as_dict(ME, BOARD)["cards"] == []
    assert listing.as_dict(ME, BOARD)["round"]["features"] == 6, "the round covers the whole board"
    whole = take_list(read_request("list", {}), ME, BOARD, NOW).as_dict(ME, BOARD)["cards"]
    assert {one["id"]: (one["waits"], one["claimable"]) for one in whole if one["status"] == "todo"} == {
        1: ([], True),
        6: ([3], False),
    }


def test_a_list_of_one_card_that_is_not_there_is_refused() -> None:
    with pytest.raises(Refusal) as refused:
        take_list(read_request("list", {"card": 9}), ME, BOARD, NOW)
    assert refused.value.code is Code.NO_SUCH_CARD
