"""The command `python3 examples`: its options, and the order in which things are prepared, started and ended."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from examples.bootstrap import agent, node, serve
from examples.bootstrap.agent import Agent
from examples.bootstrap.console import Console
from examples.bootstrap.environment import (
    DEFAULT_DIR,
    REPOSITORY,
    Environment,
    check_directory,
    exclusive,
    prepared,
    shown,
)
from examples.bootstrap.explain import SetupError
from examples.bootstrap.project import Slot, fresh_copy, slot
from examples.model_server import ModelServer
from examples.once import once

PACKAGES = ("-e", str(REPOSITORY), "gunicorn>=22")
SUGGESTION = "Change the heading to “Fresh from the kiln”"
NOT_FOUND = "no Pi set-up was found on this machine"
NO_MODEL = "your Pi has no model chosen yet (run pi in a terminal and use /login)"
ASKED = "you asked for it with --demo"

HELP = """\
examples:
  python3 examples                  the shop with its taskbar on http://127.0.0.1:5000/
  python3 examples --port 8080      on another port
  python3 examples --gunicorn       served by gunicorn with two workers
  python3 examples --once           no browser: do the demo task, exit 0 if it has changed the example
  python3 examples --demo           with the demo model, even if you have a Pi set-up

The first start downloads about 150 MB into DIRECTORY (400 MB on disk); later ones take seconds. If you have Pi with a
model on PATH, it is used, and nothing but the Python packages is downloaded. The app that you see is a copy in
DIRECTORY, so your checkout stays as it is. Ctrl-C ends everything. To remove it all: delete DIRECTORY.
"""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python3 examples",
        description="Start a small Flask app with the Pi taskbar. Needs Python 3.11+ and nothing else.",
        epilog=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--port", type=int, metavar="N", help="port on 127.0.0.1 (default: 5000, or the next free one)")
    made.add_argument(
        "--gunicorn", action="store_true", help="serve with gunicorn and two workers, not `flask run --debug`"
    )
    made.add_argument("--once", action="store_true", help="do the demo task over HTTP, then end")
    made.add_argument("--demo", action="store_true", help="use the demo model even if you have a Pi set-up of your own")
    made.add_argument(
        "--dir",
        type=Path,
        default=DEFAULT_DIR,
        metavar="DIRECTORY",
        help=f"where all is kept (default: {shown(DEFAULT_DIR)})",
    )
    return made


@dataclass(frozen=True)
class Preparation:
    """What makes the parts that have to be downloaded, or finds them."""

    environment: Callable[[Path, Console], Environment]
    pi: Callable[[Path, Environment, Console], Path]


def _environment(directory: Path, console: Console) -> Environment:
    check_directory(directory, 50 if (directory / "examples" / "finished.json").exists() else 600)
    with exclusive(directory, console):
        return prepared(directory / "examples", PACKAGES, console, directory / "logs")


def _pi(directory: Path, environment: Environment, console: Console) -> Path:
    with exclusive(directory, console):
        runtime = node.node(directory, environment.pip, console)
        return node.pi(directory, node.NEW_LINE, runtime, console)


def main(argv: Sequence[str] | None = None, parts: Preparation = Preparation(_environment, _pi)) -> int:
    options = parser().parse_args(argv)
    console = Console()
    for sign in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(sign, _interrupt)
    try:
        return _run(options, parts, console)
    except SetupError as problem:
        console.say(f"\n{problem}")
        return 1
    except KeyboardInterrupt:
        console.say("\nStopped.")
        return 130


def _interrupt(*_: object) -> None:
    """The same orderly end for a closed terminal and for SIGTERM as for Ctrl-C."""
    raise KeyboardInterrupt


def _run(options: argparse.Namespace, parts: Preparation, console: Console) -> int:
    directory: Path = options.dir.absolute()
    environment = parts.environment(directory, console)
    with slot(directory) as place:
        _clear(place, environment)
        project = fresh_copy(place)
        private_pi = partial(parts.pi, directory, environment, console)
        with _agent(options, place, private_pi, console) as chosen:
            return _serve(options, place, project, environment, chosen, console)


def _clear(place: Slot, environment: Environment) -> None:
    """End what an earlier start in this place has left, if it was killed."""
    serve.end_leftover(place.server, environment.root)
    if place.project.exists():
        serve.stop_broker(environment, place.project, serve.environ(environment, {}))


@contextlib.contextmanager
def _agent(
    options: argparse.Namespace, place: Slot, private_pi: Callable[[], Path], console: Console
) -> Iterator[Agent]:
    """The user's own Pi if it has a model, else the real Pi with the demo model, which lives as long as the block."""
    why = ASKED if options.demo else NOT_FOUND
    own = None if options.demo else agent.own_command()
    if own:
        with console.step("Asking your Pi for its model"):
            model = agent.configured_model(own, place.project)
        if model:
            yield Agent(own, model)
            return
        why = NO_MODEL
    private = str(private_pi())
    if not own and not options.demo and "PI_CODING_AGENT_DIR" in os.environ:
        model = agent.configured_model(private, place.project)
        if model:
            yield Agent(private, model)
            return
    with ModelServer(default_scene="demo") as server:
        yield Agent(private, "the demo model, a script", agent.private_setup(place.root, server.url), notice=why)


def _serve(
    options: argparse.Namespace, place: Slot, project: Path, environment: Environment, chosen: Agent, console: Console
) -> int:
    wanted = options.port if options.port is not None or not options.once else 0
    port = serve.port_for(wanted)
    url = f"http://127.0.0.1:{port}/"
    told = {"PI_BROWSER_TASKBAR_EXECUTABLE": chosen.command, "QUICKSTART_SUGGESTION": SUGGESTION}
    if chosen.notice:
        told["QUICKSTART_NOTICE"] = (
            f"Demo model: {chosen.notice}, so a small script answers in place of a language model. "
            "It can change the heading of this page, and little else."
        )
    env = serve.environ(environment, told | dict(chosen.environ))
    argv = serve.command(environment, port, workers=2 if options.gunicorn else 0)
    log = place.root / "server.log" if options.once else None
    try:
        with serve.serving(argv, cwd=project, env=env, url=url, record=place.server, log=log) as server:
            _announce(url, project, chosen, console)
            if options.once:
                reason = once(url, project, SUGGESTION, console.say)
                console.say(f"failed: {reason}. The server's output is in {log}" if reason else "done")
                return 1 if reason else 0
            return _watch(server)
    finally:
        serve.stop_broker(environment, project, env)


def _watch(server: subprocess.Popen[bytes]) -> int:
    """Until the server ends, which it does only by itself; Ctrl-C comes as an exception."""
    code = server.wait()
    raise SetupError(f"The example's server ended with {code}", "What it printed above says why.")


def _announce(url: str, project: Path, chosen: Agent, console: Console) -> None:
    model = f"{chosen.model}: {chosen.notice}" if chosen.notice else f"{chosen.model}, from your own Pi set-up"
    for line in (
        "",
        f"  page    {url}",
        f"  app     {shown(project)} (a copy: your checkout stays as it is)",
        f"  model   {model}",
        f"  try     open “Page task” in the corner of the page: {SUGGESTION}",
        "  stop    Ctrl-C",
        "",
    ):
        console.say(line)
