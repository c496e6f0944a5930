"""Whose board a command works on and as whom: the repository around a folder, its store, and the caller.

Every command opens one `Desk`. Nothing here writes; a store that does not exist yet is an empty board.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from flask_pi_taskbar.board.identity import Repository, caller, repository, session, store_dir
from flask_pi_taskbar.board.mail import unread
from flask_pi_taskbar.board.model import Actor
from flask_pi_taskbar.board.refusal import Code, Refusal
from flask_pi_taskbar.board.store import Store
from flask_pi_taskbar.board.text import bad, clean_actor_id, clean_label


class Desk:
    """A caller at a board."""

    def __init__(
        self, repo: Repository, store: Store, actor: Actor, *, anonymous: bool = False, label: str | None = None
    ) -> None:
        self.repo = repo
        self.store = store
        self.actor = actor
        self.anonymous = anonymous
        """Nobody said who calls: the system's user and host stand in."""
        self.label = label
        """The label that was typed; whoever repeats the call has to type it again."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def is_known(self) -> bool:
        """The caller is on the team already."""
        return os.path.lexists(self.store.layout.session_record(self.actor.id))

    def unread(self) -> int:
        """How many letters wait for the caller."""
        return len(unread(self.store.disk, self.store.layout, self.actor.id))


def open_desk(
    *,
    start: str | None = None,
    label: str | None = None,
    session_id: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> Desk:
    """The board of the repository around `start` (else the current folder), and who calls. Raises `Refusal`."""
    environ = os.environ if environ is None else environ
    repo = repository(_folder(start))
    try:
        path = store_dir(repo, environ)
    except RuntimeError as error:  # `Path.home` says no
        message = "There is no home folder to keep the board in: set HOME or PI_CODING_AGENT_DIR."
        raise Refusal(Code.STORE_UNWRITABLE, message) from error
    if session_id is not None:
        label = None if label is None else clean_label(label, "--as")
        actor = session(clean_actor_id(session_id, "--session"), label or environ.get("PI_TASKBAR_LABEL") or None)
        return Desk(repo, Store(path), actor, label=label)
    who = caller(environ, label)
    return Desk(repo, Store(path), who.actor, anonymous=who.anonymous, label=label)


def _folder(start: str | None) -> Path:
    if start is None:
        try:
            return Path.cwd()
        except FileNotFoundError:
            raise bad("--repo", "The current folder is gone; go to another one, or name one with --repo.") from None
    folder = Path(start)
    if not folder.is_dir():
        raise bad("--repo", f"--repo names no folder: {start}")
    return folder
