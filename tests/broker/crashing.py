"""A broker that kills itself at its nth step on the file system: `python crashing.py ROOT BEGIN N LOG`.

Steps are the calls that change or open something. Counting begins at once (`start`), or when the file `BEGIN` appears.
Each step is noted in LOG before it is taken, so that a test sees when there are no more.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

STEPS = ("open", "write", "rename", "unlink", "fsync", "mkdir", "ftruncate", "chmod", "fchmod", "killpg")


def main() -> int:
    root, begin, last, log = sys.argv[1:]
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    count = 0

    def counted(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **keywords: Any) -> Any:
            nonlocal count
            if begin == "start" or os.path.exists(begin):
                count += 1
                real_write(descriptor, f"{count} {name}\n".encode())
                if count == int(last):
                    os.kill(os.getpid(), signal.SIGKILL)
            return call(*arguments, **keywords)

        return step

    real_write = os.write
    from flask_pi_taskbar.broker.main import main

    for name in STEPS:
        setattr(os, name, counted(name, getattr(os, name)))
    return main(Path(root), 60)


if __name__ == "__main__":
    sys.exit(main())
