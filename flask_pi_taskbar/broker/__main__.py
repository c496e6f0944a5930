"""Where a broker process begins: `python -I -S …/broker/__main__.py --path DIR… --root ROOT`, started by `launch`.

It is run by its path in an isolated interpreter, so that neither a `json.py` in the project nor `PYTHONPATH` comes
before the standard library; the folders of this package and of what it needs are handed over and come last.
`python -m flask_pi_taskbar.broker --root ROOT` works as well, for looking at one in a terminal.
"""

from __future__ import annotations

import os
import sys


def _detach() -> None:
    """Leave the launcher's family: it need not wait for us, and we become nobody's zombie.

    The interpreter has just begun and has one thread; nothing of the server that asked for us is in it.
    """
    if os.fork():
        os._exit(0)


def _run(arguments: list[str]) -> int:
    paths, root, grace, detach = [], ".", None, False
    words = iter(arguments)
    for word in words:
        match word:
            case "--path":
                paths.append(next(words))
            case "--root":
                root = next(words)
            case "--grace":
                grace = float(next(words))
            case "--detach":
                detach = True
            case _:
                sys.stderr.write(f"unknown option {word}\n")
                return 2
    if detach:
        _detach()
    sys.path += [path for path in paths if path not in sys.path]
    from pathlib import Path

    from flask_pi_taskbar.broker.main import main
    from flask_pi_taskbar.broker.server import GRACE_SECONDS

    return main(Path(root), GRACE_SECONDS if grace is None else grace)


if __name__ == "__main__":
    sys.exit(_run(sys.argv[1:]))
