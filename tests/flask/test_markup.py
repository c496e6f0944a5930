"""Where a tag may go in a document, however the document is cut into chunks."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flask_pi_taskbar.markup import OUR_TAG, PlaceFinder

LONGEST_HELD = 12


def find(chunks: list[bytes]) -> tuple[int | None, bool]:
    """The place as an offset in the whole document, and whether the document ends in text."""
    finder, held, before = PlaceFinder(), b"", 0
    for chunk in chunks:
        data = held + chunk
        found = finder.feed(data)
        if found is not None:
            return before + found, True
        assert finder.held <= LONGEST_HELD
        held = data[len(data) - finder.held :]
        before += len(data) - finder.held
    return None, finder.ends_in_text


# `§` marks the place; a document without one has none, but may still end in text.
DOCUMENTS = {
    "before the end of the head": "<!doctype html><html><head><title>t</title>§</head><body></body></html>",
    "in any case of letters": "<HTML><HEAD>§</HEAD ><BODY></BODY>",
    "before a body whose head has no end tag": "<!doctype html><title>t</title>§<body class=x>",
    "before a body with attributes": "<head><meta charset=utf-8>§<body\nclass='a>b'>",
    "before the end of a body": "<h1>x</h1>§</body>",
    "before the end of html": "<p>x§</html>",
    "not in a script": "<script>var t='</body></head><body>'</script>§</body>",
    "not in a script's string with an escaped tag": "<script>'<script>' + '</head>'</script>§</head>",
    "not in a hidden end tag of a script": "<script><!-- <script></script> </head> --></script>§</head>",
    "after a script with a short comment": "<script><!--></script>§</head>",
    "after a script with an unclosed comment": "<script><!-- </script>§</head>",
    "after a script that is not self-closing": "<script src=x /></head></script>§</head>",
    "after a script whose end tag has attributes": "<script></head></script x='</head>'>§</head>",
    "not at a name that begins like script": "<script></scripts></head></script>§</head>",
    "not in a style": "<style>/*</head>*/</style>§</head>",
    "not in a title": "<title></head></title>§</head>",
    "not in a textarea": "<textarea></body></textarea>§</body>",
    "not in noscript": "<noscript></head></noscript>§</head>",
    "not in old raw text": "<xmp></body></xmp><noembed></body></noembed><iframe></body></iframe>§</body>",
    "not in a comment": "<!-- </head> --><!--</head>--!>§</head>",
    "after the shortest comments": "<!--><!---><!---->§</head><!-- </body> -->",
    "not in a comment that has dashes": "<!-- -- > </head> ---->§</head>",
    "not in a conditional comment": "<!--[if IE]></head><![endif]-->§</head>",
    "not in a declaration": "<?xml version='1.0' </head ?><!doctype x </head >§</head>",
    "not in an end tag that is none": "</ head></3 </head >§</head>",
    "after an end tag of nothing": "</>§</head>",
    "not in a quoted attribute": "<p a='</head>' b=\"</head>\" c = '</head>'>§</head>",
    "not in an attribute without quotes": "<p a=it's b=</head>§</head>",
    "after a quote in a name": "<p \"=x '>§</head>",
    "after an equals sign as a name": '<p ="a>§</head>',
    "after an empty value": "<p a= >§</head>",
    "after a value right behind a value": "<p a='x'b='>'c>§</head>",
    "not at a name that begins like head": "<header></header></heading><bodyx></bodyx>§</head>",
    "not at a lone angle": "a < b, a <3, <= §</head>",
    "not in a template": "<template><head></head><body></body></template>§</head>",
    "not in a template in a template": "<template><template></template></head></template>§</head>",
    "after an end tag of no template": "</template>§</head>",
    "after an svg with its own script": "<svg><script href=x /><style/></svg>§</body>",
    "after an svg with a style": "<svg><style>a{} </body></style></svg><p>§</body>",
    "after an svg that closed itself": "<svg/><script/></body></script>§</body>",
    "after a name of many letters": f'<{"x" * 50}="a>§</head>',
    "after a name of many letters and a slash": f'<{"x" * 50}/a="b>c">§</head>',
    "in bytes that are no UTF-8": "<p>\udcff\udcfe§</head>",
}


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 1000])
@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_place_is(name: str, size: int) -> None:
    document = DOCUMENTS[name].encode("utf-8", "surrogateescape")
    mark = "§".encode()
    expected = document.index(mark)
    document = document.replace(mark, b"", 1)
    chunks = [document[at : at + size] for at in range(0, len(document), size)]
    assert find(chunks) == (expected, True)


@pytest.mark.parametrize(
    ("document", "in_text"),
    [
        (b"home page", True),
        (b"<p>home page", True),
        (b"", True),
        (b"a < b", True),
        (b"<p>x</p>\n<!-- end -->", True),
        (b"<script>x</script>", True),
        (b"<script>x", False),
        (b"<!-- x", False),
        (b"<!-- x --", False),
        (b"<p class='x", False),
        (b"<p ", False),
        (b"<!doctype html", False),
        (b"x</bod", False),
        (b"x<", False),
        (b"<template>", False),
        (b"<textarea></textare", False),
        (b"<plaintext></plaintext></body>", False),
        (b"<script></body>", False),
    ],
)
def test_a_document_without_a_place_may_still_end_where_text_may_stand(document: bytes, in_text: bool) -> None:
    assert find([document]) == (None, in_text)
    assert find([document[at : at + 1] for at in range(len(document))]) == (None, in_text)


PIECES = st.sampled_from(
    re.split(
        r"\s",
        """</head> <head> <body> </body> </html> <body <script> </script> <!-- --> --!> <!--> <! <? < </ > / = ' "
    a x< - <p <a href= <style> </style> <textarea> </textarea> <title></title> <template> </template> <svg> </svg>
    <script/> </script </scripty> <!DOCTYPE plaintext> é""",
    )
) | st.sampled_from(" \n")


@given(st.lists(PIECES, max_size=30), st.data())
def test_the_chunks_do_not_matter(pieces: list[str], data: st.DataObject) -> None:
    document = "".join(pieces).encode()
    cuts = sorted(data.draw(st.sets(st.integers(0, len(document)), max_size=8)))
    chunks = [document[a:b] for a, b in zip([0, *cuts], [*cuts, len(document)], strict=True)]
    byte_by_byte = [document[at : at + 1] for at in range(len(document))]
    assert find(chunks) == find([document]) == find(byte_by_byte)


@pytest.mark.parametrize(
    ("page", "ours"),
    [
        (b"<script type=module src=x data-pi-browser-taskbar data-mount-base=/x></script>", True),
        (b"<SCRIPT\ndata-pi-browser-taskbar>", True),
        (b"&lt;script data-pi-browser-taskbar>", False),
        (b"<script data-pi-browser-taskbar-bootstrap>", False),
        (b"<script>data-pi-browser-taskbar </script>", False),
    ],
)
def test_our_own_tag_is_known_by_its_attribute(page: bytes, ours: bool) -> None:
    assert (OUR_TAG.search(page) is not None) is ours
