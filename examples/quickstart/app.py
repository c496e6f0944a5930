"""A small pottery shop, and the two lines that give it a taskbar.

flask --app app run --debug
"""

from __future__ import annotations

from flask import Flask, render_template

from flask_pi_taskbar import PiTaskbar

app = Flask(__name__)
PiTaskbar(app)

# QUICKSTART_NOTICE and QUICKSTART_SUGGESTION: what `python3 examples` wants the page to say.
app.config.from_prefixed_env("QUICKSTART")

POTS = {
    "dawn": {"glaze": "#d98868", "plant": "fern", "price": "€28", "text": "Speckled stoneware with a rosy rim."},
    "moss": {"glaze": "#7d9673", "plant": "round", "price": "€34", "text": "Two greens that ran into each other."},
    "tide": {"glaze": "#5f8aa3", "plant": "spike", "price": "€31", "text": "Blue ash glaze, never twice the same."},
    "ember": {"glaze": "#3f3a3d", "plant": "fern", "price": "€39", "text": "Fired black, warm to the touch."},
}


@app.get("/")
def index() -> str:
    return render_template("index.html", pots=POTS)


@app.get("/pots/<name>")
def pot(name: str) -> tuple[str, int] | str:
    if name not in POTS:
        return render_template("missing.html", name=name), 404
    return render_template("pot.html", name=name, pot=POTS[name])
