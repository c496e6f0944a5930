"""The page's model after any sequence of the real hub's frames is the hub's whole board."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Event

import pytest
from selenium.webdriver import Chrome

from flask_pi_taskbar.board.identity import session
from flask_pi_taskbar.board.live.hub import Hub
from flask_pi_taskbar.board.refusal import Refusal
from flask_pi_taskbar.board.store import Store
from tests.board_client.scripted import Tab, Write, scripted
from tests.support.waiting import until

pytestmark = pytest.mark.browser
PEOPLE = [session(f"as:{name}", name) for name in ("ann", "bob", "zoë")]
SHOWN = ("epoch", "rev", "order", "rows", "round", "queue", "team", "damaged")


@pytest.fixture
def tab(chromium_session: Chrome) -> Iterator[Tab]:
    with scripted(chromium_session) as one:
        yield one


def scribble(store: Store, dice: random.Random) -> None:
    """One act of somebody; what the rules refuse is refused."""
    card = dice.randint(1, 12)
    acts: list[tuple[str, dict[str, object]]] = [
        ("add", {"title": f"Card {dice.random()}", "priority": dice.choice(["high", "normal", "low"])}),
        ("claim", {"card": card}),
        ("release", {"card": card}),
        ("note", {"card": card, "text": f"注 {dice.random()}"}),
        ("move", {"card": card, "status": dice.choice(["doing", "blocked", "done"])}),
        ("drop", {"card": card}),
    ]
    action, fields = dice.choice(acts)
    with suppress(Refusal):
        store.apply(action, fields, dice.choice(PEOPLE), now=datetime.now(UTC))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_page_shows_what_the_hub_would_send_anew(tab: Tab, tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    store = Store(tmp_path / "board")
    for at in range(6):
        store.apply("add", {"title": f"First {at}"}, PEOPLE[0], now=datetime.now(UTC))
    with closing(Hub(Store(store.layout.root), epoch="t")) as hub:
        tab.script.board = json.loads(hub.snapshot(can_write=True).body)

        def stream(write: Write, over: Event) -> None:
            asked = tab.script.opened[-1]
            with hub.follow(asked.get("last"), asked.get("have"), can_write=True) as follower:
                for _ in range(dice.randint(3, 12)):  # then the stream is cut, as some servers do
                    for chunk in follower.next(0.1) or []:
                        write(chunk)
                    if over.is_set():
                        return

        tab.script.streams = [stream]
        tab.start()
        for _ in range(120):
            scribble(store, dice)
            hub.nudge()
        final = json.loads(hub.snapshot(can_write=True).body)
        until(lambda: tab.state("rev") == final["rev"], "the page has caught up")
        shown = tab.run("return model.exported()")
        assert {name: shown[name] for name in SHOWN} == {name: final[name] for name in SHOWN}
        assert len(tab.script.opened) > 1
        assert final["rev"] >= 10, "the rules let too few acts through for this to mean anything"
        assert any(final["order"][lane] for lane in ("doing", "blocked", "done"))
        tab.run("live.stop()")
        tab.script.over.set()
