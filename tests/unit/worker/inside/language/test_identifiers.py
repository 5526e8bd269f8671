"""Identifiers that are refused, and those that need no further look."""

from __future__ import annotations

from caps.worker.inside.language import identifiers
from caps.worker.inside.language.identifiers import (
    CHECKED,
    GUARDED_READS,
    HOOKS,
    READABLE,
    SIGNALS,
    WRITABLE,
    refusal,
)


def test_whatever_is_refused_has_an_underscore() -> None:
    """The transformer looks no further at a name that has none."""
    prefixes = [f"{prefix}x" for prefix in identifiers._INTERPRETER_PREFIXES]
    names = [*identifiers._INTERPRETER_NAMES, *prefixes, "__x__"]
    assert [name for name in names if "_" not in name] == []
    assert [name for name in names if refusal(name) is None] == []


def test_a_rule_about_an_attribute_without_an_underscore_is_one_about_its_read() -> None:
    """The transformer looks no further at the others."""
    ruled = HOOKS | WRITABLE | READABLE | CHECKED | SIGNALS
    assert [name for name in ruled if "_" not in name and name not in GUARDED_READS] == []
