"""Which requests ask for a page that a browser shows as such, and which answers are one.

The injection wrapper asks before and after the app has worked. Pure functions of headers; where they are not sure, the
answer is no, because a part of a page must never be changed.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

# A script of the page asked for a part of it; what it gets is not a document.
PARTIAL_HEADERS: Final = (
    "HTTP_HX_REQUEST",
    "HTTP_X_REQUESTED_WITH",
    "HTTP_TURBO_FRAME",
    "HTTP_X_TURBO_REQUEST_ID",
    "HTTP_X_PJAX",
    "HTTP_X_UP_VERSION",
    "HTTP_X_INERTIA",
)
# With one of these the body is not a plain page, or is sealed by a digest.
UNTOUCHABLE_HEADERS: Final = frozenset(
    ("content-encoding", "content-range", "content-md5", "digest", "repr-digest", "content-digest")
)
BODILESS: Final = frozenset(("204", "205", "206"))


class Navigation(Enum):
    """How sure we are that a browser will show the answer as a page of its own."""

    NO = 0
    LIKELY = 1
    SURE = 2


def navigation(environ: WSGIEnvironment) -> Navigation:
    """Whether a browser will show the answer to this request as a page."""
    if environ["REQUEST_METHOD"] not in ("GET", "POST") or "HTTP_RANGE" in environ:
        return Navigation.NO
    if any(name in environ for name in PARTIAL_HEADERS):
        return Navigation.NO
    destination = environ.get("HTTP_SEC_FETCH_DEST")
    if destination is not None:
        return Navigation.SURE if destination == "document" else Navigation.NO
    # Over plain HTTP from another machine browsers do not say; but only for pages they ask for an upgrade to HTTPS.
    if not prefers_html(environ.get("HTTP_ACCEPT", "")):
        return Navigation.NO
    return Navigation.SURE if environ.get("HTTP_UPGRADE_INSECURE_REQUESTS") == "1" else Navigation.LIKELY


@lru_cache(maxsize=64)
def prefers_html(accept: str) -> bool:
    """Whether an `Accept` header names HTML, and nothing that it likes better."""
    liking: dict[str, float] = {}
    for item in accept.split(","):
        media, *parameters = (part.strip().lower() for part in item.split(";"))
        quality = next((text[2:] for text in parameters if text.startswith("q=")), "1")
        try:
            liking[media] = float(quality)
        except ValueError:
            liking[media] = 0.0
    return 0 < liking.get("text/html", 0) >= max(liking.values())


def is_page(status: str, headers: Collection[tuple[str, str]]) -> bool:
    """Whether this head begins an HTML document in a charset in which our tag is what it is."""
    code = status[:3]
    if code[:1] in ("1", "3") or code in BODILESS:
        return False
    content_type = ""
    for name, value in headers:
        lower = name.lower()
        if lower == "content-type":
            content_type = content_type or value
        elif lower in UNTOUCHABLE_HEADERS:
            if lower != "content-encoding" or value.strip().lower() != "identity":
                return False
        elif lower == "content-disposition" and value.strip().lower().startswith("attachment"):
            return False
    return is_ascii_html(content_type)


@lru_cache(maxsize=64)
def is_ascii_html(content_type: str) -> bool:
    """Whether the type is HTML, in a charset whose ASCII bytes are ASCII characters wherever they stand."""
    media, *parameters = (part.strip() for part in content_type.split(";"))
    if media.lower() != "text/html":
        return False
    charset = next((text[8:].strip("\"' ") for text in parameters if text.lower().startswith("charset=")), "")
    if not charset:
        return True
    if charset.lower().replace("_", "-").startswith(("iso-2022-", "iso2022", "utf-7", "utf7", "hz")):
        return False
    probe = "<script data-x='y' \"></script>"
    try:
        return probe.encode(charset) == probe.encode("ascii")
    except (LookupError, ValueError):
        return False
