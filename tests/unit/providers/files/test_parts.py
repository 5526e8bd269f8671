"""Parts of a file: ranges of bytes and of lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from caps.capabilities.provider import ProviderError, ScopeViolationError
from caps.providers.files import read
from support.file_calls import file_call


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "lines").write_text("one\ntwo\nthree\nfour")
    (tmp_path / "wide").write_text("a" * 50 + "\nb\n")
    (tmp_path / "text").write_text("né")
    return tmp_path


@pytest.mark.parametrize(
    ("wanted", "content", "more"),
    [
        ({"offset": 4}, "two\nthree\nfour", False),
        ({"offset": 4, "length": 3}, "two", True),
        ({"length": 0}, "", True),
        ({"offset": 18}, "", False),
        ({"offset": 999}, "", False),
        ({"length": 18}, "one\ntwo\nthree\nfour", False),
        ({"first_line": 2}, "two\nthree\nfour", False),
        ({"first_line": 2, "last_line": 3}, "two\nthree\n", True),
        ({"last_line": 1}, "one\n", True),
        ({"first_line": 4, "last_line": 4}, "four", False),
        ({"first_line": 9}, "", False),
    ],
)
def test_a_part_and_whether_more_follows(
    root: Path, wanted: dict[str, int], content: str, more: bool
) -> None:
    """Lines keep their ends, so that parts put together are the file."""
    found = read.read(file_call("files.read", root), "lines", **wanted)
    assert (found["content"], found["more"], found["size_bytes"]) == (content, more, len(content))


def test_a_large_file_is_read_in_parts(root: Path) -> None:
    """As a whole it is over `max_bytes`."""
    context = file_call("files.read", root, max_bytes=8)
    with pytest.raises(ScopeViolationError):
        read.read(context, "lines")
    parts, start = [], 0
    while True:
        found = read.read(context, "lines", offset=start)
        parts.append(found["content"])
        start += found["size_bytes"]
        if not found["more"]:
            break
    assert "".join(parts) == "one\ntwo\nthree\nfour"
    by_line = read.read(context, "lines", first_line=1)
    assert (by_line["content"], by_line["more"]) == ("one\ntwo\n", True)


def test_a_line_that_is_too_large_is_refused_and_can_be_passed_over(root: Path) -> None:
    """It is never held as a whole."""
    context = file_call("files.read", root, max_bytes=8)
    with pytest.raises(ScopeViolationError, match="larger than the 8 bytes"):
        read.read(context, "wide", first_line=1)
    assert read.read(context, "wide", first_line=2)["content"] == "b\n"


def test_a_range_that_cuts_a_character_is_base64(root: Path) -> None:
    """Half a character is not text."""
    found = read.read(file_call("files.read", root), "text", offset=0, length=2)
    assert (found["encoding"], found["content"]) == ("base64", "bsM=")


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"offset": 1, "first_line": 1}, "not by both"),
        ({"first_line": 3, "last_line": 2}, "`last_line` is before"),
    ],
)
def test_a_part_that_is_none_is_refused(root: Path, wanted: Any, said: str) -> None:
    """In one line."""
    with pytest.raises(ProviderError, match=said):
        read.read(file_call("files.read", root), "lines", **wanted)


def test_a_whole_file_has_no_more(root: Path) -> None:
    """Only a part says whether the file goes on."""
    assert "more" not in read.read(file_call("files.read", root), "lines")
