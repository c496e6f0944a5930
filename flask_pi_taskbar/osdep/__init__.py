"""What differs between Linux and macOS, behind one set of names.

`linux` and `macos` each give the same functions; this module picks one. `processes` builds on them: who lives, who
descends from whom, and how to end all of them. Nothing here knows the broker, and nothing acts on a process by its bare
number: a process is a number *and* its start.
"""

from __future__ import annotations

import sys

if sys.platform == "darwin":
    from flask_pi_taskbar.osdep.macos import (
        SOCKET_PATH_BYTES,
        durable_sync,
        environment_of,
        exit_descriptor,
        peer_of,
        process_table,
        send_signal,
        start_of,
    )
else:
    from flask_pi_taskbar.osdep.linux import (
        SOCKET_PATH_BYTES,
        durable_sync,
        environment_of,
        exit_descriptor,
        peer_of,
        process_table,
        send_signal,
        start_of,
    )

__all__ = [
    "SOCKET_PATH_BYTES",
    "durable_sync",
    "environment_of",
    "exit_descriptor",
    "peer_of",
    "process_table",
    "send_signal",
    "start_of",
]
