"""Where a background page's process begins: `python -P -m flask_pi_taskbar.page --answer FD [--lifeline FD]`.

Its order comes on stdin. It leaves its starter's family at once, says over the descriptor where it serves, and then
serves until it is over. `--store DIR` serves the board of a folder in the foreground, for looking at one.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from flask_pi_taskbar.board.identity import session
from flask_pi_taskbar.board.refusal import Refusal
from flask_pi_taskbar.board.store import Store
from flask_pi_taskbar.page.opening import Answer, Options, Order, Served, serve_until_told


def main(arguments: list[str]) -> int:
    options = dict(zip(arguments[::2], arguments[1::2], strict=True))
    if "--store" in options:
        return _look(options["--store"], options.get("--port"))
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=Order)
    if os.fork():
        os._exit(0)
    os.chdir("/")
    answer_to = int(options["--answer"])
    store = Store(order.store)
    try:
        found = serve_until_told(store, order.options, order.actor, order.cwd)
    except Refusal as refusal:
        _say(answer_to, Answer(refused=refusal.message, code=refusal.code.value))
        return refusal.code.exit
    if found is None:
        _say(answer_to, Answer())
        return 0
    page, problem = found
    served = Served(
        url=page.lead_address(),
        viewer=page.viewer_address(),
        pid=os.getpid(),
        port=page.port,
        label=page.label,
        join_failed=problem,
        remark=page.remark,
    )
    _say(answer_to, Answer(served=served))
    lifeline = options.get("--lifeline")
    page.serve(_lifeline(int(lifeline)) if lifeline is not None else lambda: True)
    return 0


def _say(fd: int, answer: Answer) -> None:
    try:
        os.write(fd, msgspec.json.encode(answer))
    except BrokenPipeError:
        pass  # nobody waits any more
    finally:
        os.close(fd)


def _lifeline(fd: int) -> Callable[[], bool]:
    def holds() -> bool:
        return not (select.select([fd], [], [], 0)[0] and os.read(fd, 1) == b"")

    return holds


def _look(folder: str, port: str | None) -> int:
    """Serve a board for a developer of ours."""
    store = Store(folder)
    options = Options(name=Path(folder).name, key=Path(folder).name, port=int(port) if port else None)
    found = serve_until_told(store, options, session("developer", "developer"), str(Path.cwd()))
    if found is None:
        sys.stderr.write("somebody serves it already\n")
        return 3
    page, _ = found
    sys.stdout.write(f"{page.lead_address()}\n{page.viewer_address()}\n")
    sys.stdout.flush()
    page.serve()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
