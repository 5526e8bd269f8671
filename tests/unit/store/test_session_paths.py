"""Paths of session files have one form."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caps.store.session_paths import (
    MAX_NAME_BYTES,
    MAX_PATH_BYTES,
    ancestors_of,
    depth_of,
    name_of,
    normalised,
    parent_of,
)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", "/"),
        ("//", "/"),
        ("/a", "/a"),
        ("/a/", "/a"),
        ("//a///b/./c/.", "/a/b/c"),
        ("/...", "/..."),
        ("/.hidden", "/.hidden"),
        ("/a b/ü", "/a b/ü"),
        ("/e\u0301", "/\u00e9"),
        ("/A", "/A"),
        ("/" + "x" * MAX_NAME_BYTES, "/" + "x" * MAX_NAME_BYTES),
    ],
)
def test_a_valid_path_has_one_form(path: str, expected: str) -> None:
    """Empty and `.` components are left out, and names are in NFC."""
    assert normalised(path) == expected


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("", "is not absolute; start it with `/`"),
        ("a", "is not absolute"),
        ("./a", "is not absolute"),
        ("/..", "has `..`"),
        ("/a/../b", "has `..`"),
        ("/a\0b", "has a control character"),
        ("/a\nb", "has a control character"),
        ("/a\x7f", "has a control character"),
        ("/\ud800", "half of a surrogate pair"),
        ("/" + "x" * (MAX_NAME_BYTES + 1), "has a name of more than 255 bytes"),
        ("/" + "é" * 128, "has a name of more than 255 bytes"),
        ("/x" * (MAX_PATH_BYTES // 2 + 1), "is longer than 1024 bytes"),
        ("/" * (MAX_PATH_BYTES * 4 + 1), "is longer than 1024 bytes"),
    ],
)
def test_an_invalid_path_is_refused_in_one_line(path: str, message: str) -> None:
    """It says what is wrong."""
    with pytest.raises(ValueError, match=message) as raised:
        normalised(path)
    assert str(raised.value).isprintable()


@given(st.text(max_size=200))
def test_a_form_is_final_and_safe(text: str) -> None:
    """Whatever the text is: normalised again it is the same, and its parts lead back to it."""
    try:
        path = normalised(f"/{text}")
    except ValueError:
        return
    assert normalised(path) == path
    assert unicodedata.is_normalized("NFC", path)
    assert not {"..", "."} & set(path.split("/"))
    assert "//" not in path
    assert len(path.encode()) <= MAX_PATH_BYTES
    assert len(ancestors_of(path)) == max(0, depth_of(path) - 1)
    if path != "/":
        assert f"{parent_of(path).rstrip('/')}/{name_of(path)}" == path
        assert (*ancestors_of(path), path)[0].count("/") == 1
