"""`files.read`, `files.list` and `files.stat` on real directories."""

from __future__ import annotations

import base64
import ctypes
import functools
import json
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from caps.capabilities.provider import ProviderError, ScopeViolationError
from caps.providers.files import read as read_module
from caps.providers.files.read import list_directory, read, stat_file
from support.file_calls import context_of, file_call

NOBODY = 65534


call = functools.partial(file_call, "files.read")


@pytest.fixture
def sandbox(tmp_path: Path) -> Path:
    """An allowed directory with a secret next to it and links to both."""
    inside = tmp_path / "sandbox"
    (inside / "sub").mkdir(parents=True)
    (inside / "sub" / "note.txt").write_text("héllo")
    (inside / "raw.bin").write_bytes(b"\xff\x00\xfe")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "note.txt").write_text("secret")
    (inside / "link_in").symlink_to("sub/note.txt")
    (inside / "link_out").symlink_to("../outside/note.txt")
    (inside / "dir_out").symlink_to(tmp_path / "outside")
    (inside / "dangling").symlink_to("nothing")
    return inside


@pytest.fixture
def unreadable() -> Iterator[Path]:
    """A directory with a file that this process may not read, not even if it is root."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    (folder / "private").write_text("secret")
    (folder / "private").chmod(0)
    was = os.geteuid()
    if was == 0:
        os.seteuid(NOBODY)
    yield folder
    os.seteuid(was)
    shutil.rmtree(folder)


def exchange(one: Path, other: Path) -> None:
    """Let two names change places in one step, as `mv --exchange` does."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(-100, bytes(one), -100, bytes(other), 2) != 0:
        raise OSError(ctypes.get_errno(), "renameat2")


class TestRead:
    def test_utf8_is_text(self, sandbox: Path) -> None:
        """Text comes as text, its size in bytes."""
        assert read(call(sandbox), "sub/note.txt") == {
            "path": "sub/note.txt",
            "content": "héllo",
            "encoding": "text",
            "size_bytes": 6,
        }

    def test_anything_else_is_base64(self, sandbox: Path) -> None:
        """Bytes survive."""
        answer = read(call(sandbox), "raw.bin")
        assert answer["encoding"] == "base64"
        assert base64.b64decode(answer["content"]) == b"\xff\x00\xfe"

    def test_a_link_that_stays_inside_is_followed(self, sandbox: Path) -> None:
        """A link is refused for where it leads, not for being one."""
        assert read(call(sandbox), "link_in")["content"] == "héllo"

    @pytest.mark.parametrize("path", ["link_out", "dir_out/note.txt", "../outside/note.txt"])
    def test_what_leads_out_is_a_scope_violation(self, sandbox: Path, path: str) -> None:
        """Neither links nor `..` reach the secret, and the refusal does not tell where they go."""
        with pytest.raises(ScopeViolationError) as caught:
            read(call(sandbox), path)
        assert caught.value.violation.rule == "allowlist"
        assert str(sandbox.parent) not in str(caught.value)

    def test_an_absolute_path_is_answered_as_given(self, sandbox: Path) -> None:
        """The answer has the path as the caller gave it, normalised."""
        answer = read(call("/nowhere", sandbox), f"{sandbox}//sub/./note.txt")
        assert answer["path"] == f"{sandbox}/sub/note.txt"

    def test_the_bound_is_inclusive(self, sandbox: Path) -> None:
        """A file of exactly `max_bytes` may be read, one byte more may not."""
        assert read(call(sandbox, max_bytes=6), "sub/note.txt")["size_bytes"] == 6
        with pytest.raises(ScopeViolationError) as caught:
            read(call(sandbox, max_bytes=5), "sub/note.txt")
        assert caught.value.violation.rule == "max_bytes"

    def test_a_file_larger_than_it_says_is_bounded_while_reading(self) -> None:
        """Files of /proc claim no size at all, as a growing file claims too little."""
        assert Path("/proc/self/status").stat().st_size == 0
        with pytest.raises(ScopeViolationError) as caught:
            read(call("/proc/self", max_bytes=10), "status")
        assert caught.value.violation.rule == "max_bytes"

    @pytest.mark.parametrize(
        ("path", "words"),
        [
            ("sub", "is a directory"),
            (".", "is a directory"),
            ("missing", "does not exist"),
            ("dangling", "does not exist"),
            ("raw.bin/x", "is not a directory"),
            ("x" * 300, "longer than a path may be"),
        ],
    )
    def test_a_failure_is_reported_without_host_paths(
        self, sandbox: Path, path: str, words: str
    ) -> None:
        """User space learns what is wrong with the path that it gave, and nothing more."""
        with pytest.raises(ProviderError, match=words) as caught:
            read(call(sandbox), path)
        assert str(sandbox) not in caught.value.message

    def test_a_fifo_is_refused_immediately(self, sandbox: Path) -> None:
        """A call must not wait for somebody to write."""
        os.mkfifo(sandbox / "fifo")
        with pytest.raises(ProviderError, match="not a regular file"):
            read(call(sandbox), "fifo")

    def test_an_unreadable_file_is_a_provider_error(self, unreadable: Path) -> None:
        """What the host process may not read, a policy cannot grant."""
        with pytest.raises(ProviderError, match="not open to the host process"):
            read(call(unreadable), "private")

    def test_a_call_without_a_files_scope_reaches_nothing(self) -> None:
        """No scope is not every file."""
        context = context_of("files.read", None)
        with pytest.raises(ProviderError, match="without its scope"):
            read(context, "/etc/passwd")

    def test_a_directory_swapped_for_a_link_never_leaks(self, sandbox: Path) -> None:
        """There is no gap between the check and the use."""
        (sandbox / "door").mkdir()
        (sandbox / "door" / "note.txt").write_text("public")
        (sandbox / "other").symlink_to("../outside")
        swaps, stop = 0, threading.Event()

        def swap() -> None:
            nonlocal swaps
            while not stop.is_set():
                exchange(sandbox / "door", sandbox / "other")
                swaps += 1

        thread = threading.Thread(target=swap)
        thread.start()
        seen: set[str] = set()
        try:
            # Until both results of the race occurred, and at least 300 times.
            for attempt in range(20_000):
                if attempt >= 300 and len(seen) > 1:
                    break
                try:
                    seen.add(read(call(sandbox), "door/note.txt")["content"])
                except (ScopeViolationError, ProviderError) as error:
                    seen.add(type(error).__name__)
        finally:
            stop.set()
            thread.join()
        assert swaps > 0
        assert seen <= {"public", "ScopeViolationError", "ProviderError"}


