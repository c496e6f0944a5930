"""`board open`, `stop`, `revoke`, and what `status` says of the page: for the command line and for Pi.

Flask is brought in only by a call that serves; looking whether a page is there needs none.
"""

from __future__ import annotations

import http.client
import os
import signal
import sys
import time
from typing import Any, Final
from urllib.parse import urlsplit

from flask_pi_taskbar.board.bus import Bus
from flask_pi_taskbar.board.live.frames import BYE_IDLE
from flask_pi_taskbar.board.model import SEAT_LABEL
from flask_pi_taskbar.board.note import PageNote, Unreadable
from flask_pi_taskbar.board.refusal import Code, Refusal
from flask_pi_taskbar.board.serving.finding import Dead, Serving, Silent, address_of, asked, find
from flask_pi_taskbar.board.text import bad
from flask_pi_taskbar.commands import answers
from flask_pi_taskbar.commands.actor import Desk
from flask_pi_taskbar.commands.answers import Answer, Data
from flask_pi_taskbar.commands.rendering import line
from flask_pi_taskbar.settings import PARSERS, SettingError, Settings, resolve

STOP_SECONDS: Final = 10.0
RACE_TRIES: Final = 5
KEEPS: Final = "This link can change cards: keep it to yourself."


def opened(desk: Desk, fields: dict[str, Any], *, lifeline: int | None = None, team: Data | None = None) -> Answer:
    """Serve the page, here or in the background, or attach to the one that is served.

    Pi's helper is the session's place on the team itself and says how that went (`team`); with its `lifeline`, a
    background page ends when the helper does.
    """
    from flask_pi_taskbar.page import opening

    background = bool(fields.get("background"))
    if background and fields.get("foreground"):
        raise bad("--background", "--background and --foreground exclude each other.")
    options = page_options(desk, fields.get("port"), member=team is None)
    view = "team" if fields.get("team") else ""
    for _ in range(RACE_TRIES):
        found = opening.attach(desk.store, desk.actor.id)
        if isinstance(found, opening.Attached):
            return _attached(desk, found, view, team, browser=not fields.get("noBrowser"))
        left = opening.left_behind(found)
        if background:
            served = opening.serve_in_background(desk.store, options, desk.actor, answers.cwd(), lifeline=lifeline)
            if served is not None:
                return _served(desk, served, left, view, team, browser=not fields.get("noBrowser"))
        else:
            page = opening.serve_until_told(desk.store, options, desk.actor, answers.cwd())
            if page is not None:
                return _foreground(desk, page[0], page[1], left, view, browser=not fields.get("noBrowser"))
    raise Refusal(Code.BUSY, "Others start and end this page all the time; try again in a moment.", action="open")


def page_options(desk: Desk, port: object = None, *, member: bool = True) -> Any:
    """How the page of this board is served, by the settings and what was typed. Raises `Refusal`."""
    from flask_pi_taskbar.page.opening import Options

    settings = project_settings(desk)
    pinned = settings.board_port
    if port is not None:
        try:
            pinned = PARSERS["board_port"](port)
        except ValueError as error:
            raise bad("--port", f"--port: {error}.") from None
    return Options(
        name=desk.repo.root.name,
        key=desk.repo.key,
        port=pinned,
        idle_minutes=settings.board_idle_minutes,
        member=member,
        is_git=desk.repo.is_git,
    )


def project_settings(desk: Desk) -> Settings:
    """The settings of the project around the board. Raises `Refusal`."""
    try:
        return resolve({}, {}, os.environ, desk.repo.root)
    except SettingError as error:
        raise Refusal(Code.BAD_FIELD, f"{error}.", action="open") from error


def with_view(url: str, view: str, session_id: str | None = None) -> str:
    """The address, opened at a view; `session_id` marks the reader's own row and opens nothing."""
    address, mark, key = url.partition("#")
    if view:
        address += f"{'&' if '?' in address else '?'}view={view}"
    if session_id:
        from urllib.parse import quote

        key += f"&me={quote(session_id, safe='')}"
    return f"{address}{mark}{key}"


