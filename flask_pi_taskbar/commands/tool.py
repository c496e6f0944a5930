"""`pi-taskbar board tool`: what Pi's extension talks to, one JSON object a line in, one a line out.

A request is `{"action": "claim", "card": 4}`, with the fields that the action has anywhere; `"tool": "team"` makes the
team's verbs of `assign`, `offer`, `reclaim`, `inbox` and `round`. An answer is the JSON of the call (of a large board
or a long history only a part), with `text`, the bounded words for the agent, and `unread`, the number of letters that
wait.

It answers each line at once and ends with its input, so that it serves a single call as well as a whole session. With
`--mode` it is the session's place on the team: from the first card that the session writes, or its `join` (with
`ifKnown` only if it was there before), this process holds the lock that shows that the session lives, beats its heart
and listens for mail, until its input ends.
"""

from __future__ import annotations

import os
import select
import sys
import threading
import time
from collections.abc import Mapping
from typing import IO, Any, Final

import click
import msgspec

from flask_pi_taskbar.board.bus import Bus, Membership
from flask_pi_taskbar.board.lock import is_held
from flask_pi_taskbar.board.refusal import Code, Refusal
from flask_pi_taskbar.board.request import Action
from flask_pi_taskbar.board.sessions import CLI, HEARTBEAT
from flask_pi_taskbar.commands import answers
from flask_pi_taskbar.commands.actor import Desk, open_desk
from flask_pi_taskbar.commands.answers import Answer, Data
from flask_pi_taskbar.commands.speaking import encoded
from flask_pi_taskbar.commands.watching import seconds_of

MODES: Final = ("rpc", "tui", "page")
REQUEST_BYTES: Final = 1 << 20

TEAM: Final[Mapping[str, str]] = {
    "round": Action.ROUND,
    "assign": Action.HANDOFF,
    "offer": Action.OFFER,
    "reclaim": Action.RECLAIM,
    "inbox": "inbox",
}


class Tool:
    """The calls of one session, one after another."""

    def __init__(
        self,
        desk: Desk,
        mode: str | None = None,
        *,
        heartbeat: float = HEARTBEAT.total_seconds(),
        source: int | None = None,
    ) -> None:
        """`source` is where the requests come from; a wait is over when it is closed."""
        self._desk = desk
        self._mode = mode
        self._heartbeat = heartbeat
        self._source = source
        self._member: Membership | None = None
        self._over = threading.Event()
        self._lifeline: tuple[int, int] | None = None
        """Its write end is open while this process lives; the page that it started reads from the other."""
        self._serves = False
        self._beating: threading.Thread | None = None

    def answer(self, request: bytes) -> tuple[Data, int]:
        """The answer to one request, and the exit code that belongs to it."""
        desk = self._desk
        try:
            action, fields = _read(request)
            if action == "join":
                joined = self._join() if desk.is_known() or not fields.get("ifKnown") else _stranger()
                return joined | {"unread": desk.unread(), "served": self._is_served()}, 0
            call = self._call(action, fields)
            data = dict(call.brief)
            data["text"] = call.plain()
            if call.wrote and self._member is None and self._mode is not None:
                data["team"] = self._join()["team"]
        except Refusal as refusal:
            return self._refused(refusal), refusal.code.exit
        except OSError as error:
            message = f"The board cannot be read: {error.strerror or error}."
            return self._refused(Refusal(Code.STORE_UNWRITABLE, message)), Code.STORE_UNWRITABLE.exit
        data["unread"] = desk.unread()
        return data, 0

    def close(self) -> None:
        """Leave the team, and let the page end."""
        self._over.set()
        for end in self._lifeline or ():
            os.close(end)
        if self._beating is not None:
            self._beating.join()
        if self._member is not None:
            try:
                self._member.leave(now=self._desk.now())
            except Refusal:
                self._member.close()

    def _call(self, action: object, fields: Data) -> Answer:
        if action == "inbox":
            return answers.inbox(self._desk)
        if action == "open":
            return self._open(fields)
        if action == "stop":
            from flask_pi_taskbar.commands.page import stopped

            return stopped(self._desk, fields)
        seconds = None
        if action == Action.WAIT:
            seconds = seconds_of(fields.pop("seconds", None), "seconds")
            if self._source is not None:
                self._desk.store.clock = _UntilHangUp(self._source)
        return answers.answer(self._desk, action, fields, seconds=seconds)

    def _open(self, fields: Data) -> Answer:
        """The page: a process that ends with this one, that is with Pi; or the page of another session."""
        from flask_pi_taskbar.commands.page import opened

        team: Any = self._join()["team"]
        if self._lifeline is None:
            self._lifeline = os.pipe()
        asked = {"background": True, "team": fields.get("view") == "team", "noBrowser": not fields.get("browser")}
        call = opened(self._desk, asked, lifeline=self._lifeline[0], team=team)
        if self._member is not None and call.data["page"]["kind"] == "served":  # type: ignore[index]
            self._member.serve(now=self._desk.now(), serves=True)
            self._serves = True
        if call.then is not None:
            call.then()
        return call

    def _is_served(self) -> bool:
        """Somebody serves the page; what shows its port takes it away when nobody does."""
        return is_held(self._desk.store.disk, self._desk.store.layout.page_lock)

    def _join(self) -> Data:
        desk = self._desk
        if self._member is None:
            mode, listening = self._mode or CLI, self._mode is not None
            try:
                self._member = Bus(desk.store).join(
                    desk.actor, mode=mode, cwd=answers.cwd(), now=desk.now(), listening=listening
                )
            except (Refusal, OSError) as error:
                return _joined({"label": desk.actor.label, "joined": False, "why": str(error)})
            desk.actor = self._member.actor
            self._beating = threading.Thread(target=self._beat, args=(self._member,), daemon=True)
            self._beating.start()
        return _joined({"label": desk.actor.label, "joined": True, "live": self._member.holds_lock})

    def _beat(self, member: Membership) -> None:
        while not self._over.wait(self._heartbeat):
            try:
                if self._serves and not self._is_served():
                    member.serve(now=self._desk.now(), serves=False)
                    self._serves = False
                member.heartbeat(now=self._desk.now())
            except (Refusal, OSError):
                continue  # the next one may succeed

    def _refused(self, refusal: Refusal) -> Data:
        data = answers.brief_answer(refusal.as_dict())
        try:
            data["text"] = answers.refusal_text(refusal, self._desk)
            data["unread"] = self._desk.unread()
        except OSError:
            data["text"] = refusal.message
        return data


