"""One run of the scripted peer, in the order and with the fields of the real Pi of its line."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scripted_pi import Pi

USAGE = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0}


class Stopped(Exception):
    """The run was aborted."""


class Run(AbstractContextManager["Run"]):
    """One run, from the prompt's acceptance to its end; `with` plays both.

    It ends as the real one does: a loop that an abort interrupts leaves an aborted message behind; the older line
    stops streaming before it says `agent_end`, the newer one after it has settled.
    """

    def __init__(self, pi: Pi, command: dict[str, Any], text: str) -> None:
        self.pi = pi
        self._command = command
        self._text = text
        self._open: dict[str, Any] | None = None
        self.messages: list[dict[str, Any]] = []

    def __enter__(self) -> Run:
        self.pi.streaming = self.pi.accepted = True
        self.pi.respond(self._command, **({} if self.pi.is_old else {"data": {"disposition": "started"}}))
        self.begin_loop()
        if not self.pi.is_old and not self.pi.messages:
            self._whole({"role": "system", "content": "", "sections": {}})
        self._whole({"role": "user", "content": [{"type": "text", "text": self._text}]})
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        if kind not in (None, Stopped):
            return False
        if kind is Stopped:
            self.end_message(stop="aborted")
        if "never-settle" not in self.pi.behaviour:
            self.end_loop()
            self.settle()
        return True

    def begin_loop(self) -> None:
        self.pi.streaming = True
        self.pi.send("agent_start")
        self.pi.send("turn_start")

    def end_loop(self, **fields: object) -> None:
        if self.pi.is_old:
            self.pi.streaming = False
            fields = {}
        else:
            fields = {"willRetry": False, **fields}
        self.pi.messages += self.messages
        self.pi.send("agent_end", messages=self.messages, **fields)
        self.messages = []

    def settle(self) -> None:
        """It can take the next prompt as soon as this is said."""
        self.pi.streaming = False
        if not self.pi.is_old:
            self.pi.send("agent_settled", aborted=self.pi.abort.is_set())

    def say(self, *deltas: str, stop: str = "stop", pause: float = 0.0) -> None:
        """One assistant message."""
        for delta in deltas:
            self.delta(delta)
            self.wait(pause)
        self.end_message(stop=stop)
        self.turn_ends()

    def delta(self, delta: object, index: int = 0) -> None:
        if self._open is None:
            self._open = {"role": "assistant", "content": [{"type": "text", "text": ""}], "usage": USAGE}
            self.pi.send("message_start", message={**self._open, "content": [], "stopReason": self._early_reason()})
            self.update("text_start")
        if isinstance(delta, str):
            self._open["content"][0]["text"] += delta
        self.update("text_delta", contentIndex=index, delta=delta)

    def end_message(self, *, stop: str, error: str | None = None, filler: int = 0) -> None:
        message = self._open or {"role": "assistant", "content": [], "usage": USAGE}
        if self._open is None:
            self.pi.send("message_start", message={**message, "stopReason": stop})
        message = {**message, "stopReason": stop}
        if error is not None:
            message["errorMessage"] = error
        if filler:
            message["content"] = [{"type": "text", "text": "x" * filler}]
        self.pi.send("message_end", message=message)
        self.messages.append(message)
        self._open = None

    def turn_ends(self) -> None:
        self.pi.send("turn_end", message=self.messages[-1], toolResults=[])

    def tool(self, name: str, action: Callable[[], object] | None = None, *, fails: bool = False) -> None:
        call = {"toolCallId": "call_1", "toolName": name}
        self.pi.send("tool_execution_start", **call, args={})
        self.pi.send("tool_execution_update", **call, args={}, partialResult={"content": []})
        if action:
            action()
        content = [{"type": "text", "text": "done"}]
        self.pi.send("tool_execution_end", **call, result={"content": content}, isError=fails)
        self._whole({"role": "toolResult", **call, "content": content, "isError": fails})
        self.pi.send("turn_start")

    def fail(self, error: str = "401 Unauthorized") -> None:
        self.end_message(stop="error", error=error)
        self.turn_ends()

    def wait(self, seconds: float | None = None) -> None:
        """Until an abort, or for so long."""
        if self.pi.abort.wait(seconds) and seconds != 0:
            raise Stopped

    def _early_reason(self) -> str:
        return "stop" if self.pi.is_old else "pending"

    def update(self, kind: str, **fields: object) -> None:
        event: dict[str, Any] = {"type": kind, "contentIndex": 0, **fields}
        if self.pi.is_old:
            self.pi.send("message_update", assistantMessageEvent={**event, "partial": self._open}, message=self._open)
        else:
            self.pi.send("message_update", usage=USAGE, assistantMessageEvent=event)

    def _whole(self, message: dict[str, Any]) -> None:
        self.pi.send("message_start", message=message)
        self.pi.send("message_end", message=message)
        self.messages.append(message)