class TestList:
    def test_entries_are_sorted_and_links_not_followed(self, sandbox: Path) -> None:
        """A listing tells what is there, not where links lead."""
        answer = list_directory(call(sandbox))
        names = ["dangling", "dir_out", "link_in", "link_out", "raw.bin", "sub"]
        assert [entry["name"] for entry in answer["entries"]] == names
        assert (answer["path"], answer["count"]) == (".", 6)
        by_name = {entry["name"]: entry for entry in answer["entries"]}
        assert by_name["dir_out"] == {
            "name": "dir_out",
            "path": "dir_out",
            "is_directory": False,
            "is_symlink": True,
            "size_bytes": 0,
        }
        assert by_name["sub"]["is_directory"]
        assert by_name["raw.bin"]["size_bytes"] == 3

    def test_an_entrys_path_can_be_read(self, sandbox: Path) -> None:
        """What a listing gives, the next call takes."""
        for given in ("sub", f"{sandbox}/sub/"):
            (entry,) = list_directory(call(sandbox), given)["entries"]
            assert read(call(sandbox), entry["path"])["content"] == "héllo"

    def test_the_root_of_the_file_system_lists_well_formed_paths(self) -> None:
        """`/` does not end up doubled."""
        paths = [entry["path"] for entry in list_directory(call("/"), "/")["entries"]]
        assert "/proc" in paths

    def test_a_name_that_is_not_utf8_is_escaped(self, sandbox: Path) -> None:
        """The result can always be sent, whatever the names are."""
        (sandbox / "sub" / os.fsdecode(b"bad\xff")).touch()
        (sandbox / "sub" / "naïve ☃").touch()
        answer = list_directory(call(sandbox), "sub")
        assert [e["name"] for e in answer["entries"]] == ["bad\\xff", "naïve ☃", "note.txt"]
        json.dumps(answer, ensure_ascii=False).encode("utf-8")

    @pytest.mark.parametrize("path", ["dir_out", "sub/../..", "dir_out/."])
    def test_what_leads_out_is_a_scope_violation(self, sandbox: Path, path: str) -> None:
        """The names outside are as secret as the contents."""
        with pytest.raises(ScopeViolationError):
            list_directory(call(sandbox), path)

    @pytest.mark.parametrize("path", ["raw.bin", "missing"])
    def test_only_a_directory_is_listed(self, sandbox: Path, path: str) -> None:
        """Anything else is said plainly."""
        with pytest.raises(ProviderError, match=r"does not exist|is not a directory"):
            list_directory(call(sandbox), path)

    def test_a_listing_comes_in_pages(self, sandbox: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A page that is full says so, and the next one begins after its last name."""
        whole = list_directory(call(sandbox))
        assert (whole["count"], whole["truncated"]) == (6, False)
        monkeypatch.setattr(read_module, "MAX_ENTRIES", 4)
        first = list_directory(call(sandbox))
        assert (first["count"], first["truncated"]) == (4, True)
        rest = list_directory(call(sandbox), after=first["entries"][-1]["name"])
        assert (rest["count"], rest["truncated"]) == (2, False)
        assert first["entries"] + rest["entries"] == whole["entries"]

    def test_a_page_is_bounded_in_text(
        self, sandbox: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Every entry repeats the path of the caller: a long one makes a short page, never an
        empty one."""
        monkeypatch.setattr(read_module, "MAX_LISTED_CHARACTERS", 2000)
        long = "sub/../" * 120
        names, after = [], ""
        while (page := list_directory(call(sandbox), long, after))["entries"]:
            assert page["count"] <= 2
            names += [entry["name"] for entry in page["entries"]]
            after = names[-1]
        assert names == [entry["name"] for entry in list_directory(call(sandbox))["entries"]]


class TestStat:
    def test_a_file_is_described(self, sandbox: Path) -> None:
        """All fields, with times that can be parsed."""
        answer = stat_file(call(sandbox), "sub/note.txt")
        modified = (sandbox / "sub" / "note.txt").stat().st_mtime
        assert answer["modified_at"] is not None
        assert datetime.fromisoformat(answer["modified_at"]).timestamp() == pytest.approx(modified)
        if answer["created_at"] is not None:
            assert datetime.fromisoformat(answer["created_at"]).timestamp() <= modified + 1
        fixed = {key: answer[key] for key in answer if not key.endswith("_at")}  # type: ignore[literal-required]
        assert fixed == {
            "path": "sub/note.txt",
            "name": "note.txt",
            "exists": True,
            "is_directory": False,
            "is_readonly": False,
            "size_bytes": 6,
        }

    @pytest.mark.parametrize("path", ["missing", "missing/x", "raw.bin/x", "dangling"])
    def test_a_missing_path_is_an_answer(self, sandbox: Path, path: str) -> None:
        """To ask whether something exists is not an error."""
        answer = stat_file(call(sandbox), path)
        assert (answer["exists"], answer["modified_at"], answer["size_bytes"]) == (False, None, 0)

    def test_the_root_is_a_directory(self, sandbox: Path) -> None:
        """The allowed directory may be listed, without revealing its name on the host."""
        answer = stat_file(call(sandbox), ".")
        assert (answer["is_directory"], answer["name"], answer["path"]) == (True, ".", ".")

    @pytest.mark.parametrize("path", ["link_out", "dir_out", "dir_out/missing"])
    def test_what_leads_out_is_a_scope_violation(self, sandbox: Path, path: str) -> None:
        """Not even the existence of anything outside is revealed."""
        with pytest.raises(ScopeViolationError):
            stat_file(call(sandbox), path)

    def test_read_only_is_told(self, sandbox: Path) -> None:
        """By the policy, or by the file's own mode."""
        assert stat_file(call(sandbox, read_only=True), "raw.bin")["is_readonly"]
        (sandbox / "raw.bin").chmod(0o444)
        assert stat_file(call(sandbox), "raw.bin")["is_readonly"]

    def test_a_fifo_can_be_described(self, sandbox: Path) -> None:
        """Describing opens nothing."""
        os.mkfifo(sandbox / "fifo")
        assert stat_file(call(sandbox), "fifo")["exists"]
