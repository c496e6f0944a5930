"""`PiTaskbar`: what a Flask developer adds to an app.

`init_app` reads the settings and hangs four things onto the app: a wrapper around `app.wsgi_app`, a receiver of
`request_started`, the handler of one private exception, and the name `pi_taskbar` in templates. Whether they do
anything is decided at the first request, because `app.run(debug=True)` comes after `init_app`: only in debug mode and
not under test. Until then, and otherwise, nothing is started, opened or changed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar

import flask
from markupsafe import Markup

from flask_pi_taskbar.inject import PAGE, Injector, Page
from flask_pi_taskbar.mount import Answer, Mount, Mounted
from flask_pi_taskbar.notices import LOGGER, Notices
from flask_pi_taskbar.settings import SettingError, Settings, resolve
from flask_pi_taskbar.tag import mount_base, route_json, script_tag

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication, WSGIEnvironment

    from flask_pi_taskbar.broker.client import BrokerClient
    from flask_pi_taskbar.page.mounted import MountedBoard

EXTENSION: Final = "pi-taskbar"
HELPER: Final = "pi_taskbar"
BOARD_MOVED: Final = (
    "the app has a route of its own at %s, so the board is at %s; the setting board_path "
    "(PI_BROWSER_TASKBAR_BOARD_PATH) names another place."
)
_EXEMPT: Final = "_pi_taskbar_exempt"

View = TypeVar("View", bound=Callable[..., Any])
T = TypeVar("T")


class PiTaskbar:
    """The taskbar of one or more Flask apps.

    `PiTaskbar(app, **settings)`, or `taskbar = PiTaskbar(**settings)` and later `taskbar.init_app(app)`. Settings are
    those of the README's table; they may stand in `app.config` as `PI_BROWSER_TASKBAR_<NAME>` as well.
    """

    def __init__(self, app: flask.Flask | None = None, **settings: object) -> None:
        self._keywords = settings
        if app is not None:
            self.init_app(app)

    def init_app(self, app: flask.Flask, **settings: object) -> None:
        """Give `app` the taskbar. Keywords here count more than those of the constructor.

        Raises `SettingError` for a setting that cannot be used if the app is in debug mode already; otherwise it is
        logged and the app has no taskbar. A second call with the same settings does nothing; with others it raises
        `RuntimeError`.
        """
        try:
            settled = resolve(app.config, {**self._keywords, **settings}, os.environ, app.root_path)
        except SettingError as error:
            if app.debug:
                raise
            LOGGER.error("pi-taskbar: the taskbar stays off: %s", error)
            settled = None
        earlier: AppTaskbar | None = app.extensions.get(EXTENSION)
        if earlier is None:
            app.extensions[EXTENSION] = AppTaskbar(app, settled)
        elif earlier.settings != settled:
            raise RuntimeError(
                "this app has a PiTaskbar with other settings already: keep one PiTaskbar(app) or init_app(app)"
            )

    @staticmethod
    def exempt(view: View) -> View:
        """Decorator of a view whose pages get no taskbar."""
        setattr(view, _EXEMPT, True)
        return view


def owns(rule: str, path: str) -> bool:
    """Whether a route of the app lies at `path` or below it by its own words; one that takes any path does not."""
    literal, variable, _ = rule.partition("<")
    if not variable:
        return f"{literal.rstrip('/')}/".startswith(f"{path}/")
    return literal.startswith(f"{path}/")


class AppTaskbar:
    """The taskbar of one app: `app.extensions["pi-taskbar"]`. `settings` is None if they could not be used."""

    def __init__(self, app: flask.Flask, settings: Settings | None) -> None:
        self.settings = settings
        self.notices = Notices()
        self._app = app
        self._active: bool | None = None
        # Templates name the helper whether there is a taskbar or not. The environment itself is not touched yet: making
        # it would fix `jinja_options` and the automatic reload of templates too early.
        app.context_processor(lambda: {HELPER: self.helper})
        if "jinja_env" in app.__dict__:
            app.jinja_env.globals.setdefault(HELPER, self.helper)
        flask.request_started.connect(self._request_started, app)
        if settings is None or not settings.enabled:
            return
        self._taskbar = Mount(settings.mount_path, self._make_taskbar, self.notices)
        self._page: Mount | None = None
        """The board's page; where it is depends on the app's own routes, which are all there at the first request."""
        self._prefixes = tuple(f"{entry.rstrip('/')}/" for entry in settings.exclude if entry.startswith("/"))
        self._endpoints = frozenset(entry for entry in settings.exclude if not entry.startswith("/"))
        app.register_error_handler(Mounted, lambda left: left.mount.leave(left))
        app.wsgi_app = Injector(  # type: ignore[method-assign]  # Flask's own way to add WSGI middleware
            app.wsgi_app,
            innermost=getattr(app.wsgi_app, "__func__", None) is flask.Flask.wsgi_app,
            active=self.is_active,
            inject=settings.inject,
            exempt_path=self._exempt_path,
            answer=self._answer,
            is_ours=lambda path: self._mount_of(path) is not None,
            notices=self.notices,
        )

    def is_active(self) -> bool:
        """Whether there is a taskbar. The first request asks; the answer stays."""
        if self._active is None:
            enabled = self.settings is not None and self.settings.enabled
            active = enabled and self._app.debug and not self._app.testing
            if active:
                self._page = Mount(self._page_path, lambda: self._board.wsgi_app, self.notices)
            self._app.jinja_env.globals.setdefault(HELPER, self.helper)
            self._active = active  # last: another thread that sees it finds everything else in place
        return self._active

    def helper(self, nonce: str | None = None) -> Markup:
        """The tag, where a template writes `{{ pi_taskbar() }}`: once a page, and nothing wherever it has no use."""
        if not self._active or not flask.has_request_context():
            return Markup("")
        page = flask.request.environ.get(PAGE)
        return Markup(page.take_tag(nonce, after_base=True) if isinstance(page, Page) else "")  # noqa: S704 - the tag is escaped

    def _make_taskbar(self) -> WSGIApplication:
        from flask_pi_taskbar.app import create_app  # only where there is a taskbar

        assert self.settings is not None
        return create_app(self.settings, self._client, notices=self.notices, board=self._board).wsgi_app

    @cached_property
    def _client(self) -> BrokerClient:
        from flask_pi_taskbar.app import broker_client

        assert self.settings is not None
        return broker_client(self.settings)

    @cached_property
    def _board(self) -> MountedBoard:
        from flask_pi_taskbar.page.mounted import MountedBoard

        assert self.settings is not None
        return MountedBoard(self.settings, self._client, self._page_path, self.settings.mount_path)

    @cached_property
    def _page_path(self) -> str:
        """Where the board's page is: at `board_path`, unless a route of the app's own is there."""
        assert self.settings is not None
        wanted = self.settings.board_path
        if not any(owns(rule.rule, wanted) for rule in self._app.url_map.iter_rules()):
            return wanted
        moved = f"{self.settings.mount_path}/board"
        self.notices.once("board-path", BOARD_MOVED, wanted, moved)
        return moved

    def _mount_of(self, path: str) -> Mount | None:
        """Which of ours a path belongs to. The page may lie below the taskbar."""
        return next((mount for mount in (self._page, self._taskbar) if mount is not None and mount.holds(path)), None)

    def _answer(self, environ: WSGIEnvironment) -> Answer:
        mount = self._mount_of(environ["PATH_INFO"])
        assert mount is not None
        return mount.answer(environ)

    def _request_started(self, _app: flask.Flask, **_: object) -> None:
        if not self.is_active() or self.settings is None:
            flask.request_started.disconnect(self._request_started, self._app)
            return
        request, mount_path = flask.request, self.settings.mount_path
        environ, path = request.environ, request.environ.get("PATH_INFO", "")
        page = environ.get(PAGE)
        if not isinstance(page, Page):
            page = environ[PAGE] = Page(wrapped=False)
        if (mount := self._mount_of(path)) is not None:
            mount.enter(environ, page)
        method, rule, endpoint = request.method, request.url_rule, request.endpoint
        view = self._app.view_functions.get(endpoint) if endpoint else None

        own = self._described(lambda: f"{request.scheme}://{request.host}")

        def tag(nonce: str | None, after_base: bool) -> str:
            route = self._described(lambda: route_json(method, rule.rule, view, rule.endpoint)) if rule else None
            return script_tag(
                mount_base(environ.get("SCRIPT_NAME", ""), mount_path), route, nonce, (after_base and own) or ""
            )

        page.tag = tag
        page.exempt = endpoint in self._endpoints or self._exempt_path(path)
        page.exempt = page.exempt or self._described(lambda: hasattr(view, _EXEMPT)) is True

    def _described(self, look: Callable[[], T]) -> T | None:
        """What `look` sees of a view. A view may be any callable, also one that cannot be looked at."""
        try:
            return look()
        except Exception as error:  # noqa: BLE001 - the page must not break because of its taskbar
            name = type(error).__name__
            self.notices.once(f"view-{name}", "a view function could not be described (%s); its pages are whole.", name)
            return None

    def _exempt_path(self, path: str) -> bool:
        return bool(self._prefixes) and f"{path}/".startswith(self._prefixes)
