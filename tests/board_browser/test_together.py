"""Many at one board: browsers and terminals that write at once, many tabs of one browser, a network that goes away."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.board_browser.conftest import Start
from tests.board_browser.place import ANN, BOB, Board, Place
from tests.support import engines
from tests.support.waiting import until

pytestmark = pytest.mark.browser

LANES = ("todo", "doing", "blocked", "done")
WRITE = """
const [key, name, count, done] = arguments;
const call = (path, body) => fetch('api/cards' + path, {method: 'POST', body: JSON.stringify(body),
  headers: {'X-Board-Key': key, 'Content-Type': 'application/json'}}).then((answer) => answer.json());
(async () => {
  for (let number = 0; number < count; number++) {
    const { card } = await call('', { title: `${name} ${number}` });
    await call(`/${card.id}/claim`, {});
    await call(`/${card.id}/note`, { text: `by ${name}` });
    if (number % 2) await call(`/${card.id}/move`, { status: 'blocked' });
  }
  done(count);
})();
"""
CLI = "import sys; from flask_pi_taskbar.board.store import Store; from flask_pi_taskbar.board.identity import session; from datetime import UTC, datetime; s = Store(sys.argv[1]); [s.apply('add', {'title': f'terminal {n}'}, session('as:cli', 'cli'), now=datetime.now(UTC)) for n in range(int(sys.argv[2]))]"  # noqa: E501


@pytest.fixture
def tabs(start_engine: Start, place: Place) -> Iterator[list[Board]]:
    """One tab in each engine that is here."""
    with ExitStack() as stack:
        names = [name for name in engines.NAMES if not engines.missing(name)]
        yield [stack.enter_context(Board(start_engine(name), place)) for name in names]


def rows(board: Board) -> dict[str, list[tuple[int, str]]]:
    source = """
    return [...document.querySelectorAll(arguments[0])].map((card) =>
      [Number(card.dataset.card), card.querySelector('[data-reason]').textContent]);
    """
    return {lane: [tuple(row) for row in board.js(source, f'[data-lane="{lane}"] [data-card]')] for lane in LANES}


def told(place: Place) -> dict[str, list[tuple[int, str]]]:
    """What the server says that a page should show."""
    status, body = place.ask("/api/board")
    assert status == 200
    by_id = {row["id"]: row for row in body["rows"].values()}
    return {lane: [(number, by_id[number]["reason"]) for number in body["order"][lane]] for lane in LANES}


def test_browsers_and_a_terminal_write_at_once_and_all_of_them_see_the_same(tabs: list[Board], place: Place) -> None:
    for tab in tabs:
        tab.open()
    answers: list[object] = []

    def write(tab: Board) -> None:
        tab.browser.set_script_timeout(60)
        answers.append(tab.browser.execute_async_script(WRITE, place.key(), tab.engine.name, 8))

    threads = [threading.Thread(target=write, args=(tab,)) for tab in tabs]
    for thread in threads:
        thread.start()
    command = [sys.executable, "-c", CLI, str(place.store.layout.root), "8"]
    subprocess.run(command, check=True, timeout=60, env=os.environ.copy())
    for thread in threads:
        thread.join(90)
    assert answers == [8] * len(tabs)
    wanted = told(place)
    assert sum(map(len, wanted.values())) == 8 * (len(tabs) + 1)
    for tab in tabs:
        until(lambda tab=tab: rows(tab) == wanted, f"{tab.engine.name} shows what the server says")  # type: ignore[misc]


@pytest.mark.parametrize("count", [8, 12])
def test_many_tabs_of_one_browser_are_all_live_over_one_stream(
    engine: engines.Engine, start_engine: Start, place: Place, count: int
) -> None:
    if engine.name == "webkit":
        pytest.skip("WebKitGTK's driver keeps further tabs hidden: they draw nothing")
    with Board(engine, place) as board:
        card = place.add("One")
        board.open()
        handles = [board.browser.current_window_handle]
        for _ in range(count - 1):
            board.browser.switch_to.new_window("window")
            handles.append(board.browser.current_window_handle)
            board.browser.get(place.address())
            board.live()
        until(lambda: place.served.hub.viewers == 1, "one stream serves them all")
        place.do("claim", ANN, card=card)
        for handle in handles:
            board.browser.switch_to.window(handle)
            board.lanes(doing=[card])
        assert place.served.hub.viewers == 1
        board.browser.close()  # another takes the stream over when its holder goes
        for handle in handles[:-2]:
            board.browser.switch_to.window(handle)
            board.browser.close()
        board.browser.switch_to.window(handles[-2])
        place.do("note", ANN, card=card, text="Heard by the last tab")
        place.do("plan", ANN, card=card, path="docs/plan.md")
        board.says(f'[data-card="{card}"] [data-reason]', "planned")


def test_offline_and_back_shows_what_happened_meanwhile(chromium_board: Board) -> None:
    board, place = chromium_board, chromium_board.place
    card = place.add("One")
    board.open()
    board.offline(True)
    # An open stream to this machine goes on; what opens it anew (a laptop that wakes up) finds no network.
    board.js("window.dispatchEvent(new Event('online'))")
    try:
        until(lambda: not board.has("#live[data-live=live]"), "the page says that it is cut off", seconds=60)
        board.lanes(todo=[card])
        place.do("claim", BOB, card=card)
    finally:
        board.offline(False)
    until(lambda: board.has("#live[data-live=live]"), "live again", seconds=60)
    board.lanes(todo=[], doing=[card])


def test_a_server_that_ends_in_order_leaves_the_board_standing_and_says_so(board: Board) -> None:
    card = board.place.add("One")
    board.open()
    board.place.stop()
    board.shows('#live:not([data-live="live"])')
    board.lanes(todo=[card])
