"""The calls that commands and Pi's tool make, each answered once in three tongues.

`data` is the JSON of spec 6.1, `plain` the bounded text for agents and pipes (spec 6.5), `drawn` the text for a
terminal; each is worked out only when it is asked for. All of them raise `Refusal`, and `OSError` where the disk does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Final

import msgspec

from flask_pi_taskbar.board import tooltext
from flask_pi_taskbar.board.card import parse
from flask_pi_taskbar.board.listing import Listing, card_json, round_json, take_list
from flask_pi_taskbar.board.model import Card
from flask_pi_taskbar.board.refusal import Refusal
from flask_pi_taskbar.board.request import READS, Action, Request, read_request
from flask_pi_taskbar.board.rules import Change, Write
from flask_pi_taskbar.board.world import World
from flask_pi_taskbar.commands import people
from flask_pi_taskbar.commands.actor import Desk
from flask_pi_taskbar.commands.rendering import Screen

Data = dict[str, object]

BRIEF_CARDS: Final = 100
BRIEF_NOTES: Final = 10
_IN_EXTRA: Final = ("reason", "notice")


class Answer:
    """What a call is answered with."""

    def __init__(
        self,
        data: Callable[[], Data],
        plain: Callable[[], str],
        drawn: Callable[[Screen], str],
        *,
        wrote: bool = False,
        brief: Callable[[], Data] | None = None,
        then: Callable[[], None] | None = None,
    ) -> None:
        self._data = data
        self.plain = plain
        self.drawn = drawn
        self.wrote = wrote
        """Something was changed, so that the caller is on the team now."""
        self._brief = brief
        self.then = then
        """What goes on once the answer is said: a page that is served in the foreground."""

    @cached_property
    def data(self) -> Data:
        return self._data()

    @property
    def brief(self) -> Data:
        """The data without what no agent needs: not every card of a large board, not every note of an old one."""
        return self._brief() if self._brief is not None else self.data

    def said(self, screen: Screen) -> str:
        """The words, as the screen takes them."""
        return self.drawn(screen) if screen.terminal else self.plain()


def answer(desk: Desk, action: object, fields: Mapping[str, object], *, seconds: float | None = None) -> Answer:
    """Do any action of the board."""
    request = read_request(action, fields)
    match request.action:
        case Action.LIST:
            return listed(desk, request)
        case Action.ROUND:
            return rounded(desk)
        case Action.WHY:
            return explained(desk, request)
        case Action.WAIT:
            return waited(desk, fields, seconds=seconds)
        case _:
            return changed(desk, request.action, fields)


def listed(desk: Desk, request: Request) -> Answer:
    """`list`: what matches, or one card."""
    now = desk.now()
    only_card = request.card is not None and not (request.mine or request.status or request.query or request.round)
    if only_card and request.card is not None:
        world: World = desk.store.live(now)
        entry = world.get(request.card)
        if isinstance(entry, Card):
            return _one(desk, entry, world, now, everything=request.all)
    world = desk.store.read_all(now)
    listing = take_list(request, desk.actor, world, now)
    if request.card is not None and len(listing.cards) == 1 and listing.round is None:
        return _one(desk, listing.cards[0], world, now, everything=request.all)
    return Answer(
        lambda: listing.as_dict(desk.actor, world),
        lambda: tooltext.list_text(listing, world, now),
        lambda screen: people.listing(listing, world, now, screen, everything=request.all, empty=_empty(listing)),
        brief=lambda: _brief_listing(listing, desk, world),
    )


def _one(desk: Desk, card: Card, world: World, now: datetime, *, everything: bool) -> Answer:
    def data() -> Data:
        whole = card_json(card, desk.actor, world)
        return {"ok": True, "action": "list", "card": whole, "cards": [whole]}

    return Answer(
        data,
        lambda: tooltext.card_text(card, world, now, notes=None if everything else BRIEF_NOTES),
        lambda screen: people.card(card, world, now, screen, everything=everything),
        brief=lambda: {"ok": True, "action": "list", "card": _brief_card(card_json(card, desk.actor, world))},
    )


def _empty(listing: Listing) -> str:
    if listing.total:
        return f"No card matches; there {'is' if listing.total == 1 else 'are'} {listing.total} on the board."
    return 'There are no cards yet. Add the first one: pi-taskbar board add "What is to be reached"'


def _brief_listing(listing: Listing, desk: Desk, world: World) -> Data:
    cards = [card for card in listing.cards if not listing.collapsed or card.status != "done"]
    shown = [_brief_card(card_json(card, desk.actor, world), notes=0) for card in cards[:BRIEF_CARDS]]
    data: Data = {"ok": True, "action": "list", "cards": shown, "total": listing.total}
    data["left"] = len(listing.cards) - len(shown)
    data["damaged"] = [entry.name for entry in listing.damaged[:BRIEF_CARDS]]
    return data if listing.round is None else data | {"round": round_json(listing.round)}


def _brief_card(card: Data, notes: int = BRIEF_NOTES) -> Data:
    history = card["notes"]
    if not isinstance(history, list) or len(history) <= notes:
        return card
    return card | {"notes": history[len(history) - notes :], "earlierNotes": len(history) - notes}


def changed(desk: Desk, action: Action, fields: Mapping[str, object]) -> Answer:
    """Every action that may change a card."""
    if action in READS:
        raise ValueError(f"{action} changes nothing")
    now = desk.now()
    data = desk.store.apply(action, fields, desk.actor, now=now, cwd=cwd())
    change = _change_of(action, data)
    return Answer(
        lambda: data,
        lambda: tooltext.change_text(change, desk.store.live(now), now),
        lambda screen: people.change(change, data, desk.store.live(now), screen),
        wrote=change.write is not Write.NOTHING,
        brief=lambda: brief_answer(data),
    )


def brief_answer(data: Data) -> Data:
    """An answer with the last notes of its card."""
    card = data.get("card")
    return data | {"card": _brief_card(card)} if isinstance(card, dict) and "notes" in card else data


def _card_of(data: Data) -> Data:
    card = data["card"]
    assert isinstance(card, dict)
    return card


def _change_of(action: Action, data: Data) -> Change:
    """The change that an answer tells of, as the texts take it."""
    plain = _card_of(data)
    card = parse(msgspec.json.encode(plain), int(str(plain["id"])))
    assert isinstance(card, Card)
    write = Write.UPDATE
    if "dropped" in data:
        write = Write.DROP
    elif data["unchanged"] or data.get("replayed"):
        write = Write.NOTHING
    return Change(
        action=action,
        write=write,
        card=card,
        finishes=bool(data["unblocked"]),
        replayed=bool(data.get("replayed")),
        extra={name: data[name] for name in _IN_EXTRA if name in data},
    )


def explained(desk: Desk, request: Request) -> Answer:
    """`why`: what keeps a card where it is."""
    from flask_pi_taskbar.board.explain import explain

    now = desk.now()
    world = desk.store.live(now)
    why = explain(request, desk.actor, world, now)

    def data() -> Data:
        return why.as_dict(desk.actor, world)

    return Answer(
        data,
        lambda: tooltext.why_text(why),
        lambda screen: people.why(why, world, now, screen),
        brief=lambda: brief_answer(data()),
    )


def waited(desk: Desk, fields: Mapping[str, object], *, seconds: float | None = None) -> Answer:
    """`wait`: returns when the card is as it should be."""
    from flask_pi_taskbar.board.waiting import wait

    data = wait(desk.store, fields, desk.actor, now=desk.now, seconds=seconds)
    now = desk.now()
    plain = data.get("card")
    entry = parse(msgspec.json.encode(plain), plain["id"]) if isinstance(plain, dict) and "v" in plain else None
    if isinstance(entry, Card):
        words = partial(tooltext.card_line, entry, desk.store.live(now), now)
        return Answer(lambda: data, words, lambda _: words(), brief=lambda: brief_answer(data))
    named = str(fields.get("card", "")).lstrip("#")
    text = f"#{named} is gone" if plain is None else f"#{named} has changed and cannot be read as a card now"
    return Answer(lambda: data, lambda: text, lambda _: text)


def rounded(desk: Desk) -> Answer:
    """`round`: the whole board for whoever leads it. Counts, what needs a decision, who is around."""
    from flask_pi_taskbar.board.decisions import take_queue
    from flask_pi_taskbar.board.links import graph
    from flask_pi_taskbar.board.rollup import take_round
    from flask_pi_taskbar.board.team import take_team

    now = desk.now()
    world = desk.store.read_all(now)
    taken = take_round(world, now)
    queue = take_queue(world, graph(world.cards()), now)
    team = take_team(world, desk.actor.id)

    def data() -> Data:
        return {
            "ok": True,
            "action": "round",
            "round": round_json(taken),
            "queue": msgspec.to_builtins(queue.rows),
            "inProgress": list(queue.in_progress),
            "team": msgspec.to_builtins(team),
        }

    def plain() -> str:
        parts = [tooltext.round_text(taken), "", "needs a decision:", tooltext.queue_text(queue, world, now)]
        return "\n".join([*parts, "", "team:", tooltext.team_text(team, now)])

    def brief() -> Data:
        whole = data()
        return whole | {"queue": msgspec.to_builtins(queue.rows[:BRIEF_CARDS]), "queueTotal": len(queue.rows)}

    return Answer(
        data,
        plain,
        lambda screen: people.overview(taken, queue, team, world, now, screen, me=desk.actor.id),
        brief=brief,
    )


def inbox(desk: Desk) -> Answer:
    """`team inbox`: the caller's letters; reading marks them seen."""
    from flask_pi_taskbar.board.bus import Bus

    now = desk.now()
    data = Bus(desk.store).inbox(desk.actor, now=now)
    letters = data["mail"]
    assert isinstance(letters, list)
    return Answer(
        lambda: data,
        lambda: people.mail_text(letters, now),
        lambda screen: people.mail(letters, now, screen),
    )


def refusal_text(refusal: Refusal, desk: Desk) -> str:
    """A refusal, as agents read it."""
    now = desk.now()
    return tooltext.refusal_text(refusal, desk.store.live(now), now)


def cwd() -> str:
    """The current folder, if it is still there."""
    try:
        return str(Path.cwd())
    except FileNotFoundError:
        return ""
