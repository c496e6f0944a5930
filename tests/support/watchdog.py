"""Cleans up after a pytest that died without doing so: killed, or ended by its own timeout in the middle of a test.

`hermetic.enter` starts it with a pipe as its standard input. The pipe closes when pytest is gone, however that came
about; then all that carries the session's marker is ended and the session's world removed.
"""

from __future__ import annotations

import shutil
import signal
import sys

from tests.support import hermetic


def main(marker: str, root: str) -> None:
    for sign in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sign, signal.SIG_IGN)  # what ends pytest must not end us first
    sys.stdin.buffer.read()
    hermetic.leftovers(marker, seconds=0)
    shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
