"""Where in an HTML document a tag may go: a small tokenizer that reads a page as it streams by.

The injection wrapper feeds it the chunks of a response. It knows as much of the HTML tokenizer as is needed to tell
markup from text: comments, declarations, raw text elements, attributes with and without quotes, script escapes. It
never changes a byte, and between two chunks it remembers only the beginning of a token that the next one may finish.

The place is the first of: before `</head>`, before `<body`, before `</body>`, before `</html>`, after everything. None
of them lies in raw text, in a comment, in a tag or in a `<template>`.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import Final

RAW_TEXT: Final = frozenset(
    (b"script", b"style", b"textarea", b"title", b"xmp", b"iframe", b"noembed", b"noframes", b"noscript", b"plaintext")
)
FOREIGN: Final = frozenset((b"svg", b"math"))
PLACES: Final = frozenset((b"</head", b"<body", b"</body", b"</html"))
OUR_TAG: Final = re.compile(rb"<script\b[^>]*\sdata-pi-browser-taskbar[\s=>/]", re.IGNORECASE)

# White space is the standard's five characters; `\s` would add a vertical tab.
_MARKUP: Final = re.compile(rb"<(?:(!--)|(!(?!-?\Z)|\?|/[^a-zA-Z>])|(/?[a-zA-Z][^\t\n\f\r />]*)(?=[\t\n\f\r />])|(/>))")
_UNFINISHED: Final = re.compile(rb"<(?:!-?|/?|/?[a-zA-Z][^\t\n\f\r />]*)\Z")
_LONGEST_NAME: Final = len(b"</plaintext")

# The short way through a page: text and whole tags that change nothing for us, in one go. What it does not take (a tag
# of another kind, cut off, or written oddly) the states below read byte by byte. Nothing here ever tries a byte twice.
_SPECIAL: Final = b"|".join((*sorted(RAW_TEXT), *sorted(FOREIGN), b"template", b"head", b"body", b"html"))
_VALUE: Final = rb"""(?:"[^"]*+"|'[^']*+'|[^\t\n\f\r >"'][^\t\n\f\r >]*+)"""
_ATTRIBUTE: Final = rb"[^\t\n\f\r />][^\t\n\f\r />=]*+(?:[\t\n\f\r ]*+=[\t\n\f\r ]*+%b)?+" % _VALUE
_PLAIN_TAG: Final = rb"</?(?!(?:%b)[\t\n\f\r />])[a-z][^\t\n\f\r />]*+(?:[\t\n\f\r /]++(?:%b)?+)*+>" % (
    _SPECIAL,
    _ATTRIBUTE,
)
_PLAIN: Final = re.compile(rb"(?:[^<]++|%b|<(?=[^a-z!?/]))*+" % _PLAIN_TAG, re.IGNORECASE)

_TEXT_END: Final = {name: re.compile(rb"</%b(?=[\t\n\f\r />])" % name, re.IGNORECASE) for name in RAW_TEXT}
_SCRIPT_TOKEN: Final = re.compile(rb"<!--|-->|</?script(?=[\t\n\f\r />])", re.IGNORECASE)
_COMMENT_END: Final = re.compile(rb"--!?>")

_BETWEEN: Final = re.compile(rb"[\t\n\f\r /]*")
_BLANK: Final = re.compile(rb"[\t\n\f\r ]*")
_TAG_NAME: Final = re.compile(rb"[^\t\n\f\r />]*")
_NAME_START: Final = re.compile(rb"[^\t\n\f\r />]?")  # an `=` here is part of the name
_NAME: Final = re.compile(rb"[^\t\n\f\r />=]*")
_UNQUOTED: Final = re.compile(rb"[^\t\n\f\r >]*")


def _skip(pattern: re.Pattern[bytes], data: bytes, position: int) -> int:
    """Where `pattern`, which may match nothing, ends."""
    found = pattern.match(data, position)
    return found.end() if found else position


class _In(Enum):
    """What the next byte belongs to. Each state can be left and taken up again at any byte."""

    TEXT = auto()
    COMMENT_START = auto()
    COMMENT = auto()
    DECLARATION = auto()
    RAW = auto()
    TAG_NAME = auto()
    TAG = auto()  # between attributes
    NAME = auto()
    AFTER_NAME = auto()
    VALUE = auto()  # after the equals sign
    UNQUOTED = auto()
    SINGLE = auto()
    DOUBLE = auto()


