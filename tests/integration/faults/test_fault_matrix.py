"""The fault matrix, while code runs: no evidence, no effect; and nothing acknowledged is lost.

`docs/fault-matrix.md` names each of these tests next to its fault.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from caps import AuditError, Runtime
from caps.capabilities.runtime.result import ExecutionResult
from caps.security.audit import (
    Durability,
    Rotation,
    SinkFailed,
    SinkRecovered,
    VerifyStatus,
    read_records,
    verify_log,
)
from caps.security.audit.files.reader import FIRST_SEGMENT, segment_name, segment_paths
from support.fault_host import (
    WRITE,
    FaultHost,
    not_begun,
    recorded_writes,
    status_after_reopening,
    without_outcome,
)
from support.postgres import Postgres, running_postgres
from support.receivers import LineReceiver, SilentReceiver

BOTH = pytest.mark.parametrize("durability", list(Durability))


@pytest.fixture
def host(tmp_path: Path) -> FaultHost:
    return FaultHost(tmp_path)


@pytest.fixture
def receiver() -> Iterator[LineReceiver]:
    made = LineReceiver()
    yield made
    made.stop()


@pytest.fixture
def silent() -> Iterator[SilentReceiver]:
    made = SilentReceiver()
    yield made
    made.close()


@pytest.fixture
def postgresql(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Postgres]:
    with running_postgres(tmp_path, monkeypatch) as made:
        yield made


def _until_ok(runtime: Runtime, name: str) -> bool:
    """Tries a write until it works; a sink that is back needs a moment to catch up."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        if runtime.run_sync(WRITE.format(name=name)).ok:
            return True
    return False


def _sink_events(log: Path) -> tuple[SinkFailed, SinkRecovered]:
    """The first failure and the first recovery on record."""
    events = [record.event for record in read_records(log)]
    failed = next(event for event in events if isinstance(event, SinkFailed))
    return failed, next(event for event in events if isinstance(event, SinkRecovered))


def assert_refused(result: ExecutionResult, host: FaultHost) -> None:
    """The write after the fault had no effect, and the execution failed for lack of evidence."""
    assert host.files == {"before.txt"}
    assert result.stdout == "refused"
    assert (result.status.value, result.error and result.error.code) == (
        "host_failed",
        "audit_error",
    )


def run_and_close(host: FaultHost, *sinks: str, **settings: object) -> ExecutionResult:
    """The program, and the end of the runtime, which may complain of the log, too."""
    result: list[ExecutionResult] = []
    try:
        with host.open_runtime(*sinks, **settings) as runtime:
            result.append(host.run_with_fault(runtime))
    except AuditError:
        assert result
    return result[0]


@BOTH
def test_a_log_file_that_is_removed(host: FaultHost, durability: Durability) -> None:
    """It is not created again: that would hide what is missing."""
    kept = host.place / "kept"

    def remove() -> None:
        (host.log / FIRST_SEGMENT).rename(kept)

    host.fault = remove
    result = run_and_close(host, durability=durability)
    assert_refused(result, host)
    kept.rename(host.log / FIRST_SEGMENT)
    assert status_after_reopening(host.log) is VerifyStatus.OK
    assert "before.txt" in host.recorded_writes()


@BOTH
def test_a_log_file_that_is_replaced(host: FaultHost, durability: Durability) -> None:
    """A copy under the same name is not the file that was opened."""

    def replace() -> None:
        copy = host.log / "copy"
        shutil.copy(host.log / FIRST_SEGMENT, copy)
        copy.replace(host.log / FIRST_SEGMENT)

    host.fault = replace
    result = run_and_close(host, durability=durability)
    assert_refused(result, host)
    assert status_after_reopening(host.log) is VerifyStatus.OK
    assert "before.txt" in host.recorded_writes()


def test_a_next_file_that_cannot_be_made(host: FaultHost) -> None:
    """Rotation fails closed; when the obstacle is removed the log continues."""
    obstacles: list[Path] = []

    def obstruct() -> None:
        obstacles.append(host.log / segment_name(len(segment_paths(host.log)) + 1))
        obstacles[0].mkdir()

    host.fault = obstruct
    result = run_and_close(host, rotation=Rotation(bytes=1))  # a new file for every commit
    assert_refused(result, host)
    obstacles[0].rmdir()
    assert status_after_reopening(host.log) is VerifyStatus.OK
    assert "before.txt" in host.recorded_writes()


