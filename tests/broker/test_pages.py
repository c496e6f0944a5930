"""The pages that a broker holds: who has the keys, for how long, and what is left on disk afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from flask_pi_taskbar.board.serving.finding import find
from flask_pi_taskbar.board.store import Store
from flask_pi_taskbar.broker import wire
from flask_pi_taskbar.broker.pages import Pages

ADDRESS = "http://127.0.0.1:5000/board/"


class Server:
    """A connection of a server that serves the page."""

    def __init__(self) -> None:
        self.told: list[wire.PageKeys] = []

    def tell(self, message: wire.PageKeys) -> None:
        self.told.append(message)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "agent"))
    return Store(tmp_path / "board")


def with_pages(work: Callable[[Pages, Store], Awaitable[None]], store: Store, grace: float = 60.0) -> None:
    async def run() -> None:
        pages = Pages(lambda: None, grace=grace)
        try:
            await work(pages, store)
        finally:
            await pages.close()

    asyncio.run(run())


def asking(store: Store) -> wire.Page:
    return wire.Page(id=7, store=str(store.layout.root), address=ADDRESS, port=5000)


def noted(store: Store) -> bool:
    return Path(store.layout.page_note).exists()


def written(store: Store) -> str:
    return Path(store.layout.page_note).read_text()


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not true():  # noqa: ASYNC110 - a file tells no event
            await asyncio.sleep(0.01)


def test_every_server_of_a_page_has_the_same_keys_and_the_first_is_told_so(store: Store) -> None:
    async def work(pages: Pages, store: Store) -> None:
        first, second = Server(), Server()
        await asyncio.gather(pages.hold(first, asking(store)), pages.hold(second, asking(store)))
        [one], [two] = first.told, second.told
        assert one.held
        assert (one.lead, one.viewer, one.epoch) == (two.lead, two.viewer, two.epoch)
        assert sorted([one.fresh, two.fresh]) == [False, True]

    with_pages(work, store)
    assert not noted(store), "a broker that ends leaves no note"


def test_another_key_for_the_lead_reaches_every_server_and_the_viewers_key_stays(store: Store) -> None:
    async def work(pages: Pages, store: Store) -> None:
        first, second = Server(), Server()
        await pages.hold(first, asking(store))
        await pages.hold(second, asking(store))
        await pages.revoke(first, wire.Revoke(id=9))
        before, answer = first.told
        pushed = second.told[-1]
        assert (answer.id, pushed.id) == (9, wire.PUSHED)
        assert answer.lead == pushed.lead != before.lead
        assert answer.viewer == pushed.viewer == before.viewer

    with_pages(work, store)


def test_a_server_that_holds_no_page_can_revoke_nothing(store: Store) -> None:
    async def work(pages: Pages, _store: Store) -> None:
        stranger = Server()
        await pages.revoke(stranger, wire.Revoke(id=9))
        assert [(one.id, one.held, one.lead) for one in stranger.told] == [(9, False, "")]

    with_pages(work, store)


def test_a_server_that_is_back_in_time_finds_its_keys_again(store: Store) -> None:
    async def work(pages: Pages, store: Store) -> None:
        first, again = Server(), Server()
        await pages.hold(first, asking(store))
        pages.forget(first)
        assert noted(store)
        await pages.hold(again, asking(store))
        assert again.told[0].lead == first.told[0].lead

    with_pages(work, store)


def test_a_page_that_nobody_serves_any_more_is_let_go_and_the_next_has_other_keys(store: Store) -> None:
    async def work(pages: Pages, store: Store) -> None:
        first, later = Server(), Server()
        await pages.hold(first, asking(store))
        pages.forget(first)
        await until(lambda: not noted(store))
        await pages.hold(later, asking(store))
        assert later.told[0].held
        assert later.told[0].lead != first.told[0].lead

    with_pages(work, store, grace=0.01)
    assert not noted(store)


def test_a_server_that_comes_while_the_page_is_being_let_go_keeps_nothing_behind(store: Store) -> None:
    async def work(pages: Pages, store: Store) -> None:
        first, second = Server(), Server()
        await pages.hold(first, asking(store))
        page = pages._pages[str(store.layout.root)]
        async with page.turn:  # the end of the page has begun, and waits
            pages.forget(first)
            await until(lambda: page.end is not None)
            coming = asyncio.ensure_future(pages.hold(second, asking(store)))
            await until(lambda: bool(page.lines))
        await coming
        assert second.told[0].held
        assert noted(store)

    with_pages(work, store, grace=0.01)
    assert not noted(store), "and it is let go of at the end"


def test_two_brokers_never_hold_the_page_of_one_store(store: Store) -> None:
    """Two worktrees have two brokers and one store."""

    async def work(pages: Pages, store: Store) -> None:
        other = Pages(lambda: None)
        first, second = Server(), Server()
        await pages.hold(first, asking(store))
        await other.hold(second, asking(store))
        assert (second.told[0].held, second.told[0].lead) == (False, "")
        await pages.close()
        assert find(store) is None
        await other.hold(second, asking(store))
        assert second.told[1].held
        await other.close()

    with_pages(work, store)


def test_the_note_never_has_the_leads_key(store: Store) -> None:
    async def work(pages: Pages, store: Store) -> None:
        server = Server()
        await pages.hold(server, asking(store))
        text = written(store)
        assert server.told[0].viewer in text
        assert server.told[0].lead not in text

    with_pages(work, store)