def _attached(desk: Desk, found: Any, view: str, team: Data | None, *, browser: bool) -> Answer:
    url = line(with_view(found.url, view, desk.actor.id))
    joined = team or (None if found.lead else _join(desk))
    kind = "own" if found.lead else "attached"
    data = _page_data(kind, found.note, url, found.note.url, found.lead) | {"team": joined}
    where = line(address_of(found.note))
    if found.lead:
        text = f"Your page is served at {where} already.\n{url}\n{KEEPS}"
    else:
        who = f"{SEAT_LABEL} (process {found.note.pid})"
        text = f"The page of {who} is served at {where}; you look on, read-only.\n{url}"
    if joined is not None:
        text += f"\n{join_clause(joined)}"
    return _answer(desk, data, text, url, browser=browser)


def _served(desk: Desk, served: Any, left: str | None, view: str, team: Data | None, *, browser: bool) -> Answer:
    url = with_view(served.url, view, desk.actor.id)
    team = team or {"joined": served.join_failed is None, "label": served.label, "why": served.join_failed}
    data = {
        "ok": True,
        "action": "open",
        "page": {
            "kind": "served",
            "url": url,
            "viewer": served.viewer,
            "pid": served.pid,
            "port": served.port,
            "lead": True,
        },
        "takenOver": left,
        "team": team,
    }
    left = _lines(left, served.remark)
    text = _serving_text(
        url, served.viewer, left, team, "It stops a minute after its last tab, or by `pi-taskbar board stop`."
    )
    return _answer(desk, data, text, url, browser=browser)


def _foreground(desk: Desk, page: Any, problem: str | None, left: str | None, view: str, *, browser: bool) -> Answer:
    url = with_view(page.lead_address(), view, desk.actor.id)
    team = {"joined": problem is None, "label": page.label, "why": problem}
    data = _page_data("served", page.note, url, page.viewer_address(), True) | {"takenOver": left, "team": team}
    left = _lines(left, page.remark)
    text = _serving_text(url, page.viewer_address(), left, team, "Ctrl-C stops it; so does a minute without a tab.")

    def serve() -> None:
        if page.serve() == BYE_IDLE:
            sys.stderr.write("Nobody looked at the page any more, so it stopped; `pi-taskbar board` starts it again.\n")

    return _answer(desk, data, text, url, browser=browser, then=serve)


def _serving_text(url: str, viewer: str, left: str | None, team: Data, end: str) -> str:
    return _lines(left, f"The board as team-lead: {url}", KEEPS, f"To look on: {viewer}", join_clause(team), end)


def _lines(*said: str | None) -> str:
    return "\n".join(one for one in said if one)


def _answer(desk: Desk, data: Data, text: str, url: str, *, browser: bool, then: Any = None) -> Answer:
    def after() -> None:
        if browser:
            from flask_pi_taskbar.page import handout

            handout.open_browser(desk.store, url)
        if then is not None:
            then()

    return Answer(lambda: data | {"text": text}, lambda: text, lambda _: text, then=after)


def _page_data(kind: str, note: PageNote, url: str, viewer: str, lead: bool) -> Data:
    page = {"kind": kind, "url": url, "viewer": viewer, "pid": note.pid, "port": note.port, "lead": lead}
    return {"ok": True, "action": "open", "page": page, "takenOver": None}


def _join(desk: Desk) -> Data:
    """Whoever looks on is on the team under its own label."""
    try:
        member = Bus(desk.store).join(desk.actor, mode="cli", cwd=answers.cwd(), now=desk.now())
    except (Refusal, OSError) as error:
        return {"joined": False, "label": desk.actor.label, "why": str(error)}
    member.close()
    return {"joined": True, "label": member.actor.label, "why": None}


def join_clause(team: Data) -> str:
    """Which team, under which label; or why not, which fails nothing."""
    if team["joined"]:
        return f"You are on the team as {team['label']}." if team["label"] else ""
    return f"You are not on the team: {team['why']}"


