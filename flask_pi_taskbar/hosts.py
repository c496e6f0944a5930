"""Names and addresses of machines, in the one spelling in which they are compared.

The settings canonicalize the allow-list with it, the access checks the host and the peer of each request. Everything
here is a pure function of text; no name is ever looked up.
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_NAME_BYTES = 253

LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


@lru_cache(maxsize=256)
def canonical_host(text: str) -> str | None:
    """A bare host in lower case, without final dots, an address in its shortest form; None if it is no host at all.

    Ports, brackets and scope ids are not part of a bare host.
    """
    host = text.lower().rstrip(".")
    if address := _address(host):
        return str(address)
    if len(host) > _NAME_BYTES or not _NAME.fullmatch(host):
        return None
    if host.rpartition(".")[2].isdigit():  # browsers read `127.1` as an address; as a name it does not exist
        return None
    return host


def host_without_port(authority: str) -> str | None:
    """The canonical host of `host`, `host:port` or `[address]:port`; None where that cannot be read."""
    if authority.startswith("["):
        inner, bracket, rest = authority[1:].partition("]")
        if not bracket or ":" not in inner or not re.fullmatch(r"(?::[0-9]{0,5})?", rest):
            return None
        return canonical_host(inner)
    host, colon, port = authority.partition(":")
    if colon and not re.fullmatch(r"[0-9]{0,5}", port):
        return None
    return canonical_host(host)


def is_local_name(host: str) -> bool:
    """Whether a canonical host always means this machine: `localhost`, below it, or the two loopback addresses."""
    return host in LOCAL_NAMES or host.endswith(".localhost")


@lru_cache(maxsize=256)
def peer_address(text: str) -> IPv4Address | IPv6Address | None:
    """The address of a peer, an IPv4 address mapped into IPv6 taken as what it is; None for anything else."""
    address = _address(text)
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        return address.ipv4_mapped
    return address


def is_loopback(text: str) -> bool:
    """Whether `text` is an address of this machine's loopback."""
    address = peer_address(text)
    return address is not None and address.is_loopback


def _address(text: str) -> IPv4Address | IPv6Address | None:
    if "%" in text:  # a scope id, which the standard parser would accept
        return None
    try:
        return ip_address(text)
    except ValueError:
        return None
