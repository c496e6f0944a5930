"""The page's routes that need a key: the snapshot, the stream, the cards, and every change.

A change is one call of the store as the page's seat, and its answer is the store's. `app` has checked the sender and
the key before anything here runs.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Final

import msgspec
from flask import Blueprint, Response, g, request

from flask_pi_taskbar import web
from flask_pi_taskbar.board.links import open_dependencies
from flask_pi_taskbar.board.model import Card
from flask_pi_taskbar.board.plain import as_json
from flask_pi_taskbar.board.pruning import prune_done
from flask_pi_taskbar.board.refusal import Code, Refusal
from flask_pi_taskbar.board.rows import state_of
from flask_pi_taskbar.board.serving.keys import Role
from flask_pi_taskbar.board.text import clean_card_id
from flask_pi_taskbar.page.answers import json_response
from flask_pi_taskbar.page.board import PageBoard
from flask_pi_taskbar.page.guards import key_of
from flask_pi_taskbar.page.streaming import Streams

BODY_BYTES: Final = 64 * 1024
VERBS: Final = frozenset(
    {"claim", "release", "reclaim", "assign", "move", "note", "plan", "edit", "reopen", "handoff", "offer"}
)
CONDITIONS: Final = {"ifRev": "if_rev", "base": "base", "key": "key"}

Fields = dict[str, object]


def api_blueprint(board: PageBoard) -> Blueprint:
    """The routes of one board."""
    blueprint = Blueprint("api", __name__)
    route = partial(blueprint.route, provide_automatic_options=False)  # there is no CORS to ask about
    store, hub = board.store, board.hub
    streams = Streams(board)

    def can_write() -> bool:
        role: Role = g.role
        return role is Role.LEAD

    def apply(action: str, fields: Fields, status: int = 200) -> Response:
        conditions = {name: fields.pop(field) for field, name in CONDITIONS.items() if field in fields}
        answer = store.apply(action, fields, store.seat, now=_now(), **conditions)  # type: ignore[arg-type]
        return changed(answer, status)

    def changed(answer: object, status: int = 200) -> Response:
        hub.nudge()
        return json_response(answer, status)

    @route("/api/board", methods=["GET"])
    def snapshot() -> Response:
        found = hub.snapshot(can_write=can_write())
        if request.if_none_match.contains_weak(found.etag.strip('"')):
            return Response(status=304, headers={"ETag": found.etag})
        return Response(found.body, 200, {"ETag": found.etag}, content_type="application/json")

    @route("/events", methods=["GET"])
    def events() -> Response:
        role, key = g.role, key_of(request)
        return streams.response(request, can_write=can_write(), is_good=lambda: board.keys.role_of(key) is role)

    @route("/api/cards/<card>", methods=["GET"])
    def one(card: str) -> Response:
        card_id = clean_card_id(card, "card")
        found = store.read(card_id)
        if found is None:
            raise Refusal(Code.NO_SUCH_CARD, f"There is no card #{card_id}.", action="list")
        entry, etag = found
        world = store.glance(_now())
        waits_on = open_dependencies(entry, world) if isinstance(entry, Card) else ()
        answer = {
            "ok": True,
            "card": as_json(entry),
            "etag": etag,
            "waits": [{"id": linked, "status": state_of(linked, world)} for linked in waits_on],
            "dependents": [waiting.id for waiting in world.dependents(card_id)],
        }
        return json_response(answer)

    @route("/api/cards", methods=["POST"])
    def add() -> Response:
        return apply("add", _fields(), 201)

    @route("/api/cards/<card>/<verb>", methods=["POST"])
    def act(card: str, verb: str) -> Response:
        if verb not in VERBS:
            message = f"A card has no {verb[:40]!r} here. Valid: {', '.join(sorted(VERBS))}."
            raise Refusal(Code.UNKNOWN_ACTION, message, action=verb[:40], details={"valid": sorted(VERBS)})
        return apply(verb, {**_fields(), "card": card})

    @route("/api/cards/<card>", methods=["DELETE"])
    def drop(card: str) -> Response:
        fields = _fields(may_be_empty=True)
        return apply("drop", {**fields, "card": card})

    @route("/api/undo", methods=["POST"])
    def undo() -> Response:
        return apply("undo", _fields())

    @route("/api/prune", methods=["POST"])
    def prune() -> Response:
        fields = _fields()
        _only(fields, "days", "dryRun")
        return changed(prune_done(store, store.seat, _now(), fields.get("days"), dry_run=fields.get("dryRun", False)))

    @route("/api/damaged/set-aside", methods=["POST"])
    def set_aside() -> Response:
        fields = _fields()
        _only(fields, "name")
        name = fields.get("name")
        if not isinstance(name, str):
            raise Refusal(Code.BAD_FIELD, "name must be the name of a damaged file.", action="set_aside")
        return changed(store.set_aside(name, store.seat, now=_now()))

    @route("/api/links", methods=["GET"])
    def links() -> Response:
        if not can_write():
            raise Refusal(Code.READ_ONLY, "Only the lead hands out links.")
        return json_response({"ok": True, "viewer": board.keys.viewer_address()})

    @route("/api/lead/revoke", methods=["POST"])
    def revoke() -> Response:
        return json_response({"ok": True, "key": board.keys.revoke()})

    return blueprint


def _now() -> datetime:
    return datetime.now(UTC)


def _only(fields: Fields, *known: str) -> None:
    for name in fields:
        if name not in known:
            message = f"There is no field {name[:40]!r} here. It takes {', '.join(known)}."
            raise Refusal(Code.BAD_FIELD, message, details={"field": name[:40], "valid": list(known)})


def _fields(*, may_be_empty: bool = False) -> Fields:
    """The request's body, read no further than it may be long. Raises `Refusal`."""
    try:
        body = web.body_within(request, BODY_BYTES)
    except web.BodyTooLong:
        raise Refusal(
            Code.TOO_LONG, f"A request has at most {BODY_BYTES} bytes.", details={"limit": BODY_BYTES}
        ) from None
    except OSError:
        raise Refusal(Code.BAD_FIELD, "The request's body ended early.") from None
    if may_be_empty and not body:
        return {}
    try:
        fields = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        fields = None
    if not isinstance(fields, dict):
        raise Refusal(Code.BAD_FIELD, "A change is one JSON object, such as {}.")
    return fields
