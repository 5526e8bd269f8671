"""Identifiers that are refused, and those that need no further look."""

from __future__ import annotations

from caps.worker.inside.language import identifiers
from caps.worker.inside.language.identifiers import refusal


def test_whatever_is_refused_has_an_underscore() -> None:
    """The transformer looks no further at a name that has none."""
    prefixes = [f"{prefix}x" for prefix in identifiers._INTERPRETER_PREFIXES]
    names = [*identifiers._INTERPRETER_NAMES, *prefixes, "__x__"]
    assert [name for name in names if "_" not in name] == []
    assert [name for name in names if refusal(name) is None] == []
