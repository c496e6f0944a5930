"""What a page's Content-Security-Policy means for our tag: the nonce it must carry, or why it could not work.

The injection wrapper asks. Policies are only read; not a byte of them is ever changed. Report-only policies block
nothing and are not read at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

_NONCE: Final = re.compile(r"'nonce-([A-Za-z0-9+/_-]+={0,2})'", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Verdict:
    """`obstacle` names the directive that keeps the taskbar from working; None if none does."""

    nonce: str | None = None
    obstacle: str | None = None


UNRESTRICTED: Final = Verdict()


def read(header_values: Iterable[str]) -> Verdict:
    """What all enforced policies of a response mean together."""
    policies = [_directives(policy) for value in header_values for policy in value.split(",")]
    nonce = _common_nonce([sources for policy in policies if (sources := _script_sources(policy)) is not None])
    for policy in policies:
        if obstacle := _obstacle(policy, nonce):
            return Verdict(None, obstacle)
    return Verdict(nonce, None)


def _directives(policy: str) -> dict[str, list[str]]:
    directives: dict[str, list[str]] = {}
    for text in policy.split(";"):
        name, *sources = text.split() or [""]
        directives.setdefault(name.lower(), sources)  # of two with one name, the first counts
    return directives


def _first(policy: dict[str, list[str]], *names: str) -> tuple[str, list[str]] | None:
    return next(((name, policy[name]) for name in names if name in policy), None)


def _script_sources(policy: dict[str, list[str]]) -> list[str] | None:
    found = _first(policy, "script-src-elem", "script-src", "default-src")
    return found[1] if found else None


def _nonces(sources: Sequence[str]) -> list[str]:
    return [match[1] for source in sources if (match := _NONCE.fullmatch(source))]


def _common_nonce(all_sources: list[list[str]]) -> str | None:
    """The nonce that satisfies most policies; a tag can have only one."""
    nonces = [nonce for sources in all_sources for nonce in dict.fromkeys(_nonces(sources))]
    return max(dict.fromkeys(nonces), key=nonces.count, default=None)


def _obstacle(policy: dict[str, list[str]], nonce: str | None) -> str | None:
    if "sandbox" in policy and not {"allow-scripts", "allow-same-origin"} <= {
        token.lower() for token in policy["sandbox"]
    }:
        return "the directive sandbox (without allow-scripts and allow-same-origin)"
    scripts = _first(policy, "script-src-elem", "script-src", "default-src")
    if scripts and not _lets_us_load(scripts[1], nonce):
        return f"the directive {scripts[0]}, which names neither 'self' nor a nonce"
    connections = _first(policy, "connect-src", "default-src")
    if connections and not _names_a_place(connections[1]):
        return f"the directive {connections[0]}, which lets the page call no address of its own (connect-src 'self')"
    return None


def _lets_us_load(sources: Sequence[str], nonce: str | None) -> bool:
    if nonce is not None and nonce in _nonces(sources):
        return True
    return _names_a_place(sources) and "'strict-dynamic'" not in map(str.lower, sources)


def _names_a_place(sources: Sequence[str]) -> bool:
    """Whether `'self'`, a host or a scheme is among the sources. A host may be another one: then we cannot know."""
    return any(source.lower() == "'self'" or not source.startswith("'") for source in sources)
