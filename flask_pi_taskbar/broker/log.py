"""The broker's log: a few bounded lines of JSON in the state directory, for the person who asks why.

It holds events and numbers. Callers never pass prompts, page text, tokens, the environment or what Pi wrote.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Final

import msgspec

from flask_pi_taskbar.broker.runtime import PrivateDirectory, Refused, write_all

NAME: Final = "broker.log"
OLDER: Final = "broker.log.1"
LIMIT_BYTES: Final = 262_144


class Log:
    """Appends to `broker.log`; a full one becomes the one older file that is kept. Never raises."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def write(self, event: str, **fields: str | int | float | None) -> None:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        line = msgspec.json.encode({"at": stamp, "pid": os.getpid(), "event": event, **fields}) + b"\n"
        with contextlib.suppress(OSError, Refused), PrivateDirectory.open(self._directory) as folder:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            fd = os.open(NAME, flags, 0o600, dir_fd=folder.fd)
            try:
                write_all(fd, line)
                full = os.fstat(fd).st_size > LIMIT_BYTES
            finally:
                os.close(fd)
            if full:
                os.rename(NAME, OLDER, src_dir_fd=folder.fd, dst_dir_fd=folder.fd)
