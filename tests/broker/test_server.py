"""The socket: who gets in, what a hostile or clumsy client can do (nothing), how much it can make the broker hold."""

from __future__ import annotations

import os
import random
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest

from flask_pi_taskbar.broker import wire
from flask_pi_taskbar.broker.connection import Connection, Greeting, NoBroker, Turned
from flask_pi_taskbar.broker.server import CONNECTIONS
from flask_pi_taskbar.broker.unavailable import Unavailable
from flask_pi_taskbar.contract import encode_task
from flask_pi_taskbar.project import identity
from flask_pi_taskbar.version import __version__
from tests.broker.place import Place, gone, look, ready, task
from tests.broker.raw import Raw, endpoint, raw
from tests.support.waiting import until


class TestHandshake:
    @pytest.mark.parametrize(
        "wrong", [{"token": "0" * 48}, {"token": ""}, {"identity": "0:/elsewhere"}], ids=["token", "none", "identity"]
    )
    def test_a_stranger_is_refused_and_cut_off(self, serving: Place, wrong: dict[str, str]) -> None:
        with raw(serving) as client:
            reply = client.hello(**wrong)
            assert isinstance(reply, wire.Refused)
            assert reply.code == wire.WRONG_IDENTITY
            assert client.receive() is None
        assert look(serving.clients[0])["session"]["status"] == "ready"

    def test_another_generation_is_told_which_one_this_is(self, serving: Place) -> None:
        with raw(serving) as client:
            reply = client.hello(generation=wire.GENERATION - 1, shape="unknown to us", colour=[1])
            assert reply == wire.Refused(
                code=wire.INCOMPATIBLE_GENERATION,
                generation=wire.GENERATION,
                version=__version__,
                pid=serving.broker(),
            )
            assert client.receive() is None

    def test_nothing_is_done_before_the_handshake(self, serving: Place) -> None:
        with raw(serving) as client:
            client.send_map({"type": "shutdown", "id": 1})
            assert client.receive() is None
        assert look(serving.clients[0])["session"]["status"] == "ready"

    def test_who_says_nothing_is_cut_off(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        ready(place.client())
        with raw(place) as client:
            client.sock.settimeout(8)
            assert client.receive() is None  # after HELLO_SECONDS

    def test_a_large_first_frame_is_not_even_read(self, serving: Place) -> None:
        with raw(serving) as client:
            client.sock.sendall(struct.pack("<I", wire.HELLO_BYTES + 1))
            assert client.receive() is None


class TestClientSide:
    """What the real client makes of a broker that it must not trust."""

    def greet(self, place: Place, seconds: float = 5) -> Connection:
        return Connection.open(place.root, Greeting("app"), time.monotonic() + seconds)

    @contextmanager
    def impostor(self, place: Place, reply: wire.FromBroker | bytes) -> Iterator[None]:
        """Somebody else answers on the socket."""
        serving_socket = endpoint(place).socket
        os.rename(serving_socket, f"{serving_socket}.real")
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(serving_socket)
        os.chmod(serving_socket, 0o600)
        listener.listen(1)

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(reply if isinstance(reply, bytes) else wire.frame(reply))

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        try:
            yield
        finally:
            listener.close()
            os.rename(f"{serving_socket}.real", serving_socket)
            thread.join(5)

    def test_a_broker_that_does_not_know_the_token_is_not_believed(self, serving: Place) -> None:
        lie = wire.Welcome(generation=1, identity=identity(serving.root), token="guess", version=__version__, pid=1)
        with self.impostor(serving, lie), pytest.raises(Exception, match="not the one that was announced"):
            self.greet(serving)

    @pytest.mark.parametrize("reply", [b"\x04\0\0\0junk", wire.Update(revision=1, snapshot=b"{}"), b"\xff" * 8])
    def test_one_that_speaks_otherwise_is_not_believed(self, serving: Place, reply: bytes | wire.FromBroker) -> None:
        with self.impostor(serving, reply), pytest.raises(Exception):  # noqa: B017, PT011 - which one does not matter
            self.greet(serving)

    def test_one_that_cuts_off_counts_as_none(self, serving: Place) -> None:
        with self.impostor(serving, b""), pytest.raises(NoBroker):
            self.greet(serving)

    def test_an_older_live_broker_of_another_generation_is_named_and_left_alone(
        self, serving: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(wire, "GENERATION", wire.GENERATION - 1)
        broker = serving.broker()
        with pytest.raises(Turned):
            self.greet(serving)
        other = serving.client()
        with pytest.raises(Unavailable, match=f"generation.*kill {broker}"):
            other.state()
        assert not gone(broker)

    def test_a_socket_that_others_may_use_is_refused(self, serving: Place) -> None:
        os.chmod(endpoint(serving).socket, 0o666)
        with pytest.raises(Unavailable, match="may be used by others"):
            self.greet(serving)


class TestRequests:
    def test_an_unknown_request_or_a_broken_one_is_answered_and_harms_nothing(self, serving: Place) -> None:
        with raw(serving) as client:
            client.hello()
            client.send_map({"type": "teleport", "id": 5})
            assert client.receive() == wire.Unsupported(id=5)
            client.send_map({"type": "cancel", "id": 6, "task_id": 7})
            assert client.receive() == wire.Unsupported(id=6)
            client.send_map({"type": "state", "id": 7, "some new field": [1, 2]})
            answer = client.receive()
            assert isinstance(answer, wire.Answer)
            assert (answer.id, answer.result) == (7, "ok")

    @pytest.mark.parametrize("body", [b"", b"{}", b"[", b'{"prompt":"x"}', b'{"prompt":1,"context":{}}', b"\xff"])
    def test_a_task_is_checked_again_here(self, serving: Place, body: bytes) -> None:
        with raw(serving) as client:
            client.hello()
            client.send_map({"type": "submit", "id": 1, "task": body})
            answer = client.receive()
            assert isinstance(answer, wire.Answer)
            assert answer.result == wire.INVALID
        assert look(serving.clients[0])["task"] is None

    def test_requests_in_one_write_are_answered_in_order(self, serving: Place) -> None:
        with raw(serving) as client:
            client.hello()
            requests: list[wire.FromClient] = [
                wire.State(id=1),
                wire.Submit(id=2, task=encode_task(task("hold this task"))),
                wire.State(id=3),
                wire.Cancel(id=4, task_id="another"),
                wire.Reset(id=5),
                wire.State(id=6),
            ]
            client.sock.sendall(b"".join(wire.frame(request) for request in requests))
            answers = [client.receive() for _ in requests]
        said = [(answer.id, answer.result) for answer in answers if isinstance(answer, wire.Answer)]
        assert said == [
            (1, "ok"), (2, "accepted"), (3, "ok"), (4, "not_found"), (5, "reset_while_busy"), (6, "ok"),
        ]  # fmt: skip

    def test_a_request_that_comes_byte_by_byte_is_answered(self, serving: Place) -> None:
        with raw(serving) as client:
            client.hello()
            for byte in wire.frame(wire.State(id=1)):
                client.sock.sendall(bytes([byte]))
            assert isinstance(client.receive(), wire.Answer)

    def test_who_leaves_before_the_answer_harms_nothing(self, serving: Place) -> None:
        with raw(serving) as client:
            client.hello()
            client.sock.sendall(wire.frame(wire.Submit(id=2, task=encode_task(task("quick")))))
        until(lambda: look(serving.clients[0])["task"], "the task was admitted")
        assert look(serving.clients[0])["task"]["prompt"] == "quick"


class TestAbuse:
    @pytest.mark.parametrize(
        "junk",
        [
            b"\xff" * 64,
            b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
            struct.pack("<I", wire.FRAME_BYTES + 1),
            struct.pack("<I", 0),
            struct.pack("<I", 5) + b"\xc1\xc1\xc1\xc1\xc1",
            struct.pack("<I", 2**32 - 1) + b"x" * 1000,
        ],
        ids=["noise", "http", "oversize", "empty", "no-msgpack", "huge"],
    )
    @pytest.mark.parametrize("greeted", [False, True])
    def test_junk_ends_its_own_connection_only(self, serving: Place, junk: bytes, greeted: bool) -> None:
        with raw(serving) as client:
            if greeted:
                client.hello()
            client.sock.sendall(junk)
            assert client.receive() is None
        assert look(serving.clients[0])["session"]["status"] == "ready"

    def test_random_bytes_and_mutated_frames_end_nothing_but_their_connection(self, serving: Place, slow: int) -> None:
        chance = random.Random(20_260_101)
        good = [wire.frame(message) for message in (wire.State(id=1), wire.Status(id=2), wire.Follow(after=3))]
        broker = serving.broker()
        for _ in range(150 * slow):
            with raw(serving) as client:
                client.sock.settimeout(0.02)
                if chance.random() < 0.7:
                    client.hello()
                data = bytearray(b"".join(chance.choices(good, k=chance.randint(1, 5))))
                for _ in range(chance.randint(0, 4)):
                    data[chance.randrange(len(data))] = chance.randrange(256)
                if chance.random() < 0.3:
                    data = bytearray(chance.randbytes(chance.randint(1, 2_000)))
                try:
                    client.sock.sendall(data)
                    client.receive()
                except (TimeoutError, OSError, wire.WireError):
                    continue
        assert look(serving.clients[0])["session"]["status"] == "ready"
        assert serving.broker() == broker
        assert '"bug"' not in (serving.state / "broker.log").read_text()

    def test_who_asks_without_reading_makes_the_broker_hold_little(self, serving: Place) -> None:
        client = serving.clients[0]
        client.submit(task("bounded output"))
        until(lambda: len(client.state().snapshot) > 30_000, "there is much to send")
        broker = psutil.Process(serving.broker())
        before = broker.memory_info().rss
        with raw(serving) as greedy:
            greedy.hello()
            greedy.sock.settimeout(0.5)
            try:
                for number in range(100_000):
                    greedy.sock.sendall(wire.frame(wire.State(id=number)))
            except TimeoutError:
                pass
            assert look(client)["session"]["status"] == "ready"
            assert broker.memory_info().rss - before < 8_000_000

    def test_connections_are_bounded(self, serving: Place) -> None:
        crowd = [Raw(serving) for _ in range(CONNECTIONS + 5)]
        try:
            replies = [client.hello() for client in crowd]
            refused = [reply for reply in replies if isinstance(reply, wire.Refused)]
            assert {reply.code for reply in refused} == {wire.CROWDED}
            assert look(serving.clients[0])["session"]["status"] == "ready"
        finally:
            for client in crowd:
                client.sock.close()
        until(lambda: serving.client().state().result == "ok", "there is room again")
