"""Replay of a recorded conversation with a real Pi through a session.

A recording is a file of JSON lines `{t, who, dir, rec}`: what a driver wrote (`in`) and what Pi answered (`out`), for
one or more children. The driver's prompts, aborts and resets become requests to the session; Pi's answers to them and
all its events are fed back at their recorded moments. Questions that the session asks by itself are answered as that
Pi would have, from what it has recorded so far. Commands that only the driver sent, and their answers, are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.session.worlds import World

# Pi writes what follows a loop in the same tick as its end; its answer to a question then comes a moment later.
ANSWERS_AFTER = 0.01

Entry = dict[str, Any]


def children(path: Path) -> dict[str, list[Entry]]:
    """The conversations in a recording, by child."""
    found: dict[str, list[Entry]] = {}
    for line in path.read_bytes().split(b"\n"):
        if line:
            entry = json.loads(line)
            if entry.get("dir") in ("in", "out") and isinstance(entry.get("rec"), dict):
                found.setdefault(entry["who"], []).append(entry)
    return found


class Replay:
    """One child's conversation. `outcomes` are those of the admitted tasks, in order."""

    def __init__(self, entries: list[Entry], *, announces_end: bool) -> None:
        self.world = World().until_ready()
        self.outcomes: list[tuple[str, str | None]] = []
        self._announces_end = announces_end
        self._entries = entries
        self._zero = self.world.now
        self._ids: dict[object, str] = {}  # of the recording -> ours
        self._seen = len(self.world.sent)
        self._question: tuple[float, str] | None = None
        self._streaming = self._compacting = False
        self._queued = 0
        self._sessions = 1

    def run(self) -> Replay:
        for entry in self._entries:
            self._wait_until(self._zero + (entry["t"] or 0.0))
            if entry["dir"] == "in":
                self._driver_asks(entry["rec"])
            else:
                self._pi_says(entry["rec"])
            self._notice()
        self._wait_until(self.world.now + 20.0)
        return self

    def _wait_until(self, moment: float) -> None:
        while self._question and self._question[0] <= moment:
            at, name = self._question
            self._question = None
            self.world.advance(max(0.0, at - self.world.now))
            self._answer_question(name)
            self._notice()
        while (due := self.world.session.deadline()) is not None and due <= moment:
            self.world.advance(due - self.world.now)
            self._notice()
            if self._question:
                self._wait_until(moment)
                return
        self.world.advance(max(0.0, moment - self.world.now))
        self._notice()

    def _notice(self) -> None:
        """What the session has sent, and how tasks have ended."""
        for message in self.world.sent[self._seen :]:
            if message["id"].startswith("settle-"):
                self._question = (self.world.now + ANSWERS_AFTER, message["id"])
        self._seen = len(self.world.sent)
        if len(self.world.settled) > len(self.outcomes):
            self.outcomes.append(self.world.outcome)

    def _answer_question(self, name: str) -> None:
        state = {
            "isStreaming": self._streaming,
            "isCompacting": self._compacting,
            "pendingMessageCount": self._queued,
        }
        self.world.says("response", id=name, command="get_state", success=True, data=state)

    def _driver_asks(self, command: dict[str, Any]) -> None:
        kind, world = command.get("type"), self.world
        if self._question and kind == "prompt":
            # The driver knew that the run was over; so would Pi have said.
            self._wait_until(self._question[0])
        if kind == "prompt" and world.status == "ready" and not (self._streaming or self._compacting):
            world.submit(str(command.get("message")) or "x")
            world.journaled()
            self._ids[command.get("id")] = world.sent[-1]["id"]
        elif kind == "abort" and world.status == "busy":
            before = len(world.sent)
            world.cancel()
            for message in world.sent[before:]:
                if message["type"] == "abort":
                    self._ids[command.get("id")] = message["id"]
        elif kind == "new_session" and world.status == "ready":
            world.reset()
            self._ids[command.get("id")] = world.sent[-1]["id"]

    def _pi_says(self, record: dict[str, Any]) -> None:
        kind = record.get("type")
        if kind == "response":
            self._respond(record)
            return
        if kind == "agent_start":
            self._streaming = True
        elif kind == ("agent_settled" if self._announces_end else "agent_end"):
            self._streaming = False
        elif kind in ("compaction_start", "compaction_end"):
            self._compacting = kind == "compaction_start"
        elif kind == "queue_update":
            self._queued = len(record.get("steering", [])) + len(record.get("followUp", []))
        self.world.says(record)

    def _respond(self, record: dict[str, Any]) -> None:
        if record.get("id") not in self._ids:
            if record.get("command") == "get_state" and self._question:
                self._wait_until(self._question[0])
            return
        self.world.says({**record, "id": self._ids[record["id"]]})
        if record.get("command") == "new_session" and self.world.sent[-1]["id"].startswith("reset-state-"):
            self._sessions += 1
            self.world.tells_state(f"pi-{self._sessions}")


def replayed(path: Path, *, announces_end: bool) -> Iterator[tuple[str, Replay]]:
    for who, entries in children(path).items():
        yield who, Replay(entries, announces_end=announces_end).run()
