"""`files.copy` and `files.move`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from caps.capabilities.provider import ProviderError, ScopeViolationError
from caps.providers.files import transfer
from support.file_calls import file_call

BOTH = pytest.mark.parametrize("function", [transfer.copy, transfer.move])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.bin").write_bytes(b"\0\xffdata")
    (tmp_path / "in" / "b.txt").write_text("old")
    (tmp_path / "in" / "folder").mkdir()
    (tmp_path / "in" / "link").symlink_to("b.txt")
    (tmp_path / "outside").write_text("secret")
    return tmp_path / "in"


def context(root: Path, function: Any, **rest: Any) -> Any:
    return file_call(f"files.{function.__name__}", root, **rest)


@BOTH
def test_the_content_is_at_the_new_place(root: Path, function: Any) -> None:
    """In directories that are made on the way; a move leaves nothing behind."""
    answer = function(context(root, function), "a.bin", "new/deep/c.bin")
    assert answer == {
        "path": "a.bin",
        "to": "new/deep/c.bin",
        "size_bytes": 6,
        "created": True,
    }
    assert (root / "new" / "deep" / "c.bin").read_bytes() == b"\0\xffdata"
    assert (root / "a.bin").exists() is (function is transfer.copy)
    assert not list(root.rglob(".caps-*"))


@BOTH
def test_a_file_is_replaced_only_on_request(root: Path, function: Any) -> None:
    """Otherwise it stays as it is."""
    with pytest.raises(ProviderError, match=r"`b\.txt` exists; set `overwrite`"):
        function(context(root, function), "a.bin", "b.txt")
    assert (root / "b.txt").read_text() == "old"
    assert not function(context(root, function), "a.bin", "b.txt", overwrite=True)["created"]
    assert (root / "b.txt").read_bytes() == b"\0\xffdata"


@BOTH
@pytest.mark.parametrize(
    ("path", "to"),
    [("../outside", "x"), ("a.bin", "../x"), ("a.bin", "/tmp/x"), ("a.bin", "."), ("", "x")],
)
def test_both_paths_are_checked(root: Path, function: Any, path: str, to: str) -> None:
    """By the scope, before anything is opened."""
    with pytest.raises(ScopeViolationError):
        function(context(root, function), path, to)
    assert (root.parent / "outside").read_text() == "secret"


@BOTH
def test_a_read_only_scope_refuses_both(root: Path, function: Any) -> None:
    """A copy changes something, too."""
    with pytest.raises(ScopeViolationError, match="read only"):
        function(context(root, function, read_only=True), "a.bin", "x")


@BOTH
@pytest.mark.parametrize(
    ("path", "to", "said"),
    [
        ("folder", "x", "is a directory"),
        ("a.bin", "folder", "is a directory"),
        ("a.bin", "link", "is a symbolic link"),
        ("missing", "x", "missing"),
        ("a.bin", "b.txt/x", "b.txt/x"),
    ],
)
def test_only_regular_files_take_part(
    root: Path, function: Any, path: str, to: str, said: str
) -> None:
    """In one line for the caller."""
    with pytest.raises(ProviderError, match=said):
        function(context(root, function), path, to, overwrite=True)
    assert (root / "a.bin").exists()


def test_a_copy_is_bounded_by_the_size_that_is_allowed(root: Path) -> None:
    """As a read."""
    with pytest.raises(ScopeViolationError, match="larger than the 3 bytes"):
        transfer.copy(context(root, transfer.copy, max_bytes=3), "a.bin", "x")


def test_a_file_is_not_moved_onto_itself(root: Path) -> None:
    """`rename` would do nothing and say that it did."""
    with pytest.raises(ProviderError, match="is the same file"):
        transfer.move(context(root, transfer.move), "a.bin", "./a.bin", overwrite=True)


def test_a_protected_file_is_not_moved(root: Path) -> None:
    """As it is neither written nor replaced."""
    (root / "a.bin").chmod(0o400)
    with pytest.raises(ProviderError, match="write-protected"):
        transfer.move(context(root, transfer.move), "a.bin", "x")
    assert (root / "a.bin").exists()


def test_a_copy_is_labelled_by_where_it_was_read(root: Path) -> None:
    """What it then holds came from there."""
    (root / "folder" / "f").write_text("x")
    labels = {str(root / "folder"): ["private"]}
    made = context(root, transfer.copy, labels=labels)
    transfer.copy(made, "folder/f", "x")
    assert made.added == {"private"}


@BOTH
def test_a_file_that_comes_at_the_last_moment_is_not_replaced(
    root: Path, function: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at the target and the rename."""

    def look(*_arguments: Any) -> None:
        (root / "new").write_text("came first")

    monkeypatch.setattr(transfer, "replaceable", look)
    with pytest.raises(ProviderError, match=r"`new` exists; set `overwrite`"):
        function(context(root, function), "a.bin", "new")
    assert (root / "new").read_text() == "came first"
    assert (root / "a.bin").exists()
    assert not list(root.rglob(".caps-*"))
