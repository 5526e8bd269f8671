"""Identifiers that are refused, and those that need no further look."""

from __future__ import annotations

from caps.worker.inside.language import identifiers
from caps.worker.inside.language.identifiers import refusal


def test_every_name_of_the_interpreter_has_an_underscore() -> None:
    """A name without one is allowed without a search."""
    names = identifiers._INTERPRETER_NAMES
    assert [name for name in names if "_" not in name] == []
    assert [name for name in names if refusal(name) is None] == []


def test_the_prefixes_of_the_interpreter_have_three_letters() -> None:
    """As many of a name are compared with them."""
    assert {len(prefix) for prefix in identifiers._INTERPRETER_PREFIXES} == {3}
    names = [f"{prefix}x" for prefix in identifiers._INTERPRETER_PREFIXES]
    assert [name for name in names if refusal(name) is None] == []
