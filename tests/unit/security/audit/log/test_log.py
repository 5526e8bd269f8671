"""Appends: one unbroken chain, few syncs, and nothing lost to cancellation. On both backends."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from caps.protocol.errors import AuditError, ConfigurationError
from caps.security.audit import (
    AuditLog,
    AuditSettings,
    AuditSink,
    Durability,
    MemoryAuditLog,
    VerifyStatus,
    default_audit_directory,
    read_records,
    verify_log,
)
from caps.security.audit.files.reader import Line
from caps.security.audit.log.batch import CommitBatch
from caps.security.audit.model.chain import Entry
from caps.security.audit.model.sanitize import encode_all, encode_event
from caps.security.audit.verify.verify import verify_lines
from support.audit_examples import decision, kinds, mode_of, open_beneath, request_ids, segment_of

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=list(Durability))
def durability(request: pytest.FixtureRequest) -> Durability:
    chosen = request.param
    assert isinstance(chosen, Durability)
    return chosen


class Syncs:
    """Counts real syncs, and can hold them until released."""

    def __init__(self) -> None:
        self.count = 0
        self.started = threading.Event()
        self.release = threading.Event()
        self.release.set()
        self._real = os.fdatasync

    def __call__(self, fd: int) -> None:
        self.count += 1
        self.started.set()
        assert self.release.wait(timeout=30)
        self._real(fd)

    async def underway(self) -> None:
        """Returns once a sync has begun."""
        assert await anyio.to_thread.run_sync(self.started.wait, 30)


@pytest.fixture
def syncs(monkeypatch: pytest.MonkeyPatch) -> Syncs:
    counter = Syncs()
    monkeypatch.setattr(os, "fdatasync", counter)
    return counter


async def test_a_log_that_is_closed_leaves_nothing_open(tmp_path: Path) -> None:
    """Neither its file nor the line before it."""
    async with AuditLog.open(tmp_path) as log:
        await log.append(decision("a"))
        assert open_beneath(tmp_path)
    assert open_beneath(tmp_path) == []


async def test_a_new_log_starts_with_its_opening(tmp_path: Path, durability: Durability) -> None:
    """The first record says who opened the log; later openings add none."""
    for _ in range(2):
        async with AuditLog.open(tmp_path / "log", durability=durability) as log:
            await log.append(decision())
    assert kinds(tmp_path / "log") == ["LogOpened", "DecisionMade", "DecisionMade"]


async def test_the_files_are_for_their_owner_only(tmp_path: Path) -> None:
    """Directory, log and keys; the public key may be read."""
    directory = tmp_path / "state" / "log"
    async with AuditLog.open(directory) as log:
        await log.append(decision())
    assert mode_of(directory) == 0o700
    assert {path.name: oct(mode_of(path)) for path in directory.iterdir()} == {
        ".line": "0o600",
        "audit-000001.jsonl": "0o600",
        "checkpoints.jsonl": "0o600",
        "redaction.key": "0o600",
        "signing.key": "0o600",
        "signing.pub": "0o644",
    }


async def test_an_appended_record_is_on_disk_when_append_returns(
    tmp_path: Path, durability: Durability
) -> None:
    """Evidence comes before the effect."""
    async with AuditLog.open(tmp_path, durability=durability) as log:
        await log.append(decision("before"))
        assert request_ids(tmp_path) == ["before"]
        assert log.head.hash == list(read_records(tmp_path))[-1].hash


async def test_a_hundred_appends_at_once_are_one_chain_with_few_syncs(
    tmp_path: Path, syncs: Syncs
) -> None:
    """Appends that wait for the same disk share its syncs."""
    async with AuditLog.open(tmp_path) as log:
        before = syncs.count
        async with anyio.create_task_group() as tasks:
            for number in range(100):
                tasks.start_soon(log.append, decision(f"r{number}"))
        assert 1 <= syncs.count - before <= 5
    assert sorted(request_ids(tmp_path)) == sorted(f"r{number}" for number in range(100))
    assert verify_log(tmp_path).status is VerifyStatus.OK


async def test_without_sync_the_disk_is_not_waited_for(tmp_path: Path, syncs: Syncs) -> None:
    """`Durability.OS` writes and continues without a sync."""
    log = AuditLog.open(tmp_path, durability=Durability.OS)
    await log.append(decision())
    assert syncs.count == 0
    await log.aclose()
    assert verify_log(tmp_path).status is VerifyStatus.OK


async def test_records_of_one_task_keep_their_order(tmp_path: Path, durability: Durability) -> None:
    """What was appended first has the lower number."""
    async with AuditLog.open(tmp_path, durability=durability) as log:
        for number in range(20):
            await log.append(decision(f"r{number}"))
    assert request_ids(tmp_path) == [f"r{number}" for number in range(20)]


async def test_a_cancelled_leader_still_commits_its_batch(tmp_path: Path, syncs: Syncs) -> None:
    """Followers of a cancelled task are served, and its own event is not lost."""
    async with AuditLog.open(tmp_path) as log:
        syncs.started.clear()
        syncs.release.clear()
        leader = anyio.CancelScope()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_append_within, leader, log, "leader")
            await syncs.underway()
            tasks.start_soon(log.append, decision("next"))
            tasks.start_soon(log.append, decision("follower"))
            await anyio.wait_all_tasks_blocked()
            leader.cancel()
            syncs.release.set()
    assert request_ids(tmp_path)[0] == "leader"
    assert sorted(request_ids(tmp_path)) == ["follower", "leader", "next"]
    assert verify_log(tmp_path).status is VerifyStatus.OK


async def _append_within(scope: anyio.CancelScope, log: AuditLog, request_id: str) -> None:
    with scope:
        await log.append(decision(request_id))


async def test_a_cancelled_follower_is_recorded_all_the_same(tmp_path: Path, syncs: Syncs) -> None:
    """A caller that stops waiting does not cancel the write."""
    async with AuditLog.open(tmp_path) as log:
        syncs.started.clear()
        syncs.release.clear()
        scopes = [anyio.CancelScope() for _ in range(3)]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(log.append, decision("leader"))
            await syncs.underway()
            for number, scope in enumerate(scopes):
                tasks.start_soon(_append_within, scope, log, f"r{number}")
            await anyio.wait_all_tasks_blocked()
            for scope in scopes:
                scope.cancel()
            syncs.release.set()
        # The thread has their records, so none of them is kept.
        assert sum(scope.cancelled_caught for scope in scopes) == 3
    assert sorted(request_ids(tmp_path)) == ["leader", "r0", "r1", "r2"]
    assert verify_log(tmp_path).status is VerifyStatus.OK


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("times", [1, 3])
async def test_asyncio_cancel_does_not_tear_a_batch(
    tmp_path: Path, syncs: Syncs, times: int
) -> None:
    """`Task.cancel()` passes a shield; the leader finishes first, then it is cancelled."""
    async with AuditLog.open(tmp_path) as log:
        syncs.started.clear()
        syncs.release.clear()
        leader = asyncio.create_task(log.append(decision("leader")))
        await syncs.underway()
        second = asyncio.create_task(log.append(decision("second")))
        follower = asyncio.create_task(log.append(decision("follower")))
        for _ in range(times):
            await asyncio.sleep(0)
            leader.cancel()
            second.cancel()
        await asyncio.sleep(0)
        syncs.release.set()
        await follower
        for task in (leader, second):
            with pytest.raises(asyncio.CancelledError):
                await task
    assert request_ids(tmp_path) == ["leader", "second", "follower"]
    assert verify_log(tmp_path).status is VerifyStatus.OK


def test_what_was_handed_in_is_written_though_the_loop_ends(tmp_path: Path, syncs: Syncs) -> None:
    """Both what is being written, and what gathers behind it."""
    log = AuditLog.open(tmp_path)
    syncs.started.clear()
    syncs.release.clear()
    waiting: list[asyncio.Task[None]] = []

    async def hand_in() -> None:
        waiting.append(asyncio.create_task(log.append(decision("first"))))
        await syncs.underway()
        waiting.append(asyncio.create_task(log.append(decision("second"))))
        await asyncio.sleep(0)

    asyncio.run(hand_in())
    assert all(task.cancelled() for task in waiting)
    syncs.release.set()
    log.close()
    assert request_ids(tmp_path) == ["first", "second"]
    assert verify_log(tmp_path).status is VerifyStatus.OK


def test_a_log_serves_the_next_loop_though_the_last_one_left_in_a_hurry(
    tmp_path: Path, syncs: Syncs
) -> None:
    """What the first left behind is written, and no caller in the second waits for ever."""
    log = AuditLog.open(tmp_path)
    syncs.started.clear()
    syncs.release.clear()
    waiting: list[asyncio.Task[None]] = []

    async def leave() -> None:
        waiting.append(asyncio.create_task(log.append(decision("first"))))
        await syncs.underway()

    async def stay() -> None:
        second = asyncio.create_task(log.append(decision("second")))
        await asyncio.sleep(0)
        syncs.release.set()
        await second
        await log.append(decision("third"))
        await log.aclose()

    asyncio.run(leave())
    assert waiting[0].cancelled()
    asyncio.run(stay())
    assert request_ids(tmp_path) == ["first", "second", "third"]
    assert verify_log(tmp_path).status is VerifyStatus.OK


async def test_what_was_handed_in_does_not_change_any_more(tmp_path: Path, syncs: Syncs) -> None:
    """A list may be used for something else while its events wait to be written."""
    async with AuditLog.open(tmp_path) as log:
        syncs.started.clear()
        syncs.release.clear()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(log.append, decision("first"))
            await syncs.underway()
            events = [decision("second")]
            tasks.start_soon(log.append_all, events)
            await anyio.wait_all_tasks_blocked()
            events.append(decision("late"))
            syncs.release.set()
    assert request_ids(tmp_path) == ["first", "second"]


async def test_an_append_that_comes_too_late_for_its_batch_fails() -> None:
    """What was not among the records that were written is not taken for committed."""
    batch = CommitBatch()
    batch.appends.append(((decision("in time"),), time.time_ns()))

    def write(entries: list[Entry]) -> None:
        assert len(entries) == 1
        batch.appends.append(((decision("late"),), time.time_ns()))

    batch.commit(encode_event, write, encode_all)
    batch.outcome(0)
    with pytest.raises(AuditError):
        batch.outcome(1)


async def test_closing_waits_for_what_was_handed_in(tmp_path: Path, syncs: Syncs) -> None:
    """`aclose` comes after the last append, regardless of which was called first."""
    log = AuditLog.open(tmp_path)
    syncs.started.clear()
    syncs.release.clear()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(log.append, decision("first"))
        await syncs.underway()
        tasks.start_soon(log.append, decision("second"))
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(log.aclose)
        await anyio.wait_all_tasks_blocked()
        syncs.release.set()
    assert request_ids(tmp_path) == ["first", "second"]
    assert verify_log(tmp_path).checkpoints == 1


async def test_a_closed_log_takes_nothing(tmp_path: Path) -> None:
    """An append after the end is an error, and closing twice is not."""
    log = AuditLog.open(tmp_path)
    await log.aclose()
    await log.aclose()
    with pytest.raises(AuditError, match="closed"):
        await log.append(decision())


async def test_closing_signs_the_head_once(tmp_path: Path) -> None:
    """A checkpoint is made when there is something new to sign."""
    async with AuditLog.open(tmp_path) as log:
        await log.append(decision())
    async with AuditLog.open(tmp_path):
        pass
    report = verify_log(tmp_path)
    assert (report.status, report.checkpoints) == (VerifyStatus.OK, 1)


async def test_a_checkpoint_is_made_every_so_many_records(
    tmp_path: Path, durability: Durability
) -> None:
    """A long-lived log does not wait for its end to be signed."""
    log = AuditLog.open(tmp_path, durability=durability, checkpoint_every=10)
    for number in range(35):
        await log.append(decision(f"r{number}"))
    assert verify_log(tmp_path).checkpoints == 3
    await log.aclose()
    assert verify_log(tmp_path).checkpoints == 4


async def test_a_bad_event_fails_alone(tmp_path: Path) -> None:
    """Those who share a batch with it are not harmed."""
    async with AuditLog.open(tmp_path) as log, anyio.create_task_group() as tasks:
        tasks.start_soon(log.append, decision("good"))
        with pytest.raises(AuditError, match="cannot be recorded"):
            await log.append(decision("bad", shown={"x": object()}))
    assert request_ids(tmp_path) == ["good"]


async def test_what_is_no_event_is_refused_and_the_log_goes_on(tmp_path: Path) -> None:
    """The caller that appended it gets the error; nobody waits for ever."""
    foreign: Any = 3
    with anyio.fail_after(20):
        async with AuditLog.open(tmp_path) as log, anyio.create_task_group() as tasks:
            tasks.start_soon(log.append, decision("beside"))
            with pytest.raises(AuditError):
                await log.append(foreign)
            await log.append(decision("after"))
    assert request_ids(tmp_path) == ["beside", "after"]


async def test_a_bad_event_takes_along_those_that_were_handed_in_with_it(
    tmp_path: Path, durability: Durability
) -> None:
    """All records of one append or none, independent of the others in the batch."""
    bad = decision("bad", shown={"x": object()})
    log = AuditLog.open(tmp_path, durability=durability)
    async with log, anyio.create_task_group() as tasks:
        tasks.start_soon(log.append_all, [decision("a"), decision("b")])
        with pytest.raises(AuditError, match="cannot be recorded"):
            await log.append_all([decision("c"), bad, decision("d")])
        tasks.start_soon(log.append, decision("e"))
    assert sorted(request_ids(tmp_path)) == ["a", "b", "e"]
    assert verify_log(tmp_path).status is VerifyStatus.OK


async def test_callers_that_append_together_share_one_write_and_one_sync(
    tmp_path: Path, syncs: Syncs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In every round: the callers of a batch are woken together and append together again."""
    callers, rounds = 64, 5
    writes: list[int] = []
    pwrite = os.pwrite

    def counted(fd: int, data: bytes, offset: int) -> int:
        writes.append(data.count(b"\n"))
        return pwrite(fd, data, offset)

    async with AuditLog.open(tmp_path, durability=Durability.SYNC) as log:

        async def call(number: int) -> None:
            for turn in range(rounds):
                await log.append(decision(f"r{number}.{turn}"))

        before = syncs.count
        with monkeypatch.context() as patch:
            patch.setattr(os, "pwrite", counted)
            async with anyio.create_task_group() as tasks:
                for number in range(callers):
                    tasks.start_soon(call, number)
        assert writes == [callers] * rounds
        assert syncs.count - before == rounds
    assert verify_log(tmp_path).status is VerifyStatus.OK


