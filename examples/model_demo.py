"""The quickstart's demo scene: what stands in for a language model when the user has none configured.

It can do one thing, and does it for real: read the page's template and change its heading through Pi's own `read` and
`edit` tools. To every other wish it says so. `examples.model_server` runs it; it does no I/O itself.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from examples.model_scenes import SCENES, Ask, Pause, Say, Step, call, pieces

TEMPLATE = "templates/index.html"
HEADING = re.compile(r"<h1[^>]*>(?P<words>.*?)</h1>", re.DOTALL)
QUOTED = re.compile(r"[“\"„«](?P<words>[^”\"“»]+)[”\"“»]|[‘'](?P<single>[^’']{2,})[’'](?!\w)")
OWN_IDEAS = ("Fresh from the kiln", "Pots that make plants happy", "Made slowly, by hand")
ABOUT_HEADING = re.compile(r"\b(heading|headline|title|h1|slogan|words?|wording|text|hero)\b", re.IGNORECASE)

HELP = (
    "I am the demo model: a short script, with no language model behind it. There is one thing that I can do for real, "
    "through Pi's own tools: change this page's heading. Try “Change the heading to ‘Fresh from the kiln’”.\n\n"
    "For everything else, give Pi a real model: run `pi` in a terminal, log in with /login, and start this again."
)


def wanted_heading(instruction: str) -> str | None:
    """The words an instruction asks for; "" when it leaves the choice to us; None when it is about something else."""
    quoted = QUOTED.search(instruction)
    if quoted:
        words = re.sub(r"[{}]", "", quoted["words"] or quoted["single"])
        return " ".join(words.split())[:120]
    return "" if ABOUT_HEADING.search(instruction) else None


def demo(ask: Ask) -> Iterator[Step]:
    """Reads the template, changes the heading, tells what it did."""
    wanted = wanted_heading(ask.instruction)
    if wanted is None:
        yield from _spoken(HELP)
    elif ask.rounds == 0:
        yield from _spoken("I will look at this page's template first.")
        yield call("read", path=TEMPLATE)
    elif ask.rounds == 1:
        yield from _change(ask.results[-1], wanted)
    else:
        yield from _closing(ask)


def _change(template: str, wanted: str) -> Iterator[Step]:
    heading = HEADING.search(template)
    if heading is None:
        yield from _spoken(f"I found no heading in {TEMPLATE}, so I changed nothing.")
        return
    now = html.unescape(" ".join(heading["words"].split()))
    new = wanted or next(idea for idea in OWN_IDEAS if idea != now)
    if new == now:
        yield from _spoken(f"The heading already says “{now}”. There is nothing to change.")
        return
    yield from _spoken(f"The heading says “{now}”. I will change it to “{new}”.")
    start = heading.start("words") - heading.start()
    before = heading.group()
    after = before[:start] + html.escape(new, quote=False) + before[start + len(heading["words"]) :]
    yield call("edit", path=TEMPLATE, edits=[{"oldText": before, "newText": after}])


def _closing(ask: Ask) -> Iterator[Step]:
    edits = ask.calls[-1].get("edits")
    changed = HEADING.search(edits[0]["newText"]) if isinstance(edits, list) and edits else None
    if changed is None:
        yield from _spoken("I could not change the heading.")
        return
    words = html.unescape(changed["words"])
    yield from _spoken(f"Done: the heading now says “{words}”. I changed one line of {TEMPLATE}.")


def _spoken(text: str) -> Iterator[Step]:
    """At a pace that can be watched."""
    for piece in pieces(text, max(1, len(text) // 12)):
        yield Say(piece)
        yield Pause(0.04)


SCENES["demo"] = demo
