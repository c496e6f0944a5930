"""The message that Pi gets: the user's instruction, then the page as fenced reference data."""

from __future__ import annotations

import json
from typing import Final

from flask_pi_taskbar.contract.task import TaskRequest

BEGIN: Final = "--- BEGIN UNTRUSTED BROWSER CONTEXT ---"
END: Final = "--- END UNTRUSTED BROWSER CONTEXT ---"


def envelope(task: TaskRequest) -> str:
    """The prompt and the context in the contract's exact bytes."""
    data = json.dumps(task.context, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    data = data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return f"{task.prompt}\n\n{BEGIN}\n{data}\n{END}"
