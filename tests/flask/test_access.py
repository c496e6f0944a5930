"""Who may call, as one table. Whatever is not listed here as allowed is refused."""

from __future__ import annotations

from typing import Any

import pytest

from flask_pi_taskbar.access import ADDRESS_HEADERS, OTHER_FORWARDING_HEADERS, Call, Refusal, call_of, refusal

HERE, LAN = "127.0.0.1", "192.168.0.7"
ALLOWED = None


class Socket:
    """The server's socket, as far as anybody asks it."""

    def __init__(self, peer: object) -> None:
        self.peer = peer

    def getpeername(self) -> object:
        if isinstance(self.peer, OSError):
            raise self.peer
        return self.peer


def environ(host: str = "localhost:5000", peer: str = HERE, method: str = "GET", **more: Any) -> dict[str, Any]:
    return {
        "REQUEST_METHOD": method,
        "wsgi.url_scheme": "http",
        "HTTP_HOST": host,
        "REMOTE_ADDR": peer,
        **more,
    }


def proxied(peer: str, raw: str = HERE, **headers: str) -> dict[str, Any]:
    """What stands in the environment once a ProxyFix has read the headers."""
    return environ(
        "app.example", peer, HTTP_X_FORWARDED_FOR=peer, **headers, **{"werkzeug.proxy_fix.orig": {"REMOTE_ADDR": raw}}
    )


def verdict(request: dict[str, Any], *allowed_hosts: str) -> Refusal | None:
    return refusal(call_of(request, request["HTTP_HOST"]), allowed_hosts)


@pytest.mark.parametrize(
    ("peer", "host", "allowed_hosts", "expected"),
    [
        # a loopback peer and a name that always means this machine
        (HERE, "localhost", (), ALLOWED),
        (HERE, "localhost:5000", (), ALLOWED),
        (HERE, "LOCALHOST.:5000", (), ALLOWED),
        (HERE, "shop.localhost:5000", (), ALLOWED),
        (HERE, "127.0.0.1:5000", (), ALLOWED),
        (HERE, "[::1]:5000", (), ALLOWED),
        (HERE, "[0:0:0:0:0:0:0:1]:5000", (), ALLOWED),
        ("127.8.8.8", "localhost", (), ALLOWED),
        ("::1", "localhost", (), ALLOWED),
        ("::ffff:127.0.0.1", "localhost", (), ALLOWED),
        # a loopback peer and any other name: DNS rebinding
        (HERE, "evil.test:5000", (), Refusal.HOST_NOT_LOCAL),
        (HERE, "127.0.0.2:5000", (), Refusal.HOST_NOT_LOCAL),
        (HERE, "0.0.0.0:5000", (), Refusal.HOST_NOT_LOCAL),
        (HERE, "localhost.evil.test", (), Refusal.HOST_NOT_LOCAL),
        (HERE, "notlocalhost", (), Refusal.HOST_NOT_LOCAL),
        (HERE, "[::ffff:127.0.0.1]", (), Refusal.HOST_NOT_LOCAL),
        (HERE, "evil.test", ("other.test",), Refusal.HOST_NOT_LOCAL),
        (HERE, "sub.box.example", ("box.example",), Refusal.HOST_NOT_LOCAL),
        (HERE, "BOX.example.:80", ("box.example",), ALLOWED),
        (HERE, "[2001:DB8::1]:80", ("2001:db8::1",), ALLOWED),
        # a host that is none
        (HERE, "", (), Refusal.HOST_UNREADABLE),
        (HERE, "..localhost", (), Refusal.HOST_UNREADABLE),
        (HERE, "-.localhost", (), Refusal.HOST_UNREADABLE),
        (HERE, "127.1", (), Refusal.HOST_UNREADABLE),
        (HERE, "localhost@evil.test", (), Refusal.HOST_UNREADABLE),
        (HERE, "localhost:80:80", (), Refusal.HOST_UNREADABLE),
        (HERE, "::1", (), Refusal.HOST_UNREADABLE),
        # another peer needs a listed name, and local names are not listed by themselves
        (LAN, "localhost", (), Refusal.PEER_NOT_LOCAL),
        (LAN, "box.example", (), Refusal.PEER_NOT_LOCAL),
        (LAN, "localhost", ("box.example",), Refusal.PEER_NOT_LOCAL),
        (LAN, "box.example", ("box.example",), ALLOWED),
        (LAN, "localhost:5000", ("localhost",), ALLOWED),
        (LAN, "192.168.0.2:5000", ("192.168.0.2",), ALLOWED),
        ("172.17.0.1", "localhost:5000", (), Refusal.PEER_NOT_LOCAL),
        ("::ffff:192.168.0.7", "localhost", (), Refusal.PEER_NOT_LOCAL),
        # a peer that is no address is nobody, whatever is listed
        ("", "localhost", (), Refusal.PEER_UNKNOWN),
        ("", "box.example", ("box.example",), Refusal.PEER_UNKNOWN),
        ("unix:", "localhost", ("localhost",), Refusal.PEER_UNKNOWN),
        ("fe80::1%lo", "localhost", ("localhost",), Refusal.PEER_UNKNOWN),
        ("127.0.0.1, 8.8.8.8", "localhost", (), Refusal.PEER_UNKNOWN),
    ],
)
def test_the_sender_is_known_by_its_address_and_the_host_it_asks_for(
    peer: str, host: str, allowed_hosts: tuple[str, ...], expected: Refusal | None
) -> None:
    assert verdict(environ(host, peer), *allowed_hosts) is expected


