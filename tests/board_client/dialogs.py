"""What the tests of the dialogs do again and again: open a card, type, look into the store, answer for the server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.board_client.faces import Faces


def dialogs(board: Faces) -> list[str]:
    found: list[str] = board.js(
        "return [...document.querySelectorAll('dialog[open]')].map((one) => one.dataset.dialog)"
    )
    return found


def card(board: Faces, number: int) -> dict[str, Any]:
    return next(one for one in made(board) if one["id"] == number)


def made(board: Faces) -> list[dict[str, Any]]:
    """The cards in the store, as their files are."""
    return [json.loads(file.read_text("utf-8")) for file in sorted(Path(board.store.layout.cards).glob("*.json"))]


def refused(board: Faces, code: str) -> None:
    """The dialog says so; what the browser's own console says about the answer is expected."""
    board.one(f"dialog .refusal[data-code={code}]")
    board.browser.get_log("browser")  # type: ignore[no-untyped-call]


def type_in(board: Faces, name: str, text: str) -> None:
    field = board.one(f"dialog [name={name}]")
    field.clear()
    field.send_keys(text)


def value(board: Faces, name: str) -> str:
    return str(board.js("return document.querySelector(arguments[0]).value", f"dialog [name={name}]"))


def answering(board: Faces, status: int, body: str, *, path: str) -> None:
    """The next writes to `path` are answered so, and counted in `window.sent`."""
    board.js(
        "const [status, body, path] = arguments; const real = window.fetch; window.sent = 0;"
        "window.unanswer = () => (window.fetch = real);"
        "window.fetch = async (url, options) => {"
        "  if (!String(url).includes(path) || options?.method === 'GET') return real(url, options);"
        "  window.sent += 1;"
        "  if (!status) throw new TypeError('nobody answers');"
        "  return new Response(body, {status}); };",
        status, body, path,
    )  # fmt: skip


def opened(board: Faces, number: int = 1) -> None:
    board.click(f'[data-card="{number}"] [data-action="open"]')
    board.one("dialog[data-dialog=card] .history li")
