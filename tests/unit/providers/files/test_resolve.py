"""A path under the scopes of several policies: one file that all of them reach, or a refusal."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from caps.capabilities.provider import CallContext, ProviderError, Scope, ScopeViolationError
from caps.providers.files import read, write
from caps.providers.files.resolve import opened_target, resolve_target
from caps.providers.files.scope import FilesScope
from caps.security.scopes import AllScopes
from support.file_calls import context_of, file_call


def scope(*allowlist: Path, **rest: Any) -> FilesScope:
    entries = [str(entry) for entry in allowlist]
    return FilesScope.model_validate({"allowlist": entries, **rest})


def under(capability: str, *scopes: FilesScope) -> CallContext:
    """A call under one policy for each scope, as a chain of policies makes it."""
    parts: list[Scope] = [each.following(scopes[-1]) for each in scopes[:-1]]
    ids = tuple(f"p{number}" for number in range(len(scopes)))
    whole = AllScopes(parts=(*parts, scopes[-1]), policy_ids=ids)
    return context_of(capability, whole)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """`a` and `a/b`, a file in each, and links that leave one of them or both."""
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "a" / "outer").write_text("outer")
    (inner / "file").write_text("inner")
    (inner / "to_outer").symlink_to("../outer")
    (inner / "to_secret").symlink_to("../../secret")
    (inner / "to_file").symlink_to("file")
    (tmp_path / "a" / "to_b").symlink_to("b")
    (tmp_path / "a" / "absolute_b").symlink_to(inner)
    return tmp_path


class TestRegularFiles:
    def test_a_fifo_is_not_opened(self, tmp_path: Path) -> None:
        """A FIFO would block whoever opens it, and wake whoever waits on its other end."""
        os.mkfifo(tmp_path / "fifo")
        target = resolve_target(file_call("files.read", tmp_path), "read", {"path": "fifo"})
        with (
            opened_target(target) as opening,
            pytest.raises(ProviderError, match="not a regular file"),
            opening.opened_regular(),
        ):
            pass

    def test_a_device_is_not_opened(self, tmp_path: Path) -> None:
        """Opening a device can have effects; /dev/zero would also never end."""
        try:
            os.mknod(tmp_path / "zero", 0o666 | 0o020000, os.makedev(1, 5))
        except PermissionError:
            pytest.skip("making a device node needs CAP_MKNOD")
        target = resolve_target(file_call("files.read", tmp_path), "read", {"path": "zero"})
        with (
            opened_target(target) as opening,
            pytest.raises(ProviderError, match="not a regular file"),
            opening.opened_regular(),
        ):
            pass


class TestSeveralScopes:
    @pytest.mark.parametrize("path", ["file", "to_file"])
    def test_a_relative_path_starts_where_the_last_scope_starts_it(
        self, tree: Path, path: str
    ) -> None:
        """The ceiling starts it elsewhere alone, and takes the other's word beneath itself."""
        call = under("files.read", scope(tree / "a"), scope(tree / "a" / "b"))
        assert read.read(call, path)["content"] == "inner"
        assert read.read(file_call("files.read", tree / "a"), "outer")["content"] == "outer"

    def test_an_absolute_path_must_lie_in_all(self, tree: Path) -> None:
        """Whichever scope comes last."""
        wide, narrow = scope(tree / "a"), scope(tree / "a" / "b")
        for scopes in ((wide, narrow), (narrow, wide)):
            call = under("files.read", *scopes)
            assert read.read(call, f"{tree}/a/b/file")["content"] == "inner"
            with pytest.raises(ScopeViolationError) as caught:
                read.read(call, f"{tree}/a/outer")
            assert caught.value.scope in call.scopes_as(FilesScope)

    def test_a_relative_path_whose_start_another_scope_does_not_reach_is_refused(
        self, tree: Path
    ) -> None:
        """Both allow `file` alone, and mean two files by it."""
        (tree / "file").write_text("another")
        call = under("files.read", scope(tree / "a" / "b"), scope(tree))
        with pytest.raises(ScopeViolationError, match="outside"):
            read.read(call, "file")

    @pytest.mark.parametrize("path", ["to_outer", "to_secret"])
    def test_a_link_that_leads_out_of_one_root_is_refused(self, tree: Path, path: str) -> None:
        """Whether it stays in the other root or not, and in either order."""
        wide, narrow = scope(tree / "a"), scope(tree / "a" / "b")
        for scopes in ((wide, narrow), (narrow, wide)):
            with pytest.raises(ScopeViolationError, match="leads out"):
                read.read(under("files.read", *scopes), f"{tree}/a/b/{path}")

    def test_a_link_to_the_root_of_a_scope_is_checked_by_the_other(self, tree: Path) -> None:
        """A scope trusts the links of its own root; the ceiling does not."""
        inside = under("files.read", scope(tree / "a"), scope(tree / "a" / "to_b"))
        assert read.read(inside, "file")["content"] == "inner"
        absolute = under("files.read", scope(tree / "a"), scope(tree / "a" / "absolute_b"))
        with pytest.raises(ScopeViolationError, match="leads out"):
            read.read(absolute, "file")

    def test_another_file_under_the_same_path_is_refused(self, tree: Path) -> None:
        """If the roots are swapped between the two openings, the inodes differ."""
        call = under("files.read", scope(tree / "a"), scope(tree / "a" / "b"))
        target = resolve_target(call, "read", {"path": "file"})
        with opened_target(target) as opening:
            (tree / "a" / "b").rename(tree / "moved")
            (tree / "a" / "b").mkdir()
            (tree / "a" / "b" / "file").write_text("another")
            with pytest.raises(ScopeViolationError, match="another file"), opening.opened_regular():
                pass

    def test_a_refusal_comes_before_an_error(self, tree: Path) -> None:
        """What one scope refuses is not answered with what another one found."""
        call = under("files.stat", scope(tree / "a" / "b"), scope(tree / "a"))
        (tree / "a" / "b" / "nothing").symlink_to("../gone")
        with pytest.raises(ScopeViolationError):
            read.stat_file(call, f"{tree}/a/b/nothing")

    def test_the_smallest_size_counts_and_its_scope_refuses(self, tree: Path) -> None:
        """For reading, where only the provider knows the size."""
        small = scope(tree / "a", max_bytes=3)
        call = under("files.read", small, scope(tree / "a" / "b"))
        with pytest.raises(ScopeViolationError, match="3 bytes") as caught:
            read.read(call, "file")
        assert caught.value.scope is call.scopes_as(FilesScope)[0]

    def test_read_only_of_one_holds_for_all(self, tree: Path) -> None:
        """A write is refused, and `stat` says so."""
        scopes = scope(tree / "a", read_only=True), scope(tree / "a" / "b")
        assert read.stat_file(under("files.stat", *scopes), "file")["is_readonly"]
        with pytest.raises(ScopeViolationError) as caught:
            write.write(under("files.write", *scopes), "file", "new")
        assert caught.value.violation.rule == "read_only"

    def test_a_write_makes_directories_beneath_all_roots_only(self, tree: Path) -> None:
        """The root of a scope itself is never made."""
        call = under("files.write", scope(tree / "a"), scope(tree / "a" / "b"))
        assert write.write(call, "x/y/z", "deep") == {
            "path": "x/y/z",
            "size_bytes": 4,
            "created": True,
        }
        assert (tree / "a" / "b" / "x" / "y" / "z").read_text() == "deep"
        missing = under("files.write", scope(tree / "a"), scope(tree / "a" / "none"))
        with pytest.raises(ProviderError, match="create it first"):
            write.write(missing, "z", "deep")
        assert not (tree / "a" / "none").exists()

    def test_a_write_or_delete_through_a_link_out_of_one_root_is_refused(self, tree: Path) -> None:
        """Its parent directory has to be the same beneath all roots."""
        (tree / "a" / "b" / "up").symlink_to("..")
        for scopes in (
            (scope(tree / "a"), scope(tree / "a" / "b")),
            (scope(tree / "a" / "b"), scope(tree / "a")),
        ):
            path = f"{tree}/a/b/up/outer"
            with pytest.raises(ScopeViolationError):
                write.write(under("files.write", *scopes), path, "new")
            with pytest.raises(ScopeViolationError):
                write.delete(under("files.delete", *scopes), path)
        assert (tree / "a" / "outer").read_text() == "outer"

    def test_a_delete_works_beneath_all_roots(self, tree: Path) -> None:
        """A link is removed, and not what it names."""
        call = under("files.delete", scope(tree / "a"), scope(tree / "a" / "b"))
        assert write.delete(call, "to_file")["deleted"]
        assert write.delete(call, "gone") == {"path": "gone", "deleted": False}
        assert (tree / "a" / "b" / "file").exists()

    @pytest.mark.parametrize("kept", ["a/b", "b"])
    def test_what_one_scope_protects_from_changes_stays_protected(
        self, tree: Path, kept: str
    ) -> None:
        """By the place of the path, and by what the scope says about the path alone."""
        call = under("files.delete", scope(tree, tree / kept), scope(tree / "a"))
        with pytest.raises(ScopeViolationError, match="allowed directory itself"):
            write.delete(call, "b", recursive=True)

    def test_a_scope_without_a_place_starts_no_path(self, tree: Path) -> None:
        """A scope that was never anchored could start anywhere."""
        loose = FilesScope.model_validate({"allowlist": ["a"]})
        assert scope(tree / "a").following(loose).place("outer") is None
