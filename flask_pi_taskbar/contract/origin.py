"""Whether a string is an HTTP origin as the contract's locations carry it: scheme, host, perhaps a port, nothing else.

The rules for locations call it. It never resolves a name, and it does not judge whether a host may be talked to.
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final

from flask_pi_taskbar.contract.bounds import PORT_MAX

_ORIGIN: Final = re.compile(
    r"https?://(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9.-]+))(?::(?P<port>[0-9]{1,5}))?"
)
_LABEL: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_NUMERIC: Final = re.compile(r"[0-9.]+")


@lru_cache(maxsize=64)
def is_http_origin(value: str) -> bool:
    """Credentials, paths, queries and fragments do not fit the grammar; ports and addresses must be real ones.

    A page links mostly to itself, so the same few origins come again and again.
    """
    match = _ORIGIN.fullmatch(value)
    if match is None:
        return False
    port = match["port"]
    if port is not None and not 1 <= int(port) <= PORT_MAX:
        return False
    if match["v6"] is not None:
        return _is_address(IPv6Address, match["v6"])
    name = match["name"]
    if _NUMERIC.fullmatch(name):
        return _is_address(IPv4Address, name)
    return all(_LABEL.fullmatch(label) for label in name.split("."))


def _is_address(family: type[IPv4Address] | type[IPv6Address], literal: str) -> bool:
    try:
        family(literal)
    except AddressValueError:
        return False
    return True
