"""`board torture`: the race and crash suite on the disk that the board lies on, with its progress and its verdict."""

from __future__ import annotations

from pathlib import Path

import msgspec

from flask_pi_taskbar.board.refusal import Code, Refusal
from flask_pi_taskbar.board.text import bad
from flask_pi_taskbar.board.torture import SECONDS, WORKERS, Check, torture
from flask_pi_taskbar.commands.actor import Desk
from flask_pi_taskbar.commands.answers import Answer, Data
from flask_pi_taskbar.commands.rendering import Screen, block
from flask_pi_taskbar.commands.usage import number
from flask_pi_taskbar.commands.watching import progress, seconds_of

MAX_WORKERS = 64


def torturing(desk: Desk, fields: dict[str, object]) -> Answer:
    """Run it. Raises `Refusal` where the disk cannot carry a board."""
    seconds = seconds_of(fields.get("seconds"), "--seconds")
    seconds = SECONDS if seconds is None else seconds
    workers = number(str(fields.get("workers", WORKERS)))
    if not isinstance(workers, int) or not 2 <= workers <= MAX_WORKERS:
        raise bad("--workers", f"--workers is a number of processes, from 2 to {MAX_WORKERS}.")
    folder = _beside(Path(desk.store.layout.root))
    with progress() as shown:
        done: list[str] = []

        def tell(check: Check) -> None:
            done.append(f"{check.name} {'ok' if not check.faults else 'FAILED'}")
            shown.show(f"Ctrl-C ends it: {', '.join(done)}")

        shown.show(f"about {seconds:.0f} s, Ctrl-C ends it: racing {workers} processes in {folder}")
        verdict = torture(folder, seconds=seconds, workers=workers, tell=tell)
    if not verdict.ok:
        details = msgspec.to_builtins(verdict)
        message = f"A board is not safe on this disk.\n{verdict.text}"
        raise Refusal(Code.STORE_UNWRITABLE, message, action="torture", details=details)
    data: Data = {"ok": True, "action": "torture", "verdict": msgspec.to_builtins(verdict)}
    text = "\n".join(block(verdict.text))

    def drawn(screen: Screen) -> str:
        *rows, last = text.splitlines()
        return "\n".join([*rows, screen.styled(last, "bold", "green")])

    return Answer(lambda: data, lambda: text, drawn)


def _beside(root: Path) -> Path:
    """The nearest folder above the store: on the same file system, and there."""
    return next(folder for folder in root.parents if folder.is_dir())
