"""The rules are one total table, and what it says is what a call gets (spec 5)."""

from __future__ import annotations

from itertools import product

import pytest

from flask_pi_taskbar.board.model import Actor, Card, Lane
from flask_pi_taskbar.board.request import READS, Action
from flask_pi_taskbar.board.table import CELLS, RULES, TARGETS, Effect, Relation, cells, verdict
from tests.board_core.boards import ME, OTHER, STRANGER, Table, card, session

HOLDERS = {Relation.HOLDER: ME, Relation.OTHER: OTHER, Relation.NOBODY: None}
UNHELD_DOING = (Lane.DOING, Relation.NOBODY)
SPACE = [
    (action, lane, who, waits, target)
    for action, targets in TARGETS.items()
    for lane, who, waits, target in product(Lane, Relation, (False, True), targets)
]


def test_every_combination_has_exactly_one_line() -> None:
    said: dict[tuple[object, ...], list[tuple[str, ...]]] = {cell: [] for cell in SPACE}
    for rule in RULES:
        for cell, _ in cells(rule):
            said[cell].append(rule)
    wrong = {cell: lines for cell, lines in said.items() if len(lines) != (0 if cell[1:3] == UNHELD_DOING else 1)}
    assert wrong == {}


def test_every_action_that_changes_a_card_is_in_the_table() -> None:
    assert set(TARGETS) == set(Action) - READS - {Action.ADD, Action.NEXT, Action.UNDO}
    assert {outcome.effect for outcome in CELLS.values()} == {*Effect, None}


# The lines of the specification once more, by hand: action, lane, who, waits, target, what happens.
SPOKEN = """
claim todo N no - take;            claim todo H no - take;             claim todo N yes - waiting
claim todo H yes - waiting;        claim todo O no - held;             claim todo O yes - held
claim doing H yes - keep;          claim doing O no - held;            claim blocked O yes - held
claim blocked H no - wrong_lane;   claim blocked N no - take;          claim blocked N yes - waiting
claim done H no - finished;        claim done N no - finished;         claim done O yes - finished
release doing H no - free;         release blocked H yes - free;       release todo H no - free
release todo O no - not_holder;    release doing O yes - not_holder;   release todo N no - not_held
release blocked N no - not_held;   release done H no - finished
reclaim todo O no - free;          reclaim doing H no - free;          reclaim blocked O yes - free
reclaim blocked N yes - unpark;    reclaim todo N no - not_held;       reclaim done O no - finished
move todo O yes todo keep;         move done N no done keep;           move blocked N yes blocked keep
move doing H yes todo free;        move blocked H yes todo free;       move todo H no doing shift
move blocked H no doing shift;     move doing H yes blocked shift;     move todo H yes blocked shift
move todo N yes blocked shift;     move blocked N yes todo unpark;     move doing H no done finish
move blocked H no done finish;     move todo H yes doing waiting;      move todo H yes done waiting
move doing H yes done waiting;     move blocked H yes doing waiting;   move blocked H yes done waiting
move todo N no doing not_held;     move todo N yes done not_held;      move blocked N no done not_held
move todo H no done wrong_lane;    move todo O no blocked not_holder;  move doing O no done not_holder
move blocked O yes todo not_holder; move done H no todo finished;      move done O yes doing finished
assign todo N yes one assign;      assign blocked N no one assign;     assign todo N no none no_such_teammate
assign todo N no several ambiguous; assign todo O no one held;         assign doing H no none held
assign done N no one finished
note todo O yes - append;          note done N no - append;            note doing H no - append
plan todo N yes new record;        plan doing H no new record;         plan blocked N no same keep
plan doing O no same not_holder;   plan done H no new finished
edit todo N yes words rewrite;     edit doing H yes link rewrite;      edit blocked N no unlink rewrite
edit todo N no same keep;          edit doing O no words not_holder;   edit done H no words rewrite
edit done H no unlink rewrite;     edit done H no link finished;       edit done H no same keep
edit done O no words finished;     edit done N no unlink finished
drop todo O yes free remove;       drop done O no free remove;         drop doing H no free remove
drop blocked N no free remove;     drop blocked O no free not_holder;  drop doing O no free not_holder
drop todo N no named waited_on;    drop doing O yes named waited_on;   drop done H no named waited_on
handoff todo N yes one send;       handoff doing H no one send;        handoff doing O no one held
handoff todo N no none no_such_teammate; handoff todo H no several ambiguous; handoff done O no one finished
offer todo N no some spread;       offer todo N no none no_such_teammate; offer todo N yes some waiting
offer todo H no some held;         offer doing O no some held;         offer blocked N no some wrong_lane
offer done N no some finished
reopen done H no - copy;            reopen done O yes - copy;          reopen done N no - copy
reopen todo N no - wrong_lane;      reopen doing H no - wrong_lane;     reopen blocked O yes - wrong_lane
"""


