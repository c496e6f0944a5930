"""The client in pages that a real Flask app serves: the injected tag, the real routes, tokens and streams; a broker of
the test's own behind them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import flask
import msgspec
import pytest
from werkzeug.serving import make_server

import flask_pi_taskbar.app
from flask_pi_taskbar import PiTaskbar
from flask_pi_taskbar.broker.client import Frame, Reply
from flask_pi_taskbar.contract import TaskRequest
from flask_pi_taskbar.contract.snapshot import SessionStatus, SessionView, Snapshot, TaskStatus, TaskView, encode
from tests.browser import pages
from tests.browser.taskbar_page import TaskbarPage
from tests.support.waiting import until

pytestmark = pytest.mark.browser

READY = Snapshot(session=SessionView(id="s" * 24, status=SessionStatus.READY, model="test/model"))


class Broker:
    """A broker client that keeps one snapshot and tells its followers of every new one."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.snapshot = READY
        self.revision = 1
        self.tasks: list[TaskRequest] = []
        self.following = 0

    def show(self, snapshot: Snapshot) -> Reply:
        with self.changed:
            self.snapshot = snapshot
            self.revision += 1
            self.changed.notify_all()
            return self.reply("accepted")

    def task(self, **changes: Any) -> None:
        assert self.snapshot.task is not None
        task = msgspec.structs.replace(self.snapshot.task, **changes)
        ended = task.status not in (TaskStatus.RUNNING, TaskStatus.CANCELLING)
        status = SessionStatus.READY if ended else SessionStatus.BUSY
        session = msgspec.structs.replace(self.snapshot.session, status=status)
        self.show(msgspec.structs.replace(self.snapshot, session=session, task=task))

    def reply(self, result: str) -> Reply:
        return Reply(result, encode(self.snapshot), self.revision)

    def state(self) -> Reply:
        return self.reply("ok")

    def submit(self, task: TaskRequest) -> Reply:
        self.tasks.append(task)
        view = TaskView(
            id=f"{len(self.tasks):024}",
            prompt=task.prompt,
            status=TaskStatus.RUNNING,
            activity="Starting Pi",
            started_at=pages.stamp(),
        )
        session = msgspec.structs.replace(self.snapshot.session, status=SessionStatus.BUSY)
        return self.show(Snapshot(session=session, task=view))

    def cancel(self, task_id: str) -> Reply:
        self.task(status=TaskStatus.CANCELLING, activity="Stopping Pi")
        return self.reply("accepted")

    def reset(self) -> Reply:
        return self.show(READY)

    @contextmanager
    def follow(self, after: int | None, heartbeat: float) -> Iterator[Iterator[Frame | None]]:
        self.following += 1
        try:
            yield self.frames(after, heartbeat)
        finally:
            self.following -= 1

    def frames(self, seen: int | None, heartbeat: float) -> Iterator[Frame | None]:
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.revision != seen, heartbeat)  # noqa: B023
                revision, snapshot = self.revision, encode(self.snapshot)
            yield Frame(revision, snapshot) if revision != seen else None
            seen = revision

    def close(self) -> None:
        pass


def shop(project: Path) -> flask.Flask:
    app = flask.Flask("shop", root_path=str(project))
    app.config["DEBUG"] = True
    PiTaskbar(app, project_root=str(project))

    @app.get("/cards/<int:number>")
    def card(number: int) -> flask.Response:
        return flask.Response(
            f"<!doctype html><title>Card</title><h1>Card {number}</h1>"
            "<form><input type=password value=SECRET autocomplete=off></form>",
            headers={"Content-Security-Policy": "default-src 'none'; script-src 'nonce-abc'; connect-src 'self'"},
        )

    @app.route("/save", methods=["GET", "POST"])
    def save() -> str:
        done = "<h1>Saved</h1>" if flask.request.method == "POST" else "<form method=post><button>Save</button></form>"
        return f"<!doctype html><title>Save</title><body>{done}</body>"

    return app


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    broker = Broker()
    monkeypatch.setattr(flask_pi_taskbar.app, "BrokerClient", lambda _config: broker)
    return broker


