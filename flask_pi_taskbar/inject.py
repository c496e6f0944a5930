"""The tag in the host's pages: a WSGI wrapper around the host app, where status and headers are final.

The extension puts it around `app.wsgi_app`. It looks at every response of the app and changes only those that a browser
shows as a page of its own; of those it changes nothing but what our tag makes untrue (the length and the validators).
It never holds a page back: chunks pass as they come, but for a dozen bytes that may begin the place of the tag. It
knows no Flask; what the app knows about a request reaches it by a `Page` in the environment.

It is also where the answers of our own routes leave the host app (see `mount`): whatever the host's own functions made
of them on the way out, the original is sent.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from werkzeug.wsgi import FileWrapper

from flask_pi_taskbar import csp
from flask_pi_taskbar.markup import OUR_TAG, PlaceFinder
from flask_pi_taskbar.notices import Notices
from flask_pi_taskbar.pages import Navigation, is_page, navigation

if TYPE_CHECKING:
    from _typeshed import OptExcInfo
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

PAGE: Final = "flask_pi_taskbar.page"
_FILE_WRAPPER: Final = "wsgi.file_wrapper"

Headers = list[tuple[str, str]]

# Hidden from the app for a page that we may change: we cannot write into compressed bytes, and "not modified" would
# bring back a page from before, with or without a tag.
HIDDEN_HEADERS: Final = frozenset(
    (
        "HTTP_ACCEPT_ENCODING",
        "HTTP_IF_NONE_MATCH",
        "HTTP_IF_MODIFIED_SINCE",
        "HTTP_IF_MATCH",
        "HTTP_IF_UNMODIFIED_SINCE",
    )
)
# What is no longer true of a page with our tag.
DROPPED_HEADERS: Final = frozenset(("content-length", "etag", "last-modified"))
_BASE: Final = re.compile(rb"<base", re.IGNORECASE)
UTF16_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Page:
    """What the app tells the wrapper about one request, and the wrapper the app. One for each request and wrapper."""

    __slots__ = ("answer", "exempt", "file", "mounted", "tag", "tagged", "wrapped")

    def __init__(self, *, wrapped: bool) -> None:
        self.wrapped = wrapped
        """Whether the wrapper is there to do its part."""
        self.tag: Callable[[str | None, bool], str] | None = None
        """Writes the tag of this page, given a nonce and whether its address must be a whole one. None as long as the
        app has not taken the request up."""
        self.exempt = False
        self.tagged = False
        """The tag is in the page already."""
        self.mounted: WSGIEnvironment | None = None
        """The environment as the app sees it, if the request is for one of our own routes."""
        self.answer: WSGIApplication | None = None
        """The true answer of that route."""
        self.file: Iterable[bytes] | None = None
        """A file that the server is to send in its own way."""

    def take_tag(self, nonce: str | None, *, after_base: bool) -> str:
        """The tag, the first time; then nothing, and nothing on an exempt page.

        A `<base>` before the tag would send the browser to another server for our script, with the page's own nonce
        on it: `after_base` says that there is, or may be, one.
        """
        if self.tag is None or self.tagged or self.exempt:
            return ""
        self.tagged = True
        return self.tag(nonce, after_base)


class Injector:
    """The wrapper. `active` is asked at each request, since an app may turn out to be in debug mode only by then.

    `innermost` says that `app` is Flask itself, with no other middleware in between; `is_ours` tells the paths of our
    own routes, `answer` what they answer, `exempt_path` the paths of pages without a taskbar.
    """

    def __init__(
        self,
        app: WSGIApplication,
        *,
        innermost: bool,
        active: Callable[[], bool],
        inject: bool,
        exempt_path: Callable[[str], bool],
        answer: Callable[[WSGIEnvironment], WSGIApplication],
        is_ours: Callable[[str], bool],
        notices: Notices,
    ) -> None:
        self._app = app
        self._innermost = innermost
        self._active = active
        self._inject = inject
        self._exempt_path = exempt_path
        self._answer = answer
        self._is_ours = is_ours
        self._notices = notices

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if not self._active():
            return self._app(environ, start_response)
        if self._innermost and self._is_ours(environ.get("PATH_INFO", "")):
            # What we see is what the app would see: it need not take part, nor open its session, nor save it.
            return self._answer(environ)(environ, start_response)
        page = Page(wrapped=True)
        likely = self._navigation(environ)
        if likely is Navigation.NO:
            environ[PAGE] = page
            body = self._call_app(environ, start_response, page)
        else:
            transfer = _Transfer(start_response, page, likely, self._notices)
            with _for_a_page(environ, page):
                body = self._call_app(environ, transfer.start, page)
            if page.mounted is None:
                return transfer.body(body)
        if page.mounted is None:
            return body
        # One of our own routes: whatever the app's functions made of the answer on its way out, this is the answer.
        if close := getattr(body, "close", None):
            close()
        return (page.answer or self._answer(page.mounted))(environ, start_response)

    def _navigation(self, environ: WSGIEnvironment) -> Navigation:
        if not self._inject or self._exempt_path(environ.get("PATH_INFO", "")):
            return Navigation.NO
        return navigation(environ)

    def _call_app(self, environ: WSGIEnvironment, start_response: StartResponse, page: Page) -> Iterable[bytes]:
        def start(status: str, headers: Headers, exc_info: OptExcInfo | None = None, /) -> Callable[[bytes], object]:
            if page.mounted is not None:
                return _swallow
            return start_response(status, headers, exc_info) if exc_info else start_response(status, headers)

        try:
            return self._app(environ, start)
        except Exception:
            if page.mounted is None and page.tag is None and self._is_ours(environ.get("PATH_INFO", "")):
                page.mounted = environ  # it failed before it had asked us
            if page.mounted is None:
                raise
            self._notices.once(
                "host-failed-on-our-route",
                "the app raised an exception in a request of the taskbar; the taskbar answered it all the same.",
            )
            return ()


@contextmanager
def _for_a_page(environ: WSGIEnvironment, page: Page) -> Iterator[None]:
    """Hide from the app, while it answers, what would make its answer one that we cannot change.

    It is the server's own environment all the while, so that what the app writes into it is seen around us.
    """
    changed = {name: environ[name] for name in (*HIDDEN_HEADERS, _FILE_WRAPPER) if name in environ}
    wrap: Callable[..., Iterable[bytes]] = environ.get(_FILE_WRAPPER, FileWrapper)

    def remember(*arguments: Any) -> Iterable[bytes]:
        page.file = wrap(*arguments)
        return page.file

    for name in HIDDEN_HEADERS:
        environ.pop(name, None)
    environ[PAGE] = page
    environ[_FILE_WRAPPER] = remember
    try:
        yield
    finally:
        del environ[_FILE_WRAPPER]
        environ.update(changed)


def _swallow(_data: bytes) -> None:
    """The `write` of a response that nobody will see."""


class _Transfer:
    """One navigation's response on its way: holds the head back until it is clear whether the tag goes in."""

    def __init__(self, start_response: StartResponse, page: Page, navigation: Navigation, notices: Notices) -> None:
        self._start_response = start_response
        self._page = page
        self._navigation = navigation
        self._notices = notices
        self._head: tuple[str, Headers, OptExcInfo | None] | None = None
        self._server_write: Callable[[bytes], object] | None = None
        self.finder: PlaceFinder | None = None
        self._nonce: str | None = None

    def start(self, status: str, headers: Headers, exc_info: OptExcInfo | None = None, /) -> Callable[[bytes], object]:
        if self._server_write is not None:
            # Too late for us. The server raises, or takes these headers instead; either way this is another page.
            self.finder = None
            return self._start_response(status, headers, exc_info)
        if self._head is not None and exc_info is None:
            raise AssertionError("start_response called twice without exc_info")
        self._head = (status, headers, exc_info)
        return self._write

    def _write(self, data: bytes) -> None:
        """The old way of sending a body. It passes as it is."""
        if self._server_write is None:
            self._send_head()
        if self._server_write is not None:
            self._server_write(data)

    def body(self, chunks: Iterable[bytes]) -> Iterable[bytes]:
        """What the server is to send; the app's own object if nothing is to be changed."""
        if self._head is None:  # an app that calls start_response with its first chunk
            return _Body(self, chunks, self._page)
        self.settle(is_file=chunks is self._page.file)
        return _Body(self, chunks, self._page) if self.finder else chunks

    def settle(self, *, is_file: bool = False) -> None:
        """Send the head, unless it is sent; with the tag in mind if it goes in."""
        if self._server_write is not None or self._head is None:
            return
        status, headers, exc_info = self._head
        verdict = None if is_file else self._verdict(status, headers)
        if verdict is not None:
            self.finder, self._nonce = PlaceFinder(), verdict.nonce
            headers = [header for header in headers if header[0].lower() not in DROPPED_HEADERS]
            self._head = status, headers, exc_info
        self._send_head()

    def _send_head(self) -> None:
        assert self._head is not None
        status, headers, exc_info = self._head
        if exc_info:
            self._server_write = self._start_response(status, headers, exc_info)
        else:
            self._server_write = self._start_response(status, headers)

    def _verdict(self, status: str, headers: Headers) -> csp.Verdict | None:
        """What the tag has to carry; None if this response stays as it is."""
        page = self._page
        if page.tag is None or page.exempt or page.tagged or not is_page(status, headers):
            return None
        verdict = csp.read(value for name, value in headers if name.lower() == "content-security-policy")
        if verdict.obstacle is None:
            return verdict
        self._notices.once(
            verdict.obstacle,
            "no taskbar in pages whose Content-Security-Policy has %s. Loosen it in development if you want one there.",
            verdict.obstacle,
        )
        return None

    def tag(self, *, after_base: bool) -> bytes:
        return self._page.take_tag(self._nonce, after_base=after_base).encode("ascii")

    def report(self, error: Exception) -> None:
        """Say once that a page could not be read."""
        name = type(error).__name__
        self._notices.once(f"finder-{name}", "no taskbar in a page, whose markup could not be read (%s).", name)

    def tag_at_end(self, finder: PlaceFinder, *, after_base: bool) -> bytes:
        """The tag for a page that has ended without a place for it: a short text is a page too, but a part is not."""
        if self._navigation is not Navigation.SURE:
            return b""
        if finder.ends_in_text:
            return self.tag(after_base=after_base)
        self._notices.once(
            "no-place", "no taskbar in a page that ends inside of a tag, a comment, a script or a template."
        )
        return b""


