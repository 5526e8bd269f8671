"""Names and rules: the small closed language that policies are written in.

A capability is `domain.function`. A rule is a capability, or `domain.*` for all of a domain; there
is no other wildcard, so that a rule is matched by two lookups and never by a search. Text that did
not come from us is shown `quoted`: on one line and of bounded length.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Container, Iterable
from typing import Final

NAME_LENGTH: Final = 64
# The same language for JSON Schema, where editors check it; the functions below are what decides.
NAME_PATTERN: Final = rf"[a-z][a-z0-9_]{{0,{NAME_LENGTH - 1}}}"
CAPABILITY_PATTERN: Final = rf"^{NAME_PATTERN}\.{NAME_PATTERN}$"
RULE_PATTERN: Final = rf"^{NAME_PATTERN}\.({NAME_PATTERN}|\*)$"

_FIRST = frozenset("abcdefghijklmnopqrstuvwxyz")
_REST = _FIRST | frozenset("0123456789_")
_SHAPE = "lowercase letters, digits and underscores, at most 64 of them"
_SHOWN_LENGTH = 120
# Comparing names costs the product of their lengths, and unknown names come from untrusted code.
_COMPARED_LENGTH = 2 * NAME_LENGTH + 1


def is_name(text: str) -> bool:
    """Whether `text` can be the name of a domain or of a function."""
    return 0 < len(text) <= NAME_LENGTH and text[0] in _FIRST and _REST.issuperset(text)


def checked_domain(text: str) -> str:
    """`text` itself if it names a domain; ValueError otherwise."""
    if not is_name(text):
        raise ValueError(f"{quoted(text)} is not a domain: {_SHAPE}")
    return text


def checked_capability(text: str) -> str:
    """`text` itself if it names one capability; ValueError otherwise."""
    domain, _, function = text.partition(".")
    if not (is_name(domain) and is_name(function)):
        raise ValueError(f"{quoted(text)} is not a capability: `domain.function`, each {_SHAPE}")
    return text


def checked_rule(text: str) -> str:
    """`text` itself if it is a rule; ValueError, saying what is wrong with it, otherwise."""
    domain, dot, function = text.partition(".")
    if is_name(domain) and (function == "*" or is_name(function)):
        return text
    if text.strip() in ("*", "*.*"):
        raise ValueError(
            f"{quoted(text)} would match everything and is not a rule, "
            "write one `domain.*` for each domain"
        )
    if "*" in text:
        raise ValueError(
            f"{quoted(text)} is not a rule: `*` may only stand for all of a domain, as in `files.*`"
        )
    if is_name(text) and not dot:
        raise ValueError(f"{quoted(text)} is not a rule: write `{text}.*` for the whole domain")
    raise ValueError(f"{quoted(text)} is not a rule: `domain.function` or `domain.*`, {_SHAPE}")


def domain_of(capability: str) -> str:
    """The part of a capability's name before the dot."""
    return capability.partition(".")[0]


def matching_rule(rules: Container[str], capability: str) -> str | None:
    """The rule among `rules` that covers `capability`, the exact one first; None if none does."""
    if capability in rules:
        return capability
    whole_domain = domain_of(capability) + ".*"
    return whole_domain if whole_domain in rules else None


def nearest(text: str, known: Iterable[str]) -> str | None:
    """The known name that `text` was most likely meant to be; None if nothing is close."""
    if len(text) > _COMPARED_LENGTH:
        return None
    close = difflib.get_close_matches(text, _sorted(known), n=1, cutoff=0.6)
    return close[0] if close else None


def _sorted(known: Iterable[str]) -> Collection[str]:
    # Sorted, so that equally close names give the same answer in every process.
    return sorted(known)


def one_line(text: str) -> str:
    """`text` with everything that is not printable escaped, cut to a bounded length."""
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[: _SHOWN_LENGTH + 1])
    return shown if len(shown) <= _SHOWN_LENGTH else shown[:_SHOWN_LENGTH] + "…"


def quoted(text: str) -> str:
    """`text` in backticks, fit for a message: one line, bounded, and it cannot close them."""
    return f"`{one_line(text).replace('`', chr(39))}`"
