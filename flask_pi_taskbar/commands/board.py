"""`pi-taskbar board …`: every call on the board, from the command line."""

from __future__ import annotations

from typing import Any, Final

import click

from flask_pi_taskbar.board.model import Lane, Priority
from flask_pi_taskbar.board.request import UNTIL_OTHER, Action
from flask_pi_taskbar.commands import answers, usage
from flask_pi_taskbar.commands.actor import Desk
from flask_pi_taskbar.commands.answers import Answer
from flask_pi_taskbar.commands.completing import labels
from flask_pi_taskbar.commands.speaking import Act, Call, Calls, Fields, Trait

LANES: Final = [lane.value for lane in Lane]
PRIORITIES: Final = [priority.value for priority in Priority]


def act(action: Action) -> Act:
    """The call of one action with what was typed."""

    def call(desk: Desk, fields: Fields) -> Answer:
        return answers.answer(desk, action, fields)

    return call


def _wait(desk: Desk, fields: Fields) -> Answer:
    from flask_pi_taskbar.commands.watching import waiting

    return waiting(desk, fields)


def _open(desk: Desk, fields: Fields) -> Answer:
    from flask_pi_taskbar.commands.page import opened

    return opened(desk, fields)


def _stop(desk: Desk, fields: Fields) -> Answer:
    from flask_pi_taskbar.commands.page import stopped

    return stopped(desk, fields)


def _revoke(desk: Desk, fields: Fields) -> Answer:
    from flask_pi_taskbar.commands.page import revoked

    return revoked(desk, fields)


def _prune(desk: Desk, fields: Fields) -> Answer:
    from flask_pi_taskbar.commands.pruning import pruned

    return pruned(desk, fields)


def _status(desk: Desk, fields: Fields) -> Answer:  # noqa: ARG001
    from flask_pi_taskbar.commands.upkeep import status

    return status(desk)


def _doctor(desk: Desk, fields: Fields) -> Answer:  # noqa: ARG001
    from flask_pi_taskbar.commands.upkeep import doctor

    return doctor(desk)


def _torture(desk: Desk, fields: Fields) -> Answer:
    from flask_pi_taskbar.commands.torturing import torturing

    return torturing(desk, fields)


def _priority() -> click.Option:
    return usage.option("priority", "--priority", "", "How urgent it is.", *PRIORITIES)


def _paths() -> click.Option:
    return usage.option(
        "paths", "--paths", "PATH", "Where the work happens; several with commas, or repeated.", many=True
    )


def _depends_on() -> click.Option:
    return usage.option("dependsOn", "--depends-on", "CARD", "What it waits for; several with commas.", many=True)


