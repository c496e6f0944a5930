"""The message that Pi gets: the user's instruction, then the page as fenced reference data.

The broker calls `envelope` once for an admitted task. The instruction is the user's own text and stays as it is; what
comes from the page is data, and cannot close its own fence.
"""

from __future__ import annotations

import re
from typing import Final

from flask_pi_taskbar.contract.compact import compact_sorted
from flask_pi_taskbar.contract.task import TaskRequest

BEGIN: Final = "--- BEGIN UNTRUSTED BROWSER CONTEXT ---"
END: Final = "--- END UNTRUSTED BROWSER CONTEXT ---"

# The hyphen that would make page text read as one of our fences. Case is ignored because a model would ignore it too.
_FORGED: Final = re.compile(r"-(?=-- ?(?:BEGIN|END) UNTRUSTED BROWSER CONTEXT)", re.IGNORECASE)


def envelope(task: TaskRequest) -> str:
    """The prompt and the context in the contract's exact bytes.

    A forged fence loses a hyphen to an escape: the JSON value stays what it was, the text no longer holds the fence.
    Hyphens occur only within JSON strings here, since no number of a valid context is negative.
    """
    data = compact_sorted(task.context).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return f"{task.prompt}\n\n{BEGIN}\n{_FORGED.sub(_ESCAPED_HYPHEN, data)}\n{END}"


_ESCAPED_HYPHEN: Final = r"\\u002d"