def test_a_required_sink_that_goes_down(host: FaultHost, receiver: LineReceiver) -> None:
    """Calls are refused while it is down; when it is back it gets what it missed, and they work."""
    url = f"syslog+tcp://127.0.0.1:{receiver.port}?mode=required&deadline_ms=5000"
    host.fault = receiver.stop
    with host.open_runtime(url) as runtime:
        assert_refused(host.run_with_fault(runtime), host)
        receiver.start()
        assert receiver.has(b"after.txt")
        assert receiver.has(b"it was not begun")
        assert _until_ok(runtime, "later.txt")
    assert receiver.has(b"later.txt")
    assert without_outcome(host.log) == set()
    assert "after.txt" in not_begun(host.log)
    assert verify_log(host.log).status is VerifyStatus.OK
    assert {"before.txt", "later.txt"} <= host.recorded_writes()
    failed, recovered = _sink_events(host.log)
    assert (failed.mode, recovered.dropped) == ("required", 0)
    assert recovered.resent > 0


def test_a_required_sink_that_is_down_from_the_start(host: FaultHost) -> None:
    """Nothing opens without it."""
    gone = LineReceiver()
    gone.stop()
    url = f"syslog+tcp://127.0.0.1:{gone.port}?deadline_ms=300"
    with pytest.raises(AuditError, match="audit sink `syslog"), host.open_runtime(url):
        pass
    assert host.files == set()


def test_a_required_sink_that_hangs(host: FaultHost, silent: SilentReceiver) -> None:
    """One that takes the request and never answers is late at its deadline."""
    healthy = host.place / "copy"
    urls = (
        f"file://{healthy}?deadline_ms=20000",
        f"otlp+http://127.0.0.1:{silent.port}?deadline_ms=300",
    )
    with pytest.raises(AuditError, match=r"audit sink `otlp.* is down"), host.open_runtime(*urls):
        pass
    assert host.files == set()
    # The healthy one was not kept waiting: it has what the log has.
    assert verify_log(healthy).head_seq >= 2


def test_a_best_effort_sink_that_hangs(host: FaultHost, silent: SilentReceiver) -> None:
    """Calls continue, a healthy required sink gets every record, and drops are counted."""
    healthy = host.place / "copy"
    hung = f"otlp+http://127.0.0.1:{silent.port}?mode=best_effort&deadline_ms=300&queue=2"
    with host.open_runtime(hung, f"file://{healthy}?mode=required&deadline_ms=20000") as runtime:
        result = host.run_with_fault(runtime)
    assert result.ok
    assert host.files == {"before.txt", "after.txt"}
    assert recorded_writes(healthy) == recorded_writes(host.log) == {"before.txt", "after.txt"}
    assert verify_log(healthy).status is VerifyStatus.OK
    events = [record.event for record in read_records(host.log)]
    assert [e.mode for e in events if isinstance(e, SinkFailed)][:1] == ["best_effort"]


def test_a_receiver_that_stops_reading(host: FaultHost, silent: SilentReceiver) -> None:
    """The kernel's buffers take the first records; when they are full the sink is late."""
    url = f"syslog+tcp://127.0.0.1:{silent.port}?deadline_ms=300"
    source = f"for n in range(900):\n    {WRITE.format(name='NAME')}".replace("'NAME'", "f'{n}'")
    result: list[ExecutionResult] = []
    with host.open_runtime(url, durability=Durability.OS) as runtime:
        result.append(runtime.run_sync(source))
    assert result[0].status.value == "host_failed"
    assert 0 < len(host.files) < 900
    # Which record found the buffers full depends on their sizes: the decision of a call, which then
    # was not begun, or the outcome of one, which had its effect and gave no result.
    assert without_outcome(host.log) == set()
    assert host.files <= host.recorded_writes()
    undone = host.recorded_writes() - host.files
    assert undone == not_begun(host.log)
    assert len(undone) <= 1


def test_a_database_that_is_down(host: FaultHost, postgresql: Postgres) -> None:
    """No database, no effect; started again it gets every record, once."""
    host.fault = postgresql.stop
    with host.open_runtime(postgresql.url + "&mode=required&deadline_ms=20000") as runtime:
        assert_refused(host.run_with_fault(runtime), host)
        postgresql.start()
        assert _until_ok(runtime, "later.txt")
    report = verify_log(host.log)
    assert report.status is VerifyStatus.OK
    assert postgresql.numbers() == list(range(1, report.head_seq + 1))
    assert without_outcome(host.log) == set()


def test_a_clock_that_is_set_back(host: FaultHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """Order is by number and hash, not by time: the log stays valid, and calls continue."""
    now = time.time_ns

    def set_back() -> None:
        monkeypatch.setattr(time, "time_ns", lambda: now() - 3_600_000_000_000)

    host.fault = set_back
    with host.open_runtime(rotation=Rotation(seconds=3600)) as runtime:
        assert host.run_with_fault(runtime).ok
    assert host.files == {"before.txt", "after.txt"}
    stamps = [record.ts for record in read_records(host.log)]
    assert stamps != sorted(stamps)
    assert verify_log(host.log).status is VerifyStatus.OK