class _UntilHangUp:
    """The clock that a wait sleeps by: when the other end of the input is gone, so is whoever waits."""

    def __init__(self, source: int) -> None:
        self._poll = select.poll()
        self._poll.register(source, 0)  # a hang-up is told of unasked

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float, /) -> None:
        if self._poll.poll(seconds * 1000):
            raise SystemExit(0)


def _joined(team: Data) -> Data:
    text = f"on the team as {team['label']}" if team["joined"] else f"not on the team: {team['why']}"
    return {"ok": True, "action": "join", "team": team, "text": text}


def _stranger() -> Data:
    return {"ok": True, "action": "join", "team": {"joined": False}, "text": "not on the team before"}


def _read(request: bytes) -> tuple[object, Data]:
    try:
        fields = msgspec.json.decode(request)
    except (msgspec.DecodeError, RecursionError):
        fields = None
    if not isinstance(fields, dict) or len(request) > REQUEST_BYTES:
        raise Refusal(Code.BAD_FIELD, 'A request is one JSON object on one line, such as {"action": "list"}.')
    which = fields.pop("tool", "board")
    action: object = fields.pop("action", None)
    if which == "team":
        if not isinstance(action, str) or action not in TEAM:
            message = f"The team has no action {str(action)[:40]!r}. Valid: {', '.join(TEAM)}."
            raise Refusal(Code.UNKNOWN_ACTION, message, action=str(action)[:40], details={"valid": list(TEAM)})
        return TEAM[action], fields
    return action, fields


def serve(tool: Tool, requests: IO[bytes], replies: IO[bytes]) -> int:
    """Answer each line until there are no more; the exit code of the last."""
    code = 0
    while line := requests.readline(REQUEST_BYTES + 2):
        if not line.strip():
            continue
        data, code = tool.answer(line)
        replies.write(encoded(data) + b"\n")
        replies.flush()
    return code


@click.command("tool", hidden=True)
@click.option("--session", metavar="ID", help="The session that calls.")
@click.option("--as", "label", metavar="LABEL", help="What it is called.")
@click.option("--repo", metavar="PATH", help="A folder of the repository (default: the current one).")
@click.option("--mode", type=click.Choice(MODES), help="Be the session's place on the team, as a session of this kind.")
@click.pass_context
def tool(ctx: click.Context, session: str | None, label: str | None, repo: str | None, mode: str | None) -> None:
    """Answer requests, one JSON object a line, for Pi's extension."""
    try:
        source = None if mode is None else sys.stdin.fileno()
        running = Tool(open_desk(start=repo, label=label, session_id=session), mode, source=source)
    except Refusal as refusal:
        click.echo(encoded(refusal.as_dict() | {"text": refusal.message}))
        ctx.exit(refusal.code.exit)
    try:
        ctx.exit(serve(running, sys.stdin.buffer, sys.stdout.buffer))
    finally:
        running.close()
