"""The rules of the board, as one table: action x lane x who x waits x target -> what happens.

It is read aloud line by line: "claim, a card in todo, held by the caller or nobody, that waits for nothing: take it".
Page, command line, tool, buttons, lists and suggestions all ask `verdict` and nothing else. The table is total: every
combination has exactly one line, which building it checks for doubles and a test checks for gaps.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from itertools import product
from typing import Final

from msgspec import Struct

from flask_pi_taskbar.board.model import Card, Lane
from flask_pi_taskbar.board.refusal import Code
from flask_pi_taskbar.board.request import Action


class Relation(StrEnum):
    """Who holds the card, seen from the caller. Holders are compared by id alone."""

    HOLDER = "H"
    OTHER = "O"
    NOBODY = "N"


class Effect(StrEnum):
    """What an accepted call does; `effects` has one function for each."""

    TAKE = "take"
    FREE = "free"
    UNPARK = "unpark"
    SHIFT = "shift"
    FINISH = "finish"
    ASSIGN = "assign"
    APPEND = "append"
    RECORD = "record"
    REWRITE = "rewrite"
    REMOVE = "remove"
    COPY = "copy"
    SEND = "send"
    SPREAD = "spread"
    KEEP = "keep"
    """Accepted, and nothing changes: agents repeat themselves."""


TARGETS: Final[dict[Action, tuple[str, ...]]] = {
    Action.CLAIM: ("-",),
    Action.RELEASE: ("-",),
    Action.RECLAIM: ("-",),
    Action.MOVE: ("todo", "doing", "blocked", "done"),  # where to
    Action.ASSIGN: ("one", "none", "several"),  # sessions that the label names
    Action.NOTE: ("-",),
    Action.PLAN: ("same", "new"),  # against the plan recorded
    Action.EDIT: ("same", "words", "unlink", "link"),  # what differs: nothing; no links; links go; links come
    Action.DROP: ("named", "free"),  # in another card's dependsOn, or in none
    Action.REOPEN: ("-",),
    Action.HANDOFF: ("one", "none", "several"),
    Action.OFFER: ("some", "none"),  # other live sessions
}
"""The further thing that an action's lines may depend on."""

# fmt: off
RULES: Final[tuple[tuple[str, str, str, str, str, str], ...]] = (
    # action    lane                  who      waits  target         outcome
    ("claim",   "todo",               "H N",   "no",  "-",           "take"),
    ("claim",   "todo",               "H N",   "yes", "-",           "refuse waiting"),
    ("claim",   "todo",               "O",     "-",   "-",           "refuse held"),
    ("claim",   "doing",              "H",     "-",   "-",           "keep"),
    ("claim",   "doing blocked",      "O",     "-",   "-",           "refuse held"),
    ("claim",   "blocked",            "H",     "-",   "-",           "refuse wrong_lane"),
    ("claim",   "blocked",            "N",     "no",  "-",           "take"),
    ("claim",   "blocked",            "N",     "yes", "-",           "refuse waiting"),
    ("claim",   "done",               "-",     "-",   "-",           "refuse finished"),

    ("release", "todo doing blocked", "H",     "-",   "-",           "free"),
    ("release", "todo doing blocked", "O",     "-",   "-",           "refuse not_holder"),
    ("release", "todo blocked",       "N",     "-",   "-",           "refuse not_held"),
    ("release", "done",               "-",     "-",   "-",           "refuse finished"),

    ("reclaim", "todo doing blocked", "H O",   "-",   "-",           "free"),
    ("reclaim", "blocked",            "N",     "-",   "-",           "unpark"),
    ("reclaim", "todo",               "N",     "-",   "-",           "refuse not_held"),
    ("reclaim", "done",               "-",     "-",   "-",           "refuse finished"),

    ("move",    "todo",               "-",     "-",   "todo",        "keep"),
    ("move",    "todo",               "H",     "no",  "doing",       "shift"),
    ("move",    "todo",               "H",     "yes", "doing done",  "refuse waiting"),
    ("move",    "todo",               "H",     "no",  "done",        "refuse wrong_lane"),
    ("move",    "todo",               "H",     "-",   "blocked",     "shift"),
    ("move",    "todo",               "N",     "-",   "blocked",     "shift"),
    ("move",    "todo",               "N",     "-",   "doing done",  "refuse not_held"),
    ("move",    "todo",               "O",     "-",   "doing blocked done", "refuse not_holder"),
    ("move",    "doing",              "-",     "-",   "doing",       "keep"),
    ("move",    "doing",              "H",     "-",   "todo",        "free"),
    ("move",    "doing",              "H",     "-",   "blocked",     "shift"),
    ("move",    "doing",              "H",     "no",  "done",        "finish"),
    ("move",    "doing",              "H",     "yes", "done",        "refuse waiting"),
    ("move",    "doing",              "O",     "-",   "todo blocked done", "refuse not_holder"),
    ("move",    "blocked",            "-",     "-",   "blocked",     "keep"),
    ("move",    "blocked",            "H",     "-",   "todo",        "free"),
    ("move",    "blocked",            "H",     "no",  "doing",       "shift"),
    ("move",    "blocked",            "H",     "no",  "done",        "finish"),
    ("move",    "blocked",            "H",     "yes", "doing done",  "refuse waiting"),
    ("move",    "blocked",            "N",     "-",   "todo",        "unpark"),
    ("move",    "blocked",            "N",     "-",   "doing done",  "refuse not_held"),
    ("move",    "blocked",            "O",     "-",   "todo doing done", "refuse not_holder"),
    ("move",    "done",               "-",     "-",   "done",        "keep"),
    ("move",    "done",               "-",     "-",   "todo doing blocked", "refuse finished"),

    ("assign",  "todo blocked",       "N",     "-",   "one",         "assign"),
    ("assign",  "todo blocked",       "N",     "-",   "none",        "refuse no_such_teammate"),
    ("assign",  "todo blocked",       "N",     "-",   "several",     "refuse ambiguous"),
    ("assign",  "todo doing blocked", "H O",   "-",   "-",           "refuse held"),
    ("assign",  "done",               "-",     "-",   "-",           "refuse finished"),

    ("note",    "todo doing blocked done", "-", "-",  "-",           "append"),

    ("plan",    "todo doing blocked", "H N",   "-",   "new",         "record"),
    ("plan",    "todo doing blocked", "H N",   "-",   "same",        "keep"),
    ("plan",    "todo doing blocked", "O",     "-",   "-",           "refuse not_holder"),
    ("plan",    "done",               "-",     "-",   "-",           "refuse finished"),

    ("edit",    "todo doing blocked", "H N",   "-",   "words unlink link", "rewrite"),
    ("edit",    "todo doing blocked", "H N",   "-",   "same",        "keep"),
    ("edit",    "todo doing blocked", "O",     "-",   "-",           "refuse not_holder"),
    ("edit",    "done",               "H",     "-",   "words unlink", "rewrite"),
    ("edit",    "done",               "H",     "-",   "same",        "keep"),
    ("edit",    "done",               "H",     "-",   "link",        "refuse finished"),
    ("edit",    "done",               "O N",   "-",   "-",           "refuse finished"),

    ("drop",    "todo doing blocked done", "-", "-",  "named",       "refuse waited_on"),
    ("drop",    "todo done",          "-",     "-",   "free",        "remove"),
    ("drop",    "doing blocked",      "H N",   "-",   "free",        "remove"),
    ("drop",    "doing blocked",      "O",     "-",   "free",        "refuse not_holder"),

    ("reopen",  "todo doing blocked", "-",     "-",   "-",           "refuse wrong_lane"),
    ("reopen",  "done",               "-",     "-",   "-",           "copy"),

    # `handoff` is `team assign`, `offer` is `team offer`
    ("handoff", "todo doing blocked", "H N",   "-",   "one",         "send"),
    ("handoff", "todo doing blocked", "H N",   "-",   "none",        "refuse no_such_teammate"),
    ("handoff", "todo doing blocked", "H N",   "-",   "several",     "refuse ambiguous"),
    ("handoff", "todo doing blocked", "O",     "-",   "-",           "refuse held"),
    ("handoff", "done",               "-",     "-",   "-",           "refuse finished"),

    ("offer",   "todo",               "N",     "no",  "some",        "spread"),
    ("offer",   "todo",               "N",     "no",  "none",        "refuse no_such_teammate"),
    ("offer",   "todo",               "N",     "yes", "-",           "refuse waiting"),
    ("offer",   "blocked",            "N",     "-",   "-",           "refuse wrong_lane"),
    ("offer",   "todo doing blocked", "H O",   "-",   "-",           "refuse held"),
    ("offer",   "done",               "-",     "-",   "-",           "refuse finished"),
)
# fmt: on

