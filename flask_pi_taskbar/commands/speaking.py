"""How the board's commands are called and how they speak: the click classes of `board` and `team`.

A `Call` opens the desk, makes one call, and prints its answer: JSON, a terminal's drawing, or bounded text. What was
refused, wrong usage included, is a `Refusal` on every way out: with `--json` the one object on stdout, else a sentence,
the card and what can be done instead on stderr. Exit codes are those of the refusals' table.
"""

from __future__ import annotations

import contextlib
import gc
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Flag, auto
from typing import IO, Any, Final, NamedTuple

import click
import msgspec

from flask_pi_taskbar.board.model import Card, Damaged
from flask_pi_taskbar.board.refusal import Code, Refusal
from flask_pi_taskbar.commands import people, usage, wayout
from flask_pi_taskbar.commands.actor import Desk, open_desk
from flask_pi_taskbar.commands.answers import Answer
from flask_pi_taskbar.commands.rendering import block, line, screen_of, speakable, wrapped

INTERRUPTED: Final = 130
JSON: Final = "--json"

_MISTYPED: Final = frozenset({Code.BAD_FIELD, Code.TOO_LONG, Code.UNKNOWN_ACTION})

Fields = dict[str, Any]
Act = Callable[[Desk, Fields], Answer]


class Trait(Flag):
    """What a call does besides answering."""

    SAYS_WHERE = auto()
    """Outside git it says which folder the board belongs to."""
    FOR_ANYBODY = auto()
    """It does not matter who calls."""
    LASTS = auto()
    """It may go on for long, so that memory is looked after."""


class Voice(NamedTuple):
    """How a call speaks."""

    as_json: bool
    program: str
    """What the user types to reach our commands: `pi-taskbar`, or `flask pi-taskbar`."""
    again: str = ""
    """What has to be typed again with every further call: who calls, and where."""


class Refused(click.ClickException):
    """A refusal on its way out."""

    def __init__(self, refusal: Refusal, voice: Voice, *, desk: Desk | None = None, try_help: str = "") -> None:
        super().__init__(refusal.message)
        self.refusal = refusal
        self._voice = voice
        self._desk = desk
        self._try_help = try_help

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        return self.refusal.code.exit

    def show(self, file: IO[Any] | None = None) -> None:  # noqa: ARG002 - where it goes is settled
        if self._voice.as_json:
            say(encoded(self.refusal.as_dict()))
            return
        for text in self._lines():
            say(text, err=True)

    def _lines(self) -> list[str]:
        refusal, screen = self.refusal, screen_of(sys.stderr)
        word = "Usage" if refusal.code in _MISTYPED else "Refused"
        said = f"{word}: {wayout.as_typed(refusal.message)}"
        first, *more = wrapped(said, screen.width) if screen.terminal else block(said)
        lines = [screen.styled(f"{word}:", "bold", "red") + first[len(word) + 1 :], *more]
        if isinstance(refusal.card, Card) and self._desk is not None:
            now = self._desk.now()
            with contextlib.suppress(OSError):
                lines += people.card_rows([refusal.card], self._desk.store.live(now), now, screen)
        elif isinstance(refusal.card, Damaged) and refusal.card.head:
            lines.append(f"  it begins: {line(refusal.card.head)[:60]}")
        if refusal.next:
            lines.append("You could:")
            calls = [wayout.command_line(call, self._voice.program, self._voice.again) for call in refusal.next]
            width = max(map(len, calls))
            for call, typed in zip(refusal.next, calls, strict=True):
                why = screen.dim(line(str(call["why"]))) if "why" in call else ""
                lines.append(f"  {line(typed).ljust(width)}  {why}".rstrip())
        if self._try_help:
            lines.append(f"Try: {self._try_help}")
        return lines


class Interrupted(click.ClickException):
    """Ctrl-C: nothing went wrong, and what was accepted before it stands."""

    exit_code = INTERRUPTED

    def __init__(self, action: str, voice: Voice) -> None:
        super().__init__("Interrupted.")
        self._action = action
        self._voice = voice

    def show(self, file: IO[Any] | None = None) -> None:  # noqa: ARG002 - where it goes is settled
        if self._voice.as_json:
            say(encoded({"ok": False, "action": self._action, "code": "interrupted", "message": self.message}))
        else:
            say(self.message, err=True)


