"""The cards as they were last read, kept in memory so that a warm list need not read 10,000 files again.

The folder is the truth and its listing the only index on disk; this is a cache that any process may lose at any time.
`sweep` compares every file with what was read and is exact; `glance` asks the folder whether a name was made or removed
since, which no writer of ours can hide; `get` looks at one file and is exact for it. Snapshots never change: threads
share them without a lock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from flask_pi_taskbar.board.filesystem import Disk, Signature, signature
from flask_pi_taskbar.board.holder import Clock
from flask_pi_taskbar.board.layout import Layout
from flask_pi_taskbar.board.model import Card, Entry
from flask_pi_taskbar.board.names import Kind, Named, classify
from flask_pi_taskbar.board.reader import FRESH_NS, Seen, look

_SECOND_NS: Final = 1_000_000_000
_NOBODY: Final[Mapping[int, Sequence[Card]]] = {}


class Known:
    """One file of the listing: what its name means, what it is told by, and what it holds."""

    __slots__ = ("entry", "named", "signature")

    def __init__(self, named: Named, told_by: Signature, entry: Entry | None) -> None:
        self.named = named
        self.signature = told_by
        self.entry = entry
        """None for a file that is neither a card nor looks like one."""


class Snapshot:
    """Everything in the cards' folder at one moment."""

    def __init__(self, known: Mapping[str, Known], folder_ns: int, *, settled: bool) -> None:
        self.known = known
        self.folder_ns = folder_ns
        self.settled = settled
        """The folder's own time was old enough when we listed it that no later change can carry the same one."""

    def get(self, card_id: int) -> Known | None:
        return self.known.get(f"{card_id}.json")

    def entries(self) -> Iterator[Entry]:
        return (found.entry for found in self.known.values() if found.entry is not None)

    @cached_property
    def others(self) -> tuple[str, ...]:
        """The names of the files that are no cards and do not look like any."""
        return tuple(sorted(name for name, found in self.known.items() if found.named.kind is Kind.OTHER))

    @cached_property
    def highest(self) -> int:
        """The highest number in any name, foreign spellings too."""
        return max((found.named.number for found in self.known.values()), default=0)

    @cached_property
    def dependents(self) -> Mapping[int, Sequence[Card]]:
        """For each number, the cards that name it in their `dependsOn`."""
        found: dict[int, list[Card]] = {}
        for entry in self.entries():
            if isinstance(entry, Card):
                for linked in entry.depends_on:
                    found.setdefault(linked, []).append(entry)
        return found or _NOBODY

    def with_files(self, changed: Mapping[str, Known | None]) -> Snapshot:
        """The same with some files read anew, or gone. The folder's time is that of the listing still."""
        files = dict(self.known)
        for name, known in changed.items():
            if known is None:
                files.pop(name, None)
            else:
                files[name] = known
        return Snapshot(files, self.folder_ns, settled=self.settled)


class Index:
    """The newest snapshot that this process has, and how to bring it up to date."""

    def __init__(self, disk: Disk, clock: Clock, layout: Layout) -> None:
        self._disk = disk
        self._clock = clock
        self._layout = layout
        self._snapshot = Snapshot({}, -1, settled=False)
        self._own: tuple[int, Signature | None] | None = None

    @property
    def newest(self) -> Snapshot:
        return self._snapshot

    def sweep(self) -> Snapshot:
        """The folder as it is: files whose status moved are read again. Raises `OSError`."""
        disk, folder, old = self._disk, self._layout.cards, self._snapshot.known
        started = disk.now_ns()
        try:
            folder_ns = disk.stat(folder).st_mtime_ns
            # A first reading opens every file anyway and needs no status beforehand.
            listed = disk.scan(folder) if old else [(name, None) for name in disk.names(folder)]
        except FileNotFoundError:
            self.forget()
            return self._snapshot
        files: dict[str, Known] = {}
        for name, status in listed:
            before = old.get(name)
            if before is not None and status is not None and before.signature == signature(status):
                files[name] = before
            elif (now := self._read(name, before)) is not None:
                files[name] = now
        self._snapshot = Snapshot(files, folder_ns, settled=started - folder_ns > _tick(folder_ns))
        return self._snapshot

    def unmoved(self) -> Snapshot | None:
        """The newest snapshot, if no name was made or removed in the folder since it was taken."""
        newest = self._snapshot
        if newest.folder_ns < 0 or newest.folder_ns != self._folder_ns():
            return None
        if newest.settled or self._own == (newest.folder_ns, self._journal()):
            return newest
        return None

    def glance(self) -> Snapshot:
        """A snapshot that shows at least every write of ours that has ended. Raises `OSError`."""
        return self.unmoved() or self.sweep()

    def get(self, card_id: int) -> Seen | None:
        """One card's file, read now."""
        return look(self._disk, self._clock, self._layout.card(card_id), Named(Kind.CARD, card_id))

    def current(self, card_id: int) -> Entry | None:
        """One card as it is now; read again only if its file moved."""
        before = self._snapshot.get(card_id)
        if before is not None:
            try:
                if signature(self._disk.stat(self._layout.card(card_id))) == before.signature:
                    return before.entry
            except FileNotFoundError:
                return None
        seen = self.get(card_id)
        return None if seen is None else seen.entry

    def wrote(self, unmoved: Snapshot | None, changed: Mapping[int, Seen | None]) -> None:
        """Under the lock, after a write: these files changed since `unmoved` was the newest snapshot, and no others.

        The folder's time is of this moment, so that another writer might leave the same one; but each of ours also
        makes the journal longer, and that is looked at too.
        """
        known = {f"{number}.json": _known(number, seen) for number, seen in changed.items()}
        if unmoved is None:
            self._snapshot = self._snapshot.with_files(known)
            return
        after = unmoved.with_files(known)
        after.folder_ns = self._folder_ns()
        after.settled = False
        self._own = (after.folder_ns, self._journal())
        self._snapshot = after

    def forget(self) -> None:
        """Read everything anew the next time."""
        self._snapshot = Snapshot({}, -1, settled=False)

    def _folder_ns(self) -> int:
        try:
            return self._disk.stat(self._layout.cards).st_mtime_ns
        except FileNotFoundError:
            return -1

    def _journal(self) -> Signature | None:
        try:
            return signature(self._disk.stat(self._layout.journal))
        except FileNotFoundError:
            return None

    def _read(self, name: str, before: Known | None) -> Known | None:
        named = classify(name) if before is None else before.named
        if named.kind is Kind.OTHER:
            return Known(named, Signature(0, 0, 0), None)
        seen = look(self._disk, self._clock, f"{self._layout.cards}/{name}", named)
        return None if seen is None else Known(named, seen.signature, seen.entry)


def _known(number: int, seen: Seen | None) -> Known | None:
    return None if seen is None else Known(Named(Kind.CARD, number), seen.signature, seen.entry)


def _tick(time_ns: int) -> int:
    """How long after a time of a file another change may still carry the same one: the kernel's tick, or what the file
    system rounds to where it keeps whole seconds only (FAT: two)."""
    return FRESH_NS if time_ns % _SECOND_NS else 2 * _SECOND_NS + FRESH_NS
