"""The feed of snapshots: newest state only, for readers of any speed, until somebody leaves."""

from __future__ import annotations

import asyncio
import socket
import threading

import pytest

from flask_pi_taskbar.broker import server as server_module
from flask_pi_taskbar.broker import wire
from flask_pi_taskbar.broker.log import Log
from flask_pi_taskbar.broker.reception import Reception
from flask_pi_taskbar.broker.shell import Shell
from flask_pi_taskbar.broker.unavailable import Unavailable
from tests.broker.place import Place, look, ready, task
from tests.broker.raw import raw
from tests.support.waiting import until


class TestFollow:
    def test_states_come_as_they_change_and_never_twice(self, serving: Place) -> None:
        client = serving.clients[0]
        with client.follow(None, heartbeat=10) as frames:
            first = next(frames)
            assert first
            client.submit(task("quick"))
            seen = [first.revision]
            for frame in frames:
                assert frame
                seen.append(frame.revision)
                if b'"completed"' in frame.snapshot:
                    break
        assert seen == sorted(set(seen))
        assert client.state().revision == seen[-1]

    def test_who_knows_the_state_waits_for_the_next(self, serving: Place) -> None:
        client = serving.clients[0]
        known = client.state().revision
        with client.follow(known, heartbeat=0.2) as frames:
            assert next(frames) is None
            client.submit(task("hold this task"))
            frame = next(frames)
            assert frame
            assert frame.revision > known

    def test_a_number_of_an_earlier_broker_is_not_taken_for_one_of_this(self, serving: Place) -> None:
        client = serving.clients[0]
        known = client.state().revision
        serving.kill_broker()
        ready(client)
        assert client.state().revision > known
        with client.follow(known, heartbeat=10) as frames:
            assert next(frames)

    def test_a_stream_of_deltas_arrives_in_few_frames_and_ends_with_the_last(self, serving: Place) -> None:
        client = serving.clients[0]
        with client.follow(client.state().revision, heartbeat=10) as frames:
            client.submit(task("many deltas"))
            count = 0
            for frame in frames:
                assert frame
                count += 1
                if b'"completed"' in frame.snapshot:
                    break
        assert b"1999 " in frame.snapshot
        assert count < 200

    def test_a_slow_reader_gets_the_newest_state_and_slows_nobody(self, serving: Place) -> None:
        client = serving.clients[0]
        with client.follow(None, heartbeat=10) as slow_frames:
            next(slow_frames)
            for _ in range(12):
                client.submit(task("bounded output"))
                until(lambda: look(client)["session"]["status"] == "ready", "the task is over", every=0.01)
            newest = client.state()
            received = []
            for frame in slow_frames:
                assert frame
                received.append(frame.revision)
                if frame.revision == newest.revision:
                    break
        # What fits into the socket's buffer was sent at once; the rest is one state, not hundreds.
        assert len(received) < 40
        assert received == sorted(received)

    def test_the_end_of_the_broker_ends_the_feed(self, serving: Place) -> None:
        with serving.clients[0].follow(None, heartbeat=10) as frames:
            next(frames)
            serving.kill_broker()
            with pytest.raises(Unavailable, match="has ended"):
                next(frames)

    def test_closing_from_another_thread_ends_the_wait(self, serving: Place) -> None:
        with serving.clients[0].follow(serving.clients[0].state().revision, heartbeat=30) as frames:
            timer = threading.Timer(0.2, frames.close)
            timer.start()
            assert list(frames) == []
            timer.join()

    def test_a_closed_feed_leaves_nothing_at_the_broker(self, serving: Place) -> None:
        client = serving.clients[0]
        for _ in range(5):
            with client.follow(None, heartbeat=10) as frames:
                next(frames)

        def others() -> int:
            with raw(serving) as asker:
                asker.hello()
                asker.send_map({"type": "status", "id": 1})
                report = asker.receive()
                assert isinstance(report, wire.Report)
                return report.followers + report.connections

        until(lambda: others() == 1, "only the client's own connection is left")

    def test_a_follower_counts_as_somebody_who_looks(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        """An unavailable Pi is tried again although nobody polls: the engine is asked to read."""
        monkeypatch.setattr(server_module, "LOOK_SECONDS", 0.01)
        reads: list[int] = []

        class Host:
            revision = 1
            idle = True

            def snapshot(self) -> bytes:
                return b"{}"

            def read(self) -> None:
                reads.append(1)

            async def recover(self) -> None: ...

        async def run() -> None:
            shell = Shell(Log(place.state), lambda _: None)
            reception = Reception(identity="i", token="t", version="1", pid=1)
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(str(place.base / "sock"))
            server = server_module.Server(shell, reception, None, lambda _: Host(), 60)  # type: ignore[arg-type,return-value]
            await server.open(listener)
            await asyncio.sleep(0.05)
            assert reads == []
            server.feed.follow(lambda *_: None, None, 0.0)
            async with asyncio.timeout(5):
                while not reads:  # noqa: ASYNC110 - it is a list
                    await asyncio.sleep(0.01)
            shell.close()
            listener.close()

        asyncio.run(run())
