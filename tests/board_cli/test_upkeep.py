"""`status`, `doctor`, `wait` and `torture`: what is told of a store, and what takes its time."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import psutil
import pytest

from flask_pi_taskbar.board.torture import Check, Verdict
from tests.board_cli.place import Place
from tests.support.waiting import until


class TestStatus:
    def test_one_line_says_where_the_board_is_and_who_calls(self, place: Place) -> None:
        place.do("add", title="T")
        said = place.call("board", "status")
        assert said.out.count("\n") == 1
        for part in (
            "team-lead's board of",
            str(place.root),
            "1 card",
            place.store.layout.root,
            "level 0",
            "you are ann",
        ):
            assert part in said.out
        data = place.json("board", "status").data
        assert data["repository"] == {"root": str(place.root), "key": Path(place.store.layout.root).name, "git": True}
        assert data["you"] == {"id": "as:ann", "label": "ann", "joined": True}
        assert (data["store"]["cards"], data["store"]["level"], data["store"]["readOnly"]) == (1, 0, None)
        assert data["seat"]["label"] == "team-lead"

    def test_asking_joins_nobody_and_makes_no_store(self, place: Place) -> None:
        assert "you have not joined" in place.call("board", "status").out
        assert not place.agent.exists()
        assert place.json("board", "status").data["you"]["joined"] is False

    def test_a_bare_caller_is_told_in_the_line_itself(self, place: Place) -> None:
        said = place.call("board", "status", who=None)
        assert "you would be agent-" in said.out
        assert said.err == ""


class TestDoctor:
    def test_a_sound_board_is_called_so(self, place: Place) -> None:
        place.do("add", title="T")
        data = place.json("board", "doctor").data
        assert (data["healthy"], data["problems"]) == (True, [])
        assert place.call("board", "doctor").out.endswith("nothing is wrong\n")

    def test_everything_odd_is_named_with_what_to_do(self, place: Place) -> None:
        place.do("add", title="T")
        cards = Path(place.store.layout.cards)
        (cards / "7.json").write_bytes(b"")
        (cards / "notes.txt").write_text("x")
        newer = (cards / "1.json").read_text().replace('"v": 1', '"v": 9').replace('"id": 1', '"id": 8')
        (cards / "8.json").write_text(newer)
        os.chmod(cards, 0o755)
        data = place.json("board", "doctor").data
        assert data["healthy"] is False
        told = "\n".join(data["problems"])
        for part in ("7.json cannot be read as a card", "#8", "1 other file", "notes.txt", f"{cards}: chmod go-rwx"):
            assert part in told
        text = place.call("board", "doctor")
        assert text.code == 0
        assert text.out.count("\n! ") == 4
        assert (cards / "7.json").read_bytes() == b""

    def test_a_store_that_was_never_written_is_no_problem(self, place: Place) -> None:
        assert "not written to yet" in place.call("board", "doctor").out
        assert not place.agent.exists()


class TestWait:
    def test_it_returns_when_the_card_is_done(self, place: Place) -> None:
        place.do("add", title="T")
        place.do("claim", card=1)
        finish = threading.Timer(0.3, lambda: place.do("move", card=1, status="done"))
        finish.start()
        said = place.json("board", "wait", "1", "--timeout", "30", who="bob")
        finish.join()
        assert (said.code, said.data["until"], said.card["status"]) == (0, "done", "done")

    @pytest.mark.parametrize(
        ("goal", "words"),
        [("claimable", "#1 todo"), ("todo", "#1 todo"), ("gone", "#9 is gone"), ("doing", "#2 doing")],
    )
    def test_what_is_so_already_is_not_waited_for(self, place: Place, goal: str, words: str) -> None:
        place.do("add", title="T")
        place.do("add", title="T")
        place.do("claim", card=2)
        said = place.call("board", "wait", words[1], "--until", goal)
        assert (said.code, said.out.startswith(words)) == (0, True)

    def test_the_timeout_is_a_refusal_with_the_card(self, place: Place) -> None:
        place.do("add", title="T")
        said = place.json("board", "wait", "--card", "1", "--timeout", "0")
        assert (said.code, said.data["code"], said.card["id"]) == (3, "waiting", 1)

    @pytest.mark.parametrize(
        ("words", "code"),
        [
            (["1", "--until", "doing"], 3),
            (["9"], 4),
            (["1", "--timeout", "soon"], 2),
            (["1", "--timeout", "-1"], 2),
            (["1", "--timeout", "nan"], 2),
            (["1", "--until", "later"], 2),
            ([], 2),
        ],
        ids=lambda given: " ".join(given) if isinstance(given, list) else "",
    )
    def test_what_can_never_come_is_refused_at_once(self, place: Place, words: list[str], code: int) -> None:
        place.do("add", title="T")
        place.do("claim", card=1)
        place.do("move", card=1, status="done")
        assert place.json("board", "wait", *words).code == code


class TestTorture:
    VERDICT = Verdict(
        ok=True,
        folder="/x",
        filesystem="ext4",
        notice=None,
        level=0,
        checks=[Check(name="claims", done="50 cards", faults=[], seconds=1.0)],
    )

    def test_a_disk_that_held_is_called_safe(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: dict[str, object] = {}

        def torture(folder: Path, **options: object) -> Verdict:
            asked.update(options, folder=folder)
            return self.VERDICT

        monkeypatch.setattr("flask_pi_taskbar.commands.torturing.torture", torture)
        said = place.call("board", "torture", "--seconds", "5", "--workers", "3")
        assert (said.code, said.out) == (0, "ok   claims: 50 cards\next4, level 0: a board is safe here\n")
        assert (asked["seconds"], asked["workers"]) == (5.0, 3)
        assert asked["folder"] in Path(place.store.layout.root).parents
        assert place.json("board", "torture").data["verdict"]["checks"][0]["name"] == "claims"

    def test_a_disk_that_did_not_is_a_refusal_with_every_fault(
        self, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        bad = Check(name="claims", done="50 cards", faults=["#3: won by [1, 2]"], seconds=1.0)
        verdict = Verdict(ok=False, folder="/x", filesystem="fuse", notice="n", level=0, checks=[bad])
        monkeypatch.setattr("flask_pi_taskbar.commands.torturing.torture", lambda *_, **__: verdict)
        said = place.json("board", "torture")
        assert (said.code, said.data["code"], said.data["details"]["ok"]) == (8, "store_unwritable", False)
        assert "#3: won by [1, 2]" in place.call("board", "torture").err

    @pytest.mark.parametrize("words", [["--workers", "1"], ["--workers", "many"], ["--seconds", "-3"]], ids=" ".join)
    def test_its_numbers_have_bounds(self, place: Place, words: list[str]) -> None:
        assert place.json("board", "torture", *words).data["code"] == "bad_field"

    def test_ctrl_c_ends_it_and_leaves_nothing(self, place: Place) -> None:
        place.agent.mkdir()
        with place.terminal("board", "torture", "--seconds", "60", "--workers", "2") as terminal:
            terminal.until("about 60 s, Ctrl-C ends it: racing 2 processes")
            process = psutil.Process(terminal.process.pid)
            workers = until(process.children, "the workers have started")
            terminal.press("\x03")
            shown = terminal.rest()
        assert terminal.process.returncode == 130
        assert "Traceback" not in shown
        assert shown.endswith("Interrupted.\n")
        _, alive = psutil.wait_procs(workers, timeout=10)
        assert not alive
        assert list(place.agent.iterdir()) == []
