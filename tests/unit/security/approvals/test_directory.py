"""The directory in which calls wait: whole files, one answer, and private to the user."""

from __future__ import annotations

import fcntl
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from caps.protocol.errors import ConfigurationError
from caps.security.approvals.directory import ApprovalDirectory, default_approvals_directory
from caps.security.approvals.model import (
    ApprovalAnswer,
    ApprovalScope,
    is_approval_id,
    new_approval_id,
    parse_duration,
)
from support.approval_examples import approval_request

YES = ApprovalAnswer(allowed=True, by="ada")


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - only their number


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "approvals"


@pytest.fixture
def store(directory: Path) -> Iterator[ApprovalDirectory]:
    with ApprovalDirectory.open(directory, make=True) as opened:
        yield opened


class TestAnswers:
    @pytest.mark.parametrize(
        "fields",
        [
            {"by": ""},
            {"by": "x" * 129},
            {"reason": "x" * 1025},
            {"calls": 0},
            {"calls": -1},
            {"calls": 1_000_001},
            {"seconds": 0},
            {"seconds": 30 * 86_400 + 1},
            {"reach": ApprovalScope.PRINCIPAL},
            {"reach": ApprovalScope.PRINCIPAL, "calls": 3},
        ],
    )
    def test_what_nobody_may_answer_cannot_be_built(self, fields: dict[str, Any]) -> None:
        """Neither here nor from a file."""
        with pytest.raises(ValueError):
            ApprovalAnswer(**{"allowed": True, "by": "ada", **fields})
        raw = {"allowed": True, "by": "ada", **fields}
        with pytest.raises(msgspec.ValidationError):
            msgspec.json.decode(msgspec.json.encode(raw), type=ApprovalAnswer)

    def test_without_more_an_answer_covers_one_call(self) -> None:
        """A span of time alone covers any number of them."""
        assert YES.calls_covered == 1
        assert ApprovalAnswer(allowed=True, by="a", calls=7).calls_covered == 7
        assert ApprovalAnswer(allowed=True, by="a", seconds=7).calls_covered is None
        assert ApprovalAnswer(allowed=True, by="a", calls=2, seconds=7).calls_covered == 2

    @pytest.mark.parametrize(
        ("text", "seconds"), [("1s", 1), ("90s", 90), ("10m", 600), ("2h", 7200), ("30d", 2592000)]
    )
    def test_spans_of_time(self, text: str, seconds: int) -> None:
        """An integer and its unit."""
        assert parse_duration(text) == seconds

    @pytest.mark.parametrize(
        "text", ["", "s", "5", "0s", "-1s", "1.5h", "1w", "31d", "1 h", "²s", "9" * 50 + "s"]
    )
    def test_what_is_no_span(self, text: str) -> None:
        """Nothing is guessed."""
        with pytest.raises(ValueError, match="not a span of time"):
            parse_duration(text)

    def test_ids_are_long_and_their_own(self) -> None:
        """They cannot be guessed, and nothing else becomes a file name."""
        assert is_approval_id(new_approval_id())
        assert new_approval_id() != new_approval_id()
        assert not any(map(is_approval_id, ["", "..", "../" + "a" * 29, "A" * 32, "a" * 31]))