@pytest.mark.parametrize("socket_name", ["werkzeug.socket", "gunicorn.socket"])
@pytest.mark.parametrize(
    ("at_socket", "in_environ", "expected"),
    [
        ((HERE, 1234), HERE, ALLOWED),
        (("::1", 1234, 0, 0), HERE, ALLOWED),
        ((LAN, 1234), HERE, Refusal.PEER_NOT_LOCAL),
        ((HERE, 1234), LAN, Refusal.PEER_NOT_LOCAL),
        ("", HERE, Refusal.PEER_UNKNOWN),
        (OSError(107, "not connected"), HERE, Refusal.PEER_UNKNOWN),
    ],
)
def test_the_servers_own_socket_has_the_last_word(
    socket_name: str, at_socket: object, in_environ: str, expected: Refusal | None
) -> None:
    assert verdict(environ(peer=in_environ, **{socket_name: Socket(at_socket)})) is expected


@pytest.mark.parametrize("header", [*ADDRESS_HEADERS, *OTHER_FORWARDING_HEADERS])
def test_a_forwarding_header_that_nothing_has_read_is_refused_even_for_a_listed_host(header: str) -> None:
    for value in (HERE, "8.8.8.8", "localhost", ""):
        assert verdict(environ(**{header: value})) is Refusal.PROXY_UNREAD
        assert verdict(environ("box.example", **{header: value}), "box.example") is Refusal.PROXY_UNREAD


def test_a_call_in_http_1_0_comes_from_a_proxy() -> None:
    assert verdict(environ(SERVER_PROTOCOL="HTTP/1.0")) is Refusal.PROXY_UNREAD
    assert verdict(environ(SERVER_PROTOCOL="HTTP/1.1")) is ALLOWED
    behind = proxied("203.0.113.9")
    behind["SERVER_PROTOCOL"] = "HTTP/1.0"
    assert verdict(behind, "app.example") is ALLOWED


def test_behind_a_configured_proxy_the_framework_s_peer_counts() -> None:
    assert verdict(proxied("203.0.113.9")) is Refusal.PEER_NOT_LOCAL
    assert verdict(proxied("203.0.113.9"), "app.example") is ALLOWED
    local = proxied(HERE)
    local["HTTP_HOST"] = "localhost"
    assert verdict(local) is ALLOWED


def test_a_lan_peer_cannot_talk_itself_into_loopback() -> None:
    lying = proxied(HERE, raw=LAN)
    lying["HTTP_HOST"] = "localhost"
    assert verdict(lying) is Refusal.PEER_NOT_LOCAL
    twice_fixed = {**lying, "werkzeug.proxy_fix.orig": {"REMOTE_ADDR": HERE}, "werkzeug.socket": Socket((LAN, 1))}
    assert verdict(twice_fixed) is Refusal.PEER_NOT_LOCAL


@pytest.mark.parametrize(
    ("header", "value", "expected"),
    [
        ("HTTP_X_FORWARDED_FOR", "8.8.8.8", Refusal.PEER_NOT_LOCAL),
        ("HTTP_X_FORWARDED_FOR", "8.8.8.8, 127.0.0.1", Refusal.PEER_NOT_LOCAL),
        ("HTTP_X_FORWARDED_FOR", "127.0.0.1, ::1", ALLOWED),
        ("HTTP_X_FORWARDED_FOR", "unknown", Refusal.PEER_NOT_LOCAL),
        ("HTTP_FORWARDED", "for=8.8.8.8;proto=https", Refusal.PEER_NOT_LOCAL),
        ("HTTP_FORWARDED", 'for="[2001:db8::1]:80", for=127.0.0.1', Refusal.PEER_NOT_LOCAL),
        ("HTTP_FORWARDED", "proto=http; For=127.0.0.1", ALLOWED),
        ("HTTP_FORWARDED", 'for="[::1]:4711"', ALLOWED),
        ("HTTP_FORWARDED", "for=_hidden", Refusal.PEER_NOT_LOCAL),
        ("HTTP_FORWARDED", "proto=https", Refusal.PEER_NOT_LOCAL),
        ("HTTP_X_REAL_IP", "8.8.8.8", Refusal.PEER_NOT_LOCAL),
        ("HTTP_CF_CONNECTING_IP", "8.8.8.8", Refusal.PEER_NOT_LOCAL),
        ("HTTP_X_FORWARDED_PROTO", "https", ALLOWED),
    ],
)
def test_an_address_that_proxyfix_was_not_told_to_read_counts_too(
    header: str, value: str, expected: Refusal | None
) -> None:
    fixed = {"werkzeug.proxy_fix.orig": {"REMOTE_ADDR": HERE}, header: value}
    assert verdict(environ(**fixed)) is expected


