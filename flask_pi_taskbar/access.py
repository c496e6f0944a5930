"""Who may call: the machine, the host name and the page that a request comes from. Everything unknown is refused.

Each route asks `refusal` before it does anything else. The rule is a pure function of a `Call`; `call_of` takes one out
of a WSGI environment. Nothing here is answered to the browser: a `Refusal` is a reason for the terminal.

Theory of operation. The developer's browser and the server share a machine, so the peer's address is loopback, and the
name in the address bar is one that always means "this machine". The name matters because a page from elsewhere can
point its own name at 127.0.0.1 (DNS rebinding); the address matters because the server may listen on every interface.
A proxy or a tunnel breaks the first assumption: behind it every request comes from loopback. Therefore *every* address
that a request shows must be loopback before it counts as ours: the socket's, the framework's and those in forwarding
headers. Anything else may only come in by a host name that the developer listed. Forwarding headers that no ProxyFix
has read mean that we do not know who is calling. What shows nothing at all cannot be told from a browser on this
machine: a tunnel of plain TCP with a local Host header is one, and whoever opens it opens the taskbar with it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from flask_pi_taskbar.hosts import host_without_port, is_local_name, is_loopback, peer_address

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})

# Headers by which proxies and tunnels say for whom they call. The first group carries addresses.
ADDRESS_HEADERS: Final = (
    "HTTP_X_FORWARDED_FOR",
    "HTTP_FORWARDED",
    "HTTP_X_REAL_IP",
    "HTTP_X_CLIENT_IP",
    "HTTP_X_CLUSTER_CLIENT_IP",
    "HTTP_X_ORIGINAL_FORWARDED_FOR",
    "HTTP_CF_CONNECTING_IP",
    "HTTP_TRUE_CLIENT_IP",
    "HTTP_FLY_CLIENT_IP",
)
OTHER_FORWARDING_HEADERS: Final = (
    "HTTP_X_FORWARDED_HOST",
    "HTTP_X_FORWARDED_PROTO",
    "HTTP_X_FORWARDED_SCHEME",
    "HTTP_X_FORWARDED_PORT",
    "HTTP_X_FORWARDED_PREFIX",
    "HTTP_X_FORWARDED_SERVER",
    "HTTP_X_FORWARDED",
    "HTTP_X_FORWARDED_BY",
    "HTTP_X_FORWARDED_SSL",
    "HTTP_VIA",
)
PROXY_FIX: Final = "werkzeug.proxy_fix.orig"
SERVER_SOCKETS: Final = ("werkzeug.socket", "gunicorn.socket")

_FORWARDED_FOR: Final = re.compile(r"""(?:^|[;,\s])for\s*=\s*"?\[?([^;,\]"\s]*)""", re.IGNORECASE)
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


class Refusal(Enum):
    """Why a request is refused. The value is what the terminal says, once."""

    HOST_UNREADABLE = (
        "a request was refused because its Host header is missing or not a host name. "
        "Open the app by http://localhost or http://127.0.0.1."
    )
    PROXY_UNREAD = (
        "a request was refused because it went through a proxy or a tunnel (it has forwarding headers, or speaks "
        "HTTP/1.0) and the app has no ProxyFix to read them. Open the app directly, or set up werkzeug's ProxyFix for "
        "your proxy and list the host in allowed_hosts (PI_BROWSER_TASKBAR_ALLOWED_HOSTS)."
    )
    PEER_UNKNOWN = (
        "a request was refused because the server does not say which address it comes from, as on a Unix socket. "
        "Let the server listen on 127.0.0.1, or set up werkzeug's ProxyFix for the proxy in front of the socket and "
        "list the host in allowed_hosts (PI_BROWSER_TASKBAR_ALLOWED_HOSTS)."
    )
    HOST_NOT_LOCAL = (
        "a request was refused by the check of the host: it came from this machine, but to a host name that is not "
        "local (localhost, *.localhost, 127.0.0.1, [::1]). If the name is yours, add it to allowed_hosts "
        "(PI_BROWSER_TASKBAR_ALLOWED_HOSTS)."
    )
    PEER_NOT_LOCAL = (
        "a request was refused by the check of the client: it came from another address than this machine's loopback "
        "(another computer, or a browser outside of this container), and the host name it asked for is not listed. "
        "To allow it, add exactly that name, 'localhost' too if it is that, to allowed_hosts "
        "(PI_BROWSER_TASKBAR_ALLOWED_HOSTS). TRUSTED_HOSTS of Flask has no part in this."
    )
    FOREIGN_ORIGIN = (
        "a request was refused because its Origin header names another scheme, host or port than the app's own. "
        "Behind a proxy, set up werkzeug's ProxyFix so that the app knows its public address."
    )
    FOREIGN_PAGE = (
        "a request was refused because the browser says that a page of another site sent it (Sec-Fetch-Site). "
        "Use the taskbar in the pages of this app."
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """What a request shows of its sender. `peer` and `host` are the framework's view, after any ProxyFix."""

    method: str
    scheme: str
    host: str
    peer: str
    raw_peer: str | None
    """The address at the server's own socket; None where the server does not tell."""
    addresses: tuple[str, ...] = ()
    """Every address that a forwarding header names."""
    forwarded: bool = False
    proxy_fixed: bool = False
    origin: str | None = None
    fetch_site: str | None = None


