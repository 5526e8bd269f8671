"""A log that mentions a checkpoint notices that it is lost, and raises no alarm without a loss."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import anyio
import msgspec
import pytest

from caps.protocol.errors import AuditError
from caps.security.audit import (
    AuditLog,
    CallStatus,
    Durability,
    ExecutionEnded,
    ExecutionStarted,
    ExecutionStatus,
    OutcomeRecorded,
    Rotation,
    VerifyReport,
    VerifyStatus,
    read_records,
    verify_log,
)
from caps.security.audit.log.rotation import compress_closed
from caps.security.audit.signing.checkpoint import CHECKPOINTS
from caps.security.audit.sinks.streams import FileSink
from caps.security.audit.sinks.urls import parse_sink
from support.audit_examples import decision, segment_of

STARTED = ExecutionStarted(
    execution_id="exec-0001",
    principal="local",
    policy_id="reader",
    policy_sha256="ab" * 32,
    source_sha256="cd" * 32,
    granted=[],
    withheld=[],
    isolation={},
)
ENDED = ExecutionEnded(
    execution_id="exec-0001",
    principal="local",
    status=ExecutionStatus.OK,
    duration_us=1,
    calls=1,
    output_bytes=0,
)
OUTCOME = OutcomeRecorded(
    execution_id="exec-0001",
    principal="local",
    request_id="r-1",
    capability="files.read",
    status=CallStatus.OK,
    duration_us=1,
    bytes_out=1,
)


async def run_once(log: AuditLog) -> None:
    """The records of one execution with one call."""
    for event in (STARTED, decision(), ENDED):
        await log.append(event)


def write(directory: Path, executions: int = 1, **settings: object) -> None:
    """Open the log, record executions, and close it, which signs its end."""

    async def main() -> None:
        async with AuditLog.open(directory, **settings) as log:  # type: ignore[arg-type]
            for _ in range(executions):
                await run_once(log)

    anyio.run(main)


def mentions(directory: Path) -> list[int | None]:
    """What the records that can mention a checkpoint say, in their order."""
    events = (record.event for record in read_records(directory))
    return [event.signed_seq for event in events if hasattr(event, "signed_seq")]


def assert_lost(report: VerifyReport, seq: int) -> None:
    assert (report.status, report.bad_file) == (VerifyStatus.CHECKPOINT_BAD, CHECKPOINTS)
    assert report.bad_seq == seq
    assert f"lost the checkpoint of record {seq}" in report.message


def delete(path: Path) -> None:
    path.unlink()


def empty(path: Path) -> None:
    path.write_bytes(b"")


def cut(path: Path) -> None:
    """Remove the last two lines: of the last one there is no mention yet."""
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-2]))


def put_back(path: Path) -> None:
    """Replace it by a copy of the time when it had one line."""
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])


HARMS = pytest.mark.parametrize("harm", [delete, empty, cut, put_back])


@HARMS
@pytest.mark.parametrize("durability", list(Durability))
def test_a_log_of_one_file_and_one_key(
    tmp_path: Path, harm: Callable[[Path], None], durability: Durability
) -> None:
    """The next execution mentions the last checkpoint: its loss is found, and no writer opens."""
    for _ in range(3):
        write(tmp_path, durability=durability)
    assert mentions(tmp_path) == [None, None, 4, 4, 7, 7]
    assert verify_log(tmp_path).status is VerifyStatus.OK
    harm(tmp_path / CHECKPOINTS)
    assert_lost(verify_log(tmp_path), 4 if harm in (delete, empty) else 7)
    with pytest.raises(AuditError, match="has lost the checkpoint of record 7"):
        AuditLog.open(tmp_path)


@HARMS
def test_a_log_of_calls_without_code(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    """The first outcome after a checkpoint mentions it, and the next ones do not."""

    async def main() -> None:
        async with AuditLog.open(tmp_path, checkpoint_every=4) as log:
            for _ in range(6):
                await log.append(decision())
                await log.append(OUTCOME)

    anyio.run(main)
    assert mentions(tmp_path) == [None, 4, None, 8, None, 12]
    assert verify_log(tmp_path).status is VerifyStatus.OK
    harm(tmp_path / CHECKPOINTS)
    assert verify_log(tmp_path).status is VerifyStatus.CHECKPOINT_BAD


def test_an_outcome_in_one_batch_with_a_bad_event_mentions_the_checkpoint(tmp_path: Path) -> None:
    """The batch is encoded a second time for it, which counts as the first time."""

    async def main() -> None:
        async with AuditLog.open(tmp_path, checkpoint_every=2) as log:
            await log.append(decision())
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(log.append, OUTCOME)
                with pytest.raises(AuditError, match="cannot be recorded"):
                    await log.append(decision(shown={"x": object()}))

    anyio.run(main)
    assert mentions(tmp_path) == [2]


@HARMS
def test_a_loss_that_later_checkpoints_follow(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    """A writer that was open meanwhile goes on to sign, which does not cover it up."""

    async def main() -> None:
        async with AuditLog.open(tmp_path, checkpoint_every=3) as log:
            for _ in range(3):
                await run_once(log)
            harm(tmp_path / CHECKPOINTS)
            for _ in range(3):
                await run_once(log)

    anyio.run(main)
    report = verify_log(tmp_path)
    assert report.signed_seq == report.head_seq
    assert report.status is VerifyStatus.CHECKPOINT_BAD


def test_a_long_log_mentions_a_checkpoint_at_the_end_of_an_execution(tmp_path: Path) -> None:
    """The one that was made while it ran."""

    async def main() -> None:
        async with AuditLog.open(tmp_path, checkpoint_every=5) as log:
            await log.append(STARTED)
            for _ in range(8):
                await log.append(decision())
            await log.append(ENDED)

    anyio.run(main)
    assert mentions(tmp_path) == [None, 10]


def test_a_log_in_several_files(tmp_path: Path) -> None:
    """Each file begins with a mention, so calls without an execution are enough."""

    async def main() -> None:
        async with AuditLog.open(tmp_path, rotation=Rotation(bytes=4096)) as log:
            for number in range(20):
                await log.append(decision(f"r{number}"))

    anyio.run(main)
    compress_closed(tmp_path)
    assert None not in mentions(tmp_path)
    assert verify_log(tmp_path).status is VerifyStatus.OK
    (tmp_path / CHECKPOINTS).unlink()
    assert verify_log(tmp_path).status is VerifyStatus.CHECKPOINT_BAD


def test_a_rotated_key(tmp_path: Path) -> None:
    """Its record mentions the last checkpoint of the old key."""
    write(tmp_path)
    log = AuditLog.open(tmp_path)
    log.rotate_key()
    log.close()
    assert mentions(tmp_path)[-1] == 4
    assert verify_log(tmp_path).status is VerifyStatus.OK
    (tmp_path / CHECKPOINTS).unlink()
    assert_lost(verify_log(tmp_path), 4)


def test_several_writers_of_one_log(tmp_path: Path) -> None:
    """Each mentions what it knows, and all of it is there."""

    async def main() -> None:
        logs = [AuditLog.open(tmp_path, checkpoint_every=2 + number) for number in range(3)]
        for _ in range(5):
            for log in logs:
                await run_once(log)
        for log in logs:
            await log.aclose()

    anyio.run(main)
    assert len(set(mentions(tmp_path))) > 5
    assert verify_log(tmp_path).status is VerifyStatus.OK


def test_a_kept_copy_replaces_the_lost_file(tmp_path: Path) -> None:
    """All mentioned checkpoints are in it; restored, the log is opened again."""
    log, kept = tmp_path / "log", tmp_path / "kept"
    for _ in range(2):
        write(log, checkpoints_to=kept)
    (log / CHECKPOINTS).unlink()
    assert verify_log(log).status is VerifyStatus.CHECKPOINT_BAD
    assert verify_log(log, kept_checkpoints=kept).status is VerifyStatus.OK
    shutil.copy(kept / CHECKPOINTS, log / CHECKPOINTS)
    write(log)
    assert verify_log(log).status is VerifyStatus.OK


def test_a_log_that_is_signed_only_when_it_is_closed(tmp_path: Path) -> None:
    """Without a checkpoint there is nothing to mention, also after a crash before the first."""

    async def main() -> None:
        log = AuditLog.open(tmp_path, checkpoint_seconds=None, checkpoint_every=10**6)
        await run_once(log)
        shutil.copytree(tmp_path, tmp_path / "crashed")
        await log.aclose()

    anyio.run(main)
    write(tmp_path / "crashed")
    assert mentions(tmp_path / "crashed") == [None] * 4
    assert verify_log(tmp_path / "crashed").status is VerifyStatus.OK


def test_an_older_log_goes_on(tmp_path: Path) -> None:
    """Records without the field verify, whether or not the log has checkpoints."""

    async def main() -> None:
        async with AuditLog.open(tmp_path) as log:
            await log.append(decision())

    anyio.run(main)
    shutil.copytree(tmp_path, tmp_path / "bare")
    (tmp_path / "bare" / CHECKPOINTS).unlink()
    for directory in (tmp_path, tmp_path / "bare"):
        write(directory)
        assert verify_log(directory).status is VerifyStatus.OK


def test_a_checkpoint_that_is_not_sound_is_not_mentioned(tmp_path: Path) -> None:
    """Else a forged one would make the log look robbed when it is removed again."""
    write(tmp_path)
    path = tmp_path / CHECKPOINTS
    sound = path.read_bytes()
    forged = {**msgspec.json.decode(sound), "seq": 10**9}
    path.write_bytes(sound + msgspec.json.encode(forged, order="sorted") + b"\n")
    write(tmp_path)
    assert mentions(tmp_path) == [None] * 4


class TestCopies:
    """A `file:` sink keeps a copy of the log, which is verified as one."""

    def test_has_every_checkpoint_that_it_mentions(self, tmp_path: Path) -> None:
        """Also those of another process, which does not feed it."""
        log, copy = tmp_path / "log", tmp_path / "copy"

        async def main() -> None:
            sinks = [parse_sink(f"file://{copy}?deadline_ms=30000")]
            feeding = AuditLog.open(log, sinks=sinks, checkpoint_every=4)
            other = AuditLog.open(log, checkpoint_every=3, rotation=Rotation(bytes=4096))
            for _ in range(5):
                await run_once(feeding)
                await run_once(other)
                assert verify_log(copy).status is VerifyStatus.OK
            await other.aclose()
            await run_once(feeding)
            await feeding.aclose()

        anyio.run(main)
        report = verify_log(copy)
        assert (report.status, report.head_seq) == (VerifyStatus.OK, verify_log(log).head_seq)
        (copy / CHECKPOINTS).unlink()
        assert verify_log(copy).status is VerifyStatus.CHECKPOINT_BAD

    def test_a_crash_between_two_writes_leaves_it_sound(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A record that mentions a checkpoint is written after it."""
        seen: list[VerifyStatus] = []
        log, copy = tmp_path / "log", tmp_path / "copy"

        def watched(name: str) -> None:
            real = getattr(FileSink, name)

            def then_look(sink: FileSink, items: object) -> None:
                real(sink, items)
                # As a crash leaves it; the copy itself is locked now.
                shutil.copytree(copy, tmp_path / f"crash{len(seen)}")
                seen.append(verify_log(tmp_path / f"crash{len(seen)}").status)

            monkeypatch.setattr(FileSink, name, then_look)

        watched("_add_records")
        watched("_add_checkpoints")
        for _ in range(3):
            write(
                log,
                4,
                sinks=[parse_sink(f"file://{copy}?deadline_ms=30000")],
                rotation=Rotation(bytes=4096),
                checkpoint_every=5,
            )
        assert len(seen) > 10
        assert set(seen) == {VerifyStatus.OK}

    def test_without_checkpoints_is_verified_with_those_of_the_log(self, tmp_path: Path) -> None:
        """It has none of its own, by its settings, and so cannot prove what it mentions."""
        log, copy = tmp_path / "log", tmp_path / "copy"
        sinks = [parse_sink(f"file://{copy}?checkpoints=0&deadline_ms=30000")]
        for _ in range(2):
            write(log, sinks=sinks)
        assert_lost(verify_log(copy), 4)
        assert verify_log(copy, kept_checkpoints=log).status is VerifyStatus.OK


def test_an_argument_that_looks_like_a_mention_is_none(tmp_path: Path) -> None:
    """Only the field of the record itself counts."""

    async def main() -> None:
        async with AuditLog.open(tmp_path) as log:
            await log.append(decision(shown={"signed_seq": 77, "path": '"signed_seq":77'}))

    anyio.run(main)
    assert b"signed_seq" in segment_of(tmp_path).read_bytes()
    assert verify_log(tmp_path).status is VerifyStatus.OK
    AuditLog.open(tmp_path).close()
