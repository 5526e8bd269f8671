"""Appending encoded records: the same file, whatever happens on the way."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from caps.protocol.errors import AuditError
from caps.security.audit import AuditLog, Durability, VerifyStatus, verify_log
from caps.security.audit.log.segment import Segment
from caps.security.audit.model.sanitize import encode_event
from caps.security.audit.sinks.urls import parse_sink
from support.audit_examples import decision, request_ids, segment_of

pytestmark = pytest.mark.anyio

KIND = "decision_made"


def opened(directory: Path, **settings: Any) -> AuditLog:
    return AuditLog.open(directory, durability=Durability.OS, **settings)


def append(log: AuditLog, *names: str) -> bool:
    return log.append_encoded([encode_event(decision(name)) for name in names], KIND)


@pytest.fixture
def general(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of records of each commit that did not take the fast path."""
    sizes: list[int] = []
    commit = Segment.commit

    def noted(segment: Segment, entries: Any, **options: Any) -> Any:
        sizes.append(len(entries))
        return commit(segment, entries, **options)

    monkeypatch.setattr(Segment, "commit", noted)
    return sizes


async def test_usual_records_take_the_fast_path(tmp_path: Path, general: list[int]) -> None:
    """Those that need another step are left to `commit`."""
    log = opened(tmp_path)
    other = opened(tmp_path)
    general.clear()
    assert append(log, "a")
    assert append(log, "b")
    assert append(log, "c")
    assert general == []
    assert append(log, "d", "e")
    assert general == []
    assert append(other, "f")  # it continues after the records of the first
    assert append(log, "g")
    assert general == [1, 1]
    assert request_ids(tmp_path) == [*"abcdefg"]
    await log.aclose()
    await other.aclose()
    assert verify_log(tmp_path).status is VerifyStatus.OK


async def test_a_subscriber_of_the_segment_gets_each_line(tmp_path: Path) -> None:
    """With its number."""
    log = opened(tmp_path)
    told: list[tuple[int, bytes]] = []
    log._segment.on_written = lambda first, lines: told.extend(enumerate(lines, first))
    assert append(log, "a")
    log._segment.on_written = None
    assert [(log.head.seq, segment_of(tmp_path).read_bytes().splitlines(keepends=True)[-1])] == told
    await log.aclose()


class Failing:
    """A call of the system that goes wrong once, or always."""

    def __init__(self, real: Callable[..., Any], wrong: Callable[..., Any], times: int) -> None:
        self._real, self._wrong, self.left = real, wrong, times

    def __call__(self, *args: Any) -> Any:
        if self.left:
            self.left -= 1
            return self._wrong(*args)
        return self._real(*args)


def full(*_args: Any) -> Any:
    raise OSError(28, "No space left on device")


def broken(*_args: Any) -> Any:
    raise OSError(5, "Input/output error")


async def test_a_short_write_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The record is in the log, once."""
    log = opened(tmp_path)

    def short(fd: int, data: bytes, at: int, real: Callable[..., int] = os.pwrite) -> int:
        return real(fd, data[:10], at)

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", Failing(os.pwrite, short, 1))
        assert append(log, "a")
    assert append(log, "b")
    await log.aclose()
    assert request_ids(tmp_path) == ["a", "b"]
    assert verify_log(tmp_path).status is VerifyStatus.OK


async def test_a_full_disk_is_an_audit_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of the record stays, and the next one can be written when there is room."""
    log = opened(tmp_path)
    before = segment_of(tmp_path).read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", Failing(os.pwrite, full, 9))
        with pytest.raises(AuditError, match="No space left on device"):
            append(log, "a")
    assert segment_of(tmp_path).read_bytes() == before
    assert append(log, "b")
    await log.aclose()
    assert request_ids(tmp_path) == ["b"]


async def test_a_log_that_cannot_be_read_back_is_not_written_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows whether it has a hole."""
    log = opened(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(os, "pread", Failing(os.pread, broken, 2))
        with pytest.raises(AuditError, match="cannot be read after a write"):
            append(log, "a")
    with pytest.raises(AuditError):
        append(log, "b")
    with pytest.raises(AuditError):
        await log.aclose()


@pytest.mark.parametrize("keep", [0, 100])
async def test_a_cut_between_the_check_and_the_write_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep: int
) -> None:
    """No hole stays, and no more is written."""
    log = opened(tmp_path)
    assert append(log, "a")

    def cut_first(fd: int, data: bytes, at: int, real: Callable[..., int] = os.pwrite) -> int:
        os.truncate(segment_of(tmp_path), keep)
        return real(fd, data, at)

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", Failing(os.pwrite, cut_first, 1))
        with pytest.raises(AuditError, match="was cut while open"):
            append(log, "b")
    assert segment_of(tmp_path).stat().st_size == keep
    with pytest.raises(AuditError):
        append(log, "c")
    with pytest.raises(AuditError):
        await log.aclose()


async def test_a_log_that_was_replaced_is_not_written(tmp_path: Path) -> None:
    """The path must still lead to the file."""
    log = opened(tmp_path)
    assert append(log, "a")
    path = segment_of(tmp_path)
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content)
    with pytest.raises(AuditError, match="removed or replaced"):
        append(log, "b")
    assert path.read_bytes() == content
    with pytest.raises(AuditError):
        await log.aclose()


async def test_a_best_effort_sink_gets_the_records(tmp_path: Path, general: list[int]) -> None:
    """They take the fast path, too; an event about a sink is written with the next others."""
    copy = tmp_path / "copy"
    sink = parse_sink(f"file://{copy}?mode=best_effort")
    log = opened(tmp_path / "log", sinks=[sink])
    general.clear()
    assert append(log, "a", "b")
    assert append(log, "c")
    assert general == []
    log._writer.note(decision("noted"))
    assert not append(log, "d")
    assert general == []
    assert log.append_now([decision("d")])
    assert append(log, "e")
    await log.aclose()
    assert request_ids(tmp_path / "log") == ["a", "b", "c", "d", "noted", "e"]
    assert segment_of(copy).read_bytes() == segment_of(tmp_path / "log").read_bytes()
