"""`python3 examples`: prepare everything below the checkout, start the quickstart app, and say where it is."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036  (the user may well have an older one)
    sys.exit("The example needs Python 3.11 or newer; this is Python {}.{}.".format(*sys.version_info))

if sys.platform == "win32":
    sys.exit("The example needs Linux or macOS; on Windows it works inside WSL.")

import pathlib

sys.path[0] = str(pathlib.Path(__file__).resolve().parents[1])

from examples.bootstrap.command import main  # noqa: E402

sys.exit(main())
