"""`board prune`: drop what was finished long ago, after showing what that is."""

from __future__ import annotations

import sys
from typing import Any

import click

from flask_pi_taskbar.board.pruning import DAYS, prune_done
from flask_pi_taskbar.board.text import bad
from flask_pi_taskbar.commands.actor import Desk
from flask_pi_taskbar.commands.answers import Answer, Data
from flask_pi_taskbar.commands.rendering import line

SHOWN = 50


def pruned(desk: Desk, fields: dict[str, Any]) -> Answer:
    """Show what would go, ask where somebody can answer, drop it."""
    days, dry_run = _days(fields.get("days")), bool(fields.get("dryRun"))
    preview = prune_done(desk.store, desk.actor, desk.now(), days, dry_run=True)
    if dry_run or not preview["cards"]:
        return _answer(preview)
    if not fields.get("yes") and _somebody_can_answer():
        click.echo(_text(preview))
        if not click.confirm("Drop them?", default=False):
            return _answer(preview, "Nothing was dropped.")
    return _answer(prune_done(desk.store, desk.actor, desk.now(), days))


def _somebody_can_answer() -> bool:
    context = click.get_current_context(silent=True)
    for_a_program = context is not None and bool(context.params.get("as_json"))
    return not for_a_program and sys.stdin.isatty() and sys.stdout.isatty()


def _days(given: object) -> int:
    if given is None:
        return DAYS
    try:
        return int(str(given))
    except ValueError:
        raise bad("days", "--days must be a whole number.") from None


def _answer(found: Data, text: str | None = None) -> Answer:
    said = _text(found) if text is None else text
    dropped = bool(found["cards"]) and not found["dryRun"]
    return Answer(lambda: found, lambda: said, lambda _: said, wrote=dropped)


def _text(found: Data) -> str:
    cards, kept = _rows(found["cards"]), _rows(found["kept"])
    count = f"{len(cards)} card{'' if len(cards) == 1 else 's'} finished {found['days']} or more days ago"
    if not cards:
        lines = [f"No card was finished {found['days']} or more days ago."]
    elif found["dryRun"]:
        lines = [f"{count} would be dropped:"]
    else:
        lines = [f"Dropped {count}; undo CARD brings one back for a day:"]
    lines += [f"  #{card['id']} {line(str(card['title']))}" for card in cards[:SHOWN]]
    if len(cards) > SHOWN:
        lines.append(f"  and {len(cards) - SHOWN} more")
    lines += [f"  kept #{card['id']}: {line(str(card['why']))}" for card in kept[:SHOWN]]
    return "\n".join(lines)


def _rows(value: object) -> list[dict[str, object]]:
    return value if isinstance(value, list) else []
