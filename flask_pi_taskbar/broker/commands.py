"""`pi-taskbar broker …`: look at the project's broker, end it, start it anew."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from flask_pi_taskbar.broker import election, wire
from flask_pi_taskbar.broker.client import BrokerClient, BrokerConfig
from flask_pi_taskbar.broker.connection import Broken, Connection, Greeting, NoBroker, Turned
from flask_pi_taskbar.broker.reach import explain
from flask_pi_taskbar.broker.runtime import PrivateDirectory, Refused
from flask_pi_taskbar.broker.unavailable import Unavailable
from flask_pi_taskbar.console import Command, Failure, examples
from flask_pi_taskbar.project import runtime_dir

CALL_SECONDS: Final = 5.0
END_SECONDS: Final = 15.0
POLL_SECONDS: Final = 0.02

Said = tuple[dict[str, Any], str]


@click.group()
def broker() -> None:
    """The background process that runs Pi for this project.

    It is started by the first request that needs it and leaves by itself, five minutes after the last server has ended.
    """


@broker.command(
    cls=Command, epilog=examples("pi-taskbar broker status", "pi-taskbar broker status --json | jq .broker.session")
)
def status(root: Path) -> Said:
    """Show whether a broker runs, and what it does."""
    report = _ask(root, wire.Status(id=0))
    if report is None:
        return {"broker": {"running": False, "project": str(root)}}, f"No broker runs for {root}"
    fields = msgspec.to_builtins(report)
    shown = {name: fields[name] for name in wire.Report.__struct_fields__ if name != "id"}
    return {"broker": {"running": True, "project": str(root), **shown}}, _describe(root, report)


@broker.command(cls=Command, epilog=examples("pi-taskbar broker stop", "flask pi-taskbar broker stop"))
def stop(root: Path) -> Said:
    """End the broker and its Pi.

    A running task is interrupted, and everything that Pi has started ends with it; its prompt is shown again by the
    next broker. When no task runs, programs that earlier tasks have left running in a session of their own (a
    development server in the background, tmux) go on; end them yourself.
    """
    report = _end(root)
    if report is None:
        return {"stopped": False}, f"No broker runs for {root}"
    return {"stopped": True, "pid": report.pid}, f"Stopped the broker (process {report.pid})"


@broker.command(cls=Command, epilog=examples("pi-taskbar broker restart", "pi-taskbar broker restart --json"))
def restart(root: Path) -> Said:
    """End the broker and start a new one with the same settings.

    Pi gets the environment of this terminal, until a server of the project is started again.
    """
    before = _end(root)
    if before is None or not before.configured:
        raise Failure("not-running", f"No broker runs for {root}; the next request to the server starts one")
    config = BrokerConfig(project_root=root, executable=before.executable, task_timeout=before.task_timeout)
    client = BrokerClient(config, wire.ROLE_CLI)
    try:
        client.state()
    except Unavailable as error:
        raise Failure("unavailable", error.reason) from error
    finally:
        client.close()
    after = _ask(root, wire.Status(id=0))
    if after is None:
        raise Failure("unavailable", "The new broker has ended again")
    return {"pid": after.pid, "stopped": before.pid}, f"Restarted the broker (process {before.pid}, now {after.pid})"


def _ask(root: Path, request: wire.Status | wire.Shutdown) -> wire.Report | None:
    """The broker's report, or None when there is no broker."""
    deadline = time.monotonic() + CALL_SECONDS
    if not runtime_dir(root).exists():
        return None
    try:
        connection = Connection.open(root, Greeting(wire.ROLE_CLI), deadline)
        try:
            connection.send(request, deadline)
            report = connection.receive(deadline)
        finally:
            connection.close()
    except NoBroker:
        return None
    except Turned as turned:
        if turned.reply.code == wire.HANDING_OVER:
            return None
        raise Failure(turned.reply.code, explain(turned.reply)) from None
    except Unavailable as error:
        raise Failure("unavailable", error.reason) from error
    except (Broken, TimeoutError) as error:
        raise Failure("unavailable", f"The broker does not answer: {str(error) or 'it took too long'}") from error
    if not isinstance(report, wire.Report):
        raise Failure("unavailable", "The running broker does not know this request")
    return report


def _end(root: Path) -> wire.Report | None:
    """Ask the broker to end and wait until it is gone; None when there was none."""
    report = _ask(root, wire.Shutdown(id=0))
    if not runtime_dir(root).exists():
        return report
    deadline = time.monotonic() + END_SECONDS
    try:
        with PrivateDirectory.open(runtime_dir(root)) as directory:
            while election.is_held(directory):
                if time.monotonic() > deadline:
                    raise Failure("timeout", "The broker has not ended in time")
                time.sleep(POLL_SECONDS)
    except Refused as error:
        raise Failure("unavailable", error.reason) from error
    return report


def _describe(root: Path, report: wire.Report) -> str:
    if not report.configured:
        work = "waits for the first request to the server"
    else:
        work = f"Pi is {report.session}" + (f" (process {report.pi_pid})" if report.pi_pid else "")
    return (
        f"Broker of {root}: process {report.pid}, version {report.version}, up {report.uptime} s\n"
        f"{work}; {report.connections} other connections, {report.followers} of them following"
    )
