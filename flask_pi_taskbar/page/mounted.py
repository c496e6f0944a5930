"""The page inside an app's own server: its keys are the broker's, its files the worker's to follow.

Any worker serves it, and nothing depends on a worker's memory: each has a hub of its own over the same files, and asks
the broker, over a connection that keeps the page held, which keys are good. Where another process serves the page of
the same repository already, this one opens nothing: the way to the other is given to whoever may use the taskbar.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from functools import cached_property
from typing import TYPE_CHECKING, Final

import click
from flask import Flask, Request

from flask_pi_taskbar.access import call_of, refused_sender
from flask_pi_taskbar.board.identity import Repository, repository, store_dir
from flask_pi_taskbar.board.live.hub import Hub
from flask_pi_taskbar.board.refusal import Code, Refusal
from flask_pi_taskbar.board.serving.finding import Serving, Silent, find
from flask_pi_taskbar.board.serving.keys import Keys, Role
from flask_pi_taskbar.board.store import Store
from flask_pi_taskbar.broker.client import BrokerClient
from flask_pi_taskbar.broker.page_line import PageLine
from flask_pi_taskbar.broker.unavailable import Unavailable
from flask_pi_taskbar.broker.wire import PageKeys
from flask_pi_taskbar.page.app import create_page
from flask_pi_taskbar.page.board import PageBoard
from flask_pi_taskbar.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from _typeshed.wsgi import StartResponse, WSGIEnvironment

ANNOUNCED: Final = "Board: {url}\n       (as team-lead: keep this link to yourself; the taskbar opens it too)"
ANNOUNCED_TO_A_LOG: Final = "Board: {url}\n       (the taskbar's Board button opens it as team-lead)"
ELSEWHERE: Final = "The page of this repository is served by another process, which does not answer."


class MountedBoard:
    """The board of one app. Nothing is opened or asked before its first request.

    `path` and `taskbar` are where its page and the taskbar's routes are, below whatever prefix the app is served at.
    """

    def __init__(self, settings: Settings, client: BrokerClient, path: str, taskbar: str) -> None:
        self._settings = settings
        self._client = client
        self._path = path
        self._taskbar = taskbar
        self._making = threading.Lock()
        self._app: Flask | None = None
        self._here = threading.local()

    def wsgi_app(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """The page, for a request whose SCRIPT_NAME ends with its path."""
        prefix = environ.get("SCRIPT_NAME", "")[: -len(self._path)]
        request = Request(environ)
        self._here.address = self._address(request, prefix)
        self._here.port = _port(request)
        path = environ["PATH_INFO"] or "/"
        if path == "/":
            # The page is about to be looked at: now is the time to hold it, and to say where the lead gets in.
            with contextlib.suppress(Refusal):
                self.keys()
        return self._page()({**environ, "PATH_INFO": path}, start_response)

    def lead_link(self, request: Request) -> dict[str, object]:
        """The address that the taskbar opens: the lead's, or the viewer's where another process serves the page.

        Raises `Refusal` for a sender that is not on this machine, whatever hosts the taskbar itself allows.
        """
        refused = refused_sender(call_of(request.environ, request.host), frozenset())
        if refused is not None:
            raise Refusal(Code.WRONG_HOST, f"The board answers this machine only: {refused.value}")
        self._here.address = self._address(request, request.script_root[: -len(self._taskbar)])
        self._here.port = _port(request)
        keys = self.keys()
        if keys.held:
            path = self._here.address.removeprefix(request.host_url.rstrip("/"))
            return {"ok": True, "url": f"{path}#k={keys.lead}", "lead": True}
        found = find(self.store)
        if isinstance(found, Serving):
            return {"ok": True, "url": found.note.url, "lead": False}
        text = found.text if isinstance(found, Silent) else keys.problem or ELSEWHERE
        raise Refusal(Code.BUSY, text, action="open")

    def keys(self) -> PageKeys:
        """The keys that are good now. Raises `Refusal`."""
        try:
            found = self._line.keys(self._here.address, self._here.port)
        except Unavailable as error:
            raise Refusal(Code.BUSY, f"The page's keys cannot be had: {error.reason}.") from error
        if found.fresh:
            self._line_is_told(found)
        return found

    # The key ring of `PageBoard`.

    @property
    def epoch(self) -> str:
        return self.keys().epoch

    def role_of(self, key: str) -> Role | None:
        found = self.keys()
        return Keys(found.lead, found.viewer).role_of(key) if found.held else None

    def viewer_address(self) -> str:
        found = self.keys()
        return f"{found.address}#k={found.viewer}"

    def revoke(self) -> str:
        try:
            return self._line.revoke(self._here.address, self._here.port).lead
        except Unavailable as error:
            raise Refusal(Code.BUSY, f"The lead's link cannot be revoked now: {error.reason}.") from error

    # What is made once.

    @cached_property
    def store(self) -> Store:
        return Store(store_dir(self._repository, os.environ))

    @cached_property
    def _repository(self) -> Repository:
        return repository(self._settings.project_root)

    @cached_property
    def _line(self) -> PageLine:
        return PageLine(self._client, self.store.layout.root)

    @cached_property
    def _hub(self) -> Hub:
        repo = self._repository
        facts = {"name": repo.root.name, "git": repo.is_git, "where": "app", "path": self._path}
        return Hub(self.store, epoch="app", idle_minutes=self._settings.board_idle_minutes, facts=lambda: facts)

    def _page(self) -> Flask:
        """The page's app, for whatever prefix the host's is served at."""
        with self._making:
            if self._app is None:
                board = PageBoard(
                    store=self.store,
                    hub=self._hub,
                    keys=self,
                    path=self._path,
                    taskbar=self._taskbar,
                    max_streams=self._settings.max_streams,
                )
                self._app = create_page(board)
            return self._app

    def _address(self, request: Request, prefix: str) -> str:
        return f"{request.host_url.rstrip('/')}{prefix}{self._path}/"

    def _line_is_told(self, found: PageKeys) -> None:
        """Say once where the board is. The lead's link is for a terminal's eyes; a file may be read by others."""
        if sys.stderr.isatty():
            click.echo(ANNOUNCED.format(url=f"{found.address}#k={found.lead}"), file=sys.stderr)
        else:
            click.echo(ANNOUNCED_TO_A_LOG.format(url=found.address), file=sys.stderr)


def _port(request: Request) -> int:
    return int(request.environ.get("SERVER_PORT") or 0)
