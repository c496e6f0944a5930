"""The page's modules that know the board: filter, ages, the model's steps. Run in a browser, without the page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome

from tests.board_client.scripted import Tab, patch, row, scripted, snapshot

pytestmark = pytest.mark.browser
VECTORS = Path(__file__).parents[1] / "board_core"


@pytest.fixture
def tab(chromium_session: Chrome) -> Iterator[Tab]:
    with scripted(chromium_session) as one:
        one.run('window.model = (await import("/m/model.js")).createModel()')
        yield one


def snap(tab: Tab, data: dict[str, Any]) -> None:
    tab.run("model.applySnapshot(options)", data)


def step(tab: Tab, data: dict[str, Any]) -> bool:
    return bool(tab.run("return model.applyPatch(options)", data))


def paint(tab: Tab, status: str, rev: int = 2) -> None:
    said = row(1, rev, status=status, owner={"id": "a", "label": "a"}, notes=[], plan=None)
    tab.run("model.paintCard(options)", said)


def lane(tab: Tab, name: str) -> list[int]:
    found: list[int] = tab.state(f"order.{name}")
    return found


def test_the_filter_matches_as_the_command_does(tab: Tab) -> None:
    vectors = json.loads((VECTORS / "query_vectors.json").read_text())
    source = """
    const { matches, parse } = await import("/m/query.js");
    const rows = options.cards.map((card) => ({ ...card, owner: card.owner === null ? null : { label: card.owner } }));
    return options.queries.map(({ query }) => rows.filter((row) => matches(row, parse(query))).map((row) => row.id));
    """
    found = tab.run(source, vectors)
    expected = [each["match"] for each in vectors["queries"]]
    wrong = [(each["query"], got) for each, got in zip(vectors["queries"], found, strict=True) if got != each["match"]]
    assert found == expected, wrong


def test_ages_read_as_the_command_writes_them(tab: Tab) -> None:
    spans = json.loads((VECTORS / "age_vectors.json").read_text())["spans"]
    source = 'const { span } = await import("/m/ages.js"); return options.map(([seconds]) => span(seconds))'
    assert tab.run(source, spans) == [text for _, text in spans]


@pytest.mark.parametrize(("ahead", "text"), [(300_000, "0s"), (300_001, "clock?"), (0, "0s"), (-60_000, "1m")])
def test_a_stamp_ahead_of_the_server_is_no_age(tab: Tab, ahead: int, text: str) -> None:
    source = 'const { age } = await import("/m/ages.js"); return age(new Date(1e12 + options).toISOString(), 1e12)'
    assert tab.run(source, ahead) == text


def test_the_time_is_the_frames_and_never_goes_back_by_a_patch(tab: Tab) -> None:
    tab.run('window.t = 0; window.model = (await import("/m/model.js")).createModel({ clock: () => window.t })')
    snap(tab, snapshot(1))
    start = tab.run("window.t = 5000; return model.now()")
    assert start == tab.run("return Date.parse('2026-01-01T00:00:05Z')")
    assert step(tab, patch(1))
    assert tab.run("return model.now()") == start


def test_a_patch_from_another_state_changes_nothing(tab: Tab) -> None:
    snap(tab, snapshot(3, row(1)))
    for before in (2, 4):
        assert not step(tab, patch(before, row(1, 9), gone=[1]))
    assert tab.state("rev") == 3
    assert tab.rows()["1"]["rev"] == 1


def test_an_own_write_stands_until_a_frame_that_knows_it(tab: Tab) -> None:
    snap(tab, snapshot(1, row(1), row(2)))
    paint(tab, "doing")
    assert (lane(tab, "todo"), lane(tab, "doing")) == ([2], [1])
    assert step(tab, patch(1, row(1, 1, reason="older"), order={"todo": [1, 2]}))
    assert (lane(tab, "todo"), lane(tab, "doing")) == ([2], [1])
    assert tab.rows()["1"]["rev"] == 2


def test_the_lanes_are_the_servers_again_where_somebody_undid_the_own_write(tab: Tab) -> None:
    snap(tab, snapshot(1, row(1), row(2)))
    paint(tab, "doing")
    assert step(tab, patch(1, row(1, 3)))  # claimed and released between two frames: the lanes never moved
    assert (lane(tab, "todo"), lane(tab, "doing")) == ([1, 2], [])


def test_an_own_drop_stays_dropped_until_its_frame_and_comes_back_when_undone(tab: Tab) -> None:
    snap(tab, snapshot(1, row(1), row(2)))
    tab.run("model.paintGone(1)")
    assert step(tab, patch(1, row(1, 1, reason="older"), order={"todo": [1, 2]}))
    assert lane(tab, "todo") == [2]
    assert set(tab.rows()) == {"2"}
    assert step(tab, patch(2, row(1, 2)))
    assert lane(tab, "todo") == [1, 2]


def test_what_another_tab_is_told_is_the_servers_state_and_no_right_to_write(tab: Tab) -> None:
    snap(tab, snapshot(1, row(1), row(2)))
    paint(tab, "doing")
    told = tab.run("return model.exported()")
    assert told["order"]["todo"] == [1, 2]
    assert told["rows"]["1"]["rev"] == 1
    assert "can" not in told


def test_an_answer_older_than_the_frames_changes_only_what_this_tab_may_do(tab: Tab) -> None:
    snap(tab, snapshot(5, row(1, 4)))
    snap(tab, snapshot(4, row(1, 3), can={"write": False}))
    assert (tab.state("rev"), tab.state("can.write"), tab.rows()["1"]["rev"]) == (5, False, 4)


def test_another_epoch_is_believed_whatever_its_number(tab: Tab) -> None:
    snap(tab, snapshot(5, row(1, 4)))
    paint(tab, "doing", 6)
    snap(tab, snapshot(1, row(1, 2), epoch="f"))
    assert (tab.state("epoch"), tab.state("rev"), lane(tab, "todo")) == ("f", 1, [1])


def test_a_listener_that_throws_keeps_nobody_else_from_hearing(tab: Tab) -> None:
    source = """
    window.heard = 0; window.onerror = () => true;
    model.subscribe(() => { throw new Error("cannot draw"); });
    model.subscribe(() => (window.heard += 1));
    model.applySnapshot(options);
    return window.heard;
    """
    assert tab.run(source, snapshot(1)) == 1
