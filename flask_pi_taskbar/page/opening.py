"""Opening a board's page: attach to the one that is served, or serve it, here or in the background.

The command line and Pi's helper come through here. Whoever finds a page that answers is given its address: the lead's
if it is the session that started it, else the viewer's. Whoever finds none serves; of two that start in one moment one
does.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from typing import Final

import msgspec
from msgspec import Struct

from flask_pi_taskbar.board.model import Actor
from flask_pi_taskbar.board.note import PageNote, Unreadable
from flask_pi_taskbar.board.refusal import Code, Refusal
from flask_pi_taskbar.board.serving.finding import Dead, Found, Serving, Silent, find
from flask_pi_taskbar.board.serving.holding import take_page
from flask_pi_taskbar.board.serving.ports import PortTaken
from flask_pi_taskbar.board.store import Store
from flask_pi_taskbar.page import handout
from flask_pi_taskbar.page.alone import AlonePage, Limits

START_SECONDS: Final = 15.0
SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Options(Struct, frozen=True, kw_only=True):
    """How a page is to be served."""

    name: str
    key: str
    port: int | None = None
    idle_minutes: int = 30
    is_git: bool = True
    member: bool = True
    """The serving process is the session's place on the team; false where another one is."""


class Attached(Struct, frozen=True):
    """A page that somebody serves already. `lead` says that `url` may change cards."""

    note: PageNote
    url: str
    lead: bool


class Served(Struct, frozen=True):
    """A page that was started in the background."""

    url: str
    viewer: str
    pid: int
    port: int
    label: str | None = None
    join_failed: str | None = None
    remark: str | None = None


def attach(store: Store, session_id: str) -> Attached | Dead | Unreadable | None:
    """The page that is served, or what was left of one. Raises `Refusal` where one is held and does not answer."""
    found: Found = find(store)
    if isinstance(found, Silent):
        raise Refusal(Code.BUSY, found.text, action="open")
    if not isinstance(found, Serving):
        return found
    lead = handout.lead_url(store, found.note.epoch, session_id)
    return Attached(found.note, lead or found.note.url, lead is not None)


def left_behind(found: Dead | Unreadable | None) -> str | None:
    """What to tell of the page that was taken over, if there was one."""
    if isinstance(found, Dead):
        return found.text
    if isinstance(found, Unreadable):
        return f"The page's note {found.path} could not be read ({found.why}); it is replaced."
    return None


def serve_here(
    store: Store,
    options: Options,
    actor: Actor,
    cwd: str,
    *,
    limits: Limits = Limits(),  # noqa: B008 - frozen
) -> tuple[AlonePage, str | None] | None:
    """A page of this process, with what went wrong about joining; None if another process was quicker.

    Raises `Refusal`.
    """
    try:
        held = take_page(store, datetime.now(UTC))
        if held is None:
            return None
        page = AlonePage(
            store,
            held,
            name=options.name,
            key=options.key,
            port=options.port,
            idle_minutes=options.idle_minutes,
            is_git=options.is_git,
            limits=limits,
        )
    except PortTaken as taken:
        raise Refusal(Code.BUSY, f"The page cannot be served: {taken.strerror}.", action="open") from taken
    except OSError as error:
        message = f"The page cannot be served: {error.strerror or error}."
        raise Refusal(Code.STORE_UNWRITABLE, message, action="open") from error
    return page, page.join(actor, cwd, member=options.member)


def serve_until_told(store: Store, options: Options, actor: Actor, cwd: str) -> tuple[AlonePage, str | None] | None:
    """`serve_here` where the main thread is to serve: a signal ends the page in good order from its first moment."""
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # until there is somebody to be told
    try:
        found = serve_here(store, options, actor, cwd)
        if found is not None:
            page = found[0]
            for number in SIGNALS:
                signal.signal(number, lambda *_: page.stop())
        return found
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def serve_in_background(
    store: Store, options: Options, actor: Actor, cwd: str, *, lifeline: int | None = None
) -> Served | None:
    """A page in a process of its own, once it answers; None if another process was quicker. Raises `Refusal`.

    `lifeline` is a descriptor that the process reads from: the page ends when its other end is closed.
    """
    read_end, write_end = os.pipe()
    order = Order(store=store.layout.root, options=options, actor=actor, cwd=cwd)
    command = [sys.executable, "-P", "-m", "flask_pi_taskbar.page", "--answer", str(write_end)]
    if lifeline is not None:
        command += ["--lifeline", str(lifeline)]
    try:
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[write_end, *([] if lifeline is None else [lifeline])],
            start_new_session=True,
        ) as process:
            os.close(write_end)
            write_end = -1
            process.communicate(msgspec.json.encode(order))  # it forks, and its first process ends at once
        said = _read_within(read_end, START_SECONDS)
    except TimeoutError:
        message = "The page's process has not said yet whether it serves; look again in a moment."
        raise Refusal(Code.BUSY, message, action="open") from None
    except OSError as error:
        message = f"The page's process cannot be started: {error.strerror or error}."
        raise Refusal(Code.BUSY, message, action="open") from error
    finally:
        os.close(read_end)
        if write_end >= 0:
            os.close(write_end)
    try:
        answer = msgspec.json.decode(said, type=Answer)
    except msgspec.DecodeError:
        raise Refusal(Code.BUSY, "The page's process ended before it served.", action="open") from None
    if answer.refused is not None:
        raise Refusal(next(code for code in Code if code == answer.code), answer.refused, action="open")
    return answer.served


class Order(Struct, frozen=True):
    """What a background process is told."""

    store: str
    options: Options
    actor: Actor
    cwd: str


class Answer(Struct, frozen=True):
    """What it says once it serves, or why it does not. Neither: another one was quicker."""

    served: Served | None = None
    refused: str | None = None
    code: str = Code.BUSY.value


def _read_within(fd: int, seconds: float) -> bytes:
    """What is written into a pipe until it is closed. Raises `TimeoutError`."""
    deadline = time.monotonic() + seconds
    said = b""
    while select.select([fd], [], [], max(0.0, deadline - time.monotonic()))[0]:
        part = os.read(fd, 65_536)
        if not part:
            return said
        said += part
    raise TimeoutError
