"""Run inside an installed copy, in a foreign directory: proves that the copy finds all of its parts.

Prints one JSON object; `test_distributions` compares it with what the source tree holds.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import pkgutil
from pathlib import Path

from flask import Flask

import flask_pi_taskbar


def main() -> None:
    home = Path(flask_pi_taskbar.__file__).parent
    modules = sorted(
        module.name
        for module in pkgutil.walk_packages([str(home)], "flask_pi_taskbar.")
        if not module.name.endswith("__main__")
    )
    for name in modules:
        importlib.import_module(name)

    app = Flask("smoke")
    app.debug = True
    flask_pi_taskbar.PiTaskbar(app, project_root=str(Path.cwd()))
    asset = app.test_client().get("/dev/pi-browser-taskbar/assets/pi_browser_taskbar.js")
    scripts = importlib.metadata.entry_points(group="console_scripts", name="pi-taskbar")
    commands = importlib.metadata.entry_points(group="flask.commands", name="pi-taskbar")
    print(
        json.dumps(
            {
                "home": str(home),
                "modules": modules,
                "static": sorted(str(p.relative_to(home)) for p in (home / "static").rglob("*") if p.is_file()),
                "asset": [asset.status_code, asset.mimetype],
                "version": flask_pi_taskbar.__version__,
                "metadata_version": importlib.metadata.version("flask-pi-taskbar"),
                "entry_points": [callable(e.load()) for e in {*scripts, *commands}],
            }
        )
    )


if __name__ == "__main__":
    main()