@pytest.mark.parametrize("line", [line.strip() for line in SPOKEN.replace("\n", ";").split(";") if line.strip()])
def test_the_table_says_what_the_specification_says(line: str) -> None:
    action, lane, who, waits, target, expected = line.split()
    outcome = CELLS[Action(action), Lane(lane), Relation(who), waits == "yes", target]
    assert (outcome.effect or outcome.code) == expected


def call_for(action: Action, lane: Lane, who: Relation, waits: bool, target: str) -> tuple[Table, dict[str, object]]:
    """A board on which card 4 is as the cell says, and the fields of the call."""
    holder = HOLDERS[who]
    links = (1, 2) if waits else (2,)
    subject = card(4, lane.value, owner=holder, depends_on=links, plan="plans/old.md")
    cards = [card(1, "todo"), card(2, "done", owner=OTHER), card(3, "done", owner=OTHER), subject]
    fields: dict[str, object] = {"card": 4}
    sessions = [session(ME)]
    match action:
        case Action.MOVE:
            fields["status"] = target
        case Action.NOTE:
            fields["text"] = "hello"
        case Action.PLAN:
            fields["path"] = "plans/old.md" if target == "same" else "plans/new.md"
        case Action.EDIT:
            fields |= {
                "same": {"title": "Feature 4"},
                "words": {"title": "Another"},
                "unlink": {"dependsOn": list(links[:-1])},
                "link": {"dependsOn": [*links, 3]},
            }[target]
        case Action.DROP if target == "named":
            cards.append(card(5, "done", depends_on=(4,)))
        case Action.ASSIGN | Action.HANDOFF:
            fields["label"] = STRANGER.label
            sessions += [session(STRANGER)] * (target == "one")
            sessions += [session(Actor(f"s-{n}", STRANGER.label)) for n in range(2 * (target == "several"))]
        case Action.OFFER:
            sessions += [session(STRANGER)] * (target == "some")
    return Table(*cards, sessions=tuple(sessions)), fields


FILL: dict[str, dict[str, object]] = {"note": {"text": "?"}}


@pytest.mark.parametrize("cell", SPACE, ids=lambda cell: "-".join(map(str, cell)))
def test_a_call_gets_what_the_table_says_and_a_refusal_offers_only_what_it_accepts(cell) -> None:
    action, _, _, waits, target = cell
    table, fields = call_for(*cell)
    before = table.cards[4]
    outcome = verdict(action, before, ME.id, waits, target)
    answer = table.do(ME, action.value, **fields)
    if outcome.accepted:
        assert answer["ok"] is True
        changes = outcome.effect is not Effect.KEEP
        assert answer["unchanged"] is not changes
        if outcome.effect is Effect.REMOVE:
            assert 4 not in table.cards
        elif outcome.effect is Effect.COPY:
            assert table.cards[4] == before
            assert table.cards[answer["card"]["id"]].lane is Lane.TODO
        else:
            assert table.cards[4].rev == before.rev + changes
        return
    assert outcome.code is not None
    assert (answer["ok"], answer["action"], answer["code"]) == (False, action.value, outcome.code)
    assert answer["card"]["id"] == 4
    assert table.cards[4] is before
    assert str(answer["message"]).endswith((".", "?"))
    assert len(answer["next"]) <= 3
    for call in answer["next"]:
        given = {name: value for name, value in call.items() if name not in {"action", "why"}}
        suggested = Table(*table.cards.values(), sessions=table.sessions)
        assert suggested.do(ME, call["action"], **given, **FILL.get(call["action"], {}))["ok"], call


def test_doing_that_nobody_holds_is_treated_as_parked() -> None:
    lost: Card = card(4, "doing")
    for action, targets in TARGETS.items():
        for waits, target in product((False, True), targets):
            parked = CELLS[action, Lane.BLOCKED, Relation.NOBODY, waits, target]
            assert verdict(action, lost, ME.id, waits, target) == parked
