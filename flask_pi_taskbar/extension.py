"""`PiTaskbar`: what a Flask developer adds to an app.

`init_app` reads the settings and hangs four things onto the app: a wrapper around `app.wsgi_app`, a receiver of
`request_started`, the handler of one private exception, and the name `pi_taskbar` in templates. Whether they do
anything is decided at the first request, because `app.run(debug=True)` comes after `init_app`: only in debug mode and
not under test. Until then, and otherwise, nothing is started, opened or changed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import flask
from markupsafe import Markup

from flask_pi_taskbar.inject import PAGE, Injector, Page
from flask_pi_taskbar.mount import Mount, Mounted
from flask_pi_taskbar.notices import LOGGER, Notices
from flask_pi_taskbar.settings import SettingError, Settings, resolve
from flask_pi_taskbar.tag import mount_base, route_json, script_tag

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

EXTENSION: Final = "pi-taskbar"
HELPER: Final = "pi_taskbar"
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
        self._mount = Mount(settings.mount_path, self._make_inner_app, self.notices)
        self._prefixes = tuple(f"{entry.rstrip('/')}/" for entry in settings.exclude if entry.startswith("/"))
        self._endpoints = frozenset(entry for entry in settings.exclude if not entry.startswith("/"))
        app.register_error_handler(Mounted, self._mount.leave)
        app.wsgi_app = Injector(  # type: ignore[method-assign]  # Flask's own way to add WSGI middleware
            app.wsgi_app,
            innermost=getattr(app.wsgi_app, "__func__", None) is flask.Flask.wsgi_app,
            active=self.is_active,
            inject=settings.inject,
            exempt_path=self._exempt_path,
            answer=self._mount.answer,
            is_ours=self._mount.holds,
            notices=self.notices,
        )

    def is_active(self) -> bool:
        """Whether there is a taskbar. The first request asks; the answer stays."""
        if self._active is None:
            enabled = self.settings is not None and self.settings.enabled
            self._active = enabled and self._app.debug and not self._app.testing
            self._app.jinja_env.globals.setdefault(HELPER, self.helper)
        return self._active

    def helper(self, nonce: str | None = None) -> Markup:
        """The tag, where a template writes `{{ pi_taskbar() }}`: once a page, and nothing wherever it has no use."""
        if not self._active or not flask.has_request_context():
            return Markup("")
        page = flask.request.environ.get(PAGE)
        return Markup(page.take_tag(nonce, after_base=True) if isinstance(page, Page) else "")  # noqa: S704 - the tag is escaped

    def _make_inner_app(self) -> WSGIApplication:
        from flask_pi_taskbar.app import create_app  # only where there is a taskbar

        assert self.settings is not None
        return create_app(self.settings, notices=self.notices).wsgi_app

    def _request_started(self, _app: flask.Flask, **_: object) -> None:
        if not self.is_active() or self.settings is None:
            flask.request_started.disconnect(self._request_started, self._app)
            return
        request, mount_path = flask.request, self.settings.mount_path
        environ, path = request.environ, request.environ.get("PATH_INFO", "")
        page = environ.get(PAGE)
        if not isinstance(page, Page):
            page = environ[PAGE] = Page(wrapped=False)
        if self._mount.holds(path):
            self._mount.enter(environ, page)
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
