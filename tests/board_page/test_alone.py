"""The page's life: one a repository, found by its note, taken over when it died, gone when nobody looks."""

from __future__ import annotations

import http.server
import os
import signal
import socket
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import pytest

from flask_pi_taskbar.board.holder import Lost
from flask_pi_taskbar.board.identity import session
from flask_pi_taskbar.board.note import PageNote, Unreadable
from flask_pi_taskbar.board.refusal import Refusal
from flask_pi_taskbar.board.serving import finding, ports
from flask_pi_taskbar.board.serving.finding import Dead, Serving, Silent, find
from flask_pi_taskbar.board.serving.holding import HeldPage, take_page
from flask_pi_taskbar.board.store import Store
from flask_pi_taskbar.page import handout
from flask_pi_taskbar.page.alone import AlonePage
from flask_pi_taskbar.page.opening import Attached, Served, attach, serve_here, serve_in_background
from tests.board_page.conftest import ANN, OPTIONS, QUICK, Web, served
from tests.support.waiting import until

BOB = session("as:bob", "bob")


def background(store: Store) -> Served:
    found = serve_in_background(store, OPTIONS, ANN, "/")
    assert found is not None
    return found


def end(pid: int, number: int = signal.SIGTERM) -> None:
    process = psutil.Process(pid)
    process.send_signal(number)
    until(lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE, f"process {pid} has ended")


def test_a_page_is_found_by_its_note_which_holds_the_viewers_key_alone(store: Store) -> None:
    with served(store) as page:
        found = find(store)
        assert isinstance(found, Serving)
        assert found.note.url == page.viewer_address()
        text = Path(store.layout.page_note).read_text()
        assert page.lead_address().partition("#k=")[2] not in text
        assert Path(store.layout.page_note).stat().st_mode & 0o777 == 0o600
    assert find(store) is None
    assert not Path(store.layout.page_note).exists()


def test_a_second_session_attaches_with_the_viewers_key_and_the_first_gets_its_own_again(store: Store) -> None:
    with served(store) as page:
        other, own = attach(store, BOB.id), attach(store, ANN.id)
        assert isinstance(other, Attached)
        assert isinstance(own, Attached)
        assert (other.url, other.lead) == (page.viewer_address(), False)
        assert (own.url, own.lead) == (page.lead_address(), True)
        assert serve_here(store, OPTIONS, BOB, "/") is None
    assert handout.lead_url(store, page.epoch, ANN.id) is None


def test_a_page_in_the_background_outlives_its_starter_and_stops_in_order(store: Store) -> None:
    page = background(store)
    process = psutil.Process(page.pid)
    assert process.ppid() != os.getpid()
    assert isinstance(find(store), Serving)
    assert page.url.partition("#k=")[2] not in " ".join(process.cmdline())
    end(page.pid)
    assert find(store) is None


def test_a_page_that_was_killed_is_taken_over_and_named(store: Store) -> None:
    page = background(store)
    end(page.pid, signal.SIGKILL)
    found = attach(store, BOB.id)
    assert isinstance(found, Dead)
    assert f"process {page.pid}" in found.text
    assert f"http://127.0.0.1:{page.port}/" in found.text
    with served(store) as again:
        assert isinstance(find(store), Serving)
        assert again.port == page.port, "the same bookmark"
        assert Web(again).ask("GET", "/api/board", key=page.url.partition("#k=")[2]).status == 401


def test_a_page_that_hangs_is_never_doubled(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "PING_SECONDS", 0.1)
    page = background(store)
    psutil.Process(page.pid).suspend()
    try:
        found = find(store)
        assert isinstance(found, Silent)
        assert f"Process {page.pid}" in found.text
        with pytest.raises(Refusal, match="does not answer"):
            attach(store, BOB.id)
        assert serve_here(store, OPTIONS, BOB, "/") is None
    finally:
        psutil.Process(page.pid).resume()
        end(page.pid)