class _Script(Enum):
    """A script hides its end tag inside `<!-- <script`; the names are those of the HTML standard."""

    PLAIN = auto()
    ESCAPED = auto()
    DOUBLE_ESCAPED = auto()


class PlaceFinder:
    """Finds the one place in a stream of chunks.

    `feed` gives the offset of the place in what it was given, once. Bytes that may begin a place are to be fed again in
    front of the next chunk: `held` says how many at the end of the chunk they are (at most a dozen).
    """

    def __init__(self) -> None:
        self.held = 0
        self._state = _In.TEXT
        self._tag = b""
        self._slash = False  # the last thing in the tag was a `/`
        self._raw = b""
        self._script = _Script.PLAIN
        self._templates = 0
        self._foreign = 0

    @property
    def ends_in_text(self) -> bool:
        """Whether something may stand after the last byte that was fed."""
        return self._state is _In.TEXT and not self._templates and not self.held

    def feed(self, data: bytes) -> int | None:
        """Read on. Gives the offset in `data` at which the place is, or None if `data` does not have it."""
        position, end = 0, len(data)
        self.held = 0
        while position < end and not self.held:
            if self._state is _In.TEXT:
                position, found = self._text(data, position)
                if found is not None:
                    return found
            else:
                position = self._STEPS[self._state](self, data, position)
        return None

    # Every step begins at `position`, changes the state where the bytes say so, and gives the position to go on from.

    def _text(self, data: bytes, position: int) -> tuple[int, int | None]:
        start = _skip(_PLAIN, data, position)
        if start == len(data):
            return start, None
        markup = _MARKUP.match(data, start)
        if markup is None:
            return self._no_markup(data, start), None
        comment, declaration, tag, nothing = markup.groups()
        if comment:
            # `<!-->` and `<!--->` are whole comments: the dashes of the start count for the end
            self._state = _In.COMMENT_START
            return markup.end(), None
        if declaration:
            self._state = _In.DECLARATION
            return start + 1, None
        if nothing:
            return markup.end(), None
        name = tag.lower()
        if b"<" + name in PLACES and not self._templates:
            return start, start
        self._state, self._tag, self._slash = _In.TAG, name, False
        return markup.end(), None

    def _no_markup(self, data: bytes, start: int) -> int:
        """A `<` that begins nothing, or something that the chunk's end cuts off."""
        if not _UNFINISHED.match(data, start):
            return start + 1
        if len(data) - start <= _LONGEST_NAME:
            self.held = len(data) - start
            return start
        # A name longer than any that matters: an ordinary tag, whatever follows.
        self._state, self._tag, self._slash = _In.TAG_NAME, b"", False
        return len(data)

    def _comment_start(self, data: bytes, position: int) -> int:
        rest = data[position : position + 2]
        if rest.startswith(b">"):
            self._state = _In.TEXT
            return position + 1
        if rest == b"->":
            self._state = _In.TEXT
            return position + 2
        if rest == b"-":
            return self._hold(data, position)
        self._state = _In.COMMENT
        return position

    def _comment(self, data: bytes, position: int) -> int:
        if ended := _COMMENT_END.search(data, position):
            self._state = _In.TEXT
            return ended.end()
        return self._hold_tail(data, position, (b"--!", b"--", b"-"))

    def _declaration(self, data: bytes, position: int) -> int:
        end = data.find(b">", position)
        if end < 0:
            return len(data)
        self._state = _In.TEXT
        return end + 1

    def _raw_text(self, data: bytes, position: int) -> int:
        if self._raw == b"plaintext":
            return len(data)
        if self._raw != b"script":
            if ended := _TEXT_END[self._raw].search(data, position):
                return self._leave_raw(ended.end())
            return self._hold_raw_tail(data, position)
        token = _SCRIPT_TOKEN.search(data, position)
        if token is None:
            return self._hold_raw_tail(data, position)
        text = token[0].lower()
        if text == b"</script":
            if self._script is not _Script.DOUBLE_ESCAPED:
                return self._leave_raw(token.end())
            self._script = _Script.ESCAPED
        elif text == b"<script":
            if self._script is _Script.ESCAPED:
                self._script = _Script.DOUBLE_ESCAPED
        elif text == b"-->":
            self._script = _Script.PLAIN
        elif self._script is _Script.PLAIN:
            self._script = _Script.ESCAPED
            return token.start() + 2  # the dashes of `<!-->` end it too
        return token.end()

    def _leave_raw(self, position: int) -> int:
        self._state, self._tag, self._slash = _In.TAG, b"/" + self._raw, False
        return position

    def _tag_name(self, data: bytes, position: int) -> int:
        position = _skip(_TAG_NAME, data, position)
        if position < len(data):
            self._state = _In.TAG
        return position

    def _between_attributes(self, data: bytes, position: int) -> int:
        after = _skip(_BETWEEN, data, position)
        if after > position:
            self._slash = data[after - 1 : after] == b"/"
            return after
        if data[position : position + 1] == b">":
            self._end_of_tag()
            return position + 1
        self._state, self._slash = _In.NAME, False
        return _skip(_NAME_START, data, position)

    def _name(self, data: bytes, position: int) -> int:
        position = _skip(_NAME, data, position)
        if position < len(data):
            self._state = _In.AFTER_NAME
        return position

    def _after_name(self, data: bytes, position: int) -> int:
        position = _skip(_BLANK, data, position)
        if position == len(data):
            return position
        if data[position : position + 1] == b"=":
            self._state = _In.VALUE
            return position + 1
        self._state = _In.TAG
        return position

    def _value(self, data: bytes, position: int) -> int:
        position = _skip(_BLANK, data, position)
        first = data[position : position + 1]
        if first == b'"':
            self._state = _In.DOUBLE
            return position + 1
        if first == b"'":
            self._state = _In.SINGLE
            return position + 1
        if first:
            self._state = _In.TAG if first == b">" else _In.UNQUOTED
        return position

    def _unquoted(self, data: bytes, position: int) -> int:
        position = _skip(_UNQUOTED, data, position)
        if position < len(data):
            self._state = _In.TAG
        return position

    def _single(self, data: bytes, position: int) -> int:
        return self._quoted(data, position, b"'")

    def _double(self, data: bytes, position: int) -> int:
        return self._quoted(data, position, b'"')

    def _quoted(self, data: bytes, position: int, quote: bytes) -> int:
        end = data.find(quote, position)
        if end < 0:
            return len(data)
        self._state = _In.TAG
        return end + 1

    def _end_of_tag(self) -> None:
        self._state = _In.TEXT
        name, closed = self._tag, self._slash
        if name in RAW_TEXT and not (closed and self._foreign):
            self._state, self._raw, self._script = _In.RAW, name, _Script.PLAIN
        elif name == b"template":
            self._templates += 1
        elif name == b"/template":
            self._templates = max(0, self._templates - 1)
        elif name in FOREIGN and not closed:
            self._foreign += 1
        elif name[1:] in FOREIGN:
            self._foreign = max(0, self._foreign - 1)

    # What a chunk's end may have cut off.

    def _hold(self, data: bytes, position: int) -> int:
        self.held = len(data) - position
        return position

    def _hold_tail(self, data: bytes, position: int, beginnings: tuple[bytes, ...]) -> int:
        for beginning in beginnings:
            if data.endswith(beginning, position):
                return self._hold(data, len(data) - len(beginning))
        return len(data)

    def _hold_raw_tail(self, data: bytes, position: int) -> int:
        """Keep what may be the beginning of an end tag or, in a script, of a comment's start or end."""
        tail = data[max(position, len(data) - _LONGEST_NAME) :]
        start = tail.rfind(b"<")
        if start >= 0:
            return self._hold(data, len(data) - len(tail) + start)
        return self._hold_tail(data, position, (b"--", b"-")) if self._raw == b"script" else len(data)

    _STEPS: Final = {
        _In.COMMENT_START: _comment_start,
        _In.COMMENT: _comment,
        _In.DECLARATION: _declaration,
        _In.RAW: _raw_text,
        _In.TAG_NAME: _tag_name,
        _In.TAG: _between_attributes,
        _In.NAME: _name,
        _In.AFTER_NAME: _after_name,
        _In.VALUE: _value,
        _In.UNQUOTED: _unquoted,
        _In.SINGLE: _single,
        _In.DOUBLE: _double,
    }