async def test_a_thread_that_cannot_start_is_an_audit_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever goes wrong, no caller returns as if evidence were safe when it is not."""
    async with AuditLog.open(tmp_path) as log:

        def refuse(thread: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", refuse)
            with pytest.raises(AuditError):
                await log.append(decision("lost"))
        await log.append(decision("kept"))
    assert request_ids(tmp_path) == ["kept"]


async def test_the_redaction_key_belongs_to_the_directory(tmp_path: Path) -> None:
    """Equal values have equal digests for the life of a log, and in no other."""
    digests = []
    for name in ("a", "a", "b"):
        async with AuditLog.open(tmp_path / name) as log:
            digests.append(log.redactor.digest("value"))
    assert digests[0] == digests[1] != digests[2]


async def test_a_damaged_redaction_key_refuses_to_open(tmp_path: Path) -> None:
    """A key is never replaced behind the operator's back."""
    (tmp_path / "redaction.key").write_text("short")
    with pytest.raises(AuditError, match="not a key"):
        AuditLog.open(tmp_path)


async def test_a_log_in_memory_has_the_same_chain() -> None:
    """Its lines verify as those on disk do."""
    log = MemoryAuditLog()
    sink: AuditSink = log
    for number in range(5):
        await sink.append(decision(f"r{number}"))
    await sink.aclose()
    lines = [Line(n, line[:-1], torn=False) for n, line in enumerate(log.lines, 1)]
    assert verify_lines(lines).status is VerifyStatus.OK
    assert [record.seq for record in log.records] == [1, 2, 3, 4, 5]
    assert log.events[0] == decision("r0")
    with pytest.raises(AuditError, match="closed"):
        await sink.append(decision())