@pytest.fixture
def address(tmp_path: Path, broker: Broker) -> Iterator[str]:
    project = tmp_path / "card-shop"
    project.mkdir()
    (project / "pyproject.toml").write_text("")
    server = make_server("127.0.0.1", 0, shop(project), threaded=True)
    server.daemon_threads = True  # type: ignore[attr-defined]
    server.block_on_close = False  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        until(lambda: not broker.following, "no stream is followed any more")


@pytest.fixture
def card(taskbar: TaskbarPage, address: str) -> Iterator[TaskbarPage]:
    taskbar.forget(f"{address}/cards/42")
    taskbar.browser.get(f"{address}/cards/42")
    taskbar.mounted()
    yield taskbar
    taskbar.browser.get("about:blank")


def test_a_task_goes_from_an_injected_page_to_the_broker_and_back(card: TaskbarPage, broker: Broker) -> None:
    card.open()
    card.wait("ready")
    card.says("[data-kicker]", "card-shop")
    card.says("[data-model]", "test/model")
    card.type("Make the title red")
    card.click("[data-run]")
    card.wait("running")
    (task,) = broker.tasks
    assert task.prompt == "Make the title red"
    assert task.context["location"]["path"] == "/cards/42"
    assert task.context["route"]["pattern"] == "/cards/<int:number>"
    assert task.context["route"]["action"] == "card"
    assert "Card 42" in str(task.context["snapshot"])
    assert "SECRET" not in str(task.context)
    broker.task(output="It is red now.")
    card.says("[data-output]", "It is red now.")
    card.click("[data-run]")
    card.wait("cancelling")
    broker.task(status=TaskStatus.CANCELLED, activity="Task stopped", finished_at=pages.stamp())
    card.wait("cancelled")
    card.click("[data-new-conversation]")
    card.wait("ready")
    assert card.errors() == []


def test_changes_come_over_one_stream_that_ends_with_the_page(card: TaskbarPage, broker: Broker) -> None:
    until(lambda: broker.following == 1, "the broker is followed")
    card.browser.switch_to.new_window("window")
    card.browser.get(card.browser.current_url)
    card.browser.switch_to.window(card.first)
    broker.submit(TaskRequest("Elsewhere", {}))
    card.wait("running")
    assert broker.following == 1
    card.browser.get("about:blank")
    until(lambda: broker.following == 0, "nobody follows a page that is gone")


def test_a_page_reloads_when_its_task_is_done(card: TaskbarPage, broker: Broker) -> None:
    card.open()
    card.wait("ready")
    card.type("Make the title red")
    card.click("[data-run]")
    card.wait("running")
    card.js("window.before = true")
    broker.task(status=TaskStatus.COMPLETED, activity="Task completed", output="Done.", finished_at=pages.stamp())
    until(lambda: card.js("return !window.before"), "the page is loaded again")
    card.mounted()
    card.wait("completed")
    assert card.shown("[data-panel]")
    assert card.text("[data-output]") == "Done."


def test_the_answer_to_a_form_is_not_sent_again(taskbar: TaskbarPage, address: str, broker: Broker) -> None:
    taskbar.browser.get(f"{address}/save")
    taskbar.js("document.querySelector('button').click()")
    until(lambda: "Saved" in taskbar.js("return document.body.textContent"), "the form is sent")
    taskbar.mounted()
    taskbar.open()
    taskbar.wait("ready")
    taskbar.type("Say it louder")
    taskbar.click("[data-run]")
    taskbar.wait("running")
    broker.task(status=TaskStatus.COMPLETED, activity="Task completed", finished_at=pages.stamp())
    taskbar.says("[data-reload-reason]", "answer to a form")
    taskbar.browser.get("about:blank")
