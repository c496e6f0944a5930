"""Every state of the page in both themes and three widths: a picture of it, nothing overflows, axe finds nothing.

The pictures go to the directory that PI_TASKBAR_SCREENSHOTS names, for people to look at; else to the test's own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

from flask_pi_taskbar.board.identity import session
from tests.board_browser.place import Board
from tests.board_browser.world import full
from tests.support import axe
from tests.support.waiting import until

pytestmark = pytest.mark.browser

WIDTHS = (1440, 1000, 390)
THEMES = ("light", "dark")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
CHECK = """
const done = arguments[arguments.length - 1];
axe.run(document, { runOnly: arguments[0] }).then(({ violations }) => done(violations.map((one) =>
  `${one.id}: ${one.nodes.map((node) => node.target.join(' ')).join(', ')}`)));
"""


def card_of(board: Board, words: str) -> str:
    return f'[data-card="{next(c.id for c in board.place.store.read_all(now()).cards() if words in c.title)}"]'


def now():
    from datetime import UTC, datetime

    return datetime.now(UTC)


def dialog(board: Board, words: str) -> None:
    # On a narrow page only one lane is there, so the address opens the card.
    number = card_of(board, words).split('"')[1]
    board.open(f"?card={number}")
    board.shows("dialog[data-dialog=card] .history > li")


def new_card(board: Board) -> None:
    board.open()
    board.press("n")
    board.shows("dialog[data-dialog=new]")
    board.type("[name=title]", "Orders are archived after a year, with their invoices")


def edit(board: Board) -> None:
    dialog(board, "Retry branches")
    board.click("dialog [data-edit]")
    board.shows("dialog[data-dialog=edit] .link-chips .chip")


def refused(board: Board) -> None:
    dialog(board, "Rate limits")
    board.click('dialog [data-move="doing"]')
    board.shows("dialog .refusal")


def confirm(board: Board) -> None:
    dialog(board, "Password reset")
    board.click("dialog [data-reclaim]")
    board.shows("dialog[data-dialog=confirm]")


def sheet(board: Board) -> None:
    board.open()
    board.press("?")
    board.shows("dialog[data-dialog=sheet]")


def prune(board: Board) -> None:
    board.open()
    board.click("#more")
    board.click("#prune")
    board.shows("dialog[data-dialog=prune] .prune-result p")


def damaged(board: Board) -> None:
    board.open()
    board.click('[data-damaged="40.json"] .id-link')
    board.shows("dialog[data-dialog=aside]")


def no_key(board: Board) -> None:
    board.open(live=False)
    board.browser.execute_script("sessionStorage.clear()")
    board.browser.get(board.place.address().partition("#")[0])
    board.shows("#refused")


def stopped(board: Board) -> None:
    board.open()
    board.place.stop()
    board.shows('#live[data-live="stopped"]')


STATES: dict[str, Callable[[Board], object]] = {
    "board": lambda board: board.open(),
    "filtered": lambda board: board.open("?q=invoices"),
    "team": lambda board: board.open("?view=team"),
    "viewer": lambda board: board.open(viewer=True),
    "card": lambda board: dialog(board, "Password reset"),
    "done-card": lambda board: dialog(board, "XML tag"),
    "new": new_card,
    "edit": edit,
    "refused-move": refused,
    "confirm": confirm,
    "sheet": sheet,
    "prune": prune,
    "damaged-file": damaged,
    "no-key": no_key,
    "stopped": stopped,
}


def look(board: Board, state: str, tmp_path: Path) -> None:
    """Pictures and checks of what is shown now, in every width and theme."""
    out = Path(os.environ.get("PI_TASKBAR_SCREENSHOTS") or tmp_path)
    out.mkdir(parents=True, exist_ok=True)
    source = axe.script()
    board.cdp("Page.setBypassCSP", enabled=True)  # the page's own policy lets no checker in
    if source is not None:
        board.browser.execute_script(source.read_text())
    board.browser.set_script_timeout(30)
    for width in WIDTHS:
        board.resize(width, 844 if width < 500 else 900)
        for theme in THEMES:
            board.theme(theme)
            board.browser.save_screenshot(str(out / f"board-{state}-{width}-{theme}.png"))
            assert board.js("return document.documentElement.scrollWidth") <= width, f"{state} overflows at {width} px"
            if source is not None:
                found = board.browser.execute_async_script(CHECK, RULES)
                assert found == [], f"{state} at {width} px, {theme}: {found}"


@pytest.mark.parametrize("state", STATES)
def test_each_state_looks_right_and_can_be_used(chromium_board: Board, state: str, tmp_path: Path) -> None:
    board = chromium_board
    full(board.place)
    board.resize(1440, 900)
    STATES[state](board)
    look(board, state, tmp_path)


def test_an_empty_board_looks_right(chromium_board: Board, tmp_path: Path) -> None:
    chromium_board.open()
    chromium_board.shows("#first-card")
    look(chromium_board, "empty", tmp_path)


def test_whoever_wants_no_motion_gets_none(chromium_board: Board) -> None:
    board = chromium_board
    board.place.add("One")
    board.media(prefers_reduced_motion="reduce")
    board.open()
    moving = """
    return [...document.querySelectorAll('*')].filter((one) => {
      const { animationName, transitionDuration } = getComputedStyle(one);
      return animationName !== 'none' || transitionDuration.split(',').some((time) => parseFloat(time) > 0);
    }).length;
    """
    assert board.js(moving) == 0
    board.media(prefers_reduced_motion="no-preference")
    assert board.js(moving) > 0, "and others do"


def test_in_forced_colours_lanes_states_and_choices_can_be_told_apart(chromium_board: Board, tmp_path: Path) -> None:
    board = chromium_board
    full(board.place)
    board.media(forced_colors="active")
    board.open()
    all_of = "return [...document.querySelectorAll('%s')].map((one) => getComputedStyle(one).%s)"
    dots = all_of % (".lane-head .dot", "backgroundColor")
    assert len(set(board.js(dots))) == 4
    chosen = all_of % (".view", "outlineStyle")
    assert sorted(board.js(chosen)) == ["none", "solid"]
    out = Path(os.environ.get("PI_TASKBAR_SCREENSHOTS") or tmp_path)
    assert board.browser.save_screenshot(str(out / "board-forced-colours.png"))


def test_at_twice_the_size_nothing_is_cut_off(chromium_board: Board) -> None:
    full(chromium_board.place)
    chromium_board.resize(720, 450)  # 1440 x 900 at 200 %
    for query in ("", "?view=team"):
        chromium_board.open(query)
        assert chromium_board.js("return document.documentElement.scrollWidth") <= 720


PAYLOADS = [
    "<script>window.hit = 1</script>",
    "<img src=x onerror='window.hit = 1'>",
    "\"><svg onload='window.hit = 1'>",
    "'><iframe srcdoc='<script>parent.hit = 1</script>'>",
    "javascript:window.hit = 1",
    "</title><body onload='window.hit = 1'>",
    "<a href='javascript:window.hit = 1'>x</a>",
    "{{constructor.constructor('window.hit = 1')()}}",
    "${window.hit = 1}",
    "<style>@import 'x'; * { display: none }</style>",
    "<b onmouseover=window.hit=1>bold</b>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=window.hit=1>",
    "&lt;script&gt;window.hit = 1&lt;/script&gt;",
    "<form id=pane><input name=textContent>",
    "__proto__",
    "constructor",
    "<details open ontoggle='window.hit = 1'>x</details>",
    "<video><source onerror='window.hit = 1'></video>",
    "<audio src=x onerror=window.hit=1>",
    "<input autofocus onfocus=window.hit=1>",
    "<object data='javascript:window.hit = 1'>",
    "<embed src='javascript:window.hit = 1'>",
    "<base href='//evil.example/'>",
    "<meta http-equiv=refresh content='0;url=javascript:window.hit = 1'>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<marquee onstart=window.hit=1>",
    "<template><script>window.hit = 1</script></template>",
    "<noscript><p title='</noscript><img src=x onerror=window.hit=1>'>",
    "<svg><animate onbegin=window.hit=1 attributeName=x></svg>",
    "<svg><a xlink:href='javascript:window.hit = 1'><text>x</text></a></svg>",
    "<!--><img src=x onerror=window.hit=1>-->",
    "<![CDATA[<img src=x onerror=window.hit=1>]]>",
    "`${window.hit = 1}`",
    "';window.hit = 1;//",
    '";window.hit = 1;//',
    "\\x3cscript\\x3ewindow.hit = 1\\x3c/script\\x3e",
    "\u2028window.hit = 1//",
    "data:text/html,<script>window.hit = 1</script>",
    "x onmouseover=window.hit=1 y=",
    "%3Cscript%3Ewindow.hit%20=%201%3C/script%3E",
]


def test_what_somebody_wrote_is_text_and_nothing_else(board: Board) -> None:
    place = board.place
    assert len(PAYLOADS) == 40
    for payload in PAYLOADS:
        place.add(payload[:120], session("as:x", "x"), paths=[payload[:200]], note=payload)
    (Path(place.store.layout.cards) / "<img src=x onerror=window.hit=1>.json").write_text(PAYLOADS[0])
    (Path(place.store.layout.cards) / "7 (<b>).json").write_text(PAYLOADS[0])
    board.open()
    listen = "document.addEventListener('securitypolicyviolation', (e) => reports.push(e.blockedURI))"
    board.js(f"window.reports = []; {listen}")
    until(lambda: board.count("[data-card]") == len(PAYLOADS), "all cards are drawn")
    titles = board.js("return [...document.querySelectorAll('.card-title')].map((one) => one.textContent)")
    assert sorted(titles) == sorted(card.title for card in place.store.read_all(now()).cards())
    for number in (1, 2, 14):
        board.click(f'[data-card="{number}"] [data-action="open"]')
        board.says("dialog .entry p", PAYLOADS[number - 1][:10])
        board.click("dialog [data-close]")
    board.click('[data-view="team"]')
    board.shows("[data-queue-row]")
    assert board.js("return window.hit ?? null") is None
    assert board.js("return window.reports") == []
    assert board.js("return document.querySelectorAll('iframe, img, form[id=pane], .card script').length") == 0


def test_the_keyboard_alone_adds_claims_and_notes(board: Board) -> None:
    place = board.place
    place.add("One")
    board.open()
    board.press("n")
    board.shows("dialog[data-dialog=new]")
    board.type("[name=title]", "By keyboard")
    board.chord(Keys.CONTROL, Keys.ENTER)
    until(lambda: len(list(place.store.read_all(now()).cards())) == 2, "the card is there")
    board.press(Keys.ESCAPE)
    board.gone("dialog")
    board.press("j")
    until(lambda: board.focused(".card"), "a card has the focus")
    number = board.js("return document.activeElement.dataset.card")
    board.press(Keys.ENTER)
    board.shows("dialog[data-dialog=card] [name=text]")
    board.tab_to("[name=text]")
    board.type("[name=text]", "Written by keyboard")
    board.chord(Keys.CONTROL, Keys.ENTER)
    board.says("dialog .entry p", "Written by keyboard")
    board.press(Keys.ESCAPE)
    board.gone("dialog")
    until(lambda: board.js("return document.activeElement?.closest('.card')?.dataset.card") == number, "focus is back")
    board.tab_to('[data-action="claim"]')
    board.press(Keys.ENTER)
    board.shows("dialog[data-dialog=confirm]")
    board.tab_to("dialog [data-submit]")
    board.press(Keys.ENTER)
    board.says(f'[data-lane="doing"] [data-card="{number}"]', "team-lead")