async def test_a_full_log_in_memory_is_an_audit_error() -> None:
    """So that an embedding program can test what it does then."""
    log = MemoryAuditLog(capacity=1)
    await log.append(decision())
    with pytest.raises(AuditError, match="full at 1 records"):
        await log.append(decision())
    assert len(log.records) == 1


async def test_reading_can_be_narrowed_to_one_execution(tmp_path: Path) -> None:
    """Records of other executions, and of none, are left out."""
    async with AuditLog.open(tmp_path) as log:
        await log.append(decision("a", execution_id="one"))
        await log.append(decision("b", execution_id="two"))
    records = list(read_records(tmp_path, execution_id="two"))
    assert [record.seq for record in records] == [3]


def test_the_default_directory_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """`CAPS_AUDIT_PATH`, then the state directory, then the home directory."""
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.delenv("CAPS_AUDIT_PATH", raising=False)
    assert default_audit_directory() == Path("/home/someone/.local/state/caps/audit")
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert default_audit_directory() == Path("/home/someone/.local/state/caps/audit")
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert default_audit_directory() == Path("/state/caps/audit")
    monkeypatch.setenv("CAPS_AUDIT_PATH", "/var/log/caps")
    assert default_audit_directory() == Path("/var/log/caps")


async def test_the_segment_is_where_the_reader_looks(tmp_path: Path) -> None:
    """One file, and every line of it a record."""
    async with AuditLog.open(tmp_path) as log:
        await log.append(decision())
    assert segment_of(tmp_path).read_bytes().count(b"\n") == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"directory": "log"}, "directory must be a `Path`, not `str`"),
        ({"durability": "os"}, "durability must be a `Durability`, not `str`"),
        ({"checkpoint_every": 0}, "checkpoint_every is `0`; set an integer"),
        (
            {"checkpoint_seconds": "1"},
            "checkpoint_seconds must be a number of seconds, not `str`",
        ),
        ({"checkpoints_to": "x"}, "checkpoints_to must be a `Path`, not `str`"),
        ({"lock_seconds": -1}, "lock_seconds is `-1`; set a number of seconds"),
        ({"lock_seconds": float("nan")}, "lock_seconds is `nan`; set a number of seconds"),
        ({"rotation": 4096}, "rotation must be a `Rotation`, not `int`"),
        ({"compress": "no"}, "compress must be a `bool`, not `str`"),
        (
            {"sinks": ["stdout:"]},
            "sinks must be a sequence of sinks as `parse_sink` makes them, not `list`",
        ),
        (
            {"observer": print},
            "observer must be a `SinkObserver`, not `builtin_function_or_method`",
        ),
    ],
)
def test_what_no_log_can_be_opened_with_is_one_plain_error(
    tmp_path: Path, given: dict[str, Any], said: str
) -> None:
    """It names the argument, and nothing is made."""
    with pytest.raises(ConfigurationError) as raised:
        AuditLog.open(**{"directory": tmp_path / "log", **given})
    assert str(raised.value).startswith(said)
    assert not (tmp_path / "log").exists()


def test_settings_can_be_given_as_one_value_or_as_arguments(tmp_path: Path) -> None:
    """Both open the same log, which keeps its evidence in the same places."""
    fields: dict[str, Any] = {"checkpoints_to": tmp_path / "kept", "lock_seconds": 1.0}
    with_settings = AuditLog.open(AuditSettings(directory=tmp_path / "log", **fields))
    with_settings.close()
    with_arguments = AuditLog.open(tmp_path / "log", **fields)
    with_arguments.close()
    assert with_settings.places == with_arguments.places == (tmp_path / "log", tmp_path / "kept")


def test_settings_with_a_wrong_type_are_one_plain_error(tmp_path: Path) -> None:
    """The same as for arguments."""
    settings = AuditSettings(directory=tmp_path / "log", compress="no")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="compress"):
        AuditLog.open(settings)
    assert not (tmp_path / "log").exists()
