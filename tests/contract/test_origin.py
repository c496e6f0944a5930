"""Which strings are HTTP origins."""

from __future__ import annotations

import pytest

from flask_pi_taskbar.contract.origin import is_http_origin
from tests.contract.samples import changed, full, is_taken

ORIGINS = [
    "http://localhost",
    "https://localhost:5000",
    "http://a",
    "http://a-b.c--d.example",
    "http://EXAMPLE.com",
    "http://127.0.0.1:80",
    "http://1a",
    "http://1.2.3.4.example",
    "http://xn--bcher-kva.example",
    "http://[::1]",
    "http://[::1]:5000",
    "http://[2001:DB8::1]",
    "http://[::ffff:1.2.3.4]",
    "http://h:1",
    "http://h:65535",
    "http://h:00080",
    "http://" + "a" * 63,
]
NO_ORIGINS = [
    "",
    "localhost",
    "//localhost",
    "ftp://localhost",
    "HTTP://localhost",
    "http:/localhost",
    "http://",
    "http://:5000",
    ":bad",
    "null",
    "http://localhost/",
    "http://localhost?x",
    "http://localhost#x",
    "http://user@localhost",
    "http://user:secret@localhost:4000",
    "http://localhost:",
    "http://localhost:0",
    "http://localhost:65536",
    "http://localhost:99999",
    "http://localhost:123456",
    "http://localhost:-1",
    "http://localhost:８０",
    "http://localhost:80\n",
    "http://my_host",
    "http://a..b",
    "http://.a",
    "http://a.",
    "http://-a",
    "http://a-",
    "http://a.-b",
    "http://" + "a" * 64,
    "http://é.example",
    "http://a b",
    "http://*",
    "http://1.2.3",
    "http://1.2.3.4.5",
    "http://1.2.3.256",
    "http://127.1",
    "http://01.2.3.4",
    "http://2130706433",
    "http://1.2.3.4.",
    "http://...",
    "http://::1",
    "http://[:::]",
    "http://[]",
    "http://[::1",
    "http://[1.2.3.4]",
    "http://[abc]",
    "http://[fe80::1%lo]",
    "http://[::1].example",
    "http://[12345::]",
]


@pytest.mark.parametrize("origin", ORIGINS)
def test_an_origin_is_a_scheme_a_host_and_perhaps_a_port(origin: str) -> None:
    assert is_http_origin(origin)
    assert is_taken(changed(full(), "location.origin", origin))


@pytest.mark.parametrize("origin", NO_ORIGINS)
def test_nothing_else_is_an_origin(origin: str) -> None:
    assert not is_http_origin(origin)


@pytest.mark.parametrize("place", ["location", "snapshot.href", "snapshot.src"])
@pytest.mark.parametrize("origin", [origin for origin in NO_ORIGINS if not origin.endswith("\n")])
def test_a_location_without_an_origin_is_refused(place: str, origin: str) -> None:
    assert not is_taken(changed(full(), f"{place}.origin", origin))
