"""Wrong usage, and how it is helped: one JSON object for programs, what was meant for people, exit 2 for both."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from flask_pi_taskbar.board.refusal import Code
from flask_pi_taskbar.cli import group
from flask_pi_taskbar.commands.board import CALLS as BOARD
from flask_pi_taskbar.commands.team import CALLS as TEAM
from flask_pi_taskbar.page.alone import AlonePage
from tests.board_cli.place import Place

GUESSED = [
    # what an agent tries, and the command that it is told
    ("start", "pi-taskbar board claim CARD or pi-taskbar board move CARD doing"),
    ("finish", "pi-taskbar board move CARD done"),
    ("done", "pi-taskbar board move CARD done"),
    ("block", "pi-taskbar board move CARD blocked"),
    ("create", "pi-taskbar board add"),
    ("comment", "pi-taskbar board note CARD"),
    ("link", "pi-taskbar board edit CARD --depends-on ID"),
    ("relation", "pi-taskbar board edit CARD --depends-on ID"),
    ("show", "pi-taskbar board list CARD"),
    ("ready", "pi-taskbar board next --dry-run"),
    ("round", "pi-taskbar team"),
    ("handoff", "pi-taskbar team assign CARD LABEL"),
    ("offer", "pi-taskbar team offer CARD"),
    ("lsit", "pi-taskbar board list"),
    ("relase", "pi-taskbar board release"),
]


@pytest.mark.parametrize(("typed", "meant"), GUESSED, ids=[row[0] for row in GUESSED])
def test_a_guessed_verb_is_answered_with_the_command_that_was_meant(place: Place, typed: str, meant: str) -> None:
    said = place.json("board", typed, "4", who=None)
    data = said.data
    assert (said.code, data["code"], data["action"]) == (2, "unknown_action", typed)
    assert data["details"]["nearest"].startswith(meant)
    assert data["details"]["valid"] == [call.name for call in BOARD]
    told = place.call("board", typed, "4", who=None)
    assert told.code == 2
    assert meant in told.err
    assert "Try: pi-taskbar board --help" in told.err


def test_a_word_that_means_nothing_is_answered_with_all_that_there_are(place: Place) -> None:
    said = place.json("board", "xyzzy", who=None)
    assert "nearest" not in said.data["details"]
    assert "list, add, claim" in said.data["message"]
    assert place.json("team", "xyzzy", who=None).data["details"]["valid"] == [call.name for call in TEAM]


USAGE = [
    (["board", "claim"], "card", "'#4' in quotes"),
    (["board", "move", "4"], "status", "pi-taskbar board move CARD todo|doing|blocked|done"),
    (["board", "add"], "title", "TITLE"),
    (["board", "claim", "4", "--nonsense"], "--nonsense", "It takes --if-rev"),
    (["board", "edit", "4", "--titel", "x"], "--titel", "Did you mean --title?"),
    (["board", "list", "--mine=yes"], None, "--mine"),
    (["board", "add", "Two", "words"], None, "in quotes"),
    (["board", "claim", "4", "--if-rev"], None, "--if-rev"),
    (["board", "claim", "-1"], "-1", "-1"),
    (["team", "assign", "4"], "label", "LABEL"),
    (["team", "--nonsense"], "--nonsense", "It takes --as, --repo, --json"),
]


@pytest.mark.parametrize(("words", "field", "help_words"), USAGE, ids=[" ".join(row[0]) for row in USAGE])
def test_wrong_usage_is_a_bad_field(place: Place, words: list[str], field: str | None, help_words: str) -> None:
    said = place.json(*words, who=None)
    data = said.data
    assert (said.code, data["ok"], data["code"], data["action"]) == (
        2,
        False,
        "bad_field",
        words[1] if words[1].isalpha() else "round",  # what `team` alone does
    )
    assert data["details"].get("field") == field
    assert help_words in data["message"]
    told = place.call(*words, who=None)
    assert (told.code, told.out) == (2, "")
    assert "Try: pi-taskbar " in told.err


def test_a_word_for_a_card_is_refused_by_the_board_itself(place: Place) -> None:
    said = place.json("board", "list", "billing")
    assert (said.code, said.data["code"], said.data["details"]["field"]) == (2, "bad_field", "card")


def test_a_lane_is_refused_in_the_boards_own_words(place: Place) -> None:
    place.do("add", title="T")
    assert "Did you mean done?" in place.json("board", "move", "1", "doen").data["message"]


def test_two_cards_are_one_too_many(place: Place) -> None:
    said = place.json("board", "list", "1", "--card", "2")
    assert (said.code, said.data["code"]) == (2, "bad_field")


@pytest.mark.parametrize(
    "words",
    [
        ["board", "--as", "bob", "--json", "add", "T"],
        ["board", "--as=bob", "add", "--json", "T"],
        ["board", "add", "T", "--json", "--as", "bob"],
    ],
    ids=" ".join,
)
def test_what_every_call_has_may_stand_before_its_name(place: Place, words: list[str]) -> None:
    said = place.call(*words, who=None)
    assert said.card["createdBy"]["label"] == "bob"


def test_the_bare_group_opens_the_page_also_for_programs(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AlonePage, "serve", AlonePage.close)
    assert "The board as team-lead: http://127.0.0.1:" in place.call("board", "--no-browser", who=None).out
    said = place.call("board", "--no-browser", "--json", who=None)
    assert (said.code, said.data["action"], said.data["page"]["kind"]) == (0, "open", "served")


def test_a_text_that_is_an_option_behind_the_dashes_asks_for_no_json(place: Place) -> None:
    said = place.call("board", "nope", "--", "--json", who=None)
    assert said.out == ""


def test_a_card_may_be_named_by_an_option_where_it_is_the_only_word(place: Place) -> None:
    place.do("add", title="T")
    for command in ("list", "why"):
        assert place.json("board", command, "--card", "#1").card["id"] == 1


@pytest.mark.parametrize("words", [["board"], ["team"], *[["board", str(call.name)] for call in BOARD]], ids=" ".join)
def test_help_is_there_at_every_level(words: list[str]) -> None:
    said = CliRunner().invoke(group, [*words, "--help"], prog_name="pi-taskbar")
    assert said.exit_code == 0
    assert said.stdout.startswith(f"Usage: pi-taskbar {' '.join(words)}")


def test_the_help_of_the_board_names_every_exit_code_that_a_call_can_end_with() -> None:
    words = " ".join(CliRunner().invoke(group, ["board", "--help"], prog_name="pi-taskbar").stdout.split())
    told = words.partition("Exit codes: ")[2].partition(".")[0]
    not_here = {code.exit for code in (Code.READ_ONLY, Code.NO_TOKEN, Code.WRONG_HOST, Code.CROSS_SITE)}
    expected = {0, 1, 130} | {code.exit for code in Code} - not_here
    assert {int(one.split()[0]) for one in told.split(", ")} == expected


def test_a_mistyped_family_is_answered_with_the_nearest() -> None:
    said = CliRunner().invoke(group, ["boad", "list"], prog_name="pi-taskbar")
    assert said.exit_code == 2
    assert "Did you mean board?" in said.stderr


def test_the_help_of_the_tree_loads_every_command() -> None:
    said = CliRunner().invoke(group, ["--help"], prog_name="pi-taskbar")
    for name in ("board", "broker", "completion", "team"):
        assert f"\n  {name} " in said.stdout


def test_an_option_for_programs_with_a_value_is_still_answered_to_a_program(place: Place) -> None:
    said = place.call("board", "list", "--json=1", who=None)
    assert (said.code, said.data["code"]) == (2, "bad_field")