def refusal(call: Call, allowed_hosts: Collection[str]) -> Refusal | None:
    """Why this call is refused, or None if it is allowed. `allowed_hosts` are canonical."""
    return refused_sender(call, allowed_hosts) or refused_page(call)


def refused_sender(call: Call, allowed_hosts: Collection[str]) -> Refusal | None:
    """Why the machine or the host name of a call is refused, or None."""
    host = host_without_port(call.host)
    if host is None:
        return Refusal.HOST_UNREADABLE
    if call.forwarded and not call.proxy_fixed:
        return Refusal.PROXY_UNREAD
    if peer_address(call.peer) is None:
        return Refusal.PEER_UNKNOWN
    if host in allowed_hosts:
        return None
    if not all(is_loopback(address) for address in (call.raw_peer or "", call.peer, *call.addresses)):
        return Refusal.PEER_NOT_LOCAL if call.raw_peer else Refusal.PEER_UNKNOWN
    return None if is_local_name(host) else Refusal.HOST_NOT_LOCAL


def refused_page(call: Call) -> Refusal | None:
    """Why the page that a call comes from is refused, or None."""
    # `none` is the developer's own address bar; no page can cause it, and nothing but a read can come of it.
    sites = ("same-origin", "none") if call.method in SAFE_METHODS else ("same-origin",)
    if call.fetch_site is not None and call.fetch_site not in sites:
        return Refusal.FOREIGN_PAGE
    if call.origin is not None and _origin(call.origin) != _origin(f"{call.scheme}://{call.host}"):
        return Refusal.FOREIGN_ORIGIN
    return None


def _origin(text: str) -> tuple[str, str, int] | object:
    """Scheme, canonical host and port; something that equals nothing else for what is not an origin."""
    try:
        parts = urlsplit(text.lower())
        port = _DEFAULT_PORTS[parts.scheme] if parts.port is None else parts.port
        host = host_without_port(parts.netloc)
    except (ValueError, KeyError):
        return object()
    if host is None or parts.path or parts.query or parts.fragment or parts.geturl() != text.lower():
        return object()
    return parts.scheme, host, port


def call_of(environ: WSGIEnvironment, host: str) -> Call:
    """The call that an environment describes; `host` is the framework's host, with its port."""
    fixed: dict[str, Any] | None = environ.get(PROXY_FIX)
    peer = environ.get("REMOTE_ADDR") or ""
    before_fix = (fixed or {}).get("REMOTE_ADDR") if fixed is not None else peer
    found, raw = _socket_peer(environ)
    return Call(
        method=environ["REQUEST_METHOD"],
        scheme=environ["wsgi.url_scheme"],
        host=host,
        peer=peer,
        raw_peer=(raw if found else before_fix) or None,
        addresses=tuple(_addresses(environ)),
        forwarded=any(name in environ for name in (*ADDRESS_HEADERS, *OTHER_FORWARDING_HEADERS))
        # No browser speaks HTTP/1.0; proxies that add no header of their own do, nginx by default among them.
        or environ.get("SERVER_PROTOCOL") == "HTTP/1.0",
        proxy_fixed=fixed is not None,
        origin=environ.get("HTTP_ORIGIN"),
        fetch_site=environ.get("HTTP_SEC_FETCH_SITE"),
    )


def _socket_peer(environ: WSGIEnvironment) -> tuple[bool, str]:
    """The peer of the server's own socket, where the server hands it out: nothing that a client sends can change it."""
    for name in SERVER_SOCKETS:
        if name in environ:
            try:
                address = environ[name].getpeername()
            except (OSError, AttributeError):
                return True, ""
            return True, address[0] if isinstance(address, tuple) else ""
    return False, ""


def _addresses(environ: WSGIEnvironment) -> Iterable[str]:
    for name in ADDRESS_HEADERS:
        value = environ.get(name)
        if value is None:
            continue
        if name == "HTTP_FORWARDED":
            yield from _FORWARDED_FOR.findall(value) or ["unknown"]
        else:
            yield from (part.strip() for part in value.split(","))
