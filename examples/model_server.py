"""An OpenAI-compatible chat server on 127.0.0.1 that answers from a script: the real Pi can work without a network.

The quickstart runs it when the user has no model configured (scene `demo`); the tests run it with scenes of their own
(`examples.model_scenes`). By hand, from the repository: `python3 -m examples.model_server --port 8123`. Standard
library only; it never opens a connection and keeps what it was asked only in memory.
"""

from __future__ import annotations

import argparse
import json
import select
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from examples import model_demo  # noqa: F401  (adds the scene "demo")
from examples.model_scenes import (
    Ask,
    Call,
    Drop,
    Finish,
    Pause,
    Raw,
    Refuse,
    Say,
    Step,
    Think,
    answer,
    pieces,
    read_request,
)

MODEL = "scripted"
MOST_TOKENS = 20_000  # never so many that Pi would compact the conversation by itself
LONGEST_ANSWER = 600.0  # seconds; no stream outlives this, whatever the script says


@dataclass
class Served:
    """One request as the server saw it, for tests to look at."""

    scene: str
    ask: Ask
    outcome: str = "running"  # running, served or gone (the client left first)


class ClientGone(Exception):  # noqa: N818
    """The client closed its end before the answer was complete."""


class ModelServer(ThreadingHTTPServer):
    """The server; `url` is what Pi's models.json calls baseUrl."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, port: int = 0, *, default_scene: str = "text") -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.default_scene = default_scene
        self.requests: deque[Served] = deque(maxlen=300)
        self.count = 0
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def __enter__(self) -> ModelServer:
        self._thread = threading.Thread(target=self.serve_forever, args=(0.1,), name="model server", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()
        if self._thread is not None:
            self._thread.join()

    def record(self, ask: Ask) -> tuple[Served, Iterator[Step]]:
        """Note the request and choose its answer; a repeated question counts as a further attempt."""
        with self._lock:
            question = (ask.prompt, ask.rounds)
            ask.attempt = sum(1 for seen in self.requests if (seen.ask.prompt, seen.ask.rounds) == question)
            scene, steps = answer(ask, self.default_scene)
            served = Served(scene, ask)
            self.requests.append(served)
            self.count += 1
        return served, steps

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], OSError):  # a client that went away is no error here
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ModelServer

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Silent: the terminal belongs to the app's own server."""

    def do_GET(self) -> None:
        if self.path.rstrip("/").endswith("/models"):
            self._json(200, {"object": "list", "data": [{"id": MODEL, "object": "model"}]})
        else:
            self._json(404, {"error": {"message": "not found"}})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if not self.path.rstrip("/").endswith("/chat/completions"):
            self._json(404, {"error": {"message": "not found"}})
            return
        try:
            body = json.loads(raw)
            ask = read_request(body["messages"], body.get("tools"))
        except (ValueError, KeyError, TypeError, AttributeError) as problem:
            self._json(400, {"error": {"message": f"bad request: {problem}", "type": "invalid_request_error"}})
            return
        served, steps = self.server.record(ask)
        self.answer_id = f"chatcmpl-{self.server.count}"
        self.tokens_in = min(len(raw) // 4, MOST_TOKENS)
        try:
            self._stream(steps) if body.get("stream") else self._whole(steps)
            served.outcome = "served"
        except (ClientGone, OSError):
            served.outcome = "gone"
            self.close_connection = True

    # ---- an answer ----

    def _stream(self, steps: Iterator[Step]) -> None:
        self._until = time.monotonic() + LONGEST_ANSWER
        self._calls = self._written = 0
        first = next(steps, Say(""))
        if isinstance(first, Refuse):
            error = {"message": first.message, "type": "error", "code": None}
            self._json(first.status, {"error": error}, first.headers)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self._delta({"role": "assistant", "content": ""})
        reason = self._step(first)
        for step in steps:
            if reason is not None:
                break
            reason = self._step(step)
        if reason == "drop":
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self._delta({}, reason or ("tool_calls" if self._calls else "stop"))
        self._chunk({"choices": [], "usage": self._usage()})
        self._send(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def _step(self, step: Step) -> str | None:
        """Send one step; a reason to end when it was the last."""
        match step:
            case Say(text):
                self._written += len(text)
                self._delta({"content": text})
            case Think(text):
                self._delta({"reasoning_content": text})
            case Call():
                self._call(step)
            case Pause(seconds):
                self._wait(seconds)
            case Raw(data):
                self._send(data)
            case Finish(reason):
                return reason
            case Drop():
                return "drop"
            case Refuse():
                raise AssertionError("an HTTP error must be the first step")
        return None

    def _call(self, step: Call) -> None:
        index, self._calls = self._calls, self._calls + 1
        head = {"name": step.tool, "arguments": ""}
        call_id = f"call_{self.answer_id.rpartition('-')[2]}_{index}"
        self._delta({"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": head}]})
        for piece in pieces(step.arguments, 3):
            self._delta({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})

    def _whole(self, steps: Iterator[Step]) -> None:
        words = "".join(step.text for step in steps if isinstance(step, Say))
        self._written = len(words)
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": words}}
        answer = {"id": self.answer_id, "object": "chat.completion", "choices": [choice], "usage": self._usage()}
        self._json(200, answer)

    def _usage(self) -> dict[str, int]:
        out = max(1, self._written // 4)
        return {"prompt_tokens": self.tokens_in, "completion_tokens": out, "total_tokens": self.tokens_in + out}

    # ---- bytes ----

    def _json(self, status: int, value: object, headers: dict[str, str] | None = None) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def _delta(self, delta: dict[str, object], reason: str | None = None) -> None:
        self._chunk({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

    def _chunk(self, fields: dict[str, object]) -> None:
        head = {"id": self.answer_id, "object": "chat.completion.chunk", "created": int(time.time()), "model": MODEL}
        self._send(b"data: " + json.dumps(head | fields, ensure_ascii=False).encode() + b"\n\n")

    def _send(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def _wait(self, seconds: float) -> None:
        """Wait, yet notice at once a client that goes away, and end what has lasted too long."""
        if time.monotonic() > self._until:
            raise ClientGone
        readable, _, _ = select.select([self.connection], [], [], seconds)
        if readable and self.connection.recv(1, socket.MSG_PEEK) == b"":
            raise ClientGone


def models_json(url: str) -> dict[str, object]:
    """Pi's `models.json` for this server, good for every line of Pi."""
    model = {
        "id": MODEL,
        "name": "Scripted demo model",
        "reasoning": False,
        "input": ["text"],
        "contextWindow": 128_000,
        "maxTokens": 8192,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
    }
    compat = {
        "supportsStore": False,
        "supportsDeveloperRole": False,
        "supportsReasoningEffort": False,
        "maxTokensField": "max_tokens",
    }
    provider = {"baseUrl": url, "api": "openai-completions", "apiKey": "none", "compat": compat, "models": [model]}
    return {"providers": {"demo": provider}}


SETTINGS_JSON = {
    "defaultProvider": "demo",
    "defaultModel": MODEL,
    "defaultThinkingLevel": "off",
    "quietStartup": True,
    "collapseChangelog": True,
    "enableInstallTelemetry": False,
    "retry": {"enabled": True, "maxRetries": 2, "baseDelayMs": 300, "provider": {"maxRetries": 0}},
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python3 -m examples.model_server", description=__doc__.partition("\n")[0])
    parser.add_argument("--port", type=int, default=0, help="default: a free one")
    parser.add_argument("--scene", default="demo", help="what answers a prompt without a SCENE directive (demo)")
    arguments = parser.parse_args()
    with ModelServer(arguments.port, default_scene=arguments.scene) as server:
        print(json.dumps(models_json(server.url), indent=2))
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            print("stopped")


if __name__ == "__main__":
    main()
