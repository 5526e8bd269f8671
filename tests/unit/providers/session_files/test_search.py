"""Searching with patterns of untrusted code."""

from __future__ import annotations

import math
import re
import time
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caps.capabilities.provider import ProviderError
from caps.providers.session_files.search import (
    MAX_LINE_BYTES,
    MAX_MATCHES,
    MAX_SHOWN_CHARACTERS,
    Search,
    path_filter,
)


def search(pattern: str, *contents: bytes) -> Search:
    found = Search(pattern, math.inf)
    found.add((f"/{number}", content) for number, content in enumerate(contents))
    return found


def test_lines_are_found_with_their_numbers() -> None:
    """From 1 on; line ends of any kind are not part of a line."""
    found = search(r"^b.*d$", b"a\nb d\r\nbcd", b"", b"bd")
    assert found.matches == [
        {"path": "/0", "line_number": 2, "line": "b d"},
        {"path": "/0", "line_number": 3, "line": "bcd"},
        {"path": "/2", "line_number": 1, "line": "bd"},
    ]
    assert not found.truncated


def test_bytes_that_are_not_text_are_not_searched() -> None:
    """Neither invalid UTF-8 nor NUL; the number says so."""
    found = Search("a", math.inf)
    assert found.add([("/x", b"a\xff"), ("/y", b"a\0"), ("/z", "aé".encode())]) == 1
    assert [match["path"] for match in found.matches] == ["/z"]


@pytest.mark.parametrize("pattern", [r"(x+x+)+y", r"(a|a)*b", r"^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_a_pattern_that_would_backtrack_takes_linear_time(pattern: str) -> None:
    """`re` would need longer than the universe exists; this ends, or the suite does not."""
    assert search(pattern, b"x" * 50_000, b"a" * 50_000).matches == []


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("[a-z", "`pattern` is not valid: missing ]"),
        (r"(a)\1", "`pattern` is not valid: invalid escape sequence"),
        ("(?=a)", "`pattern` is not valid: invalid perl operator"),
        ("(?:a{500}){500}", "`pattern` is not valid: invalid repetition size"),
        (r"(\pL{1,20}){1,20}", "`pattern` is"),
        ("(a|bc){1,900}(d|ef){1,900}", "`pattern` is too complex"),
        ("\ud800", "holds half of a surrogate pair"),
    ],
)
def test_a_pattern_that_is_not_valid_or_too_large_is_refused(pattern: str, message: str) -> None:
    """In one line."""
    with pytest.raises(ProviderError) as raised:
        search(pattern)
    assert message in raised.value.message
    assert raised.value.message.isprintable()


def test_the_result_is_bounded() -> None:
    """In matches, in the length of a line, and in all; the result says that there is more."""
    many = search("a", b"a\n" * (MAX_MATCHES + 1), b"a")
    assert len(many.matches) == MAX_MATCHES
    assert many.truncated
    (long,) = search("needle", b"x" * 5000 + b"needle" + b"y" * 5000).matches
    assert len(long["line"]) == MAX_SHOWN_CHARACTERS
    assert "needle" in long["line"]
    wide = search("a", *[b"a" * 1000] * 1000)
    assert wide.truncated
    assert sum(len(match["line"]) for match in wide.matches) < 200_000
    far = search("needle", b"x" * MAX_LINE_BYTES + b"needle")
    assert far.matches == []
    assert far.truncated
    cut = search("é", b"x" + "é".encode() * MAX_LINE_BYTES)
    assert cut.matches[0]["line"].startswith("xé")


def test_it_stops_at_its_deadline() -> None:
    """Between two lines."""
    with pytest.raises(TimeoutError):
        Search("a", time.monotonic() - 1).add([("/x", b"a")])


@pytest.mark.parametrize(
    ("glob", "path", "fits"),
    [
        (None, "/a", True),
        ("", "/a", True),
        ("*.txt", "/a.txt", True),
        ("*.txt", "/d/e/a.txt", True),
        ("*.txt", "/a.txt/b", False),
        ("a?.md", "/d/ab.md", True),
        ("/docs/*.md", "/docs/a.md", True),
        ("docs/*.md", "/docs/a.md", True),
        ("/docs/*.md", "/docs/x/a.md", False),
        ("/docs/**/*.md", "/docs/a.md", True),
        ("/docs/**/*.md", "/docs/x/y/a.md", True),
        ("**/a.md", "/a.md", True),
        ("/docs/**", "/docs/x/y", True),
        ("[ab].md", "/b.md", True),
        ("[!ab].md", "/b.md", False),
        ("[a-c]", "/b", True),
        ("[", "/[", True),
        ("a.c", "/abc", False),
        ("a+(b)|c", "/a+(b)|c", True),
        ("e\u0301", "/\u00e9", True),
        ("[.*]", "/*", True),
        ("*", "/.hidden", True),
    ],
)
def test_a_path_pattern_is_a_glob(glob: str | None, path: str, fits: bool) -> None:
    """Without `/` it is about the name, with one about the whole path."""
    assert path_filter(glob)(path) is fits


@given(st.text("ab.*?[]!-/(+", max_size=12), st.text("ab.-(+", min_size=1, max_size=6))
def test_a_glob_of_a_name_is_that_of_fnmatch(glob: str, name: str) -> None:
    """Where both are defined: without `/`, and with classes that fnmatch accepts."""
    if "/" in glob or "**" in glob or not glob or re.search(r"\[!?\]|\[[^\]]*[\[!-]|-\]", glob):
        return
    assert path_filter(glob)(f"/{name}") == fnmatchcase(name, glob)


def test_a_glob_that_is_not_valid_is_refused() -> None:
    """One that leads out of the tree would match nothing."""
    with pytest.raises(ProviderError, match="`path_pattern` is not valid"):
        path_filter("/a/../b")