def test_of_many_that_start_at_once_one_serves(store: Store) -> None:
    for _ in range(30):
        gate, results = threading.Barrier(4), []

        def start(gate: threading.Barrier = gate, results: list = results) -> None:
            gate.wait()
            held = take_page(Store(store.layout.root), datetime.now(UTC))
            results.append(held)

        threads = [threading.Thread(target=start) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        held = [one for one in results if one is not None]
        assert len(held) == 1
        held[0].close()


def test_processes_that_start_at_once_end_at_one_page(store: Store) -> None:
    answers: list[Served | None] = []
    threads = [
        threading.Thread(target=lambda: answers.append(serve_in_background(store, OPTIONS, ANN, "/"))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    serving = [one for one in answers if one is not None]
    assert len(serving) == 1
    assert isinstance(find(store), Serving)
    end(serving[0].pid)


def note_of(store: Store, port: int) -> PageNote:
    held = take_page(store, datetime.now(UTC))
    assert held is not None
    written = held.announce(f"http://127.0.0.1:{port}/", port, datetime.now(UTC))
    held.close()
    return written


def test_a_note_whose_port_another_program_answers_on_is_not_believed(store: Store) -> None:
    class Other(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"ok": true, "epoch": "something else"}')

        def log_message(self, *_: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Other) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        note = note_of(store, server.server_port)
        assert not finding.ping_page(note)
        assert isinstance(find(store), Dead)
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    "url",
    [
        "http://evil.example/",
        "https://127.0.0.1:1/",
        "file:///etc/passwd",
        "http://127.0.0.1/",
        "",
        "http://127.0.0.1:99999/",
        "http://[::1/",
    ],
)
def test_a_note_never_makes_us_ask_another_machine(store: Store, url: str) -> None:
    from msgspec.structs import replace

    assert not finding.ping_page(replace(note_of(store, 1), url=url))


def test_a_note_that_cannot_be_read_is_named_and_replaced(store: Store) -> None:
    Path(store.layout.page_note).write_text("{")
    found = attach(store, ANN.id)
    assert isinstance(found, Unreadable)
    assert found.path == store.layout.page_note
    with served(store):
        assert isinstance(find(store), Serving)


def test_a_page_stops_when_its_last_tab_has_left(store: Store) -> None:
    found = serve_here(store, OPTIONS, ANN, "/", limits=QUICK)
    assert found is not None
    page = found[0]
    thread = threading.Thread(target=page.serve)
    thread.start()
    with Web(page).stream() as stream:
        assert stream.next() is not None
        thread.join(1.0)
        assert thread.is_alive(), "somebody looks"
    thread.join(10)
    assert not thread.is_alive()
    assert find(store) is None


def test_a_page_that_nobody_opens_stops_by_itself(store: Store) -> None:
    found = serve_here(store, OPTIONS, ANN, "/", limits=QUICK)
    assert found is not None
    assert found[0].serve() == "idle"


def test_a_page_ends_with_the_session_that_owns_it(store: Store) -> None:
    read_end, write_end = os.pipe()
    page = serve_in_background(store, OPTIONS, ANN, "/", lifeline=read_end)
    assert page is not None
    os.close(read_end)
    assert isinstance(find(store), Serving)
    os.close(write_end)
    until(lambda: find(store) is None, "the page has ended")


def test_open_streams_are_told_that_the_page_stops(store: Store) -> None:
    with served(store) as page:
        stream = Web(page).stream()
        assert stream.next() is not None
        page.stop()
        bye = stream.next()
        assert bye is not None
        assert (bye["event"], bye["data"]) == ("bye", {"why": "stopped"})
        assert stream.next() is None
        stream.close()


def test_the_session_that_serves_is_on_the_team_and_leaves_it(store: Store) -> None:
    with served(store):
        (record,) = [one for one in store.roster.records() if one.id == ANN.id]
        assert record.serves
    (record,) = [one for one in store.roster.records() if one.id == ANN.id]
    assert not record.serves


def test_a_pinned_port_is_had_or_refused_in_words(store: Store) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        from msgspec.structs import replace

        with pytest.raises(Refusal, match=f"port {port} is in use: change board_port"):
            serve_here(store, replace(OPTIONS, port=port), ANN, "/")
        assert find(store) is None
        with served(store) as page:
            assert page.port != port


def test_a_port_is_the_repositorys_own_and_the_one_of_last_time(store: Store) -> None:
    own = ports.candidates(store, "shop-0123")
    assert own == ports.candidates(store, "shop-0123")
    assert all(4780 <= port < 5780 and port not in ports.PASSED_OVER for port in own)
    Path(store.layout.port).write_text("5300\n")
    assert ports.candidates(store, "shop-0123")[0] == 5300
    for junk in ("x", "0", "99999999999", "-1", ""):
        Path(store.layout.port).write_text(junk)
        assert ports.candidates(store, "shop-0123") == own


def test_the_server_writes_no_line_anywhere(store: Store, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "flask_pi_taskbar.page", "--store", store.layout.root]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lead = process.stdout.readline().strip()
        process.stdout.readline()
        key = lead.partition("#k=")[2]
        import urllib.request

        address = lead.partition("#")[0]
        for path in ("api/board", f"api/board?k={key}", "nothing", "events?k=x"):
            request = urllib.request.Request(address + path, headers={"X-Board-Key": key})
            try:
                with urllib.request.urlopen(request) as answer:
                    answer.read(10)
            except urllib.error.HTTPError as error:
                error.close()
        process.terminate()
        out, err = process.communicate(timeout=20)
    assert (out, err) == ("", "")


def test_a_browser_is_sent_to_a_private_file_and_sees_no_key_on_a_command_line(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url) or True)
    url = "http://127.0.0.1:1/#k=secret&me=<x>"
    assert not handout.open_browser(store, url, {})
    assert handout.open_browser(store, url, {"DISPLAY": ":0"})
    (shown,) = opened
    assert shown.startswith("file:///")
    assert "secret" not in shown
    file = Path(shown.removeprefix("file://"))
    assert file.stat().st_mode & 0o777 == 0o600
    assert "#k=secret&amp;me=&lt;x&gt;" in file.read_text()


def test_the_leads_address_is_kept_for_its_session_alone(store: Store) -> None:
    kept = handout.Handout("e1", ANN.id, "http://127.0.0.1:1/#k=x")
    assert handout.keep(store, kept) is None
    assert handout.lead_url(store, "e1", ANN.id) == kept.url
    assert handout.lead_url(store, "e1", BOB.id) is None
    assert handout.lead_url(store, "e2", ANN.id) is None
    handout.forget(store, "e2")
    assert handout.lead_url(store, "e1", ANN.id) == kept.url
    handout.forget(store, "e1")
    assert handout.lead_url(store, "e1", ANN.id) is None


def test_a_page_that_cannot_bind_lets_go_of_everything(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(24, "Too many open files")

    with monkeypatch.context() as patched:
        patched.setattr(ports, "bind", fail)
        with pytest.raises(Refusal, match="Too many open files"):
            serve_here(store, OPTIONS, ANN, "/")
    held = take_page(store, datetime.now(UTC))
    assert held is not None
    held.close()


def descriptors() -> int:
    return psutil.Process().num_fds()


def test_a_page_that_ended_gives_its_port_and_descriptors_back(store: Store) -> None:
    with served(store):
        pass  # what is opened once and kept is open now
    before = descriptors()
    for _ in range(3):
        with served(store) as page:
            port = page.port
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), 5)
    assert descriptors() == before


