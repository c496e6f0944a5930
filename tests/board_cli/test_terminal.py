"""What people see: columns that fit whatever the terminal is, colours only where they belong, and no text that acts."""

from __future__ import annotations

import io
import re
from pathlib import Path
from unicodedata import category

import pytest

from flask_pi_taskbar.board.model import Lane, Note, NoteKind, evolve
from flask_pi_taskbar.commands.rendering import Screen, block, columns, cut, line, padded, screen_of, wrapped
from tests.board_cli.place import Place
from tests.board_core.boards import ME, ago, card

COLOUR = re.compile("\x1b\\[[0-9;]*m")
HOSTILE = "\x1b[31mred\x1b]0;title\x07\r\u202eevil\u2066 \x9b2J\x00 <b>&amp;</b>"

WIDTHS = [
    ("plain", 5),
    ("", 0),
    ("日本語", 6),
    ("e\u0301t\u0301", 2),
    ("½ … ·", 5),
    ("🚀", 2),
    ("❤\ufe0f", 2),
    ("한국어", 6),
    ("\u200dx", 1),
]


@pytest.mark.parametrize(("text", "width"), WIDTHS)
def test_columns_are_what_a_terminal_gives(text: str, width: int) -> None:
    assert columns(text) == width


@pytest.mark.parametrize(
    "text", ["short", "日本語のタイトルはとても長い", "mixed 日本 text that goes on", "👩‍👩‍👧 family and more"]
)
@pytest.mark.parametrize("width", [1, 2, 7, 12, 40])
def test_what_is_cut_or_padded_fits_exactly(text: str, width: int) -> None:
    assert columns(cut(text, width)) <= width
    assert columns(padded(text, width)) == width
    assert cut(text, 100) == text
    if columns(text) > width:
        assert cut(text, width).endswith("…")


