"""Events: what goes over a stream, how long it is held, and that it is let go of."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from flask_pi_taskbar import stream
from flask_pi_taskbar.app import create_app
from flask_pi_taskbar.broker.client import Frame
from flask_pi_taskbar.contract.snapshot import unavailable_snapshot
from flask_pi_taskbar.settings import Settings
from flask_pi_taskbar.stream import BEAT, Carrier, Slots, carrier_of, events, frame_bytes, has_gone
from tests.flask.fake_client import HEARTBEAT, READY, FakeClient, gone

LONG, BOUNDED, NONE = Carrier(limit=None, seconds=None), Carrier(limit=1, seconds=2.0), Carrier(limit=0, seconds=0)


class Clock:
    """The clock of the stream under test: a tick of the feed moves it."""

    def __init__(self, step: float) -> None:
        self.now = 0.0
        self.step = step

    def monotonic(self) -> float:
        self.now += self.step
        return self.now


def run(
    broker: FakeClient,
    *frames: Any,
    carrier: Carrier = LONG,
    after: int | None = None,
    slots: Slots | None = None,
    is_gone: Callable[[], bool] = lambda: False,
    report: Callable[[Exception], None] = lambda _: None,
) -> Iterator[bytes]:
    for frame in frames:
        broker.frames.put(frame)
    return events(broker, after, carrier, slots or Slots(), is_gone, report)


@pytest.mark.parametrize(
    ("environ", "max_streams", "carrier"),
    [
        ({"wsgi.multithread": False, "SERVER_SOFTWARE": "Werkzeug/3.1"}, None, NONE),
        ({"wsgi.multithread": False, "SERVER_SOFTWARE": "gunicorn/23"}, 5, NONE),
        ({}, None, NONE),
        ({"wsgi.multithread": True, "SERVER_SOFTWARE": "Werkzeug/3.1"}, None, LONG),
        ({"wsgi.multithread": True, "SERVER_SOFTWARE": "Werkzeug/3.1"}, 3, Carrier(limit=3, seconds=None)),
        ({"wsgi.multithread": True, "SERVER_SOFTWARE": "gunicorn/23"}, None, BOUNDED),
        ({"wsgi.multithread": True, "SERVER_SOFTWARE": "gunicorn/23"}, 4, Carrier(limit=4, seconds=2.0)),
        ({"wsgi.multithread": True, "SERVER_SOFTWARE": "waitress"}, None, BOUNDED),
        ({"wsgi.multithread": True}, None, BOUNDED),
    ],
)
def test_what_a_server_can_hold(environ: dict[str, Any], max_streams: int | None, carrier: Carrier) -> None:
    assert carrier_of(environ, max_streams) == carrier


def test_a_frame_is_an_event_with_its_revision_as_id() -> None:
    assert frame_bytes(7, b'{"a":1}') == b'id: 7\nevent: snapshot\ndata: {"a":1}\n\n'


def test_a_long_stream_gives_every_frame_and_ends_when_the_browser_has_gone(broker: FakeClient) -> None:
    slots, left = Slots(), iter([False, True])
    chunks = run(
        broker, Frame(3, b"{}"), HEARTBEAT, Frame(9, READY), HEARTBEAT, slots=slots, is_gone=lambda: next(left)
    )
    assert next(chunks) == b"retry: 1000\n\n"
    assert next(chunks) == frame_bytes(3, b"{}")
    assert (slots.taken, broker.following) == (1, 1)
    assert list(chunks) == [frame_bytes(9, READY)]
    assert (slots.taken, broker.following) == (0, 0)


def test_a_silent_stream_beats_at_least_every_fifteen_seconds(
    broker: FakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(step=1.0)
    monkeypatch.setattr(stream, "time", clock)
    chunks = run(broker, *[HEARTBEAT] * 50, StopIteration)
    assert next(chunks) == b"retry: 1000\n\n"
    beats = [clock.now for chunk in chunks if chunk == BEAT]
    assert len(beats) == 5
    assert all(later - earlier <= 15 for earlier, later in zip([0.0, *beats], beats, strict=False))


def test_a_bounded_stream_ends_within_two_seconds_whether_frames_come_or_not(
    broker: FakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for frames in ([HEARTBEAT] * 99, [Frame(n, b"{}") for n in range(99)]):
        clock = Clock(step=0.25)
        monkeypatch.setattr(stream, "time", clock)
        chunks = list(run(broker, *frames, carrier=BOUNDED))
        assert chunks[0] == b"retry: 100\n\n"
        assert clock.now <= 2.0 + 0.25
        assert not broker.frames.empty()
        while not broker.frames.empty():
            broker.frames.get()


def test_the_feed_is_asked_for_what_came_after_the_last_id(broker: FakeClient) -> None:
    list(run(broker, StopIteration, after=41))
    assert broker.calls == [("follow", 41)]


def test_a_server_without_threads_gives_one_frame_and_ends(broker: FakeClient) -> None:
    broker.revision = 5
    assert list(run(broker, carrier=NONE)) == [b"retry: 2000\n\n", frame_bytes(5, READY)]
    assert list(run(broker, carrier=NONE, after=4)) == [b"retry: 2000\n\n", frame_bytes(5, READY)]
    assert list(run(broker, carrier=NONE, after=5)) == [b"retry: 2000\n\n"]
    assert broker.following == 0


def test_a_stream_beyond_the_limit_gives_one_frame_and_a_closed_one_makes_room(broker: FakeClient) -> None:
    slots = Slots()
    first = run(broker, Frame(1, b"{}"), carrier=BOUNDED, slots=slots)
    assert next(first) == b"retry: 100\n\n"
    assert next(first) == frame_bytes(1, b"{}")
    assert list(run(broker, carrier=BOUNDED, slots=slots)) == [b"retry: 2000\n\n", frame_bytes(1, READY)]
    first.close()  # type: ignore[attr-defined]
    assert (slots.taken, broker.following) == (0, 0)
    assert next(run(broker, carrier=BOUNDED, slots=slots)) == b"retry: 100\n\n"


def test_a_stream_that_is_never_read_takes_no_place(broker: FakeClient) -> None:
    slots = Slots()
    run(broker, slots=slots).close()  # type: ignore[attr-defined]
    assert slots.taken == 0


@pytest.mark.parametrize("carrier", [LONG, BOUNDED, NONE])
def test_without_a_broker_a_stream_says_so_without_an_id_and_ends(broker: FakeClient, carrier: Carrier) -> None:
    for broker.result in (gone(), RuntimeError("of a page")):
        reported: list[Exception] = []
        chunks = list(run(broker, carrier=carrier, report=reported.append))
        assert chunks[1:] == [b"retry: 2000\n\nevent: snapshot\ndata: " + unavailable_snapshot() + b"\n\n"]
        assert reported == [broker.result]


def test_a_broker_that_dies_in_the_middle_is_said_too(broker: FakeClient) -> None:
    slots = Slots()
    chunks = list(run(broker, Frame(1, b"{}"), gone(), slots=slots))
    assert chunks[1] == frame_bytes(1, b"{}")
    assert chunks[2].endswith(b"data: " + unavailable_snapshot() + b"\n\n")
    assert slots.taken == 0


def test_slots_hold_under_threads() -> None:
    slots, taken = Slots(), []
    threads = [threading.Thread(target=lambda: taken.append(slots.take(3))) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(taken) == 3 == slots.taken


# ---- the connection ----


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    server, browser = socket.socketpair()
    with server, browser:
        yield server, browser


@pytest.mark.parametrize("name", ["werkzeug.socket", "gunicorn.socket"])
def test_a_closed_connection_is_seen_at_the_servers_socket(
    pair: tuple[socket.socket, socket.socket], name: str
) -> None:
    server, browser = pair
    left = has_gone({name: server})
    assert left() is False
    browser.close()
    assert left() is True
    server.close()
    assert left() is True


def test_bytes_that_wait_are_no_end_and_are_not_eaten(pair: tuple[socket.socket, socket.socket]) -> None:
    server, browser = pair
    browser.sendall(b"GET ")
    assert has_gone({"gunicorn.socket": server})() is False
    assert server.recv(4) == b"GET "


def test_within_tls_the_first_message_is_the_end(pair: tuple[socket.socket, socket.socket]) -> None:
    server, browser = pair
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with context.wrap_socket(server, server_side=True, do_handshake_on_connect=False) as wrapped:
        left = has_gone({"werkzeug.socket": wrapped})
        assert left() is False
        browser.sendall(b"\x15")
        assert left() is True


def test_without_a_socket_nobody_knows() -> None:
    assert has_gone({})() is False
    assert has_gone({"gunicorn.socket": object()})() is False


# ---- the route ----


@pytest.mark.parametrize(
    ("query", "headers", "after"),
    [
        ("", {}, None),
        ("?after=12", {}, 12),
        ("", {"Last-Event-ID": "13"}, 13),
        ("?after=12", {"Last-Event-ID": "13"}, 13),
        ("?after=", {}, None),
        ("?after=-1", {}, None),
        ("?after=x", {}, None),
        ("?after=١", {}, None),
        ("?after=" + "9" * 20, {}, None),
        ("", {"Last-Event-ID": "nonsense"}, None),
    ],
)
def test_the_route_takes_the_last_id_from_the_header_or_the_address(
    project: Path, broker: FakeClient, query: str, headers: dict[str, str], after: int | None
) -> None:
    broker.frames.put(StopIteration)
    web = create_app(Settings(project_root=project), broker).test_client()
    response = web.get(f"/events{query}", headers=headers, multithread=True)
    assert response.data == b"retry: 100\n\n"
    assert broker.calls == [("follow", after)]


def test_the_route_is_an_event_stream_that_nobody_stores_or_holds_back(project: Path, broker: FakeClient) -> None:
    web = create_app(Settings(project_root=project), broker).test_client()
    response = web.get("/events")
    assert response.headers["Content-Type"] == "text/event-stream; charset=utf-8"
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["X-Accel-Buffering"] == "no"
    assert "Content-Length" not in response.headers
    assert web.head("/events", multithread=True).data == b""
    assert ("follow", None) not in broker.calls