class _Body:
    """The chunks of a page, with the tag in its place."""

    def __init__(self, transfer: _Transfer, chunks: Iterable[bytes], page: Page) -> None:
        self._transfer = transfer
        self._chunks = chunks
        self._iterator: Iterator[bytes] | None = None
        self._page = page
        self._held = b""
        self._begun = False
        self._ended = False
        self._has_base = False

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if self._ended:
            raise StopIteration
        if self._iterator is None:
            self._iterator = iter(self._chunks)
        try:
            chunk = next(self._iterator)
        except StopIteration:
            self._ended = True
            self._transfer.settle()
            return self._rest()
        self._transfer.settle()
        return self._placed(chunk)

    def close(self) -> None:
        if close := getattr(self._chunks, "close", None):
            close()

    def _placed(self, chunk: bytes) -> bytes:
        finder = self._transfer.finder
        if finder is None:
            held, self._held = self._held, b""
            return held + chunk if held else chunk
        data = self._held + chunk if self._held else chunk
        if not self._begun and data:
            self._begun = True
            if data.startswith(UTF16_MARKS):
                return self._leave(data)
        if self._page.tagged or (b"data-pi-browser-taskbar" in data and OUR_TAG.search(data)):
            return self._leave(data)
        try:
            place = finder.feed(data)
        except Exception as error:  # noqa: BLE001 - a page is worth more than its taskbar
            self._transfer.report(error)
            return self._leave(data)
        if place is not None:
            before = data[:place]
            return self._leave(before + self._transfer.tag(after_base=self._sees_base(before)) + data[place:])
        self._sees_base(data)
        if not finder.held:
            self._held = b""
            return data
        self._held = data[-finder.held :]
        return data[: -finder.held]

    def _sees_base(self, data: bytes) -> bool:
        """Whether what has passed may hold a `<base>`. What is held back is looked at again with the next chunk."""
        self._has_base = self._has_base or _BASE.search(data) is not None
        return self._has_base

    def _leave(self, data: bytes) -> bytes:
        """Nothing more to do in this page."""
        self._transfer.finder, self._held = None, b""
        return data

    def _rest(self) -> bytes:
        finder = self._transfer.finder
        rest = self._held + (self._transfer.tag_at_end(finder, after_base=self._has_base) if finder else b"")
        if not rest:
            raise StopIteration
        return rest
