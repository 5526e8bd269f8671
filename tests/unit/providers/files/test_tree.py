"""`files.glob` and `files.grep`."""

from __future__ import annotations

from pathlib import Path

import pytest

from caps.capabilities.provider import ProviderError, ScopeViolationError
from caps.providers.files import tree
from support.file_calls import file_call


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "a.txt").write_text("one\ntwo\nthree\n")
    (tmp_path / "in" / "deep" / "b.md").write_text("# Two\r\nlast two")
    (tmp_path / "in" / "binary").write_bytes(b"two\0two")
    (tmp_path / "in" / "latin").write_bytes(b"two caf\xe9\n")
    (tmp_path / "in" / "large").write_text("two\n" * 1000)
    (tmp_path / "secret").write_text("two")
    (tmp_path / "in" / "out").symlink_to("../secret")
    (tmp_path / "in" / "loop").symlink_to(".")
    return tmp_path / "in"


def test_files_are_found_by_pattern(root: Path) -> None:
    """Sorted, without links; the paths can be given to other functions."""
    context = file_call("files.glob", root)
    assert tree.glob(context, "**/*.md")["paths"] == ["deep/b.md"]
    assert tree.glob(context, "*")["paths"] == ["a.txt", "binary", "large", "latin"]
    assert tree.glob(context, "*.md", "deep")["paths"] == ["deep/b.md"]
    assert tree.glob(context, "*.txt", str(root))["paths"] == [f"{root}/a.txt"]


def test_lines_are_found_with_their_numbers(root: Path) -> None:
    """In text files of at most `max_bytes`; what is not UTF-8 is replaced."""
    context = file_call("files.grep", root, max_bytes=100)
    found = tree.grep(context, "two")
    assert found["matches"] == [
        {"path": "a.txt", "line": 2, "text": "two"},
        {"path": "latin", "line": 1, "text": "two caf\ufffd"},
        {"path": "deep/b.md", "line": 2, "text": "last two"},
    ]
    assert (found["match_count"], found["files_searched"], found["truncated"]) == (3, 3, False)
    assert tree.grep(context, "^# TWO$", ignore_case=True)["match_count"] == 1
    assert tree.grep(context, "two", path_pattern="*.txt")["match_count"] == 1
    assert tree.grep(context, "two", "a.txt")["matches"][0]["path"] == "a.txt"


def test_many_matches_are_cut_and_said_so(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines and files."""
    monkeypatch.setattr(tree, "MAX_MATCHES", 3)
    monkeypatch.setattr(tree, "MAX_PATHS", 2)
    found = tree.grep(file_call("files.grep", root), "two", "large")
    assert (found["match_count"], found["truncated"]) == (3, True)
    paths = tree.glob(file_call("files.glob", root), "**")
    assert (paths["count"], paths["truncated"]) == (2, True)
    monkeypatch.setattr(tree, "MAX_WALKED", 3)
    with pytest.raises(ProviderError, match="more than 3 entries to search"):
        tree.glob(file_call("files.glob", root), "**")


def test_a_long_line_is_cut(root: Path) -> None:
    """A match in minified code would fill the answer."""
    (root / "min.js").write_text("two" + "x" * 10_000)
    found = tree.grep(file_call("files.grep", root), "two", "min.js")
    assert found["matches"][0]["text"] == "two" + "x" * 497


@pytest.mark.parametrize(
    ("pattern", "path_pattern"), [("(", "**"), ("a", "/etc/*"), ("a", "../*"), ("a", "")]
)
def test_a_bad_pattern_is_refused_in_one_line(root: Path, pattern: str, path_pattern: str) -> None:
    """With what is wrong with it."""
    with pytest.raises(ProviderError, match="pattern"):
        tree.grep(file_call("files.grep", root), pattern, path_pattern=path_pattern)


@pytest.mark.parametrize("path", ["..", "/etc", "out", "nothing"])
def test_only_allowed_directories_are_searched(root: Path, path: str) -> None:
    """Not above, not elsewhere, not through a link that leads out."""
    with pytest.raises((ScopeViolationError, ProviderError)):
        tree.grep(file_call("files.grep", root), "two", path)


def test_the_labels_of_each_file_that_was_read_are_added(root: Path) -> None:
    """Also of directories inside the one that is searched."""
    labels = {str(root / "deep"): ["private"]}
    context = file_call("files.grep", root, labels=labels)
    tree.grep(context, "two", path_pattern="*.txt")
    assert context.added == set()
    tree.grep(context, "two", path_pattern="**/*.md")
    assert context.added == {"private"}
