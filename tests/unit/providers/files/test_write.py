"""`files.write` and `files.delete` on real directories."""

from __future__ import annotations

import base64
import ctypes
import functools
import os
import resource
import stat
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from caps.capabilities.provider import ProviderError, ScopeViolationError
from caps.providers.files.read import list_directory, read, stat_file
from caps.providers.files.write import MAX_DEPTH, delete, write
from support.file_calls import file_call

call = functools.partial(file_call, "files.write")


@pytest.fixture
def sandbox(tmp_path: Path) -> Path:
    """An allowed directory with another one next to it, and links to both."""
    inside = tmp_path / "sandbox"
    (inside / "sub").mkdir(parents=True)
    (inside / "sub" / "note.txt").write_text("old")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "note.txt").write_text("secret")
    (inside / "link_in").symlink_to("sub/note.txt")
    (inside / "link_out").symlink_to("../outside/note.txt")
    (inside / "new_out").symlink_to("../outside/new.txt")
    (inside / "dir_in").symlink_to("sub")
    (inside / "dir_out").symlink_to("../outside")
    return inside


def exchange(one: Path, other: Path) -> None:
    """Let two names change places in one step, as `mv --exchange` does."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(-100, bytes(one), -100, bytes(other), 2) != 0:
        raise OSError(ctypes.get_errno(), "renameat2")


@contextmanager
def swapping(sandbox: Path) -> Iterator[None]:
    """All the while, `door` is now a directory, now a link to the outside."""
    (sandbox / "door").mkdir()
    (sandbox / "other").symlink_to("../outside")
    swaps, stop = 0, threading.Event()

    def swap() -> None:
        nonlocal swaps
        while not stop.is_set():
            exchange(sandbox / "door", sandbox / "other")
            swaps += 1

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    assert swaps > 0


class TestWrite:
    def test_a_new_file_appears_with_its_directories(self, sandbox: Path) -> None:
        """Parents are created on the way."""
        answer = write(call(sandbox), "a/b/./c.txt", "héllo")
        assert answer == {"path": "a/b/c.txt", "size_bytes": 6, "created": True}
        assert (sandbox / "a" / "b" / "c.txt").read_text() == "héllo"

    def test_an_existing_file_is_replaced(self, sandbox: Path) -> None:
        """The answer tells that it was there."""
        answer = write(call(sandbox), "sub/note.txt", "new")
        assert answer == {"path": "sub/note.txt", "size_bytes": 3, "created": False}
        assert (sandbox / "sub" / "note.txt").read_text() == "new"

    def test_base64_becomes_bytes(self, sandbox: Path) -> None:
        """Any bytes can be written."""
        raw = bytes(range(256))
        answer = write(call(sandbox), "raw", base64.b64encode(raw).decode(), "base64")
        assert answer["size_bytes"] == 256
        assert (sandbox / "raw").read_bytes() == raw

    @pytest.mark.parametrize("content", ["QQ=", "Q Q=", "QQ==QQ==", "é", "*"])
    def test_malformed_base64_is_refused(self, sandbox: Path, content: str) -> None:
        """Nothing is guessed, and nothing is left behind."""
        with pytest.raises(ProviderError, match="base64"):
            write(call(sandbox), "x/raw", content, "base64")
        assert not (sandbox / "x").exists()

    def test_text_that_utf8_cannot_carry_is_refused(self, sandbox: Path) -> None:
        """Half a surrogate pair is not text."""
        with pytest.raises(ProviderError, match="surrogate"):
            write(call(sandbox), "x", "\ud800")

    def test_the_mode_is_kept_but_for_set_id(self, sandbox: Path) -> None:
        """A private file stays private; new content does not run as somebody else."""
        target = sandbox / "sub" / "note.txt"
        target.chmod(0o4777)
        write(call(sandbox), "sub/note.txt", "new")
        assert stat.S_IMODE(target.stat().st_mode) == 0o777

    def test_a_link_is_not_written_through(self, sandbox: Path) -> None:
        """Not even one that stays inside: the path says one file, the link another."""
        with pytest.raises(ProviderError, match="symbolic link"):
            write(call(sandbox), "link_in", "new")
        assert (sandbox / "link_in").is_symlink()
        assert (sandbox / "sub" / "note.txt").read_text() == "old"

    @pytest.mark.parametrize("path", ["link_out", "new_out", "dir_out/new.txt", "dir_out/d/n.txt"])
    def test_what_leads_out_is_a_scope_violation(self, sandbox: Path, path: str) -> None:
        """Nothing outside is created or changed."""
        with pytest.raises(ScopeViolationError):
            write(call(sandbox), path, "new")
        outside = sandbox.parent / "outside"
        assert [p.name for p in outside.iterdir()] == ["note.txt"]
        assert (outside / "note.txt").read_text() == "secret"

    def test_a_linked_directory_inside_is_written_to(self, sandbox: Path) -> None:
        """Links on the way are followed as far as they stay inside."""
        write(call(sandbox), "dir_in/new/x.txt", "x")
        assert (sandbox / "sub" / "new" / "x.txt").read_text() == "x"

    @pytest.mark.parametrize(
        ("path", "words"),
        [
            ("sub", "is a directory"),
            ("sub/note.txt/x", "leads through a file"),
            ("/".join(["d"] * (MAX_DEPTH + 1)), "deeper than"),
            ("x" * 256, "longer than"),
        ],
    )
    def test_a_failure_is_reported_without_host_paths(
        self, sandbox: Path, path: str, words: str
    ) -> None:
        """User space learns what is wrong with the path that it gave."""
        with pytest.raises(ProviderError, match=words) as caught:
            write(call(sandbox), path, "x")
        assert str(sandbox) not in caught.value.message

    def test_what_is_not_a_file_is_left_alone(self, sandbox: Path) -> None:
        """A FIFO is neither opened nor replaced."""
        os.mkfifo(sandbox / "fifo")
        with pytest.raises(ProviderError, match="not a regular file"):
            write(call(sandbox), "fifo", "x")
        assert (sandbox / "fifo").is_fifo()

    def test_a_write_protected_file_is_left_alone(self, sandbox: Path) -> None:
        """Replacing it by rename would be possible, and would not be what its mode says."""
        (sandbox / "sub" / "note.txt").chmod(0o444)
        with pytest.raises(ProviderError, match="write-protected"):
            write(call(sandbox), "sub/note.txt", "new")
        assert (sandbox / "sub" / "note.txt").read_text() == "old"

    def test_the_scope_is_asked_again(self, sandbox: Path) -> None:
        """The provider does not rely on a check by its caller."""
        for context, rule in (
            (call(sandbox, read_only=True), "read_only"),
            (call(sandbox, max_bytes=2), "max_bytes"),
        ):
            with pytest.raises(ScopeViolationError) as caught:
                write(context, "sub/note.txt", "new")
            assert caught.value.violation.rule == rule

    def test_a_write_that_fails_half_way_changes_nothing(self, sandbox: Path) -> None:
        """The old content stays and no temporary file is left."""
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
        try:
            with pytest.raises(ProviderError, match="larger than the host allows"):
                write(call(sandbox), "sub/note.txt", "x" * 5000)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert [p.name for p in (sandbox / "sub").iterdir()] == ["note.txt"]
        assert (sandbox / "sub" / "note.txt").read_text() == "old"

    def test_concurrent_writes_leave_one_whole_version(self, sandbox: Path) -> None:
        """Readers and the final state see one version or another, never a mixture."""
        versions = {letter * 100_000 for letter in "abcdefgh"}

        def put(content: str) -> set[str]:
            seen = set()
            for _ in range(5):
                write(call(sandbox), "new/shared.txt", content)
                seen.add(read(call(sandbox), "new/shared.txt")["content"])
            return seen

        with ThreadPoolExecutor(8) as pool:
            seen = set().union(*pool.map(put, versions))
        assert seen <= versions
        assert [p.name for p in (sandbox / "new").iterdir()] == ["shared.txt"]

    def test_a_directory_swapped_for_a_link_is_never_written_through(self, sandbox: Path) -> None:
        """Three hundred writes against a race, none of them outside."""
        with swapping(sandbox):
            for number in range(300):
                with suppress(ScopeViolationError, ProviderError):
                    write(call(sandbox), f"door/n{number % 3}/x.txt", "x")
        assert [p.name for p in (sandbox.parent / "outside").iterdir()] == ["note.txt"]


class TestDelete:
    def test_a_file_is_deleted(self, sandbox: Path) -> None:
        """And only that."""
        assert delete(call(sandbox), "sub/note.txt") == {"path": "sub/note.txt", "deleted": True}
        assert list((sandbox / "sub").iterdir()) == []

    @pytest.mark.parametrize("path", ["missing", "missing/x", "sub/note.txt/x"])
    def test_what_is_not_there_is_not_deleted(self, sandbox: Path, path: str) -> None:
        """The answer says so; it is not an error."""
        assert delete(call(sandbox), path)["deleted"] is False

    def test_an_empty_directory_is_deleted(self, sandbox: Path) -> None:
        """No flag is needed where nothing is lost."""
        (sandbox / "empty").mkdir()
        assert delete(call(sandbox), "empty")["deleted"]
        assert not (sandbox / "empty").exists()

    def test_a_full_directory_needs_recursive(self, sandbox: Path) -> None:
        """The message tells the way out."""
        with pytest.raises(ProviderError, match="recursive=True"):
            delete(call(sandbox), "sub")
        assert (sandbox / "sub" / "note.txt").exists()
        assert delete(call(sandbox), "sub", recursive=True)["deleted"]
        assert not (sandbox / "sub").exists()

    @pytest.mark.parametrize("path", ["link_in", "link_out", "dir_in", "dir_out"])
    @pytest.mark.parametrize("recursive", [False, True])
    def test_deleting_a_link_deletes_the_link(
        self, sandbox: Path, path: str, recursive: bool
    ) -> None:
        """What it names stays, inside and outside."""
        assert delete(call(sandbox), path, recursive=recursive)["deleted"]
        assert not (sandbox / path).is_symlink()
        assert (sandbox / "sub" / "note.txt").read_text() == "old"
        assert (sandbox.parent / "outside" / "note.txt").read_text() == "secret"

    def test_a_recursive_delete_does_not_follow_links(self, sandbox: Path) -> None:
        """A link inside the deleted tree is a leaf."""
        (sandbox / "sub" / "way_out").symlink_to(sandbox.parent / "outside")
        delete(call(sandbox), "sub", recursive=True)
        assert (sandbox.parent / "outside" / "note.txt").read_text() == "secret"

    @pytest.mark.parametrize("path", ["dir_out/note.txt", "../outside/note.txt"])
    def test_what_leads_out_is_a_scope_violation(self, sandbox: Path, path: str) -> None:
        """Nothing outside is deleted."""
        with pytest.raises(ScopeViolationError):
            delete(call(sandbox), path, recursive=True)
        assert (sandbox.parent / "outside" / "note.txt").exists()

    @pytest.mark.parametrize("path", [".", "sub/..", "dir_in/.."])
    def test_the_root_is_not_deleted(self, sandbox: Path, path: str) -> None:
        """However it is named."""
        with pytest.raises(ScopeViolationError):
            delete(call(sandbox), path, recursive=True)
        assert sandbox.exists()

    def test_a_swapped_directory_is_never_deleted_through(self, sandbox: Path) -> None:
        """Three hundred deletes against a race, none of them outside."""
        with swapping(sandbox):
            for _ in range(300):
                with suppress(ScopeViolationError, ProviderError):
                    delete(call(sandbox), "door/note.txt", recursive=True)
        assert (sandbox.parent / "outside" / "note.txt").read_text() == "secret"


def test_no_descriptor_is_left_open(sandbox: Path) -> None:
    """Success, refusal and failure all close what they opened."""
    context = call(sandbox)
    calls: list[Callable[[], object]] = [
        lambda: write(context, "n/e/w", "x"),
        lambda: write(context, "link_in", "x"),
        lambda: write(context, "dir_out/x", "x"),
        lambda: write(context, "sub", "x"),
        lambda: read(context, "n/e/w"),
        lambda: read(context, "link_out"),
        lambda: read(context, "sub"),
        lambda: read(call(sandbox, max_bytes=1), "sub/note.txt"),
        lambda: read(context, "missing"),
        lambda: stat_file(context, "sub"),
        lambda: stat_file(context, "dir_out"),
        lambda: list_directory(context),
        lambda: list_directory(context, "dir_out"),
        lambda: delete(context, "sub"),
        lambda: delete(context, "n", recursive=True),
        lambda: delete(context, "dir_out/x"),
    ]
    before = len(list(Path("/proc/self/fd").iterdir()))
    for attempt in calls * 3:
        with suppress(ScopeViolationError, ProviderError):
            attempt()
    assert len(list(Path("/proc/self/fd").iterdir())) == before