class TestWaiting:
    def test_a_posted_request_waits_until_it_is_taken_back(
        self, store: ApprovalDirectory, directory: Path
    ) -> None:
        """It is listed as it was requested, and leaves nothing behind."""
        request = approval_request()
        with store.posted(request):
            assert store.pending() == [request]
            assert store.answer_to(request.id) is None
        assert store.pending() == []
        assert names_in(directory) == []

    def test_it_is_taken_back_whatever_happens(
        self, store: ApprovalDirectory, directory: Path
    ) -> None:
        """An execution that is killed leaves no request."""
        with pytest.raises(KeyboardInterrupt), store.posted(approval_request()):
            raise KeyboardInterrupt
        assert names_in(directory) == []

    def test_an_answer_reaches_who_asked(self, store: ApprovalDirectory, directory: Path) -> None:
        """From another opening of the same directory; both files go with the wait."""
        request = approval_request()
        answer = ApprovalAnswer(allowed=True, by="ada", reason="ok", calls=3, seconds=60)
        with store.posted(request):
            with ApprovalDirectory.open(directory) as other:
                other.answer(other.find(request.id[:6]).id, answer)
            assert store.answer_to(request.id) == answer
        assert names_in(directory) == []

    def test_the_first_answer_is_the_answer(self, store: ApprovalDirectory) -> None:
        """A second is refused and changes nothing."""
        request = approval_request()
        with store.posted(request):
            store.answer(request.id, ApprovalAnswer(allowed=False, by="eve"))
            with pytest.raises(ConfigurationError, match="was answered already"):
                store.answer(request.id, YES)
            answer = store.answer_to(request.id)
            assert answer is not None
            assert not answer.allowed

    def test_they_are_listed_oldest_first(self, store: ApprovalDirectory) -> None:
        """By the time of the request, not by their ids."""
        late = approval_request("0" * 32, asked_at="2025-01-02T00:00:00+00:00")
        early = approval_request("f" * 32)
        with store.posted(late), store.posted(early):
            assert store.pending() == [early, late]

    def test_a_prefix_must_name_one(self, store: ApprovalDirectory) -> None:
        """None, several and an empty one are errors that say so."""
        with (
            store.posted(approval_request("a" * 32)),
            store.posted(approval_request("a" * 31 + "b")),
        ):
            assert store.find("a" * 32).id == "a" * 32
            with pytest.raises(ConfigurationError, match="begins 2 ids"):
                store.find("aa")
            for prefix in ("", "bb", "../", "a\x1b[31m"):
                with pytest.raises(ConfigurationError, match="no call waits") as caught:
                    store.find(prefix)
                assert caught.value.message.isprintable()

    def test_nobody_answers_what_nobody_waits_for(self, store: ApprovalDirectory) -> None:
        """Unknown, already removed, and not an id."""
        request = approval_request()
        with store.posted(request):
            pass
        for approval_id in (request.id, new_approval_id(), "../" + "a" * 29):
            with pytest.raises(ConfigurationError, match="nobody waits"):
                store.answer(approval_id, YES)


