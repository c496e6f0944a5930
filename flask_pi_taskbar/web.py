"""What our two small apps, the taskbar and the board's page, do alike with a request: their own files, and bodies.

No route, no setting and no answer of either stands here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from flask import Request, Response, send_from_directory
from werkzeug.exceptions import NotFound

ASSET_TYPES: Final = {".js": "text/javascript", ".css": "text/css"}


class BodyTooLong(Exception):  # noqa: N818 - it says what is wrong
    """There is more of it than may be read."""


def asset(folder: Path, name: str) -> Response:
    """A file of the client, to be asked for again each time and sent only if it is another. Raises `NotFound`."""
    media = ASSET_TYPES.get(Path(name).suffix)
    if media is None:
        raise NotFound
    response = send_from_directory(folder, name, mimetype=media)
    response.headers["Cache-Control"] = "no-cache"
    return response


def body_within(request: Request, limit: int) -> bytes:
    """The body of a request, read no further than it may be long.

    Raises `BodyTooLong`, and `OSError` for what servers make of a body that ends early or whose chunks are no chunks.
    """
    if (request.content_length or 0) > limit:
        raise BodyTooLong
    body = b""
    while chunk := request.stream.read(limit + 1 - len(body)):
        body += chunk
        if len(body) > limit:
            raise BodyTooLong
    return body
