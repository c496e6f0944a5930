"""Whose board this is and who acts on it: repository, store folder, sessions, the seat, labels.

Every process that opens a board (page, command line, Pi's tool, workers) asks here, so that all worktrees of one
repository meet in one folder and one caller is one actor. Nothing here runs `git`, creates a file or takes a lock.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from flask_pi_taskbar.board.model import SEAT_LABEL, Actor, ActorKind
from flask_pi_taskbar.board.text import bad, clean_actor_id, clean_label
from flask_pi_taskbar.project import NAMESPACE, project_root

AGENT_DIR_VARIABLE: Final = "PI_CODING_AGENT_DIR"
SESSION_VARIABLE: Final = "PI_TASKBAR_SESSION"
LABEL_VARIABLE: Final = "PI_TASKBAR_LABEL"

SLUG_LENGTH: Final = 40
KEY_LENGTH: Final = 12

_LINK_BYTES: Final = 4096  # a `.git` or `commondir` file is one path
_FIRST_WORDS: Final = """
amber ashen brave brisk calm cedar clear cobalt coral crisp dawn deft eager early fair fleet fond frank fresh gentle
glad golden grand green hale happy hazel honest ivory jolly keen kind lilac lively loyal lucid maple mellow merry
mild misty noble olive opal patient pearl plain plucky proud quiet rapid rosy ruby sandy sage silver snowy steady
sunny swift tidy vivid warm wise
""".split()  # noqa: SIM905 - words to read, not data to index
_SECOND_WORDS: Final = """
acorn anchor aspen badger basin beacon birch bridge brook canyon cliff comet crane creek delta dune egret ember
falcon fern finch fjord forge fox garden glade grove harbor heron hill inlet jay kestrel lake lark linden lynx marsh
meadow mesa moss oak orchid otter owl pine plover pond quill raven reef ridge river robin sparrow spruce stone
summit swan thistle trail valley willow wren
""".split()  # noqa: SIM905 - words to read, not data to index


class Repository(NamedTuple):
    """What a board belongs to. `key` is the same from every worktree and through every symlink."""

    root: Path
    """The top folder of the worktree; outside git the project's root."""
    key: str
    is_git: bool


class Caller(NamedTuple):
    """Who calls from a command line. `anonymous` asks for the one hint that names and sessions can be given."""

    actor: Actor
    anonymous: bool


def repository(start: Path) -> Repository:
    """The repository that `start` lies in, found without running git."""
    folder = Path(os.path.realpath(start))
    for candidate in (folder, *folder.parents):
        common = _common_directory(candidate)
        if common is not None:
            return Repository(candidate, _key(common.parent if common.name == ".git" else common, common), True)
        if (candidate / ".git").is_file():
            # A worktree whose repository is out of reach (moved, or not mounted here): what lies above is another one.
            return Repository(candidate, _key(candidate, candidate), False)
    root = project_root(folder)
    return Repository(root, _key(root, root), False)


def agent_dir(environ: Mapping[str, str]) -> Path:
    """Pi's own folder, by Pi's own rule."""
    given = environ.get(AGENT_DIR_VARIABLE, "")
    if not given:
        return Path.home() / ".pi" / "agent"
    return Path(os.path.abspath(Path(given).expanduser()))  # noqa: PTH100 - symlinks stay as the user wrote them


def store_dir(repo: Repository, environ: Mapping[str, str]) -> Path:
    """Where the cards of `repo` lie: beside Pi's sessions, never among the user's sources."""
    return agent_dir(environ) / NAMESPACE / "board" / repo.key


def seat(key: str) -> Actor:
    """Who the page of the repository `key` writes as: one actor across restarts and browsers."""
    return Actor(f"seat:{_hex(key, 16)}", SEAT_LABEL, ActorKind.SEAT)


def session(session_id: str, label: str | None = None) -> Actor:
    """The session `session_id`; without a label it gets the one that its id always gives.

    Raises `Refusal` for the id of a seat: what is sent to the page is the page's.
    """
    if session_id.startswith("seat:"):
        raise bad("session", "An id that begins with seat: is a page's; a session needs an id of its own.")
    return Actor(session_id, label or default_label(session_id), ActorKind.SESSION)


def caller(environ: Mapping[str, str], label: str | None = None) -> Caller:
    """Who calls, from `--as` (`label`) and the environment.

    What is typed goes before what is inherited, and a label alone is an identity: `--as bob` is always the same bob.
    Raises `Refusal` for a label or a session that cannot be one.
    """
    label = None if label is None else clean_label(label, "--as")
    session_id = clean_actor_id(environ[SESSION_VARIABLE], SESSION_VARIABLE) if environ.get(SESSION_VARIABLE) else None
    inherited = clean_label(environ[LABEL_VARIABLE], LABEL_VARIABLE) if environ.get(LABEL_VARIABLE) else None
    if session_id and not label:
        return Caller(session(session_id, inherited), False)
    if label := label or inherited:
        return Caller(session(f"as:{label}", label), False)
    return Caller(session(f"u-{os.getuid()}@{os.uname().nodename}"), True)


def default_label(session_id: str) -> str:
    """`agent-<two words>`, always the same for one session."""
    digest = sha256(session_id.encode("utf-8", "surrogatepass")).digest()
    return f"agent-{_FIRST_WORDS[digest[0] % len(_FIRST_WORDS)]}-{_SECOND_WORDS[digest[1] % len(_SECOND_WORDS)]}"


def _key(named: Path, common: Path) -> str:
    return f"{_slug(named.name)}-{_hex(os.fsencode(common), KEY_LENGTH)}"


def _slug(name: str) -> str:
    name = unicodedata.normalize("NFKD", name.removesuffix(".git")).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9._]+", "-", name).strip("-.")[:SLUG_LENGTH].rstrip("-.") or "repository"


def _hex(text: str | bytes, length: int) -> str:
    return sha256(text.encode() if isinstance(text, str) else text).hexdigest()[:length]


def _common_directory(folder: Path) -> Path | None:
    """The git directory that all worktrees of `folder` share; None where `folder` is not the top of a worktree.

    As git does it (gitrepository-layout(5)): `.git` is a folder or a file `gitdir: <path>`, and the git directory of a
    linked worktree names the shared one in `commondir`. A bare repository is its own.
    """
    dot_git = folder / ".git"
    if dot_git.is_dir():
        directory = dot_git
    elif dot_git.is_file():
        named = _first_line(dot_git)
        if named is None or not named.startswith("gitdir:"):
            return None
        directory = folder / named.removeprefix("gitdir:").strip()
    else:
        directory = folder
    if not (directory / "HEAD").is_file():
        return None
    shared = _first_line(directory / "commondir")
    if shared:
        directory /= shared
    if not ((directory / "objects").is_dir() and (directory / "refs").is_dir()):
        return None
    return Path(os.path.realpath(directory))


def _first_line(path: Path) -> str | None:
    try:
        with open(path, "rb") as file:
            return os.fsdecode(file.read(_LINK_BYTES).partition(b"\n")[0])
    except OSError:
        return None
