"""What policies mean for the tag."""

from __future__ import annotations

import pytest

from flask_pi_taskbar.csp import Verdict, read


@pytest.mark.parametrize(
    ("policies", "verdict"),
    [
        ([], Verdict()),
        ([""], Verdict()),
        (["default-src 'self'"], Verdict()),
        (["script-src 'self'"], Verdict()),
        (["img-src 'none'; style-src 'none'"], Verdict()),
        (["script-src 'nonce-abc'"], Verdict("abc")),
        (["script-src 'NONCE-aBc='; connect-src 'self'"], Verdict("aBc=")),
        (["default-src 'self'; script-src 'self' 'nonce-a-b_c/+=='"], Verdict("a-b_c/+==")),
        (["default-src 'self' 'nonce-x'"], Verdict("x")),
        (["script-src 'none'; script-src-elem 'nonce-e'"], Verdict("e")),
        (["script-src 'strict-dynamic' 'nonce-s' https:"], Verdict("s")),
        (["SCRIPT-SRC 'nonce-u'"], Verdict("u")),
        (["script-src 'nonce-first'; script-src 'nonce-second'"], Verdict("first")),
        (["script-src 'nonce-a'", "script-src 'nonce-a' 'nonce-b'"], Verdict("a")),
        (["script-src 'nonce-b' 'nonce-a', script-src 'nonce-a'"], Verdict("a")),
        (["script-src 'self'", "script-src 'nonce-c'"], Verdict("c")),
        (["script-src *; connect-src *"], Verdict()),
        (["script-src https://cdn.example; connect-src https://api.example"], Verdict()),
        (["script-src http:; connect-src http:"], Verdict()),
        (["sandbox allow-scripts allow-same-origin allow-forms"], Verdict()),
        (["require-trusted-types-for 'script'; trusted-types 'none'"], Verdict()),
        (["script-src 'nonce-\"><script>'"], "script-src"),
        (["script-src 'none'"], "script-src"),
        (["script-src"], "script-src"),
        (["script-src 'sha256-abc='"], "script-src"),
        (["script-src 'unsafe-inline' 'unsafe-eval'"], "script-src"),
        (["script-src 'self' 'strict-dynamic'"], "script-src"),
        (["script-src-elem 'none'; script-src 'self'"], "script-src-elem"),
        (["default-src 'none'"], "default-src"),
        (["default-src 'none'; script-src 'self'"], "default-src"),
        (["script-src 'nonce-a'; connect-src 'none'"], "connect-src"),
        (["connect-src"], "connect-src"),
        (["sandbox"], "sandbox"),
        (["sandbox allow-scripts"], "sandbox"),
        (["script-src 'nonce-a'", "script-src 'nonce-b'"], "script-src"),
        (["default-src 'self'", "connect-src 'none'"], "connect-src"),
    ],
)
def test_a_policy_gives_a_nonce_or_names_what_stands_in_the_way(policies: list[str], verdict: Verdict | str) -> None:
    found = read(policies)
    if isinstance(verdict, Verdict):
        assert found == verdict
    else:
        assert found.nonce is None
        assert found.obstacle is not None
        assert found.obstacle.startswith(f"the directive {verdict}")
        assert found.obstacle[len(f"the directive {verdict}") :][:1] in (",", " ")