class TestTrust:
    def test_it_is_its_owners_alone(self, store: ApprovalDirectory, directory: Path) -> None:
        """The directory, the requests and the answers."""
        request = approval_request()
        with store.posted(request):
            store.answer(request.id, YES)
            modes = {stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()}
        assert modes == {0o600}
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700

    @pytest.mark.parametrize("mode", [0o770, 0o701, 0o750, 0o777])
    def test_a_directory_that_others_can_reach_into_is_refused(
        self, directory: Path, mode: int
    ) -> None:
        """By hosts and by those who answer."""
        directory.mkdir()
        directory.chmod(mode)
        for make in (True, False):
            with pytest.raises(ConfigurationError, match="open to others"):
                ApprovalDirectory.open(directory, make=make)

    def test_a_file_in_its_place_is_refused(self, directory: Path) -> None:
        """And so is nothing, to those who only answer."""
        with pytest.raises(ConfigurationError, match="no such file"):
            ApprovalDirectory.open(directory)
        directory.write_text("x")
        with pytest.raises(ConfigurationError, match="cannot be opened"):
            ApprovalDirectory.open(directory, make=True)

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"yes",
            b"{}",
            b'{"allowed": true}',
            b'{"allowed": "true", "by": "eve"}',
            b'{"allowed": true, "by": "eve", "calls": 0}',
            b'{"allowed": true, "by": "eve", "more": 1}',
            b'{"allowed": true, "by": "' + b"e" * 300_000 + b'"}',
            b'{"allowed": true, "by": "\xff"}',
        ],
    )
    def test_an_answer_that_cannot_be_read_is_a_denial(
        self, store: ApprovalDirectory, directory: Path, content: bytes
    ) -> None:
        """Regardless of its author: only a complete and valid answer allows."""
        request = approval_request()
        with store.posted(request):
            (directory / f"{request.id}.answer").write_bytes(content)
            answer = store.answer_to(request.id)
            assert answer is not None
            assert not answer.allowed

    def test_a_link_in_place_of_an_answer_is_a_denial(
        self, store: ApprovalDirectory, directory: Path, tmp_path: Path
    ) -> None:
        """Also if it leads to an answer that allows."""
        (tmp_path / "yes").write_bytes(msgspec.json.encode(YES))
        request = approval_request()
        with store.posted(request):
            (directory / f"{request.id}.answer").symlink_to(tmp_path / "yes")
            answer = store.answer_to(request.id)
            assert answer is not None
            assert not answer.allowed

    def test_a_pipe_in_place_of_a_request_holds_nobody_up(
        self, store: ApprovalDirectory, directory: Path
    ) -> None:
        """It is not listed, and reading it does not wait."""
        os.mkfifo(directory / f"{new_approval_id()}.request")
        assert store.pending() == []

    def test_a_request_under_another_name_is_not_listed(
        self, store: ApprovalDirectory, directory: Path
    ) -> None:
        """An answer applies to exactly what was shown."""
        request, other = approval_request(), new_approval_id()
        with store.posted(request):
            os.link(directory / f"{request.id}.request", directory / f"{other}.request")
            assert store.pending() == [request]

    def test_odd_entries_are_reported_and_keep_nobody_from_asking(
        self, store: ApprovalDirectory, directory: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Directories and links under names like ours are neither read nor removed."""
        odd = [f"{new_approval_id()}{suffix}" for suffix in (".request", ".answer", ".x.aside")]
        for name in odd:
            (directory / name).mkdir()
        link = f"{new_approval_id()}.request"
        (directory / link).symlink_to("/etc/hostname")
        before = open_descriptors()
        with ApprovalDirectory.open(directory, make=True) as another:
            request = approval_request()
            with another.posted(request):
                assert store.pending() == [request]
        assert open_descriptors() == before
        assert store.odd_entries() == sorted([*odd, link]) == names_in(directory)
        assert link in caplog.text

    def test_a_directory_that_is_held_is_no_request(
        self, store: ApprovalDirectory, directory: Path
    ) -> None:
        """And reading it leaks no descriptor."""
        name = directory / f"{new_approval_id()}.request"
        name.mkdir()
        descriptor = os.open(name, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            before = open_descriptors()
            assert store.pending() == []
            assert open_descriptors() == before
        finally:
            os.close(descriptor)

    def test_a_draft_of_somebody_else_is_left_alone(
        self, store: ApprovalDirectory, directory: Path
    ) -> None:
        """Whatever its name: nothing is removed that was not made here."""
        request = approval_request()
        others = [f"{request.id}.aside", f"{request.id}.{os.getpid()}.aside"]
        for name in others:
            (directory / name).write_text("not yours")
        with store.posted(request):
            store.answer(request.id, YES)
            with pytest.raises(ConfigurationError, match="answered already"):
                store.answer(request.id, YES)
            assert store.answer_to(request.id) == YES
        assert names_in(directory) == sorted(others)

    def test_a_request_is_never_replaced(self, store: ApprovalDirectory, directory: Path) -> None:
        """What is there under its name stays, and is not removed either."""
        request = approval_request()
        (directory / f"{request.id}.request").write_text("another's")
        with pytest.raises(FileExistsError), store.posted(request):
            pass
        assert (directory / f"{request.id}.request").read_text() == "another's"


class TestDeadHosts:
    LEFT = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from support.approval_examples import approval_request
from caps.security.approvals.directory import ApprovalDirectory
store = ApprovalDirectory.open(Path(sys.argv[1]), make=True)
posted = store.posted(approval_request("d" * 32))
posted.__enter__()
print("posted", flush=True)
sys.stdin.read()
"""

    @pytest.mark.process
    def test_a_killed_hosts_request_waits_for_nobody(self, directory: Path) -> None:
        """It is no longer listed or answered, and the next host clears it away."""
        tests = str(Path(__file__).parents[3])
        host = subprocess.Popen(
            [sys.executable, "-c", self.LEFT, str(directory), tests],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        with host:
            assert host.stdout is not None
            assert host.stdout.readline() == "posted\n"
            with ApprovalDirectory.open(directory) as store:
                assert [request.id for request in store.pending()] == ["d" * 32]
            host.kill()
        with ApprovalDirectory.open(directory) as store:
            assert store.pending() == []
            with pytest.raises(ConfigurationError, match="nobody waits"):
                store.answer("d" * 32, YES)
        assert names_in(directory) == [f"{'d' * 32}.request"]
        ApprovalDirectory.open(directory, make=True).close()
        assert names_in(directory) == []

    def test_what_is_not_ours_stays(self, directory: Path) -> None:
        """Only files of that form are cleared away."""
        directory.mkdir(mode=0o700)
        (directory / "notes.txt").write_text("mine")
        (directory / "x.answer").write_text("mine")
        ApprovalDirectory.open(directory, make=True).close()
        assert names_in(directory) == ["notes.txt", "x.answer"]

    def test_a_host_leaves_those_of_the_living_alone(
        self, store: ApprovalDirectory, directory: Path
    ) -> None:
        """Several hosts share the directory."""
        request = approval_request()
        with store.posted(request):
            store.answer(request.id, YES)
            ApprovalDirectory.open(directory, make=True).close()
            assert store.answer_to(request.id) == YES


def test_where_it_is_by_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The variable, else the user's state directory, next to the audit log."""
    monkeypatch.setenv("CAPS_APPROVALS_PATH", str(tmp_path / "a"))
    assert default_approvals_directory() == tmp_path / "a"
    monkeypatch.delenv("CAPS_APPROVALS_PATH")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert default_approvals_directory() == tmp_path / "caps" / "approvals"