@pytest.mark.parametrize(
    "text", ["a few words here", "日本語 と words", "averyveryverylongword it is", "two\n\nparagraphs\tand a tab"]
)
@pytest.mark.parametrize("width", [2, 6, 10, 30])
def test_wrapping_loses_no_word_and_keeps_to_the_width(text: str, width: int) -> None:
    lines = wrapped(text, width)
    assert all(columns(one) <= width for one in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_words_of_others_cannot_act() -> None:
    for text in (line(HOSTILE), "\n".join(block(HOSTILE))):
        assert not [letter for letter in text if category(letter) == "Cc" and letter != "\n"]
        assert not set(text) & set("\u202e\u2066\u200b")
        assert "<b>&amp;</b>" in text
    assert line("half \udc80 of a character") == "half ? of a character"


def test_colours_only_on_a_terminal_that_wants_them() -> None:
    class Tty(io.StringIO):
        def isatty(self) -> bool:
            return True

    assert screen_of(Tty(), {"TERM": "xterm"}).colours
    assert not screen_of(Tty(), {"TERM": "xterm", "NO_COLOR": "1"}).colours
    assert screen_of(Tty(), {"TERM": "xterm", "NO_COLOR": ""}).colours
    assert not screen_of(Tty(), {"TERM": "dumb"}).colours
    assert not screen_of(io.StringIO(), {}).terminal
    closed = io.StringIO()
    closed.close()
    assert not screen_of(closed, {}).colours
    assert Screen(80, True, False).styled("x", "red") == "x"
    assert [screen_of(Tty(), {"COLUMNS": told}).width for told in ("132", "3", "0", "wide", "")] == [
        132,
        20,
        80,
        80,
        80,
    ]


@pytest.fixture
def mixed(place: Place) -> Place:
    """Titles of every width, a holder with a long name, a card in each lane."""
    long = "A title that is long enough to be cut on every terminal that is not very wide, with 日本語 in it"
    place.do("add", title=long, priority="high", note="the first words")
    place.do("add", title="日本語のタイトル", dependsOn=[1])
    place.do("add", title="❤️ and 👩‍👩‍👧", priority="low")
    place.do("claim", "somebody with a name of forty characters", card=3)
    place.do("add", title="Stuck")
    place.do("claim", card=4)
    place.do("note", card=4, text="first line\nsecond line with a `tick` and " + "many words " * 30)
    place.do("move", card=4, status="blocked")
    place.do("add", title="Over")
    place.do("claim", card=5)
    place.do("move", card=5, status="done")
    return place


@pytest.mark.parametrize("width", [20, 40, 60, 80, 132])
def test_every_drawing_keeps_to_the_terminals_width(mixed: Place, width: int) -> None:
    for words in (["board", "list", "--all"], ["board", "list", "4", "--all"], ["team"], ["board", "why", "2"]):
        with mixed.terminal(*words, "--as", "ann", columns=width) as terminal:
            shown = COLOUR.sub("", terminal.rest())
        too_wide = [row for row in shown.splitlines() if columns(row) > width]
        assert terminal.process.returncode == 0
        assert not too_wide, (words, too_wide)


def test_lanes_stand_one_under_another_in_columns(mixed: Place) -> None:
    with mixed.terminal("board", "list", "--as", "ann", columns=120) as terminal:
        rows = COLOUR.sub("", terminal.rest()).splitlines()
    assert [row for row in rows if row and not row.startswith(" ")] == [
        "To do 2",
        "Doing 1",
        "Blocked 1",
        "Done 1  --all lists them",
    ]
    cards = [row for row in rows if row.startswith("  #")]
    assert (
        len({columns(row[: row.index(title)]) for row, title in zip(cards, ("A ti", "日", "❤", "Stuck"), strict=True)})
        == 1
    )
    assert "waits on #1 (todo)" in cards[1]


def test_colours_are_drawn_and_can_be_refused(mixed: Place) -> None:
    with mixed.terminal("board", "list", "--as", "ann") as terminal:
        assert COLOUR.search(terminal.rest())
    for extra in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        with mixed.terminal("board", "claim", "2", "--as", "ann", **extra) as terminal:
            assert "\x1b" not in terminal.rest()
    assert "\x1b" not in mixed.run("board", "list").out


def test_a_card_is_shown_with_its_history(mixed: Place) -> None:
    with mixed.terminal("board", "list", "4", "--as", "ann", columns=70) as terminal:
        shown = COLOUR.sub("", terminal.rest())
    assert shown.startswith("#4  Stuck\n  blocked · ann · rev 4\n")
    assert "\n  │ first line\n  │ second line with a `tick` and many words" in shown
    assert "ago  move\n  │ doing → blocked" in shown


def test_an_old_card_is_shown_with_its_last_notes_until_all_are_asked_for(place: Place) -> None:
    notes = tuple(Note(n=n, at=ago(), by=ME.who, kind=NoteKind.NOTE, text=f"note {n}.") for n in range(1, 31))
    place.plant(evolve(card(1), notes=notes))
    text = place.call("board", "list", "1").out
    assert ("note 30." in text, "note 20." in text) == (True, False)
    assert "20 earlier notes; --all shows them" in text
    assert "note 1." in place.call("board", "list", "1", "--all").out
    with place.terminal("board", "list", "1") as terminal:
        assert "20 earlier entries; --all shows them" in terminal.rest()


@pytest.mark.parametrize(
    "words", [["board", "list"], ["board", "list", "1"], ["team"], ["board", "claim", "1"]], ids=" ".join
)
def test_text_on_a_card_never_reaches_the_terminal_as_commands(place: Place, words: list[str]) -> None:
    planted = evolve(
        card(1, "doing", owner=ME), title="T", paths=("a\x1b[2Jb",), plan="p\x9bq",
        notes=(Note(n=1, at=ago(), by=ME.who, kind=NoteKind.NOTE, text=f"n {HOSTILE}"),),
    )  # fmt: skip
    place.plant(planted)
    path = Path(place.store.layout.card(1))
    path.write_text(path.read_text().replace('"title": "T"', '"title": "T \\u001b[31m\\u202e x"'))
    assert "u001b" in path.read_text()
    with place.terminal(*words, "--as", "ann", NO_COLOR="1") as terminal:
        shown = terminal.rest()
    assert "#1" in shown
    assert not [letter for letter in shown if category(letter) == "Cc" and letter not in "\n\r"]
    assert "\u202e" not in shown


def test_the_name_of_a_damaged_file_cannot_act_either(place: Place) -> None:
    place.do("add", title="T")
    with open(f"{place.store.layout.cards}/7 \x1b[2J.json", "wb") as file:
        file.write(b"\x1b[31m not json")
    with place.terminal("board", "list", NO_COLOR="1") as terminal:
        shown = terminal.rest()
    assert "! 7" in shown
    assert "\x1b" not in shown


def test_a_lane_of_thousands_is_drawn_in_part(place: Place) -> None:
    place.plant(*[card(number) for number in range(1, 251)])
    with place.terminal("board", "list") as terminal:
        shown = terminal.rest()
    assert "… 50 more; narrow with --status, --mine or --query, or list --all" in shown
    with place.terminal("board", "list", "--all") as terminal:
        assert "#250" in terminal.rest()
    assert len([one for one in place.json("board", "list").data["cards"] if one["status"] == Lane.TODO]) == 250


def test_a_stream_that_knows_no_unicode_gets_question_marks(place: Place) -> None:
    place.do("add", title="日本 ❤️")
    said = place.run("board", "list", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert (said.code, said.out) == (0, "#1 todo 0s  ?? ??\n")
