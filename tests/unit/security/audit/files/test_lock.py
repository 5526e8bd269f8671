"""The lock of the log with several writers: none overtakes the first in the queue."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from caps.protocol.errors import AuditError
from caps.security.audit.files import lock
from caps.security.audit.files.lock import TURNSTILE, LogLock


class _Writer:
    """One process, as the kernel sees it: its own descriptors."""

    def __init__(self, directory: Path, seconds: float = 20) -> None:
        self.path = directory / "log"
        self.fd = os.open(self.path, os.O_RDWR | os.O_CREAT)
        self.lock = LogLock(seconds, directory)
        self.in_line = threading.Event()
        """Set when it has passed the turnstile and waits for the log itself."""
        wait_for_log = self.lock._wait_for_log

        def wait(fd: int, path: Path) -> None:
            self.in_line.set()
            wait_for_log(fd, path)

        self.lock._wait_for_log = wait  # type: ignore[method-assign]

    def take(self) -> None:
        self.lock.take(self.fd, self.path, wait=True)

    def let_go(self) -> None:
        fcntl.flock(self.fd, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self.fd)
        self.lock.close()


@contextmanager
def writers(directory: Path, count: int, seconds: float = 20) -> Iterator[list[_Writer]]:
    """All of them have left the line when they are done, and before they are closed."""
    made = [_Writer(directory, seconds) for _ in range(count)]
    yield made
    assert not somebody_stands_in_line(directory)
    for writer in made:
        writer.close()


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Locked by somebody else."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX)
    yield
    os.close(fd)


def locked_by_another(path: Path) -> None:
    """BlockingIOError if somebody else has it."""
    fd = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(fd)


def somebody_stands_in_line(directory: Path) -> bool:
    line = os.open(directory / TURNSTILE, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(line, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(line)
    return False


def test_who_lets_go_of_it_gets_it_again_after_who_waits(tmp_path: Path) -> None:
    """However soon it asks: a writer that syncs would else keep it for itself."""
    took: list[str] = []
    with writers(tmp_path, 2) as (busy, waiting):

        def wait() -> None:
            waiting.take()
            took.append("waiting")
            waiting.let_go()

        busy.take()
        thread = threading.Thread(target=wait)
        thread.start()
        assert waiting.in_line.wait(20)
        busy.let_go()
        busy.take()
        took.append("busy")
        busy.let_go()
        thread.join(20)
    assert took == ["waiting", "busy"]


def test_who_holds_a_file_takes_the_next_past_the_line(tmp_path: Path) -> None:
    """The first in line waits for the file that is held: both would wait for each other."""
    with writers(tmp_path, 2) as (moving, waiting):
        moving.take()
        thread = threading.Thread(target=waiting.take)
        thread.start()
        assert waiting.in_line.wait(20)
        following = os.open(tmp_path / "next", os.O_RDWR | os.O_CREAT)
        moving.lock.take_next(following, tmp_path / "next", wait=True)
        assert thread.is_alive()
        moving.let_go()
        thread.join(20)
        assert not thread.is_alive()
        os.close(following)


def test_who_will_not_wait_does_not_stand_in_line(tmp_path: Path) -> None:
    """The error comes immediately."""
    with writers(tmp_path, 2) as (holder, other):
        holder.take()
        with pytest.raises(BlockingIOError):
            other.lock.take(other.fd, other.path, wait=False)
        holder.let_go()
        other.lock.take(other.fd, other.path, wait=False)


def test_waiting_in_line_has_an_end(tmp_path: Path) -> None:
    """For the first as well, which releases the turnstile lock when it fails."""
    with writers(tmp_path, 2, seconds=0.01) as (impatient, later):
        with held(impatient.path):
            for _ in range(2):
                with pytest.raises(AuditError, match="another process holds the log"):
                    impatient.take()
                assert not somebody_stands_in_line(tmp_path)
        later.take()
        later.let_go()
        impatient.take()


def test_who_is_not_the_first_has_no_log_that_is_held(tmp_path: Path) -> None:
    """At the deadline the line is passed, and the log is not."""
    with writers(tmp_path, 1, seconds=0.01) as (waiting,):
        with held(tmp_path / TURNSTILE), held(waiting.path):
            for _ in range(2):
                with pytest.raises(AuditError, match="another process holds the log"):
                    waiting.take()
        waiting.take()


def test_who_finds_it_free_does_not_stay_in_line(tmp_path: Path) -> None:
    """Others would find somebody before them who wants nothing."""
    with writers(tmp_path, 1) as (writer,):
        writer.take()
        assert not somebody_stands_in_line(tmp_path)


def test_a_line_that_does_not_move_is_passed(tmp_path: Path) -> None:
    """Its holder may be stopped; a log that nobody holds is not refused because of that."""
    with writers(tmp_path, 1, seconds=0.05) as (writer,):
        with held(tmp_path / TURNSTILE):
            for _ in range(3):
                writer.take()
                writer.let_go()
        writer.take()


def test_who_passed_the_line_waits_for_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others take turns with it; to ask once would be a throw of the dice."""
    asked = threading.Event()
    locked = lock._try_lock

    def ask(fd: int) -> bool:
        found = locked(fd)
        if fd == writer.fd and not found:
            asked.set()
        return found

    monkeypatch.setattr(lock, "_RETRY_GRACE_SECONDS", 0.01)
    monkeypatch.setattr(lock, "_try_lock", ask)
    with writers(tmp_path, 1) as (writer,):
        writer.lock._turnstile_seconds = 0.01
        with held(tmp_path / TURNSTILE):
            thread = threading.Thread(target=writer.take)
            with held(writer.path):
                thread.start()
                assert asked.wait(20)
            thread.join(20)
            assert not thread.is_alive()
            with pytest.raises(BlockingIOError):
                locked_by_another(writer.path)


def test_only_its_writers_can_stand_in_line(tmp_path: Path) -> None:
    """A directory could be locked by any process that may read it."""
    with writers(tmp_path, 1) as (writer,):
        writer.take()
        assert (tmp_path / TURNSTILE).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("wait", [True, False])
def test_a_file_that_cannot_be_locked_is_told_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wait: bool
) -> None:
    """As on some network file systems."""

    def fails(_fd: int, _how: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    with writers(tmp_path, 1) as (writer,), monkeypatch.context() as patched:
        patched.setattr("fcntl.flock", fails)
        with pytest.raises(AuditError, match="cannot be locked: No locks available"):
            writer.lock.take(writer.fd, writer.path, wait=wait)
        patched.undo()


def test_where_a_directory_cannot_be_locked_the_log_can(tmp_path: Path) -> None:
    """It works without the turnstile lock then."""
    writer = _Writer(tmp_path)
    writer.lock = LogLock(20, tmp_path / "none")
    writer.take()
    writer.close()