def test_a_unix_socket_behind_a_configured_proxy_serves_listed_hosts_only() -> None:
    for peer in (HERE, LAN):
        request = proxied(peer, raw="")
        assert verdict(request) is Refusal.PEER_UNKNOWN
        assert verdict(request, "app.example") is ALLOWED


@pytest.mark.parametrize(
    ("scheme", "host", "origin", "expected"),
    [
        ("http", "localhost:5000", None, ALLOWED),
        ("http", "localhost:5000", "http://localhost:5000", ALLOWED),
        ("http", "LOCALHOST:5000", "http://localhost:5000", ALLOWED),
        ("http", "localhost", "http://localhost", ALLOWED),
        ("http", "localhost:80", "http://localhost", ALLOWED),
        ("https", "localhost", "https://localhost:443", ALLOWED),
        ("http", "[::1]:5000", "http://[::1]:5000", ALLOWED),
        ("http", "localhost:5000", "null", Refusal.FOREIGN_ORIGIN),
        ("http", "localhost:5000", "", Refusal.FOREIGN_ORIGIN),
        ("http", "localhost:5000", "http://localhost:5001", Refusal.FOREIGN_ORIGIN),
        ("http", "localhost:5000", "http://localhost", Refusal.FOREIGN_ORIGIN),
        ("http", "localhost:5000", "https://localhost:5000", Refusal.FOREIGN_ORIGIN),
        ("http", "localhost:5000", "http://127.0.0.1:5000", Refusal.FOREIGN_ORIGIN),
        ("http", "localhost:5000", "http://evil.test", Refusal.FOREIGN_ORIGIN),
        ("http", "localhost:5000", "http://localhost:5000.evil.test", Refusal.FOREIGN_ORIGIN),
        ("http", "localhost:5000", "http://localhost:5000/", Refusal.FOREIGN_ORIGIN),
        ("http", "localhost:5000", "http://a@localhost:5000", Refusal.FOREIGN_ORIGIN),
        ("http", "localhost:5000", "http://localhost:5000, http://localhost:5000", Refusal.FOREIGN_ORIGIN),
        ("http", "localhost:5000", "http://localhost:99999", Refusal.FOREIGN_ORIGIN),
        ("http", "localhost:5000", "http://[:::]", Refusal.FOREIGN_ORIGIN),
        ("http", "localhost:5000", "chrome-extension://abc", Refusal.FOREIGN_ORIGIN),
        ("http", "localhost:5000", "file://", Refusal.FOREIGN_ORIGIN),
    ],
)
def test_an_origin_is_ours_or_absent(scheme: str, host: str, origin: str | None, expected: Refusal | None) -> None:
    for method in ("GET", "POST", "DELETE"):
        request = environ(host, method=method, **{"wsgi.url_scheme": scheme})
        if origin is not None:
            request["HTTP_ORIGIN"] = origin
        assert verdict(request) is expected


@pytest.mark.parametrize(
    ("site", "reading", "changing"),
    [
        (None, ALLOWED, ALLOWED),
        ("same-origin", ALLOWED, ALLOWED),
        ("none", ALLOWED, Refusal.FOREIGN_PAGE),
        ("same-site", Refusal.FOREIGN_PAGE, Refusal.FOREIGN_PAGE),
        ("cross-site", Refusal.FOREIGN_PAGE, Refusal.FOREIGN_PAGE),
        ("", Refusal.FOREIGN_PAGE, Refusal.FOREIGN_PAGE),
        ("Same-Origin", Refusal.FOREIGN_PAGE, Refusal.FOREIGN_PAGE),
    ],
)
def test_a_browser_that_says_where_a_request_began_is_believed(
    site: str | None, reading: Refusal | None, changing: Refusal | None
) -> None:
    headers = {} if site is None else {"HTTP_SEC_FETCH_SITE": site}
    assert verdict(environ(**headers)) is reading
    assert verdict(environ(method="HEAD", **headers)) is reading
    for method in ("POST", "DELETE", "PUT", "PATCH", "ANYTHING"):
        assert verdict(environ(method=method, **headers)) is changing


def test_a_listed_host_does_not_open_the_door_to_other_pages() -> None:
    request = environ("box.example", LAN, "POST", HTTP_ORIGIN="http://evil.test")
    assert verdict(request, "box.example") is Refusal.FOREIGN_ORIGIN


def test_the_peer_message_names_both_checks_and_the_setting() -> None:
    text = Refusal.PEER_NOT_LOCAL.value
    assert "client" in text
    assert "host" in text
    assert "PI_BROWSER_TASKBAR_ALLOWED_HOSTS" in text


def test_a_call_shows_its_parts() -> None:
    call = call_of(proxied("203.0.113.9", HTTP_ORIGIN="https://app.example"), "app.example")
    assert call == Call(
        method="GET",
        scheme="http",
        host="app.example",
        peer="203.0.113.9",
        raw_peer=HERE,
        addresses=("203.0.113.9",),
        forwarded=True,
        proxy_fixed=True,
        origin="https://app.example",
    )
