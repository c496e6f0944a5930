"""Real processes: races between callers, what they import, where they can be called from, and how they end."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.board_cli.conftest import make_repository
from tests.board_cli.place import SCRIPT, Place
from tests.support.waiting import until

CALLERS = 8


def ended(processes: list[subprocess.Popen[str]]) -> list[tuple[int, dict[str, object]]]:
    found = []
    for process in processes:
        out, err = process.communicate(timeout=60)
        assert out.count("\n") == 1, (out, err)
        said = json.loads(out)
        assert said["ok"] or process.returncode == 3, out
        found.append((process.returncode, said))
    return found


class TestRaces:
    def test_of_eight_who_claim_one_card_one_gets_it(self, place: Place) -> None:
        place.do("add", title="T")
        callers = [place.start("board", "claim", "1", "--json", "--as", f"agent-{n}") for n in range(CALLERS)]
        answers = ended(callers)
        assert Counter(code for code, _ in answers) == {0: 1, 3: CALLERS - 1}
        winner = next(said for code, said in answers if code == 0)["card"]["owner"]["label"]  # type: ignore[index]
        for code, said in answers:
            if code:
                assert said["code"] == "held"
                assert said["card"]["owner"]["label"] == winner  # type: ignore[index]
                assert str(winner) in str(said["message"])
        assert place.json("board", "list", "1").card["owner"]["label"] == winner

    def test_of_eight_who_pull_the_next_each_gets_another(self, place: Place) -> None:
        for number in range(CALLERS):
            place.do("add", title=f"Card {number}")
        answers = ended([place.start("board", "next", "--json", "--as", f"agent-{n}") for n in range(CALLERS)])
        assert sorted(said["card"]["id"] for _, said in answers) == list(range(1, CALLERS + 1))  # type: ignore[index]

    def test_eight_adds_get_eight_numbers(self, place: Place) -> None:
        """On a store that none of them has seen before."""
        answers = ended([place.start("board", "add", f"T{n}", "--json", "--as", f"a-{n}") for n in range(CALLERS)])
        assert sorted(said["card"]["id"] for _, said in answers) == list(range(1, CALLERS + 1))  # type: ignore[index]
        assert len(place.json("board", "list").data["cards"]) == CALLERS

    def test_two_links_at_once_close_no_ring(self, place: Place) -> None:
        place.do("add", title="One")
        place.do("add", title="Two")
        calls = [("1", "2"), ("2", "1")]
        answers = ended([place.start("board", "edit", one, "--depends-on", other, "--json") for one, other in calls])
        assert sorted(code for code, _ in answers) == [0, 3]
        refused = next(said for code, said in answers if code)
        assert refused["code"] == "cycle"
        assert refused["details"]["path"][0] == refused["details"]["path"][-1]  # type: ignore[index]

    def test_sixteen_callers_of_one_label_have_one_identity(self, place: Place) -> None:
        """`--as` is who calls: the same word is the same session, and nobody is renamed."""
        place.do("add", title="T")
        answers = ended([place.start("board", "note", "1", str(n), "--as", "bob", "--json") for n in range(CALLERS)])
        notes = place.json("board", "list", "1").card["notes"]
        assert {note["by"]["label"] for note in notes} == {"bob"}
        assert sorted(note["text"] for note in notes) == sorted(map(str, range(CALLERS)))
        assert {code for code, _ in answers} == {0}


def test_a_call_killed_after_its_write_can_be_repeated_by_its_key(place: Place) -> None:
    caller = place.start("board", "add", "T", "--key", "k-1", "--json")
    card = Path(place.store.layout.card(1))
    until(card.exists, "the card is there", every=0.001)
    caller.kill()
    caller.communicate()
    said = place.run("board", "add", "T", "--key", "k-1", "--json")
    assert (said.code, said.data["replayed"], said.card["id"]) == (0, True, 1)
    assert [one["id"] for one in place.json("board", "list").data["cards"]] == [1]


def test_who_hangs_in_the_middle_of_a_write_is_named_to_the_others(place: Place) -> None:
    place.do("add", title="T")
    hold = (
        "import sys, time; from flask_pi_taskbar.board.store import Store\n"
        "from flask_pi_taskbar.board.identity import session; from datetime import UTC, datetime\n"
        "with Store(sys.argv[1]).writing(session('s', 'sleeper'), datetime.now(UTC)):\n"
        "    print('held', flush=True); time.sleep(60)"
    )
    sleeper = subprocess.Popen([sys.executable, "-c", hold, place.store.layout.root], stdout=subprocess.PIPE, text=True)
    try:
        assert sleeper.stdout is not None
        assert sleeper.stdout.readline() == "held\n"
        sleeper.send_signal(signal.SIGSTOP)
        said = place.run("board", "claim", "1", "--json")
        assert (said.code, said.data["code"], said.data["retry"]) == (5, "busy", True)
        assert f"sleeper (pid {sleeper.pid})" in said.data["message"]
        assert place.run("board", "list", "--json").code == 0
    finally:
        sleeper.kill()
        sleeper.communicate()


class TestWhere:
    def test_every_worktree_and_subfolder_has_the_same_board(self, place: Place) -> None:
        git = shutil.which("git")
        if git is None:
            pytest.skip("git is not installed")
        base = place.root.parent / "real"
        base.mkdir()
        quiet = ["-c", "user.name=x", "-c", "user.email=x@localhost", "-c", "init.defaultBranch=main"]
        for words in (
            ["init", "-q"],
            ["commit", "-q", "--allow-empty", "-m", "x"],
            ["worktree", "add", "-q", "../tree"],
        ):
            subprocess.run([git, *quiet, *words], cwd=base, check=True, capture_output=True)
        inside = base / "src" / "deep"
        inside.mkdir(parents=True)
        places = (base, inside, base.parent / "tree")
        callers = [place.start("board", "add", "T", "--json", cwd=cwd) for cwd in places]
        numbers = [said["card"]["id"] for _, said in ended(callers)]  # type: ignore[index]
        assert sorted(numbers) == [1, 2, 3]
        for cwd in places:
            assert len(place.run("board", "list", "--json", cwd=cwd).data["cards"]) == 3
        assert len(place.run("board", "list", "--json", "--repo", str(inside), cwd=Path("/")).data["cards"]) == 3

    def test_outside_git_it_works_and_says_whose_board_it_is(self, place: Place) -> None:
        folder = place.root.parent / "plain"
        folder.mkdir()
        said = place.run("board", "add", "T", "--as", "ann", cwd=folder)
        assert said.code == 0
        assert f"Not a git repository: this is the board of {folder}." in said.err
        assert place.run("board", "status", "--json", cwd=folder).data["repository"]["git"] is False
        assert "Not a git" not in place.run("board", "list", "--as", "ann").err

    def test_two_clones_have_two_boards(self, place: Place) -> None:
        other = place.root.parent / "clone"
        make_repository(other)
        place.run("board", "add", "T")
        assert place.run("board", "list", "--json", cwd=other).data["cards"] == []

    def test_a_folder_that_is_gone_is_said_so(self, place: Place) -> None:
        script = 'cd gone && rmdir ../gone && exec "$@"'
        (place.root / "gone").mkdir()
        command = [*SCRIPT, "board", "list", "--json"]
        done = subprocess.run(
            ["sh", "-c", script, "sh", *command], cwd=place.root, env=place.env, capture_output=True, text=True
        )
        assert (done.returncode, json.loads(done.stdout)["code"]) == (2, "bad_field")

    def test_without_a_home_it_says_what_to_set(self, place: Place) -> None:
        env = {name: value for name, value in place.env.items() if name not in ("PI_CODING_AGENT_DIR", "HOME")}
        code = (
            "import pathlib\ndef no(cls=None): raise RuntimeError\npathlib.Path.home = no\n"
            "from flask_pi_taskbar.cli import main; main()"
        )
        done = subprocess.run([sys.executable, "-c", code, "board", "list", "--json"], cwd=place.root, env=env,
                              capture_output=True, text=True)  # fmt: skip
        assert done.returncode == 8
        assert "PI_CODING_AGENT_DIR" in json.loads(done.stdout)["message"]


class TestWho:
    def test_a_bare_call_is_told_who_it_is_until_it_is_known(self, place: Place) -> None:
        me = f"You are u-{os.getuid()}@{os.uname().nodename}, shown as agent-"
        first = place.run("board", "add", "T")
        assert first.err.startswith(me)
        assert first.err.count("\n") == 1
        assert place.run("board", "claim", "1").err == ""
        assert place.json("board", "list", "1").card["owner"]["id"] == f"u-{os.getuid()}@{os.uname().nodename}"

    def test_it_is_told_on_stderr_also_where_stdout_is_json(self, place: Place) -> None:
        said = place.run("board", "list", "--json")
        assert said.data["ok"]
        assert "--as NAME" in said.err

    def test_the_environment_names_session_and_label(self, place: Place) -> None:
        said = place.run("board", "add", "T", "--json", PI_TASKBAR_SESSION="s-1", PI_TASKBAR_LABEL="pi one")
        assert said.card["createdBy"] == {"id": "s-1", "label": "pi one"}
        assert said.err == ""
        typed = place.run("board", "add", "T", "--json", "--as", "bob", PI_TASKBAR_SESSION="s-1")
        assert typed.card["createdBy"] == {"id": "as:bob", "label": "bob"}
        label = place.run("board", "add", "T", "--json", PI_TASKBAR_LABEL="cyd")
        assert label.card["createdBy"] == {"id": "as:cyd", "label": "cyd"}

    def test_pis_extension_names_the_session_itself(self, place: Place) -> None:
        said = place.run("board", "add", "T", "--json", "--session", "0198f0c2", "--as", "agent-3")
        assert said.card["createdBy"] == {"id": "0198f0c2", "label": "agent-3"}

    def test_a_taken_label_gets_a_suffix_and_the_caller_is_told(self, place: Place) -> None:
        place.do("add", "bob", title="T")
        said = place.run("board", "note", "1", "x", "--session", "s-9", "--as", "bob")
        assert said.err == "You are on the team as bob-2.\n"

    def test_unread_mail_is_mentioned(self, place: Place) -> None:
        place.do("add", title="T")
        place.do("note", "bob", card=1, text="here")
        place.do("handoff", card=1, label="bob")
        assert "1 letter for you: pi-taskbar team inbox --as bob\n" in place.run("board", "list", "--as", "bob").err
        assert place.run("team", "inbox", "--as", "bob").code == 0
        assert place.run("board", "list", "--as", "bob").err == ""


UNLIKE = (["board", "list"], ["board", "add", "T"], ["team"], ["board", "--help"], ["completion", "bash"])


@pytest.mark.parametrize("words", UNLIKE, ids=" ".join)
def test_no_command_imports_flask(place: Place, words: list[str]) -> None:
    code = (
        "import sys, atexit\n"
        "heavy = ('flask', 'werkzeug', 'jinja2', 'asyncio')\n"
        "atexit.register(lambda: print(sorted(m for m in sys.modules if m.split('.')[0] in heavy)))\n"
        "from flask_pi_taskbar.cli import main\nsys.argv = ['pi-taskbar', *sys.argv[1:]]\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words], cwd=place.root, env=place.env, capture_output=True, text=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_note_loads_nothing_that_only_a_mistake_or_a_wait_needs(place: Place) -> None:
    place.do("add", title="T")
    code = (
        "import sys, atexit\n"
        "atexit.register(lambda: print(sorted({'difflib', 'random'} & {*sys.modules})))\n"
        "from flask_pi_taskbar.cli import main\nsys.argv = ['pi-taskbar', *sys.argv[1:]]\nmain()"
    )
    words = ["board", "note", "1", "x"]
    done = subprocess.run(
        [sys.executable, "-c", code, *words], cwd=place.root, env=place.env, capture_output=True, text=True
    )
    assert done.stdout.splitlines() == ["note: #1 todo 0s  T", "[]"]


def test_the_broker_command_imports_no_board_and_the_board_no_broker(place: Place) -> None:
    code = (
        "import sys, atexit\n"
        "ours = lambda: {m.split('.')[1] for m in sys.modules if m.startswith('flask_pi_taskbar.')}\n"
        "atexit.register(lambda: print(*ours()))\n"
        "from flask_pi_taskbar.cli import main\nsys.argv = ['pi-taskbar', *sys.argv[1:]]\nmain()"
    )
    for words, absent in (
        (["broker", "status"], {"board", "commands"}),
        (["board", "list"], {"broker", "contract", "settings"}),
    ):
        done = subprocess.run(
            [sys.executable, "-c", code, *words], cwd=place.root, env=place.env, capture_output=True, text=True
        )
        assert not absent & set(done.stdout.splitlines()[-1].split()), words


def test_flask_offers_the_same_tree(place: Place) -> None:
    flask = [sys.executable, "-m", "flask", "pi-taskbar", "board"]
    done = subprocess.run(
        [*flask, "add", "T", "--json", "--as", "ann"], cwd=place.root, env=place.env, capture_output=True, text=True
    )
    assert json.loads(done.stdout)["card"]["id"] == 1
    done = subprocess.run([*flask, "release", "1"], cwd=place.root, env=place.env, capture_output=True, text=True)
    assert done.returncode == 3
    assert "flask pi-taskbar board claim 1\n" in done.stderr


class TestEndings:
    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (["--json"], '{"ok":false,"action":"wait","code":"interrupted","message":"Interrupted."}\n'),
            ([], "Interrupted.\n"),
        ],
    )
    def test_ctrl_c_ends_a_wait_cleanly(
        self, place: Place, monkeypatch: pytest.MonkeyPatch, options: list[str], said: str
    ) -> None:
        place.do("add", title="T")

        def press(_: float) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr("flask_pi_taskbar.commands.watching.time.sleep", press)
        found = place.call("board", "wait", "1", *options)
        assert (found.code, found.out + found.err) == (130, said)

    def test_a_terminal_shows_what_is_waited_for_and_wipes_it(self, place: Place) -> None:
        place.do("add", title="T")
        place.do("claim", card=1)
        with place.terminal("board", "wait", "1", "--as", "bob") as terminal:
            terminal.until("waiting for #1 until done")
            place.do("move", card=1, status="done")
            shown = terminal.rest()
        assert terminal.process.returncode == 0
        last = shown.rpartition("\x1b[2K")[2]
        assert last.startswith("#1 done ann")

    def test_ctrl_c_in_a_terminal_leaves_the_line_clean(self, place: Place) -> None:
        place.do("add", title="T")
        with place.terminal("board", "wait", "1", "--as", "bob") as terminal:
            terminal.until("waiting for #1 until done")
            terminal.press("\x03")
            shown = terminal.rest()
        assert terminal.process.returncode == 130
        assert shown.endswith("\x1b[2KInterrupted.\n")

    def test_a_closed_pipe_is_no_crash(self, place: Place) -> None:
        for number in range(50):
            place.do("add", title=f"Card {number}")
        script = '"$@" | head -c 10'
        done = subprocess.run(
            ["sh", "-c", script, "sh", *SCRIPT, "board", "list", "--json"],
            cwd=place.root,
            env=place.env,
            capture_output=True,
            text=True,
        )
        assert "Traceback" not in done.stderr
        assert done.stdout == '{"ok":true'
