"""Contract v1: what goes over the wire between the page, the server and Pi, and nothing else.

`parse_task` and `envelope` are the two ends of a task. `codes`, `texts`, `snapshot`, `bounds` and `text` are imported
as modules. Nothing in here knows Flask, sockets, clocks or processes.
"""

from __future__ import annotations

from flask_pi_taskbar.contract.bounds import CONTRACT_VERSION
from flask_pi_taskbar.contract.invalid import InvalidTask
from flask_pi_taskbar.contract.prompt import envelope
from flask_pi_taskbar.contract.task import TaskRequest, encode_task, parse_task

__all__ = ["CONTRACT_VERSION", "InvalidTask", "TaskRequest", "encode_task", "envelope", "parse_task"]