_CODES: Final = {code.value: code for code in Code}

Cell = tuple[Action, Lane, Relation, bool, str]


class Outcome(Struct, frozen=True):
    """What the table says: an effect, or the code of the refusal."""

    effect: Effect | None = None
    code: Code | None = None

    @property
    def accepted(self) -> bool:
        """Whether the call is accepted."""
        return self.effect is not None


def verdict(action: Action, card: Card, actor_id: str, waits: bool, target: str = "-") -> Outcome:
    """What the table says about this call on this card. `waits` is what `links.waits` says."""
    return CELLS[action, card.lane, relation(card, actor_id), waits, target]


def relation(card: Card, actor_id: str) -> Relation:
    """Who holds the card, seen from the caller."""
    if card.owner is None:
        return Relation.NOBODY
    return Relation.HOLDER if card.owner.id == actor_id else Relation.OTHER


def cells(rule: tuple[str, str, str, str, str, str]) -> Iterator[tuple[Cell, Outcome]]:
    """Every combination that a line speaks of, with its outcome. `-` stands for all values of a column.

    A card in `doing` that nobody holds is never among them: `Card.lane` calls it blocked.
    """
    action = Action(rule[0])
    word, _, code = rule[5].partition(" ")
    outcome = Outcome(code=_CODES[code]) if word == "refuse" else Outcome(effect=Effect(word))
    lanes = [Lane(lane) for lane in rule[1].split()] if rule[1] != "-" else list(Lane)
    holders = [Relation(who) for who in rule[2].split()] if rule[2] != "-" else list(Relation)
    waiting = {"no": [False], "yes": [True], "-": [False, True]}[rule[3]]
    targets = TARGETS[action] if rule[4] == "-" else tuple(rule[4].split())
    for lane, who, waits, target in product(lanes, holders, waiting, targets):
        if target not in TARGETS[action]:
            raise ValueError(f"{rule}: {action} knows no target {target}")
        if (lane, who) != (Lane.DOING, Relation.NOBODY):
            yield (action, lane, who, waits, target), outcome


def _all_cells() -> dict[Cell, Outcome]:
    found: dict[Cell, Outcome] = {}
    for rule in RULES:
        for cell, outcome in cells(rule):
            if cell in found:
                raise ValueError(f"two lines of the rules speak of {cell}")
            found[cell] = outcome
    return found


CELLS: Final = _all_cells()
