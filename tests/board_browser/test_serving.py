"""The page by its links: the lead's, a viewer's, a bad one, and what becomes of it when its server dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By

from flask_pi_taskbar.board.store import Store
from tests.board_browser.conftest import Start
from tests.board_browser.place import Board, Place
from tests.support import engines
from tests.support.waiting import until

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", engines.NAMES)
def test_an_engine_starts_and_shows_a_page(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    if reason := engines.missing(name):
        pytest.skip(reason)
    engine = engines.start(name, tmp_path_factory.mktemp(name))  # a short path: a socket lies below it
    try:
        engine.browser.get("data:text/html,<title>hello</title>")
        assert engine.browser.title == "hello"
    finally:
        engine.stop()
    print(f"{name} starts in {engine.seconds:.1f} s")


def test_the_lead_s_link_opens_the_board_and_the_key_leaves_the_address_bar(board: Board) -> None:
    card = board.place.add("Orders are billed", paths=["src/billing"])
    board.open()
    assert "#" not in board.browser.current_url
    assert board.place.key() not in board.browser.current_url
    board.lanes(todo=[card])
    assert board.js("return document.documentElement.dataset.writes") == "1"
    board.browser.refresh()
    board.live()
    board.lanes(todo=[card])


def test_a_viewer_sees_all_and_has_nothing_to_write_with(board: Board) -> None:
    card = board.place.add("Orders are billed")
    board.open(viewer=True)
    board.lanes(todo=[card])
    board.shows("#viewer-chip")
    assert board.js("return document.documentElement.dataset.writes") == "0"
    for selector in (
        "#new-card",
        "#more",
        "#prune",
        "#revoke",
        "#copy-viewer",
        '[data-action="claim"]',
        '[data-action="note"]',
    ):
        assert not board.has(selector), selector
    board.click(f'[data-card="{card}"] [data-action="open"]')
    board.shows("dialog[data-dialog=card]")
    assert board.count("dialog textarea, dialog select, dialog input, dialog [data-move], dialog [data-drop]") == 0
    board.press("n")
    assert not board.has("dialog[data-dialog=new]")


def test_a_viewer_s_write_is_refused_by_the_server_itself(board: Board) -> None:
    card = board.place.add("Orders are billed")
    board.open(viewer=True)
    status = board.browser.execute_async_script(
        """
        const [key, id, done] = arguments;
        fetch(`api/cards/${id}/claim`, {method: 'POST', body: '{}',
          headers: {'X-Board-Key': key, 'Content-Type': 'application/json'}}).then((a) => done(a.status));
        """,
        board.place.key(viewer=True),
        card,
    )
    assert status == 403
    board.lanes(todo=[card], doing=[])


@pytest.mark.parametrize("fragment", ["", "#k=nonsense"])
def test_without_a_good_key_there_is_no_board_but_the_way_to_it(board: Board, fragment: str) -> None:
    board.place.add("A secret plan")
    board.browser.get(board.place.served.address + fragment)
    board.shows("#refused")
    board.says("#refused", "pi-taskbar board")
    assert "A secret plan" not in board.text("body")
    assert not board.has("[data-lane]")


def test_a_revoked_lead_s_link_ends_in_words_and_the_tab_that_revoked_goes_on(board: Board) -> None:
    board.place.add("Orders are billed")
    board.open()
    old = board.place.key()
    board.click("#more")
    board.click("#revoke")
    board.click("dialog[data-dialog=confirm] [data-submit]")
    until(lambda: board.place.key() != old, "the lead has another key")
    new = board.place.add("The tab goes on")
    board.shows(f'[data-card="{new}"]')
    board.click("#new-card")
    board.type("dialog [name=title]", "And can write")
    board.click("dialog [data-submit]")
    board.shows(f'[data-card="{new + 1}"]')
    board.browser.get("about:blank")
    board.browser.get(f"{board.place.served.address}#k={old}")
    board.shows("#refused")


def test_a_second_session_looks_on_while_the_first_writes(start_engine: Start, place: Place) -> None:
    """Each engine is a reader of its own; the first has the lead's link, the others a viewer's."""
    names = [name for name in engines.NAMES if not engines.missing(name)]
    tabs = [Board(start_engine(name), place) for name in names]
    for tab in tabs:
        tab.__enter__()
    try:
        for tab in tabs:
            tab.open(viewer=tab is not tabs[0])
        tabs[0].click("#new-card") if tabs[0].has("#new-card") else None
        tabs[0].type("dialog [name=title]", "Seen by everybody")
        tabs[0].click("dialog [data-submit]")
        for tab in tabs:
            tab.lanes(todo=[1])
    finally:
        for tab in tabs:
            tab.__exit__(None, None, None)


def serve(store: Store) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "flask_pi_taskbar.page", "--store", str(store.layout.root)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    lead = process.stdout.readline().strip()
    assert lead.startswith("http"), lead
    process.stdout.readline()
    return process, lead


def test_a_killed_server_is_taken_over_at_the_same_address(board: Board) -> None:
    board.place.stop()
    card = board.place.add("Outlives its server")
    first, lead = serve(board.place.store)
    second = None
    try:
        board.browser.get(lead)
        board.live()
        os.kill(first.pid, signal.SIGKILL)
        first.wait(10)
        until(lambda: not board.has("#live[data-live=live]"), "the page knows that nobody answers")
        board.lanes(todo=[card])
        second, new = serve(board.place.store)
        assert new.partition("#")[0] == lead.partition("#")[0], "the bookmark is still good"
        assert new != lead
        board.shows("#refused")
        board.browser.get(new)
        until(lambda: board.browser.find_elements(By.CSS_SELECTOR, "#live[data-live=live]"), "the new link opens it")
        board.lanes(todo=[card])
    finally:
        for process in filter(None, (first, second)):
            process.kill() if process is first else process.terminate()
            process.wait(10)
            assert process.stdout is not None
            process.stdout.close()