def test_a_note_that_cannot_be_left_leaves_nothing_listening(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    bound: list[int] = []
    real = ports.bind

    def remembering(*arguments: Any) -> list[socket.socket]:
        found = real(*arguments)
        bound.append(found[0].getsockname()[1])
        return found

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    before = descriptors()
    with monkeypatch.context() as patched:
        patched.setattr(ports, "bind", remembering)
        patched.setattr(HeldPage, "announce", fail)
        with pytest.raises(Refusal, match="No space left"):
            serve_here(store, OPTIONS, ANN, "/")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", bound[0]), 5)
    assert descriptors() == before


def test_a_page_whose_lock_was_lost_stops(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(_page: HeldPage) -> None:
        raise Lost

    monkeypatch.setattr("flask_pi_taskbar.page.alone.RENEW_SECONDS", 0.0)
    monkeypatch.setattr(HeldPage, "renew", lost)
    found = serve_here(store, OPTIONS, ANN, "/", limits=QUICK)
    assert found is not None
    assert found[0].serve() == "stopped"
    assert find(store) is None


def test_a_signal_ends_a_page_in_order_from_its_first_moment(store: Store) -> None:
    """Told while it still starts: the note is there, and nothing that could have been told has begun."""
    script = (
        "import os, signal, sys\n"
        "from flask_pi_taskbar.board.identity import session\n"
        "from flask_pi_taskbar.board.store import Store\n"
        "from flask_pi_taskbar.page import opening\n"
        "join = opening.AlonePage.join\n"
        "def told(page, *arguments, **keywords):\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    return join(page, *arguments, **keywords)\n"
        "opening.AlonePage.join = told\n"
        "options = opening.Options(name='shop', key='shop-0123')\n"
        "page, _ = opening.serve_until_told(Store(sys.argv[1]), options, session('as:ann', 'ann'), '/')\n"
        "print(page.serve())\n"
    )
    done = subprocess.run([sys.executable, "-c", script, store.layout.root], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "stopped\n"), done.stderr
    assert find(store) is None
    assert not Path(store.layout.page_note).exists()


def test_the_page_closes_without_having_served(store: Store) -> None:
    found = serve_here(store, OPTIONS, ANN, "/")
    assert found is not None
    assert isinstance(found[0], AlonePage)
    found[0].close()
    assert find(store) is None
