"""Who may ask the board's page for what: this machine, by a name of its own, from the page itself, with a key.

Asked before every view, in this order: the sender and the host name, then the page that a request comes from, then the
key. Only the document, the scripts and styles that it loads, and the ping need no key: they are the same bytes for
every reader and say nothing of a card. Nothing here looks at a body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from flask import Request
from werkzeug.wsgi import get_host

from flask_pi_taskbar.access import SAFE_METHODS, call_of, refused_page, refused_sender
from flask_pi_taskbar.board.refusal import Code, Refusal
from flask_pi_taskbar.board.serving.keys import Role
from flask_pi_taskbar.hosts import host_without_port

if TYPE_CHECKING:
    from flask_pi_taskbar.page.board import KeyRing

KEY_HEADER: Final = "X-Board-Key"
KEY_QUERY: Final = "k"
DOCUMENT: Final = "document"
OWN_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")

NO_KEY: Final = "This needs the page's key: open the board again with /board, or run `pi-taskbar board`."
VIEWER: Final = "This page is read-only: its link can look at cards and change none."


def check_sender(request: Request, port: int | None) -> None:
    """Refuse a sender that is not on this machine, or asks for another host. `port`: the only one, if there is one."""
    host = get_host(request.environ)
    refused = refused_sender(call_of(request.environ, host), frozenset())
    if refused is not None:
        raise Refusal(Code.WRONG_HOST, f"The board answers this machine only: {refused.value}")
    if port is not None and host.lower() not in {f"{name}:{port}" for name in OWN_NAMES}:
        name = host_without_port(host)
        raise Refusal(Code.WRONG_HOST, f"The board answers to 127.0.0.1:{port} and localhost:{port}, not to {name}.")


def check_page(request: Request, *, is_document: bool) -> None:
    """Refuse what a page of another site has sent. A link to the document may stand anywhere."""
    if is_document and request.method in SAFE_METHODS:
        return
    refused = refused_page(call_of(request.environ, get_host(request.environ)))
    if refused is not None:
        raise Refusal(Code.CROSS_SITE, "Another site's page sent this request; the board takes its own page's only.")
    if request.method in SAFE_METHODS:
        return
    if request.mimetype != "application/json":
        raise Refusal(Code.CROSS_SITE, "A change is sent as application/json, which no other site's form can do.")


def key_of(request: Request) -> str:
    """The key that a request shows: in a header, which no other site's form can set; for a read in the query too."""
    given = request.headers.get(KEY_HEADER)
    if not given and request.method in SAFE_METHODS:
        given = request.args.get(KEY_QUERY)
    return given or ""


def role_of(request: Request, keys: KeyRing) -> Role:
    """What the request may do. Raises `Refusal` for one without a good key, and for a viewer's change."""
    given = key_of(request)
    role = keys.role_of(given) if given else None
    if role is None:
        raise Refusal(Code.NO_TOKEN, NO_KEY)
    if role is Role.VIEWER and request.method not in SAFE_METHODS:
        raise Refusal(Code.READ_ONLY, VIEWER)
    return role
