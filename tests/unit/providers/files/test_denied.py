"""What a scope denies inside its allowed directories, by text and by where a path leads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from caps.capabilities.provider import CallContext, ScopeViolationError
from caps.providers.files import read, transfer, tree, write
from caps.providers.files.denied import denying_pattern, place_beneath
from caps.providers.files.scope import FilesScope
from caps.security.scopes import AllScopes
from support.file_calls import context_of, file_call

DENIED = ("**/.env", "secrets", "*.pem")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path in ("a.txt", ".env", "sub/.env", "sub/b.txt", "secrets/deep/key", "x.pem"):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"the content of {path}\n")
    (tmp_path / "innocent").symlink_to("sub/.env")
    (tmp_path / "door").symlink_to("secrets")
    return tmp_path


def called(root: Path, name: str) -> CallContext:
    return file_call(f"files.{name}", root, denylist=list(DENIED))


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        (".env", "**/.env"),
        ("a/b/.env", "**/.env"),
        ("a/.env/x", "**/.env"),
        ("secrets", "secrets"),
        ("secrets/deep/key", "secrets"),
        ("a/secrets", None),
        ("x.pem", "*.pem"),
        ("a/x.pem", None),
        ("a.txt", None),
        (".environment", None),
    ],
)
def test_a_pattern_denies_what_it_matches_and_all_beneath(path: str, pattern: str | None) -> None:
    """Relative to an allowed directory."""
    assert denying_pattern(DENIED, tuple(path.split("/"))) == pattern


# Each way to name something denied: by its name, by `.` and `..`, absolutely, by a link.
SPELLINGS = [
    ".env",
    "./.env",
    "sub/../.env",
    "sub//.env",
    "{root}/.env",
    "secrets/deep/key",
    "secrets/../secrets/deep/key",
    "innocent",
    "door/deep/key",
    "sub/../door/deep/key",
]


@pytest.mark.parametrize("path", SPELLINGS)
@pytest.mark.parametrize("name", ["read", "stat", "grep", "copy"])
def test_nothing_denied_is_read(root: Path, path: str, name: str) -> None:
    """However it is named; the error names the rule and no place of the host."""
    path = path.format(root=root)
    calls: dict[str, Any] = {
        "read": lambda context: read.read(context, path),
        "stat": lambda context: read.stat_file(context, path),
        "grep": lambda context: tree.grep(context, "content", path),
        "copy": lambda context: transfer.copy(context, path, "stolen"),
    }
    with pytest.raises(ScopeViolationError) as raised:
        calls[name](called(root, name))
    assert raised.value.violation.rule == "denylist"
    assert not (root / "stolen").exists()


@pytest.mark.parametrize("path", [".env", "sub/../.env", "secrets/new", "door/new", "sub/.env/x"])
@pytest.mark.parametrize("name", ["write", "copy", "move"])
def test_nothing_denied_is_written(root: Path, path: str, name: str) -> None:
    """Neither replaced nor created, and no directory on the way to it."""
    before = sorted(str(each) for each in root.rglob("*"))
    calls: dict[str, Any] = {
        "write": lambda context: write.write(context, path, "new"),
        "copy": lambda context: transfer.copy(context, "a.txt", path, overwrite=True),
        "move": lambda context: transfer.move(context, "a.txt", path, overwrite=True),
    }
    with pytest.raises(ScopeViolationError):
        calls[name](called(root, name))
    assert sorted(str(each) for each in root.rglob("*")) == before
    assert (root / ".env").read_text() == "the content of .env\n"


@pytest.mark.parametrize("path", [".env", "secrets", "sub/.env", "door/deep"])
@pytest.mark.parametrize("name", ["delete", "move"])
def test_nothing_denied_is_deleted(root: Path, path: str, name: str) -> None:
    """Not by another name, and not by moving it where no pattern matches."""
    with pytest.raises(ScopeViolationError):
        if name == "delete":
            write.delete(called(root, name), path, recursive=True)
        else:
            transfer.move(called(root, name), path, "open.txt")
    assert (root / path).exists()


def test_a_directory_with_something_denied_in_it_is_not_deleted(root: Path) -> None:
    """Nothing of it is deleted; without what is denied it is."""
    with pytest.raises(ScopeViolationError, match="denied by"):
        write.delete(called(root, "delete"), "sub", recursive=True)
    assert (root / "sub" / "b.txt").exists()
    (root / "sub" / ".env").unlink()
    (root / "innocent").unlink()
    assert write.delete(called(root, "delete"), "sub", recursive=True)["deleted"]


def test_what_is_denied_is_not_listed_or_found(root: Path) -> None:
    """Its name is not shown either."""
    names = [each["name"] for each in read.list_directory(called(root, "list"))["entries"]]
    assert names == ["a.txt", "door", "innocent", "sub"]
    assert tree.glob(called(root, "glob"), "**")["paths"] == ["a.txt", "sub/b.txt"]
    found = tree.grep(called(root, "grep"), "content")
    assert [match["path"] for match in found["matches"]] == ["a.txt", "sub/b.txt"]


@pytest.mark.parametrize("path", ["secrets", "door"])
@pytest.mark.parametrize("name", ["list", "glob", "grep"])
def test_a_denied_directory_is_not_searched(root: Path, path: str, name: str) -> None:
    """Also through a link to it."""
    calls: dict[str, Any] = {
        "list": lambda context: read.list_directory(context, path),
        "glob": lambda context: tree.glob(context, "**", path),
        "grep": lambda context: tree.grep(context, "x", path),
    }
    with pytest.raises(ScopeViolationError):
        calls[name](called(root, name))


def test_each_of_several_scopes_denies(root: Path) -> None:
    """By its own patterns, relative to its own directories."""
    wide = FilesScope(allowlist=(str(root),), denylist=("sub/b.txt",))
    narrow = FilesScope(allowlist=(str(root / "sub"),))
    both = AllScopes(parts=(wide.following(narrow), narrow), policy_ids=("wide", "narrow"))
    with pytest.raises(ScopeViolationError, match=r"denied by `sub/b\.txt`"):
        read.read(context_of("files.read", both), "b.txt")


def test_a_hard_link_is_the_file_itself(root: Path) -> None:
    """What the documents say: it cannot be told from it."""
    os.link(root / ".env", root / "twin")
    assert read.read(called(root, "read"), "twin")["size_bytes"] > 0


def test_a_pattern_counts_beneath_every_allowed_directory(root: Path) -> None:
    """Also if a longer one contains the file, and if one of them is named by a link."""
    (root.parent / "other").symlink_to(root)
    for second in (root / "sub", root.parent / "other" / "sub"):
        for path in ("sub/b.txt", str(second / "b.txt")):
            context = file_call("files.read", root, second, denylist=["sub/b.txt"])
            with pytest.raises(ScopeViolationError, match=r"is denied by `sub/b\.txt`"):
                read.read(context, path)
        context = file_call("files.grep", root, second, denylist=["sub/b.txt"])
        assert tree.grep(context, "content", str(second))["match_count"] == 1  # `.env`


def test_a_file_that_was_replaced_is_denied_by_the_name_that_it_had(root: Path) -> None:
    """The kernel adds a word to the path of an open file that has no name any more."""
    with (root / ".env").open() as replaced, (root / "x (deleted)").open("w") as live:
        (root / ".env").unlink()
        assert place_of(root, replaced.fileno()) == (".env",)
        assert place_of(root, live.fileno()) == ("x (deleted)",)


def place_of(root: Path, descriptor: int) -> tuple[str, ...]:
    top = os.open(root, os.O_PATH)
    try:
        return place_beneath(top, descriptor)
    finally:
        os.close(top)
