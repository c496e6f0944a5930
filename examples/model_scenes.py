"""What the scripted model says: scenes, each a function from one chat request to the steps of its answer.

The server (`examples.model_server`) asks `answer(ask)` and renders the steps as an OpenAI-compatible stream; this
module does no I/O and never sleeps. A scene is chosen by a directive in the last user message, `SCENE:<name> key=value
key="two words"`; without one the server's default scene answers. A tool scene calls its tool in the first round and
closes with text once the result is there, so one prompt is always: tool call, result, closing text.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

# Two-, three- and four-byte characters, a combining mark, a joined emoji, and separators that naive readers split on.
MULTIBYTE = "é ñ ß Ω Ж “quotes” 日本語テキスト 한국어 e\u0301 👩‍🚀 🧪 \u2028line\u2029paragraph\u0085next "

CONTEXT_MARKER = "\n--- BEGIN UNTRUSTED BROWSER CONTEXT ---"


# ---- the steps of an answer ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Say:
    """One piece of answer text."""

    text: str


@dataclass(frozen=True)
class Think:
    """One piece of reasoning text."""

    text: str


@dataclass(frozen=True)
class Call:
    """One tool call; `arguments` is the JSON text as the model writes it, valid or not."""

    tool: str
    arguments: str


@dataclass(frozen=True)
class Pause:
    """Nothing for so many seconds."""

    seconds: float


@dataclass(frozen=True)
class Finish:
    """The end, with a reason other than the usual `stop` and `tool_calls`."""

    reason: str


@dataclass(frozen=True)
class Refuse:
    """An HTTP error in place of a stream; only as the first step."""

    status: int
    message: str
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Raw:
    """Bytes put into the stream as they are."""

    data: bytes


@dataclass(frozen=True)
class Drop:
    """The connection is cut without an end."""


Step = Say | Think | Call | Pause | Finish | Refuse | Raw | Drop


# ---- the request ---------------------------------------------------------------------------------------------


@dataclass
class Ask:
    """One chat request: who asked what, and what tools have answered since."""

    prompt: str
    system: str
    calls: list[dict[str, object]]  # arguments of the tool calls made since the prompt, oldest first
    results: list[str]  # text of the tool results since the prompt, oldest first
    rounds: int  # assistant messages with tool calls since the prompt
    tools: list[str]
    attempt: int = 0  # how often this very prompt was asked before in this round
    options: dict[str, str] = field(default_factory=dict)

    @property
    def instruction(self) -> str:
        """What the person wrote, without the browser context that the taskbar adds."""
        return self.prompt.partition(CONTEXT_MARKER)[0].strip()

    def option(self, name: str, default: str) -> str:
        return self.options.get(name, default).replace("\\n", "\n")

    def number(self, name: str, default: float) -> float:
        return float(self.options.get(name, default))


def read_request(messages: list[dict[str, object]], tools: list[dict[str, object]] | None) -> Ask:
    """The `Ask` in the body of a chat completion."""
    last = max((index for index, message in enumerate(messages) if message.get("role") == "user"), default=-1)
    since = messages[last + 1 :]
    calls = [call for message in since for call in message.get("tool_calls") or []]  # type: ignore[attr-defined]
    return Ask(
        prompt=_text(messages[last].get("content")) if last >= 0 else "",
        system=" ".join(_text(m.get("content")) for m in messages if m.get("role") in ("system", "developer")),
        calls=[_arguments(call) for call in calls],
        results=[_text(message.get("content")) for message in since if message.get("role") == "tool"],
        rounds=sum(1 for message in since if message.get("role") == "assistant" and message.get("tool_calls")),
        tools=[str(tool.get("function", {}).get("name")) for tool in tools or []],  # type: ignore[attr-defined]
    )


def directive(instruction: str) -> tuple[str | None, dict[str, str]]:
    """The scene that an instruction names, with its options; None when it names none."""
    found = list(re.finditer(r"SCENE:([a-z]+)([^\n]*)", instruction))
    if not found:
        return None, {}
    name, rest = found[-1].groups()
    try:
        words = shlex.split(rest)
    except ValueError:
        words = rest.split()
    pairs = (word.partition("=") for word in words)
    return name, {key: value for key, equals, value in pairs if equals}


def answer(ask: Ask, default: str) -> tuple[str, Iterator[Step]]:
    """The scene's name and its steps. A summary that Pi asks for is never mistaken for the prompt that it quotes."""
    if "summarization" in ask.system.lower():
        return "summary", iter([Say("## Goal\nA short summary.\n\n## Progress\n- everything so far\n")])
    name, ask.options = directive(ask.instruction)
    scene = SCENES.get(name or default)
    if scene is None:
        return "unknown", iter([Say(f"There is no scene called {name}.")])
    return name or default, scene(ask)


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))


