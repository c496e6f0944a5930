"""What the shell's completion offers: cards and labels from the store, lanes and priorities from their lists.

Click calls these while the user is typing, so that they never raise and never write; a board that cannot be read offers
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import click
from click.shell_completion import CompletionItem

from flask_pi_taskbar.board.model import SEAT_LABEL, Card, Lane
from flask_pi_taskbar.board.order import in_order
from flask_pi_taskbar.board.ranking import claimable
from flask_pi_taskbar.board.refusal import Refusal
from flask_pi_taskbar.board.request import Action
from flask_pi_taskbar.board.rules import legal
from flask_pi_taskbar.board.world import World
from flask_pi_taskbar.commands.actor import Desk, open_desk
from flask_pi_taskbar.commands.rendering import cut, line

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

SHOWN = 200

_BY_RULE = {"release": Action.RELEASE, "reclaim": Action.RECLAIM, "offer": Action.OFFER}
_DONE_TOO = frozenset({"list", "why", "note", "edit", "drop", "wait"})


def words(values: Iterable[str]) -> Completer:
    """A fixed list."""
    offered = list(values)

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
        return [CompletionItem(word) for word in offered if word.startswith(incomplete)]

    return complete


def folders(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    return [CompletionItem(incomplete, type="dir")]


def cards(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The cards that the call would be accepted for, as far as one card tells; with a comma, a further one."""
    before, comma, typed = incomplete.rpartition(",") if param.name == "dependsOn" else ("", "", incomplete)
    try:
        desk = _desk(ctx)
        world = desk.store.read_all(desk.now())
        named = {ctx.params.get("card"), *before.split(",")}
        fitting = [
            card
            for card in _fitting(world, desk, "dependsOn" if param.name == "dependsOn" else str(ctx.info_name))
            if str(card.id) not in named
        ]
        numbers = [card for card in in_order(fitting, desk.now()) if str(card.id).startswith(typed.lstrip("#"))]
    except (Refusal, OSError, ValueError):
        return []
    return [
        CompletionItem(f"{before}{comma}{card.id}", help=cut(line(f"{card.lane}: {card.title}"), 60))
        for card in numbers[:SHOWN]
    ]


def labels(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The sessions on the team; for `--as` those that a label alone names."""
    try:
        desk = _desk(ctx)
        sessions = desk.store.roster.sessions(desk.now())
    except (Refusal, OSError, ValueError):
        return []
    if param.name == "actor":
        known = {session.label for session in sessions if session.id.startswith("as:")}
    else:
        known = {session.label for session in sessions if session.id != desk.actor.id} | {SEAT_LABEL}
    return [CompletionItem(label) for label in sorted(known) if label.startswith(incomplete)]


def _desk(ctx: click.Context) -> Desk:
    params = ctx.params
    return open_desk(start=params.get("repo"), label=params.get("actor"), session_id=params.get("session"))


def _fitting(world: World, desk: Desk, command: str) -> Iterator[Card]:
    for card in world.cards():
        if command == "claim":
            fits = claimable(card, desk.actor.id, world)
        elif command == "offer":
            fits = legal(Action.OFFER, card, desk.actor.id, world, "some")
        elif command in _BY_RULE:
            fits = legal(_BY_RULE[command], card, desk.actor.id, world)
        else:
            fits = command in _DONE_TOO or card.lane is not Lane.DONE
        if fits:
            yield card
