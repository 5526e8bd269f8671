"""Following a log while it is written: rotation, several writers, commits that are taken back."""

from __future__ import annotations

import fcntl
import gzip
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest

from caps.protocol.errors import AuditError
from caps.security.audit import AuditLog, AuditRecord, DecisionMade
from caps.security.audit.files.reader import segment_name
from caps.security.audit.model.chain import ORIGIN, Head
from caps.security.audit.model.sanitize import encode_event
from caps.security.audit.query.follow import follow
from support.audit_examples import decision, seal, segment_of


class Done(Exception):
    """The script of a test is over."""


class Chain:
    """Lines of one chain, to be written wherever a test wants them."""

    def __init__(self) -> None:
        self.head: Head = ORIGIN

    def lines(self, *names: str) -> bytes:
        out = b""
        for name in names:
            line, self.head = seal(
                encode_event(decision(name)), "2025-01-01T00:00:00.000000Z", self.head
            )
            out += line
        return out


def followed(directory: Path, *steps: Callable[[], object]) -> list[str]:
    """What is read while `steps` happen one after the other; `|` marks where waiting began."""
    script: Iterator[Callable[[], object]] = iter(steps)
    seen: list[str] = []

    def wait() -> None:
        seen.append("|")
        step = next(script, None)
        if step is None:
            raise Done
        step()

    try:
        for record in follow(directory, wait):
            seen.append(_name(record))
    except Done:
        return seen
    raise AssertionError("following never ends by itself")


def _name(record: AuditRecord) -> str:
    assert isinstance(record.event, DecisionMade)
    return record.event.request_id


def appended(path: Path, data: bytes) -> Callable[[], object]:
    def append() -> None:
        with path.open("ab") as file:
            file.write(data)

    return append


def test_what_comes_is_read_as_it_comes(tmp_path: Path) -> None:
    """First what is there, then what is added, each record once."""
    chain, path = Chain(), segment_of(tmp_path)
    path.write_bytes(chain.lines("a", "b"))
    steps = [appended(path, chain.lines("c")), lambda: None, appended(path, chain.lines("d", "e"))]
    assert followed(tmp_path, *steps) == ["a", "b", "|", "c", "|", "|", "d", "e", "|"]


def test_rotation_is_followed(tmp_path: Path) -> None:
    """Also if the old file grew before the new one began, and if several came together."""
    chain, first = Chain(), segment_of(tmp_path)
    second, third = (tmp_path / segment_name(number) for number in (2, 3))
    first.write_bytes(chain.lines("a"))
    old, new, newer = chain.lines("b"), chain.lines("c"), chain.lines("d")

    def rotate() -> None:
        appended(first, old)()
        appended(second, new)()
        appended(third, newer)()

    last = appended(third, chain.lines("e"))
    assert followed(tmp_path, rotate, last) == ["a", "|", "b", "c", "d", "|", "e", "|"]


def test_a_file_that_is_compressed_after_rotation_is_not_read_again(tmp_path: Path) -> None:
    """Files are known by their numbers, whatever their form."""
    chain, first = Chain(), segment_of(tmp_path)
    first.write_bytes(chain.lines("a"))
    new = chain.lines("b")

    def rotate() -> None:
        first.with_name(f"{first.name}.gz").write_bytes(gzip.compress(first.read_bytes()))
        appended(tmp_path / segment_name(2), new)()
        first.unlink()

    assert followed(tmp_path, rotate, lambda: None) == ["a", "|", "b", "|", "|"]
    assert followed(tmp_path) == ["a", "b", "|"]


def test_a_line_is_read_when_it_is_whole(tmp_path: Path) -> None:
    """Half a line is not a record yet."""
    chain, path = Chain(), segment_of(tmp_path)
    path.write_bytes(chain.lines("a"))
    line = chain.lines("b")
    steps = [appended(path, line[:40]), appended(path, line[40:])]
    assert followed(tmp_path, *steps) == ["a", "|", "|", "b", "|"]


def test_what_is_being_written_under_the_lock_is_not_read(tmp_path: Path) -> None:
    """A writer may take it back; it counts when the lock is free."""
    chain, path = Chain(), segment_of(tmp_path)
    path.write_bytes(chain.lines("a"))
    size, line = path.stat().st_size, chain.lines("b")
    with path.open("r+b") as writer:

        def begin() -> None:
            fcntl.flock(writer, fcntl.LOCK_EX)
            appended(path, line)()

        def take_back() -> None:
            writer.truncate(size)
            fcntl.flock(writer, fcntl.LOCK_UN)

        steps = [begin, take_back, appended(path, line)]
        assert followed(tmp_path, *steps) == ["a", "|", "|", "|", "b", "|"]


def test_an_empty_directory_is_waited_in(tmp_path: Path) -> None:
    """The log may be made later; a directory that is not there may not."""
    begin = appended(segment_of(tmp_path), Chain().lines("a"))
    assert followed(tmp_path, begin) == ["|", "a", "|"]
    with pytest.raises(AuditError, match="No such file or directory"):
        followed(tmp_path / "none")


def cut(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(10)


def replaced(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    other.replace(path)


@pytest.mark.parametrize(
    ("damage", "message"),
    [(cut, "was cut"), (Path.unlink, "removed or replaced"), (replaced, "removed or replaced")],
)
def test_a_log_that_was_tampered_with_ends_the_following(
    tmp_path: Path, damage: Callable[[Path], object], message: str
) -> None:
    """It says so instead of waiting in silence."""
    path = segment_of(tmp_path)
    path.write_bytes(Chain().lines("a"))
    with pytest.raises(AuditError, match=message):
        followed(tmp_path, lambda: damage(path))


@pytest.mark.process
def test_tail_follows_several_writers_until_it_is_interrupted(tmp_path: Path) -> None:
    """The real command, with two real logs in one directory; Ctrl-C is a clean end."""

    async def write(*names: str) -> None:
        async with AuditLog.open(tmp_path) as one, AuditLog.open(tmp_path) as other:
            for number, name in enumerate(names):
                await (one, other)[number % 2].append(decision(name))

    anyio.run(write, "a", "b", "c")
    options = ["-f", "-n", "1", "--json", "--kind", "decision_made", "--audit", str(tmp_path)]
    with subprocess.Popen(
        [sys.executable, "-c", "from caps.cli.main import main; main()", "audit", "tail", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert json.loads(process.stdout.readline())["request_id"] == "c"
        anyio.run(write, "d", "e")
        found = [json.loads(process.stdout.readline())["request_id"] for _ in range(2)]
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0
        assert (found, process.stderr.read()) == (["d", "e"], "")
