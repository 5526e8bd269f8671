"""The cells of the tables that commands print."""

from __future__ import annotations

from caps.cli.render.tables import format_arguments


def test_hidden_arguments_have_a_fixed_order() -> None:
    """Names that come as a set print the same in every process."""
    names = [f"name_{letter}" for letter in "hgfedcba"]
    shown = format_arguments({"path": "a"}, frozenset(names))
    assert shown == ", ".join(["path='a'", *(f"{name}=<hidden>" for name in sorted(names))])
