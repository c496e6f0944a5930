"""The page's stream: what it makes of frames, of their absence, and of other tabs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from selenium.webdriver import Chrome

from tests.board_client.scripted import Tab, frame, patch, row, says, scripted, snapshot
from tests.support.waiting import until

pytestmark = pytest.mark.browser


@pytest.fixture
def tab(chromium_session: Chrome) -> Iterator[Tab]:
    with scripted(chromium_session) as one:
        yield one


def reaches(tab: Tab, rev: int) -> None:
    until(lambda: tab.state("rev") == rev, f"the page is at {rev}, not {tab.state('rev')}")


def becomes(tab: Tab, kind: str) -> None:
    until(lambda: tab.kind == kind, f"the page is {kind}, not {tab.kind}")


TITLE = "naïve 注文 👩‍👩‍👧"
WHOLE = frame("patch", patch(1, row(1, title=TITLE)))
CRLF = frame("patch", patch(1, row(1, title=TITLE)), line="\r\n")


@pytest.mark.parametrize(
    "chunks",
    [
        [WHOLE[at : at + 1] for at in range(len(WHOLE))],
        [CRLF[at : at + 3] for at in range(0, len(CRLF), 3)],
        [b": 1\n\n: a comment\n", WHOLE],
        [b"unknown: x\nretry: soon\n" + WHOLE],
    ],
    ids=["a byte at a time", "cut inside CRLF", "comments", "unknown fields"],
)
def test_a_frame_is_read_however_it_is_cut(tab: Tab, chunks: list[bytes]) -> None:
    tab.script.streams = [says(*chunks)]
    tab.start()
    reaches(tab, 2)
    assert tab.rows()["1"]["title"] == TITLE


def test_frames_that_come_together_are_all_applied(tab: Tab) -> None:
    tab.script.streams = [says(b"".join(frame("patch", patch(at, row(at))) for at in range(1, 200)))]
    tab.start()
    reaches(tab, 200)
    assert len(tab.rows()) == 199


def test_a_frame_of_megabytes_is_applied(tab: Tab) -> None:
    many = [row(at, title="x" * 400) for at in range(1, 8_000)]
    tab.script.streams = [says(frame("patch", patch(1, *many)))]
    tab.start()
    reaches(tab, 2)
    assert len(tab.rows()) == 7_999


@pytest.mark.parametrize(
    "garbage",
    [
        frame("patch", "{not json"),
        frame("patch", patch(7, row(1, 9))),
        frame("patch", patch(1, row(1, 9)), epoch="other"),
        frame("snapshot", {"epoch": "e", "rev": 9}),
        frame("patch", "null"),
    ],
    ids=["no JSON", "a step from another state", "a step of another life", "half a snapshot", "null"],
)
def test_what_cannot_be_applied_is_answered_by_asking_for_the_whole_board(tab: Tab, garbage: bytes) -> None:
    tab.script.streams = [says(garbage), says(frame("snapshot", snapshot(9, row(4))))]
    tab.start()
    reaches(tab, 9)
    assert set(tab.rows()) == {"4"}
    first, second = tab.script.opened
    assert first == {"last": "e.1", "have": "d1"}
    assert second == {}


def test_a_board_that_cannot_be_had_again_stays_as_it_was(tab: Tab) -> None:
    tab.script.streams = [says(frame("patch", patch(1, row(7)))), says()]
    tab.start(grace=200, backoff=[50])  # type: ignore[arg-type]
    reaches(tab, 2)
    tab.script.streams = [says(frame("patch", "{not json"), then=None)]
    tab.script.board = {"epoch": "e", "rev": 1}
    tab.run("live.reopen()")
    until(lambda: {} in tab.script.opened, "the whole board is asked for")
    tab.script.stream_status = 500
    becomes(tab, "reconnecting")
    assert "7" in tab.rows()
    assert int(tab.state("rev")) == 2, "what is drawn is told by it"


def test_a_stream_that_was_opened_while_the_board_was_asked_for_ends_the_asking(tab: Tab) -> None:
    tab.script.stream_status = 503
    tab.start(poll=50)
    becomes(tab, "polling")
    tab.script.streams = [says(frame("patch", patch(1, row(1))))]
    tab.script.stream_status = 200
    tab.run("live.reopen()")
    reaches(tab, 2)
    asked = len(tab.script.paths("GET", "/b/api/board"))
    tab.browser.execute_async_script("setTimeout(arguments[0], 300)")
    assert len(tab.script.paths("GET", "/b/api/board")) <= asked + 1
    assert tab.kind == "live"


def test_a_server_that_bounds_its_streams_looks_live_throughout(tab: Tab) -> None:
    ending = [says(frame("patch", patch(at, row(at))), then=None) for at in range(1, 8)]
    tab.script.streams = [*ending, says()]
    tab.start()
    reaches(tab, 8)
    assert tab.browser.execute_script("return window.kinds") == ["live"]
    assert [query["last"] for query in tab.script.opened[:7]] == [f"e.{at}" for at in range(1, 8)]


def test_a_server_that_is_another_process_goes_on_where_this_one_ended(tab: Tab) -> None:
    rebase = frame("rebase", {"epoch": "f", "rev": 40, "now": "2026-01-01T00:00:02Z"}, epoch="f")
    tab.script.streams = [says(then=None), says(rebase + frame("patch", patch(40, row(1)), epoch="f"))]
    tab.start()
    reaches(tab, 41)
    assert tab.state("epoch") == "f"


def test_silence_is_noticed_and_the_stream_opened_anew(tab: Tab) -> None:
    tab.script.streams = [says(), says(frame("patch", patch(1, row(1))))]
    tab.start(silence=300)
    reaches(tab, 2)


def test_a_server_that_is_away_and_then_full_and_then_there_is_caught_up_with(tab: Tab) -> None:
    tab.script.streams = [says(then=None), says(frame("patch", patch(1, row(1))))]
    tab.script.stream_status = 500
    tab.start(grace=200, poll=100, backoff=[50])  # type: ignore[arg-type]
    becomes(tab, "reconnecting")
    tab.script.board = snapshot(3, row(1), row(2))
    tab.script.stream_status = 503
    becomes(tab, "polling")
    reaches(tab, 3)
    tab.script.streams = [says(frame("patch", patch(3, row(3))))]
    tab.script.stream_status = 200
    becomes(tab, "live")
    reaches(tab, 4)


def test_an_answer_that_is_no_stream_is_not_called_live(tab: Tab) -> None:
    tab.script.stream_type = "text/html"
    tab.start(grace=100, backoff=[50])  # type: ignore[arg-type]
    becomes(tab, "reconnecting")
    assert "live" not in tab.browser.execute_script("return window.kinds")


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_not_tried_again(tab: Tab, status: int) -> None:
    tab.script.stream_status = status
    tab.start(backoff=[10])  # type: ignore[arg-type]
    becomes(tab, "refused")
    tab.run("live.reopen()")
    assert len(tab.script.opened) == 1


def test_a_page_that_said_good_bye_is_found_again(tab: Tab) -> None:
    tab.script.streams = [says(frame("bye", {"why": "idle"}), then=None), says()]
    tab.script.status = 200
    tab.start(probe=400)
    becomes(tab, "stopped")
    becomes(tab, "live")


def test_tabs_share_one_stream_and_each_keeps_its_own_rights(tab: Tab) -> None:
    gate: list[bool] = []

    def later(write: object, over: object) -> None:
        until(lambda: gate, "the test has opened the gate", seconds=60)
        says(frame("patch", patch(1, row(7))))(write, over)  # type: ignore[arg-type]

    tab.script.streams = [later]
    lead = tab.opened[0]
    tab.start("lead")
    until(lambda: tab.script.opened, "the first tab follows")
    others = [tab.new() for _ in range(3)]
    for other in others:
        tab.at(other)
        tab.run(
            'window.overheard = []; new BroadcastChannel("pi-board:/b").onmessage = ({ data }) =>'
            " window.overheard.push(JSON.stringify(data));"
        )
        tab.start("viewer")
    gate.append(True)
    for each in [lead, *others]:
        tab.at(each)
        reaches(tab, 2)
        assert tab.state("can.write") is (each == lead)
    assert len(tab.script.opened) == 1
    heard = tab.browser.execute_script("return window.overheard.join()")
    assert "patch" in heard
    assert '"lead"' not in heard


def test_when_the_tab_that_follows_is_closed_another_goes_on_from_where_it_was(tab: Tab) -> None:
    tab.script.streams = [says(frame("patch", patch(1, row(1)))), says(frame("patch", patch(2, row(2))))]
    first = tab.opened[0]
    tab.start()
    reaches(tab, 2)
    tab.script.board = snapshot(2, row(1))
    second = tab.new()
    tab.start()
    reaches(tab, 2)
    tab.close(first)
    tab.at(second)
    reaches(tab, 3)
    assert tab.script.opened[-1]["last"] == "e.2"


def test_the_lock_is_taken_from_a_tab_that_beats_no_more(tab: Tab) -> None:
    """The frozen tab is one that holds the lock and says nothing."""
    tab.run('void navigator.locks.request("t", () => new Promise(() => {})); await navigator.locks.query()')
    tab.new()
    source = """
    const { createTabs } = await import("/m/tabs.js");
    await new Promise((onLead) => {
      createTabs({ name: "t", onLead, onFollow() {}, onMessage() {}, beatMs: 50, deadMs: 200 }).start();
    });
    """
    tab.run(source)


def test_a_hidden_tab_that_cannot_share_lets_its_stream_go_and_takes_it_up_when_looked_at(tab: Tab) -> None:
    tab.run(
        'Object.defineProperty(navigator, "locks", { value: undefined });'
        'window.hide = (hidden) => { Object.defineProperty(document, "hidden", { value: hidden, configurable: true });'
        'document.dispatchEvent(new Event("visibilitychange")); };'
    )
    tab.start(hidden=50)
    becomes(tab, "live")
    tab.run("hide(true)")
    becomes(tab, "hidden")
    tab.script.streams = [says(frame("patch", patch(1, row(1))))]
    assert len(tab.script.opened) == 1
    tab.run("hide(false)")
    becomes(tab, "live")
    reaches(tab, 2)
