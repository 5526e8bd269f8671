"""Names and rules in policies: `domain.function` and `domain.*`.

A capability is `domain.function`. A rule is a capability, or `domain.*` for all of a domain; there
is no other wildcard, so a rule is matched by two lookups and never by a search. Text from outside
is shown `quoted`: on one line and of bounded length.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from caps.protocol.text import printable

NAME_LENGTH: Final = 64
# The same grammar for the JSON Schema, for editors; the functions below are authoritative.
NAME_PATTERN: Final = rf"[a-z][a-z0-9_]{{0,{NAME_LENGTH - 1}}}"
CAPABILITY_PATTERN: Final = rf"^{NAME_PATTERN}\.{NAME_PATTERN}$"
RULE_PATTERN: Final = rf"^{NAME_PATTERN}\.({NAME_PATTERN}|\*)$"

_FIRST = frozenset("abcdefghijklmnopqrstuvwxyz")
_REST = _FIRST | frozenset("0123456789_")
_SHAPE = "lowercase letters, digits and underscores, at most 64 of them"
# The longest part of a foreign text that a message about a policy quotes.
MAX_QUOTED: Final = 120


def is_name(text: str) -> bool:
    """Whether `text` can be the name of a domain or of a function."""
    return 0 < len(text) <= NAME_LENGTH and text[0] in _FIRST and _REST.issuperset(text)


def checked_domain(text: str) -> str:
    """Return `text` if it is the name of a domain; else raise ValueError."""
    if not is_name(text):
        raise ValueError(f"{quoted(text)} is not a domain: {_SHAPE}")
    return text


def checked_capability(text: str) -> str:
    """Return `text` if it is the name of one capability; else raise ValueError."""
    domain, _, function = text.partition(".")
    if not (is_name(domain) and is_name(function)):
        raise ValueError(f"{quoted(text)} is not a capability: `domain.function`, each {_SHAPE}")
    return text


def checked_rule(text: str) -> str:
    """Return `text` if it is a rule; else raise ValueError that says what is wrong with it."""
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
    """The rule among `rules` that covers `capability`, the exact one first; None: no rule does."""
    if capability in rules:
        return capability
    whole_domain = domain_of(capability) + ".*"
    return whole_domain if whole_domain in rules else None


def quoted(text: str) -> str:
    """`text` in backticks for a message: one line, bounded, and without backticks of its own."""
    return f"`{printable(text, MAX_QUOTED).replace('`', chr(39))}`"