def _arguments(call: dict[str, object]) -> dict[str, object]:
    try:
        found = json.loads(call["function"]["arguments"])  # type: ignore[index]
    except (KeyError, TypeError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


# ---- helpers for scenes --------------------------------------------------------------------------------------


def pieces(text: str, count: int) -> list[str]:
    """`text` in about `count` parts, none of which splits a code point."""
    size = max(1, -(-len(text) // max(1, count)))
    return [text[start : start + size] for start in range(0, len(text), size)] or [""]


def told(ask: Ask, text: str, *, chunks: int = 4, delay: float = 0.02) -> Iterator[Step]:
    """`text` as a stream; `chunks`, `delay` and `reply` of the directive win."""
    for piece in pieces(ask.option("reply", text), int(ask.number("chunks", chunks))):
        yield Say(piece)
        yield Pause(ask.number("delay", delay))


def call(tool: str, **arguments: object) -> Call:
    return Call(tool, json.dumps(arguments, ensure_ascii=False))


# ---- scenes --------------------------------------------------------------------------------------------------


def text(ask: Ask) -> Iterator[Step]:
    """reply=… chunks=4 delay=0.02: plain text."""
    return told(ask, "Hello from the scripted model. This is a plain streamed reply.")


def think(ask: Ask) -> Iterator[Step]:
    """As text, with reasoning before it."""
    for piece in pieces("Let me think about this, step by step.", 4):
        yield Think(piece)
        yield Pause(0.02)
    yield from told(ask, "Thought about it: the answer is 42.")


def echo(ask: Ask) -> Iterator[Step]:
    """Repeats the instruction."""
    return told(ask, "You said: " + re.sub(r"SCENE:[^\n]*", "", ask.instruction).strip())


def write(ask: Ask) -> Iterator[Step]:
    """path=hello.txt content=…: writes a file."""
    if ask.rounds:
        yield from told(ask, "Done: the file is written.")
        return
    yield Say("I will write the file.")
    yield call("write", path=ask.option("path", "hello.txt"), content=ask.option("content", "hello ✓\n"))


def edit(ask: Ask) -> Iterator[Step]:
    """path=… old=… new=…: one replacement in a file."""
    if ask.rounds:
        yield from told(ask, "Done: the file is changed.")
        return
    yield Say("I will change the file.")
    change = {"oldText": ask.option("old", ""), "newText": ask.option("new", "")}
    yield call("edit", path=ask.option("path", "templates/index.html"), edits=[change])


def read(ask: Ask) -> Iterator[Step]:
    """path=… times=1 each=1: reads a file `times` times, `each` calls in a round."""
    left = int(ask.number("times", 1)) - len(ask.results)
    if left <= 0:
        yield from told(ask, "Done: the file is read.")
        return
    for _ in range(min(left, int(ask.number("each", 1)))):
        yield call("read", path=ask.option("path", "app.py"))


def bash(ask: Ask) -> Iterator[Step]:
    """cmd=…: one command."""
    if ask.rounds:
        yield from told(ask, "Done: the command ran.")
        return
    yield Say("I will run a command.")
    yield call("bash", command=ask.option("cmd", "echo hello from bash"))


def tool(ask: Ask) -> Iterator[Step]:
    """name=bash args='{…}': any tool, its arguments as JSON text, which may be broken."""
    if ask.rounds:
        yield from told(ask, "Done: the tool answered.")
        return
    yield Call(ask.option("name", "bash"), ask.option("args", '{"command": '))


def tools(ask: Ask) -> Iterator[Step]:
    """steps=3 cmd=…: so many commands, one a turn, with text before each."""
    steps = int(ask.number("steps", 3))
    if ask.rounds >= steps:
        yield from told(ask, f"Done: {steps} steps.")
        return
    yield Say(f"Step {ask.rounds + 1}.")
    yield call("bash", command=ask.option("cmd", f"echo step {ask.rounds + 1}"))


def slow(ask: Ask) -> Iterator[Step]:
    """chunks=40 delay=0.25: a long, slow text."""
    chunks = int(ask.number("chunks", 40))
    return told(ask, "".join(f"token{number:04d} " for number in range(chunks)), chunks=chunks, delay=0.25)


def long(ask: Ask) -> Iterator[Step]:
    """kb=96 chunks=60: much multibyte text, ending in END-OF-LONG."""
    line = f"[{{:05d}}] {MULTIBYTE}\n"
    wanted = int(ask.number("kb", 96)) * 1024
    lines = [line.format(number) for number in range(-(-wanted // len(line.format(0).encode())))]
    return told(ask, "".join(lines) + "END-OF-LONG", chunks=60, delay=0)


def forever(ask: Ask) -> Iterator[Step]:
    """delay=0.1: text without an end."""
    number = 0
    while True:
        yield Say(f"tick{number} ")
        yield Pause(ask.number("delay", 0.1))
        number += 1


def hang(_ask: Ask) -> Iterator[Step]:
    """An open stream in which nothing comes."""
    yield Say("")
    while True:
        yield Pause(1.0)


def error(ask: Ask) -> Iterator[Step]:
    """status=500 times=1 message=…: an HTTP error so many times (-1: always), then text."""
    times, status = int(ask.number("times", 1)), int(ask.number("status", 500))
    if 0 <= times <= ask.attempt:
        yield from told(ask, "Recovered after the provider's error.")
        return
    usual = {401: "Incorrect API key provided", 429: "Rate limit reached", 500: "Internal server error"}
    yield Refuse(status, ask.option("message", usual.get(status, "error")))


def overflow(ask: Ask) -> Iterator[Step]:
    """times=1: a context-length error, then text."""
    if ask.attempt >= int(ask.number("times", 1)):
        yield from told(ask, "Recovered after the overflow.")
        return
    yield Refuse(400, "This model's maximum context length is 128000 tokens. Please reduce the length of the messages.")


def cut(ask: Ask) -> Iterator[Step]:
    """finish=length: text that ends with another reason; finish=drop: the connection breaks."""
    yield Say("This reply was cut")
    yield Pause(0.02)
    reason = ask.option("finish", "length")
    yield Drop() if reason == "drop" else Finish(reason)


Scene = Callable[[Ask], Iterator[Step]]

SCENES: dict[str, Scene] = {
    scene.__name__: scene
    for scene in (
        text, think, echo, write, edit, read, bash, tool, tools, slow, long, forever, hang, error, overflow, cut,
    )
}  # fmt: skip
