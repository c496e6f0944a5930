"""`pi-taskbar team …`: the round in the terminal, and the verbs that reach other sessions."""

from __future__ import annotations

from typing import Final

from flask_pi_taskbar.board.request import Action
from flask_pi_taskbar.commands import answers, usage
from flask_pi_taskbar.commands.actor import Desk
from flask_pi_taskbar.commands.answers import Answer
from flask_pi_taskbar.commands.board import act
from flask_pi_taskbar.commands.completing import labels
from flask_pi_taskbar.commands.speaking import Call, Calls, Fields, Trait

ROUND: Final = "round"


def _inbox(desk: Desk, fields: Fields) -> Answer:  # noqa: ARG001
    return answers.inbox(desk)


CALLS: Final = (
    Call(
        ROUND,
        act(Action.ROUND),
        summary="The round: the counts, what needs a decision, who is live and who has gone quiet.",
        examples=["pi-taskbar team", "pi-taskbar team round --json"],
        traits=Trait.SAYS_WHERE,
    ),
    Call(
        "assign",
        act(Action.HANDOFF),
        [
            usage.card(),
            usage.argument("label", "LABEL", complete=labels),
            usage.option("text", "--text", "TEXT", "What the letter says (default: the card's title); - reads stdin."),
            usage.if_rev(),
        ],
        summary="Send a card to a teammate, who takes it with a claim.",
        more="No owner is recorded. `pi-taskbar board assign` records one and sends nothing.",
        examples=[
            "pi-taskbar team assign 4 agent-3",
            "pi-taskbar team assign 4 agent-3 --text 'You know the webhook.'",
        ],
    ),
    Call(
        "offer",
        act(Action.OFFER),
        [
            usage.card(),
            usage.option("text", "--text", "TEXT", "What the letters say (default: the card's title); - reads stdin."),
            usage.if_rev(),
        ],
        summary="Offer a card to every other live session; the first claim takes it.",
        examples=["pi-taskbar team offer 4"],
    ),
    Call(
        "reclaim",
        act(Action.RECLAIM),
        [usage.card(), usage.if_rev()],
        summary="Take a card back, whoever holds it; its notes stay and no message is sent.",
        examples=["pi-taskbar team reclaim 4"],
    ),
    Call(
        "inbox",
        _inbox,
        summary="Show your unread mail; from then on it is read.",
        examples=["pi-taskbar team inbox --as agent-3", "pi-taskbar team inbox --json"],
    ),
)

team = Calls(
    "team",
    CALLS,
    default=ROUND,
    short_help="The team on the board: the round, handoffs, offers, mail.",
    help="""The team on the board: who holds what, and what needs a decision.

    Without a command it shows the round.""",
    epilog="\b\nExamples:\n  pi-taskbar team\n  pi-taskbar team --json",
)