class Call(click.Command):
    """One call on the board. `act` makes it; its parameters are named after the call's fields."""

    def __init__(
        self,
        name: str,
        act: Act,
        parameters: Sequence[click.Parameter] = (),
        *,
        summary: str,
        examples: Sequence[str],
        more: str = "",
        traits: Trait = Trait(0),  # noqa: B008 - a constant
    ) -> None:
        super().__init__(
            name,
            params=[*parameters, *usage.common()],
            help=f"{summary}\n\n{more}" if more else summary,
            short_help=summary,
            epilog="\b\nExamples:\n" + "\n".join(f"  {example}" for example in examples),
        )
        self.examples = examples
        self._act = act
        self._traits = traits

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        given = list(args)
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.UsageError as error:
            path = f"{parent.command_path} {self.name}" if parent is not None else str(self.name)
            refusal = usage.refusal_of(error, self, path)
            voice = Voice(wants_json(given), _program(parent))
            raise Refused(refusal, voice, try_help=f"{path} --help") from None

    def invoke(self, ctx: click.Context) -> None:
        fields = dict(ctx.params)
        label, start, session_id = fields.pop("actor"), fields.pop("repo"), fields.pop("session")
        again = wayout.options(("--as", label), ("--session", session_id), ("--repo", start))
        voice = Voice(fields.pop("as_json"), _program(ctx.parent), again)
        desk: Desk | None = None
        try:
            try:
                desk = open_desk(start=start, label=label, session_id=session_id)
                known = Trait.FOR_ANYBODY in self._traits or not desk.anonymous or desk.is_known()
                with contextlib.nullcontext() if Trait.LASTS in self._traits else _uncollected():
                    answer = self._act(desk, usage.given(fields))
                    said = encoded(answer.data) if voice.as_json else answer.said(screen_of(sys.stdout))
            except Refusal as refusal:
                refusal.action = refusal.action or self.name
                help_line = f"{ctx.command_path} --help" if refusal.code in _MISTYPED else ""
                raise Refused(refusal, voice, desk=desk, try_help=help_line) from None
            except OSError as error:
                raise Refused(_unreadable(error, str(self.name)), voice) from error
        except KeyboardInterrupt:
            raise Interrupted(str(self.name), voice) from None
        say(said)
        self._asides(desk, answer, voice, known=known)
        if answer.then is not None:
            sys.stdout.flush()
            answer.then()

    def _asides(self, desk: Desk, answer: Answer, voice: Voice, *, known: bool) -> None:
        """What the caller should know besides; on stderr, so that stdout is the answer and nothing else."""
        dim = screen_of(sys.stderr).dim
        if not known:
            me = f"You are {desk.actor.id}, shown as {desk.actor.label}"
            say(dim(f"{me}; --as NAME or PI_TASKBAR_SESSION gives you a name of your own."), err=True)
        if voice.as_json:
            return
        team = answer.data.get("team") if answer.wrote else None
        if isinstance(team, Mapping) and known:
            not_so = "" if team["joined"] else f" not, since {line(str(team.get('why')))}"
            say(dim(f"You are{not_so} on the team as {line(str(team['label']))}."), err=True)
        if Trait.SAYS_WHERE in self._traits and not desk.repo.is_git:
            say(dim(f"Not a git repository: this is the board of {line(str(desk.repo.root))}."), err=True)
        with contextlib.suppress(OSError):
            letters = desk.unread() if self.name != "inbox" else 0
            if letters:
                some = f"{letters} letter{'' if letters == 1 else 's'}"
                say(dim(f"{some} for you: {voice.program} team inbox{voice.again}"), err=True)


class Calls(click.Group):
    """A group of calls: in the order in which they are given, with what is meant where no such call exists."""

    def __init__(
        self, name: str, calls: Sequence[click.Command], *, default: str | None = None, **keywords: Any
    ) -> None:
        super().__init__(name, commands={str(call.name): call for call in calls}, **keywords)
        self._default = default

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Options that every call has may stand before its name too; without a name the default is called."""
        ahead = usage.leading(args)
        rest = args[len(ahead) :]
        if self._default is not None and not ctx.resilient_parsing:
            of_default = bool(rest) and rest[0].startswith("-") and rest[0] not in ctx.help_option_names
            if not rest or of_default:
                rest = [self._default, *rest]
        program = _program(ctx.parent)
        if not rest and wants_json(ahead):
            raise Refused(usage.unknown_action(self, None, program), Voice(True, program))
        if rest and rest[0] not in ctx.help_option_names:
            rest = [rest[0], *ahead, *rest[1:]]
        given = list(rest)
        try:
            return super().parse_args(ctx, rest)
        except click.NoSuchOption as error:
            refusal = usage.refusal_of(error, self, ctx.command_path)
            raise Refused(refusal, Voice(wants_json(given), program), try_help=f"{ctx.command_path} --help") from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-") and not ctx.resilient_parsing:
            program = _program(ctx.parent)
            refusal = usage.unknown_action(self, name, program)
            raise Refused(refusal, Voice(wants_json(args), program), try_help=f"{ctx.command_path} --help")
        return super().resolve_command(ctx, args)


def say(text: str | bytes, *, err: bool = False) -> None:
    """Print a line; what the stream's encoding lacks becomes a question mark."""
    if isinstance(text, bytes):
        click.echo(text)
        return
    encoding = getattr(sys.stderr if err else sys.stdout, "encoding", None) or "utf-8"
    text = speakable(text)
    with contextlib.suppress(LookupError):
        text = text.encode(encoding, "replace").decode(encoding)
    click.echo(text, err=err, color=True)  # whoever drew it has asked the stream for its colours


def encoded(data: Mapping[str, object]) -> bytes:
    """One object on one line."""
    try:
        return msgspec.json.encode(data)
    except UnicodeEncodeError:  # half of a character, from the name of a file
        return json.dumps(data).encode()


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Without the search for cycles, of which a large board's cards have none: it is a quarter of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def wants_json(args: Sequence[str]) -> bool:
    options = args[: args.index("--")] if "--" in args else args
    return any(arg == JSON or arg.startswith(f"{JSON}=") for arg in options)


def _program(group: click.Context | None) -> str:
    above = group.parent if group is not None else None
    return above.command_path if above is not None else wayout.PROGRAM


def _unreadable(error: OSError, action: str) -> Refusal:
    path = f": {error.filename}" if error.filename else ""
    message = f"The board cannot be read: {error.strerror or error}{path}"
    return Refusal(Code.STORE_UNWRITABLE, message, action=action, details={"path": error.filename})
