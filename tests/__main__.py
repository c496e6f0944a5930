"""`python3 tests`: set up an environment with a browser and the real Pi, then run pytest in it."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036  (the user may well have an older one)
    sys.exit("The tests need Python 3.11 or newer; this is Python {}.{}.".format(*sys.version_info))

if sys.platform == "win32":
    sys.exit("The tests need Linux or macOS; on Windows they work inside WSL.")

import pathlib

sys.path[0] = str(pathlib.Path(__file__).resolve().parents[1])

from tests.support.command import main  # noqa: E402

sys.exit(main(sys.argv[1:]))