def page_status(desk: Desk) -> Data:
    """What is known of the page: who serves it where, and how many tabs look on. Never a lead's address."""
    found = find(desk.store)
    if isinstance(found, Serving):
        note = found.note
        return {
            "state": "served",
            "address": address_of(note),
            "pid": note.pid,
            "port": note.port,
            "startedAt": note.started_at,
            "watching": (asked(note) or {}).get("watching"),
        }
    if isinstance(found, Silent):
        return {"state": "silent", "pid": found.note.pid if found.note else None, "why": found.text}
    if isinstance(found, Dead):
        return {"state": "dead", "address": address_of(found.note), "pid": found.note.pid}
    if isinstance(found, Unreadable):
        return {"state": "unreadable", "path": found.path, "why": found.why}
    return {"state": "none"}


def page_text(page: Data) -> str:
    """The page in a clause."""
    match page["state"]:
        case "served":
            count = page["watching"]
            tabs = "" if count is None else f", {count} tab{'' if count == 1 else 's'} watching"
            return f"page at {page['address']} (process {page['pid']}{tabs})"
        case "silent":
            return str(page["why"])
        case "dead":
            return f"page at {page['address']} is dead; the next `pi-taskbar board` takes it over"
        case "unreadable":
            return f"the page's note {page['path']} cannot be read: {page['why']}"
        case _:
            return "no page is served"


def stopped(desk: Desk, fields: dict[str, Any]) -> Answer:  # noqa: ARG001
    """Stop the page that this session serves."""
    note = _own_page(desk, "stop")
    if not note.process.is_here or note.process.is_gone:
        raise Refusal(Code.BUSY, f"The page is served on {note.host}, where it has to be stopped.", action="stop")
    os.kill(note.pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while isinstance(find(desk.store), Serving | Silent):
        if time.monotonic() > deadline:
            raise Refusal(Code.BUSY, f"Process {note.pid} was told to stop and has not yet.", action="stop")
        time.sleep(0.05)
    text = f"Stopped the page at {address_of(note)}"
    data: Data = {"ok": True, "action": "stop", "address": address_of(note), "pid": note.pid, "text": text}
    return Answer(lambda: data, lambda: text, lambda _: text)


def revoked(desk: Desk, fields: dict[str, Any]) -> Answer:  # noqa: ARG001
    """Make every lead's link worthless but the new one."""
    note = _own_page(desk, "revoke")
    from flask_pi_taskbar.page import handout

    url = handout.lead_url(desk.store, note.epoch, desk.actor.id) or ""
    key = url.partition("#k=")[2]
    parts = urlsplit(address_of(note))
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 0, timeout=STOP_SECONDS)
    try:
        headers = {"X-Board-Key": key, "Content-Type": "application/json", "Host": parts.netloc}
        connection.request("POST", f"{parts.path.rstrip('/')}/api/lead/revoke", b"{}", headers)
        answer = connection.getresponse()
        answer.read()
        if answer.status != http.client.OK:
            raise Refusal(Code.BUSY, f"The page refused to revoke its links ({answer.status}).", action="revoke")
    except (OSError, http.client.HTTPException) as error:
        raise Refusal(Code.BUSY, f"The page does not answer: {error}.", action="revoke") from error
    finally:
        connection.close()
    fresh = with_view(handout.lead_url(desk.store, note.epoch, desk.actor.id) or "", "", desk.actor.id)
    text = f"Links that could change cards are worthless now; the new one: {fresh}\n{KEEPS}"
    data: Data = {"ok": True, "action": "revoke", "url": fresh, "text": text}
    return Answer(lambda: data, lambda: text, lambda _: text)


def _own_page(desk: Desk, action: str) -> PageNote:
    """The page that this session started. Raises `Refusal`."""
    found = find(desk.store)
    if isinstance(found, Silent):
        raise Refusal(Code.HELD, found.text, action=action)
    if not isinstance(found, Serving):
        raise Refusal(Code.NOT_HELD, "No page is served.", action=action)
    from flask_pi_taskbar.page import handout

    if handout.lead_url(desk.store, found.note.epoch, desk.actor.id) is None:
        where = line(address_of(found.note))
        message = (
            f"Another session's page: process {found.note.pid} serves it at {where}; that session can {action} it."
        )
        if urlsplit(where).path != "/":
            message = (
                f"The page at {where} is an app's: it ends with the app's server, and its links are revoked there."
            )
        raise Refusal(Code.NOT_HOLDER, message, action=action, details={"pid": found.note.pid, "address": where})
    return found.note
