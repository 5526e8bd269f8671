"""Globs of paths and regular expressions, in linear time."""

from __future__ import annotations

import pytest

from caps.capabilities.provider import ProviderError
from caps.capabilities.schemas.patterns import checked_glob, compiled_regex, glob_matches


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.txt", "a.txt", True),
        ("*.txt", "b/a.txt", False),
        ("**/*.txt", "a.txt", True),
        ("**/*.txt", "b/c/a.txt", True),
        ("**", "", True),
        ("**", "a/b", True),
        ("a/**", "a", True),
        ("a/**", "a/b/c", True),
        ("a/**", "b/a", False),
        ("a/**/d", "a/d", True),
        ("a/**/d", "a/b/c/d", True),
        ("a/**/d", "a/b/c", False),
        ("**/.env", ".env", True),
        ("**/.env", "x/.env", True),
        ("**/.env", "x/.env/y", False),
        ("?[ab].py", "xa.py", True),
        ("?[ab].py", "xc.py", False),
        ("./a//b", "a/b", True),
        ("A.txt", "a.txt", False),
        ("**/**/**/x", "x", True),
    ],
)
def test_a_glob_matches_whole_paths(pattern: str, path: str, expected: bool) -> None:
    """Within components, and `**` over any number of them."""
    assert glob_matches(pattern, [part for part in path.split("/") if part]) is expected


def test_a_glob_with_many_stars_takes_no_time() -> None:
    """It would take longer than the universe has existed if it tried every combination."""
    assert not glob_matches("/".join(["**", "a"] * 200), ["a"] * 199 + ["b"])
    assert not glob_matches("*a" * 100 + "b", ["a" * 255])


@pytest.mark.parametrize("pattern", ["", "/etc", "a/../b", "a\0b", "x" * 1001])
def test_a_glob_that_leads_out_is_refused(pattern: str) -> None:
    """It would match nothing, and so deny nothing."""
    with pytest.raises(ValueError, match="must"):
        checked_glob(pattern)


def test_a_regular_expression_takes_linear_time() -> None:
    """The classic one that backtracks for ever."""
    assert compiled_regex("(a+)+$").search(b"a" * 100_000 + b"b") is None
    assert compiled_regex("ÉTÉ", ignore_case=True).search("en été".encode())


@pytest.mark.parametrize(
    "pattern",
    ["[", r"(a)\1", "(?=a)", "((a{99}){99}){99}", "(a{99}){9}b{900}c{900}", "a" * 1001, "\ud800"],
)
def test_an_expression_that_is_not_one_is_refused_in_one_line(pattern: str) -> None:
    """Back-references and look-around need backtracking; a huge program needs memory."""
    with pytest.raises(ProviderError) as raised:
        compiled_regex(pattern)
    assert str(raised.value).startswith("`pattern` ")
    assert str(raised.value).isprintable()
