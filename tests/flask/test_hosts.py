"""One spelling for every host and peer."""

from __future__ import annotations

import pytest

from flask_pi_taskbar.hosts import canonical_host, host_without_port, is_local_name, is_loopback


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("localhost", "localhost"),
        ("LocalHost", "localhost"),
        ("localhost.", "localhost"),
        ("localhost...", "localhost"),
        ("my-app.localhost", "my-app.localhost"),
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.1.", "127.0.0.1"),
        ("::1", "::1"),
        ("0:0:0:0:0:0:0:1", "::1"),
        ("2001:0DB8:0:0:0:0:0:1", "2001:db8::1"),
        ("a" * 63 + ".example", "a" * 63 + ".example"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("", None),
        (".", None),
        (".localhost", None),
        ("a..b", None),
        ("-a.example", None),
        ("a-.example", None),
        ("a" * 64 + ".example", None),
        (".".join(["a" * 60] * 5), None),
        ("my_host", None),
        ("*", None),
        ("*.example", None),
        ("bücher.example", None),
        ("127.1", None),
        ("2130706433", None),
        ("1.2.3.4.5", None),
        ("256.0.0.1", None),
        ("fe80::1%lo", None),
        ("[::1]", None),
        ("localhost\n", None),
        (" localhost", None),
        ("localhost:80", None),
        ("10.0.0.0/8", None),
        ("http://localhost", None),
    ],
)
def test_a_host_has_one_spelling(text: str, canonical: str | None) -> None:
    assert canonical_host(text) == canonical


@pytest.mark.parametrize(
    ("authority", "host"),
    [
        ("localhost:5000", "localhost"),
        ("localhost", "localhost"),
        ("localhost:", "localhost"),
        ("EVIL.test:5000", "evil.test"),
        ("[::1]:5000", "::1"),
        ("[::1]", "::1"),
        ("[0:0::1]:1", "::1"),
        ("", None),
        (":5000", None),
        ("::1", None),
        ("[::1", None),
        ("[::1]x", None),
        ("[localhost]", None),
        ("localhost:80:80", None),
        ("localhost:http", None),
        ("user@localhost", None),
        ("localhost/x", None),
        ("localhost:5000\n", None),
    ],
)
def test_the_port_is_not_part_of_a_host(authority: str, host: str | None) -> None:
    assert host_without_port(authority) == host


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("localhost", True),
        ("a.localhost", True),
        ("a.b.localhost", True),
        ("127.0.0.1", True),
        ("::1", True),
        ("127.0.0.2", False),
        ("localhost.example", False),
        ("notlocalhost", False),
        ("0.0.0.0", False),
        ("::", False),
    ],
)
def test_only_names_that_always_mean_this_machine_are_local(host: str, local: bool) -> None:
    assert is_local_name(host) is local


@pytest.mark.parametrize(
    ("peer", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("::ffff:7f00:1", True),
        ("192.168.0.7", False),
        ("::ffff:192.168.0.7", False),
        ("10.0.0.1", False),
        ("0.0.0.0", False),
        ("", False),
        ("localhost", False),
        ("127.0.0.1, 8.8.8.8", False),
        ("fe80::1%lo", False),
        ("unknown", False),
    ],
)
def test_a_peer_is_loopback_only_by_its_address(peer: str, loopback: bool) -> None:
    assert is_loopback(peer) is loopback
