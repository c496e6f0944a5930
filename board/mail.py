"""Mail between sessions: one file a letter in the recipient's inbox, `seen/` for what was read.

Rules decide who writes to whom; the store delivers in the same write as the card's note. A letter is created like a
card, under a number that nobody has, and is never changed: reading it moves it.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from typing import Final

import msgspec

from flask_pi_taskbar.board.commit import Commit
from flask_pi_taskbar.board.filesystem import Disk, read_regular, remove_if_there
from flask_pi_taskbar.board.layout import Layout, make_folder
from flask_pi_taskbar.board.names import Kind, classify
from flask_pi_taskbar.board.rules import Mail
from flask_pi_taskbar.board.stamps import Stamp

KEPT: Final = 100
"""So many letters that were read are kept for looking back, the newest."""

_LETTER_BYTES: Final = 64 * 1024
_OTHERS: Final = 1 << 30
"""No counting gets here: a file of such a number is somebody else's, and must not leave the next letter none."""
_SEEN: Final = "seen"


class Sender(msgspec.Struct, frozen=True):
    """Who wrote a letter."""

    id: str
    label: str


class Letter(msgspec.Struct, frozen=True, kw_only=True, rename={"sender": "from"}):
    """`inbox/<sid>/<n>.json`."""

    v: int = 1
    n: int
    kind: str
    card: int | None
    sender: Sender
    at: Stamp
    text: str


def deliver(commit: Commit, disk: Disk, layout: Layout, mail: Mail) -> None:
    """Put a letter into its inbox, as a part of `commit`."""
    inbox = layout.inbox_of(mail.to)
    make_folder(disk, f"{inbox}/{_SEEN}")
    given = (number for folder in (inbox, f"{inbox}/{_SEEN}") for number in numbers(disk, folder))
    number = max((number for number in given if number < _OTHERS), default=0)
    while True:
        number += 1
        sender = Sender(mail.sender.id, mail.sender.label)
        letter = Letter(n=number, kind=mail.kind, card=mail.card, sender=sender, at=mail.at, text=mail.text)
        try:
            commit.create(f"{inbox}/{number}.json", msgspec.json.format(msgspec.json.encode(letter), indent=1) + b"\n")
        except FileExistsError:
            continue
        return


def unread(disk: Disk, layout: Layout, session_id: str) -> list[int]:
    """The numbers of the letters that the session has not read, oldest first."""
    return numbers(disk, layout.inbox_of(session_id))


def letters(disk: Disk, layout: Layout, session_id: str) -> list[Letter]:
    """The letters themselves; one that is no letter any more is left where it is."""
    inbox = layout.inbox_of(session_id)
    found = []
    for number in numbers(disk, inbox):
        try:
            _, data = read_regular(disk, f"{inbox}/{number}.json", _LETTER_BYTES)
            letter = _LETTER.decode(data) if data else None
        except (FileNotFoundError, msgspec.DecodeError):
            continue
        except OSError as error:
            if error.errno != errno.ELOOP:  # a link is no letter; anything else is the disk's, and comes back
                raise
            continue
        if letter is not None and letter.n == number:
            found.append(letter)
    return found


def as_json(letter: Letter) -> dict[str, object]:
    """A letter, as answers carry it."""
    plain = msgspec.to_builtins(letter)
    return {name: value for name, value in plain.items() if name != "v"}


def mark_seen(commit: Commit, layout: Layout, session_id: str, read: list[Letter]) -> None:
    """These were read."""
    inbox = layout.inbox_of(session_id)
    for letter in read:
        commit.move(f"{inbox}/{letter.n}.json", f"{inbox}/{_SEEN}/{letter.n}.json")


def forget_old(disk: Disk, layout: Layout, session_id: str) -> None:
    """Keep the newest of what was read."""
    seen = f"{layout.inbox_of(session_id)}/{_SEEN}"
    for number in numbers(disk, seen)[:-KEPT]:
        remove_if_there(disk, f"{seen}/{number}.json")


def folders(disk: Disk, layout: Layout) -> Iterator[str]:
    """Every folder that letters are in, unread and read."""
    try:
        inboxes = disk.names(layout.inbox)
    except FileNotFoundError:
        return
    for name in inboxes:
        yield f"{layout.inbox}/{name}"
        yield f"{layout.inbox}/{name}/{_SEEN}"


def numbers(disk: Disk, folder: str) -> list[int]:
    """The numbers that the folder's files are named after, ascending."""
    try:
        named = [classify(name) for name in disk.names(folder)]
    except FileNotFoundError:
        return []
    return sorted(name.number for name in named if name.kind is Kind.CARD)


_LETTER: Final = msgspec.json.Decoder(Letter)