CALLS: Final = (
    Call(
        "list",
        act(Action.LIST),
        [
            *usage.maybe_card(),
            usage.option("status", "--status", "", "Only this lane.", *LANES),
            usage.flag("mine", "--mine", "Only what you hold."),
            usage.option("query", "--query", "WORDS", "Only cards with all these words in title, paths or holder."),
            usage.flag("round", "--round", "With the counts of the whole board first."),
            usage.flag("all", "--all", "Finished cards too; for one card, all of its notes."),
        ],
        summary="Show the cards, lane by lane, or one card.",
        more="All filters given must match. In a pipe the list is at most 12,000 characters long and says what it "
        "left out; --json gives everything.",
        examples=[
            "pi-taskbar board list",
            "pi-taskbar board list 4",
            "pi-taskbar board list --status blocked",
            "pi-taskbar board list --mine --as agent-3",
            "pi-taskbar board list --query 'billing webhook'",
            "pi-taskbar board list --round --json",
        ],
        traits=Trait.SAYS_WHERE,
    ),
    Call(
        "add",
        act(Action.ADD),
        [
            usage.argument("title", "TITLE"),
            _paths(),
            _priority(),
            usage.option("note", "--note", "TEXT", "The first note; - reads it from stdin."),
            _depends_on(),
            usage.option("key", "--key", "KEY", "Your own name for this call: repeated, it adds nothing twice."),
        ],
        summary="Publish a feature: a new card in todo.",
        examples=[
            "pi-taskbar board add 'Billing webhook accepts orders' --paths src/billing,tests/billing",
            "pi-taskbar board add 'Retry branches merge cleanly' --depends-on 1 --priority high",
            "pi-taskbar board add 'Invoices are numbered' --note 'Asked for by accounting.' --key invoices-1",
        ],
        traits=Trait.SAYS_WHERE,
    ),
    Call(
        "claim",
        act(Action.CLAIM),
        [usage.card(), usage.if_rev()],
        summary="Take a card: it is in doing, and yours.",
        examples=["pi-taskbar board claim 4", "pi-taskbar board claim '#4' --as agent-3 --json"],
    ),
    Call(
        "release",
        act(Action.RELEASE),
        [usage.card(), usage.if_rev()],
        summary="Hand a card of yours back: it is in todo, and nobody's.",
        examples=["pi-taskbar board release 4 --as agent-3"],
    ),
    Call(
        "reclaim",
        act(Action.RECLAIM),
        [usage.card(), usage.if_rev()],
        summary="Take a card back, whoever holds it: it is in todo, and nobody's.",
        more="For a card whose holder is gone. Its notes stay, and say whose it was.",
        examples=["pi-taskbar board reclaim 4"],
    ),
    Call(
        "move",
        act(Action.MOVE),
        [usage.card(), usage.argument("status", "", *LANES), usage.if_rev()],
        summary="Move a card to another lane.",
        more="Its holder moves it; what nobody holds, anyone can park in blocked and bring back. Done is final.",
        examples=["pi-taskbar board move 4 done --as agent-3", "pi-taskbar board move 4 blocked --as agent-3"],
    ),
    Call(
        "note",
        act(Action.NOTE),
        [usage.card(), usage.argument("text", "TEXT"), usage.if_rev()],
        summary="Append a note to a card's history.",
        more="- as the text reads it from stdin. A text that begins with a dash stands behind --.",
        examples=[
            "pi-taskbar board note 4 'The webhook answers 202 now.'",
            "pi-taskbar board note 4 - < report.txt",
        ],
    ),
    Call(
        "plan",
        act(Action.PLAN),
        [usage.card(), usage.argument("path", "PATH"), usage.if_rev()],
        summary="Record the plan file that a card is worked on by.",
        examples=["pi-taskbar board plan 4 docs/plans/billing.md"],
    ),
    Call(
        "edit",
        act(Action.EDIT),
        [
            usage.card(),
            usage.option("title", "--title", "TITLE", "What is to be reached."),
            _paths(),
            _priority(),
            _depends_on(),
            usage.if_rev(),
        ],
        summary="Correct what a card says; what is not given stays.",
        more="Paths and links are replaced as a whole; none removes them all.",
        examples=[
            "pi-taskbar board edit 4 --title 'Billing webhook accepts orders' --priority high",
            "pi-taskbar board edit 4 --depends-on 1,2",
            "pi-taskbar board edit 4 --depends-on none --paths none",
        ],
    ),
    Call(
        "drop",
        act(Action.DROP),
        [usage.card(), usage.if_rev()],
        summary="Delete a card with its notes.",
        more="A card that another one waits on stays. undo brings a card back for a day.",
        examples=["pi-taskbar board drop 4"],
    ),
    Call(
        "undo",
        act(Action.UNDO),
        [click.Argument(["card"], metavar="[CARD]", required=False)],
        summary="Bring back the card that you dropped last.",
        examples=["pi-taskbar board undo", "pi-taskbar board undo 4"],
    ),
    Call(
        "reopen",
        act(Action.REOPEN),
        [usage.card(), usage.if_rev()],
        summary="Make a new card of a finished one, with its notes.",
        more="What is done stays done: the old card keeps its number, and what waited for it goes on.",
        examples=["pi-taskbar board reopen 4"],
    ),
    Call(
        "prune",
        _prune,
        [
            usage.option("days", "--days", "N", "Finished at least so many days ago (default: 14)."),
            usage.flag("dryRun", "--dry-run", "Only say which cards would go."),
            usage.flag("yes", "--yes", "Do not ask."),
        ],
        summary="Drop the cards that were finished long ago.",
        more="On a terminal it shows them and asks first. A card that another one names stays. Each one that goes can "
        "be brought back for a day with undo.",
        examples=["pi-taskbar board prune --dry-run", "pi-taskbar board prune --days 30 --yes"],
    ),
    Call(
        "assign",
        act(Action.ASSIGN),
        [usage.card(), usage.argument("label", "LABEL", complete=labels), usage.if_rev()],
        summary="Record who a card is for; no message is sent.",
        more="`pi-taskbar team assign` sends one instead, and leaves the card to whoever claims it.",
        examples=["pi-taskbar board assign 4 agent-3"],
    ),
    Call(
        "next",
        act(Action.NEXT),
        [usage.flag("dryRun", "--dry-run", "Only say which one it would be.")],
        summary="Claim the best card that can be claimed.",
        more="The most urgent first, then what the most cards wait for, then the oldest.",
        examples=["pi-taskbar board next", "pi-taskbar board next --dry-run --json"],
    ),
    Call(
        "why",
        act(Action.WHY),
        usage.maybe_card(),
        summary="Say why a card can or cannot be claimed, and what comes first.",
        examples=["pi-taskbar board why 4"],
    ),
    Call(
        "wait",
        _wait,
        [
            *usage.maybe_card(),
            usage.option("until", "--until", "", "What to wait for (default: done).", *LANES, *UNTIL_OTHER),
            usage.option("seconds", "--timeout", "SECONDS", "How long (default: as long as it takes)."),
        ],
        summary="Wait until a card is done, or as --until says.",
        more="Exits with 3 when --timeout is over or the card can no longer get there.",
        examples=[
            "pi-taskbar board wait 4",
            "pi-taskbar board wait --card 4 --until claimable --timeout 60",
        ],
        traits=Trait.LASTS,
    ),
    Call(
        "open",
        _open,
        [
            usage.flag("background", "--background", "Serve it in a process of its own and return."),
            usage.flag("foreground", "--foreground", "Serve it here until it is over (the default)."),
            usage.flag("team", "--team", "Open it on the Team tab."),
            usage.flag("noBrowser", "--no-browser", "Only print the address."),
            usage.option("port", "--port", "N", "Serve it on this port or not at all."),
        ],
        summary="Serve the board's page, or open the one that is served.",
        more="A repository has one page. Whoever starts it writes as team-lead; every other session looks on, "
        "read-only. It stops a minute after its last tab. `pi-taskbar board` alone does the same.",
        examples=[
            "pi-taskbar board",
            "pi-taskbar board open --background",
            "pi-taskbar board open --team --as agent-3",
            "pi-taskbar board open --background --no-browser --json",
        ],
        traits=Trait.SAYS_WHERE | Trait.LASTS,
    ),
    Call(
        "stop",
        _stop,
        summary="Stop the page that you serve.",
        examples=["pi-taskbar board stop"],
    ),
    Call(
        "revoke",
        _revoke,
        summary="Make every link that can change cards worthless, but for a new one.",
        more="Viewer links stay good. Only the session that started the page can do this.",
        examples=["pi-taskbar board revoke"],
    ),
    Call(
        "status",
        _status,
        summary="Say in one line where the board is, and who you are on it.",
        examples=["pi-taskbar board status", "pi-taskbar board status --json"],
        traits=Trait.SAYS_WHERE | Trait.FOR_ANYBODY,
    ),
    Call(
        "doctor",
        _doctor,
        summary="Look for what is wrong with the board's files; mends nothing.",
        examples=["pi-taskbar board doctor", "pi-taskbar board doctor --json"],
        traits=Trait.SAYS_WHERE | Trait.FOR_ANYBODY,
    ),
    Call(
        "torture",
        _torture,
        [
            usage.option("seconds", "--seconds", "N", "For about how long (default: 30)."),
            usage.option("workers", "--workers", "N", "How many processes race (default: 8)."),
        ],
        summary="Race and crash a board of its own on your disk, and say whether it held.",
        more="It works in a folder beside the board's, removed afterwards. Exits with 8 where a board is not safe.",
        examples=["pi-taskbar board torture", "pi-taskbar board torture --seconds 5 --json"],
        traits=Trait.LASTS | Trait.FOR_ANYBODY,
    ),
)


class _Board(Calls):
    """The group, with the call that only Pi's extension makes."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == "tool":
            from flask_pi_taskbar.commands.tool import tool

            return tool
        return super().get_command(ctx, cmd_name)


board: Any = _Board(
    "board",
    CALLS,
    default="open",
    short_help="The board of features that all sessions of this repository share.",
    help="""The board of features that all sessions of this repository share.

    Every worktree of a repository has the same board. Exit codes: 0 done, 1 a defect of ours, 2 wrong usage, 3 refused
    by the board's rules, 4 no such card, 5 busy (try again), 6 unreadable card, 8 the store cannot be written,
    130 Ctrl-C.""",
)
