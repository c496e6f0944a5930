"""`python -m tests.e2e.run_example …`: `python3 examples …` with the environment and the Pi that the tests have."""

from __future__ import annotations

import sys
from pathlib import Path

from examples.bootstrap.command import Preparation, main
from examples.bootstrap.environment import Environment
from tests.support import pi_lines


def installed_pi(*_: object) -> Path:
    found = pi_lines.command(pi_lines.NEW_LINE.version)
    assert found is not None, pi_lines.missing()
    return found


if __name__ == "__main__":
    sys.exit(main(parts=Preparation(lambda *_: Environment(Path(sys.prefix)), installed_pi)))
