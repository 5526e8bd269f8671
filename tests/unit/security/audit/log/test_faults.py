"""What the log does when disks fill, processes die, and files go away: it fails closed."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from caps.protocol.errors import AuditError
from caps.security.audit import (
    AuditLog,
    Durability,
    LogRecovered,
    VerifyStatus,
    read_records,
    verify_log,
)
from caps.security.audit.log.segment import Segment
from support.audit_examples import decision, kinds, request_ids, segment_of

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def child(body: str, *arguments: object) -> subprocess.Popen[str]:
    """A separate process that runs `body`, with `log`, `decision` and others in scope."""
    prelude = """
        import os, resource, signal, sys
        from pathlib import Path
        import anyio
        from support.audit_examples import decision
        from caps.protocol.errors import AuditError
        from caps.security.audit import AuditLog, Durability
    """
    source = textwrap.dedent(prelude) + textwrap.dedent(body)
    tests = str(Path(__file__).parents[4])
    return subprocess.Popen(
        [sys.executable, "-c", source, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": tests},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.process
def test_several_processes_share_one_chain(tmp_path: Path) -> None:
    """Concurrent writers, with and without sync, leave one unbroken log."""
    body = """
        async def main():
            who, durability = sys.argv[2], Durability(sys.argv[3])
            print("ready", flush=True)
            sys.stdin.readline()
            async with AuditLog.open(Path(sys.argv[1]), durability=durability) as log:
                for turn in range(25):
                    async with anyio.create_task_group() as tasks:
                        for number in range(4):
                            tasks.start_soon(log.append, decision(f"{who}-{turn}-{number}"))
        anyio.run(main)
    """
    durabilities = ["sync", "os", "os", "sync"]
    writers = [child(body, tmp_path, n, durability) for n, durability in enumerate(durabilities)]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=60)
        assert writer.returncode == 0
    report = verify_log(tmp_path)
    assert (report.status, report.records) == (VerifyStatus.OK, 1 + 4 * 100)
    assert len(set(request_ids(tmp_path))) == 4 * 100
    assert kinds(tmp_path).count("LogOpened") == 1


@pytest.mark.process
def test_what_a_killed_process_had_appended_is_there(tmp_path: Path) -> None:
    """SIGKILL right after an append loses nothing, and the next writer continues."""
    body = """
        async def main():
            log = AuditLog.open(Path(sys.argv[1]))
            await log.append(decision("last words"))
            os.kill(os.getpid(), signal.SIGKILL)
        anyio.run(main)
    """
    victim = child(body, tmp_path)
    victim.communicate(timeout=60)
    assert victim.returncode == -signal.SIGKILL
    assert request_ids(tmp_path) == ["last words"]
    assert verify_log(tmp_path).status is VerifyStatus.OK


@pytest.mark.process
def test_a_process_killed_within_a_write_leaves_a_torn_tail_that_is_mended(tmp_path: Path) -> None:
    """Half a line is dropped, and a record says what was dropped."""
    body = """
        async def main():
            log = AuditLog.open(Path(sys.argv[1]))
            await log.append(decision("whole"))
            write = os.pwrite
            def die_halfway(fd, data, offset):
                write(fd, data[: len(data) // 2], offset)
                os.kill(os.getpid(), signal.SIGKILL)
            os.pwrite = die_halfway
            await log.append(decision("torn"))
        anyio.run(main)
    """
    victim = child(body, tmp_path)
    victim.communicate(timeout=60)
    assert victim.returncode == -signal.SIGKILL
    assert verify_log(tmp_path).status is VerifyStatus.TORN_TAIL
    assert request_ids(tmp_path) == ["whole"]

    AuditLog.open(tmp_path)
    assert kinds(tmp_path) == ["LogOpened", "DecisionMade", "LogRecovered"]
    assert verify_log(tmp_path).status is VerifyStatus.OK


@pytest.mark.parametrize("torn", [b"{", b'{"agent":"' + b"x" * 20_000, b"\0" * 4096])
async def test_a_torn_tail_is_met_while_open_too(tmp_path: Path, torn: bytes) -> None:
    """Another process crashed meanwhile: its half line is removed, ours follows."""
    async with AuditLog.open(tmp_path) as log:
        await log.append(decision("before"))
        with segment_of(tmp_path).open("ab") as file:
            file.write(torn)
        await log.append(decision("after"))
    events = [record.event for record in read_records(tmp_path)]
    assert isinstance(events[2], LogRecovered)
    assert events[2].dropped_bytes == len(torn)
    assert request_ids(tmp_path) == ["before", "after"]
    assert verify_log(tmp_path).status is VerifyStatus.OK


def test_a_log_that_is_nothing_but_a_torn_line_starts_anew(tmp_path: Path) -> None:
    """The very first write can be cut short as well."""
    segment_of(tmp_path).write_bytes(b'{"v":')
    AuditLog.open(tmp_path)
    assert kinds(tmp_path) == ["LogOpened", "LogRecovered"]
    assert verify_log(tmp_path).status is VerifyStatus.OK


@pytest.mark.process
def test_a_full_disk_is_an_audit_error_until_there_is_room(tmp_path: Path) -> None:
    """The batch that does not fit fails whole, and the next append tries afresh."""
    body = """
        async def main():
            directory = Path(sys.argv[1])
            log = AuditLog.open(directory, durability=Durability(sys.argv[2]))
            await log.append(decision("fits"))
            segment = directory / "audit-000001.jsonl"
            size = segment.stat().st_size
            _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, hard))
            for _ in range(2):
                try:
                    await log.append(decision("does not fit"))
                except AuditError as error:
                    print(error, segment.stat().st_size - size)
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
            await log.append(decision("fits again"))
            await log.aclose()
        anyio.run(main)
    """
    for durability in ("sync", "os"):
        directory = tmp_path / durability
        writer = child(body, directory, durability)
        output, _ = writer.communicate(timeout=60)
        assert writer.returncode == 0
        failures = output.splitlines()
        assert len(failures) == 2
        assert all("File too large 0" in line for line in failures)
        assert request_ids(directory) == ["fits", "fits again"]
        assert verify_log(directory).status is VerifyStatus.OK


async def test_a_failed_batch_fails_for_all_who_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Leader and followers alike learn that nothing was recorded."""
    log = AuditLog.open(tmp_path)
    failures: list[str] = []

    async def append(request_id: str) -> None:
        try:
            await log.append(decision(request_id))
        except AuditError as error:
            failures.append(error.message)

    def full(fd: int, data: bytes, offset: int) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        async with anyio.create_task_group() as tasks:
            for number in range(5):
                tasks.start_soon(append, f"r{number}")
    assert len(failures) == 5
    assert all("No space left on device" in failure for failure in failures)
    await log.append(decision("later"))
    await log.aclose()
    assert request_ids(tmp_path) == ["later"]
    assert verify_log(tmp_path).status is VerifyStatus.OK


@pytest.mark.parametrize("durability", list(Durability))
async def test_a_log_that_another_keeps_locked_is_an_audit_error(
    tmp_path: Path, durability: Durability
) -> None:
    """Waiting for it has an end, for every one who waits; once it is free, all is well again."""
    log = AuditLog.open(tmp_path, durability=durability, lock_seconds=0.05)
    failures: list[str] = []

    async def append(request_id: str) -> None:
        try:
            await log.append(decision(request_id))
        except AuditError as error:
            failures.append(error.message)

    with segment_of(tmp_path).open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        async with anyio.create_task_group() as tasks:
            for number in range(3):
                tasks.start_soon(append, f"r{number}")
        await append("r3")
        with pytest.raises(AuditError, match="another process holds the log"):
            AuditLog.open(tmp_path, lock_seconds=0.05)
    held = f"audit log `{segment_of(tmp_path)}` cannot be written: another process holds the log"
    assert failures == [held] * 4
    await log.append(decision("later"))
    await log.aclose()
    assert request_ids(tmp_path) == ["later"]
    assert verify_log(tmp_path).status is VerifyStatus.OK


async def test_closing_does_not_wait_for_ever_for_the_lock(tmp_path: Path) -> None:
    """The end cannot be signed, and the caller of close gets the error."""
    log = AuditLog.open(tmp_path, lock_seconds=0.05)
    await log.append(decision("r1"))
    with segment_of(tmp_path).open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(AuditError, match="another process holds the log"):
            await log.aclose()
    assert request_ids(tmp_path) == ["r1"]


@pytest.mark.process
async def test_a_lock_that_is_given_back_in_time_is_waited_for(tmp_path: Path) -> None:
    """Another process that writes for a while causes no failure."""
    log = AuditLog.open(tmp_path)
    body = """
        import fcntl
        with open(sys.argv[1], "rb") as log:
            fcntl.flock(log, fcntl.LOCK_EX)
            print("held", flush=True)
            sys.stdin.readline()
    """
    holder = child(body, segment_of(tmp_path))
    assert holder.stdout is not None
    assert holder.stdin is not None
    assert holder.stdout.readline() == "held\n"
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(log.append, decision("waited"))
        await anyio.lowlevel.checkpoint()
        holder.stdin.write("go\n")
        holder.stdin.flush()
    holder.communicate(timeout=60)
    await log.aclose()
    assert request_ids(tmp_path) == ["waited"]


@pytest.mark.parametrize("durability", list(Durability))
async def test_a_removed_log_is_not_recreated(tmp_path: Path, durability: Durability) -> None:
    """Appends to a file that was unlinked are refused."""
    log = AuditLog.open(tmp_path, durability=durability)
    segment_of(tmp_path).unlink()
    with pytest.raises(AuditError, match="removed or replaced"):
        await log.append(decision())
    assert not segment_of(tmp_path).exists()
    with pytest.raises(AuditError, match="removed or replaced"):
        await log.aclose()


async def test_a_replaced_log_is_refused(tmp_path: Path) -> None:
    """A copy under the same name is not the log."""
    log = AuditLog.open(tmp_path, durability=Durability.OS)
    await log.append(decision("before"))
    segment = segment_of(tmp_path)
    copy = segment.read_bytes()
    segment.rename(tmp_path / "moved")
    segment.write_bytes(copy)
    with pytest.raises(AuditError, match="removed or replaced"):
        await log.append(decision("after"))
    assert segment.read_bytes() == copy


async def test_a_log_whose_directory_was_moved_is_refused(tmp_path: Path) -> None:
    """The file is the same; but a reader of the log's path does not find it."""
    log = AuditLog.open(tmp_path / "log", durability=Durability.OS)
    await log.append(decision("before"))
    (tmp_path / "log").rename(tmp_path / "moved")
    with pytest.raises(AuditError, match="removed or replaced"):
        await log.append(decision("after"))
    assert request_ids(tmp_path / "moved") == ["before"]


class CutsFirst:
    """A write of the log before which somebody cuts the file in place, once."""

    def __init__(self, path: Path, keep: float) -> None:
        self._path, self._keep = path, keep
        self._write = Segment._write
        self.size = -1

    def __call__(self, segment: Segment, data: bytes) -> None:
        if self.size < 0:
            self.size = int(self._path.stat().st_size * self._keep)
            os.truncate(self._path, self.size)
        self._write(segment, data)


@pytest.mark.parametrize("durability", list(Durability))
@pytest.mark.parametrize("keep", [0, 0.5, 0.99])
async def test_a_log_that_is_cut_between_the_check_and_the_write_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep: float, durability: Durability
) -> None:
    """As `copytruncate` of logrotate does it: no hole stays, and no more is written."""
    path = segment_of(tmp_path)
    other = AuditLog.open(tmp_path, durability=durability)
    log = AuditLog.open(tmp_path, durability=durability)
    await log.append(decision("a"))
    await other.append(decision("of the other"))
    cutting = CutsFirst(path, keep)
    with monkeypatch.context() as patched:
        patched.setattr(Segment, "_write", lambda segment, data: cutting(segment, data))
        with pytest.raises(AuditError, match="was cut while open"):
            await log.append_all([decision("b"), decision("c")])
    assert path.stat().st_size == cutting.size
    for one in (log, other):
        with pytest.raises(AuditError, match="was cut while open"):
            await one.append(decision("d"))
        with pytest.raises(AuditError):
            await one.aclose()
    assert path.stat().st_size == cutting.size


async def test_a_hole_that_a_killed_writer_left_is_not_continued(tmp_path: Path) -> None:
    """It had noticed nothing yet; the last record is sound, those before it are not there."""
    path = segment_of(tmp_path)
    log = AuditLog.open(tmp_path)
    await log.append(decision("a"))
    whole = path.read_bytes()
    async with AuditLog.open(tmp_path) as other:
        await other.append(decision("b"))
    path.write_bytes(b"\0" * len(whole) + path.read_bytes()[len(whole) :])
    with pytest.raises(AuditError, match="was cut while open"):
        await log.append(decision("c"))
    with pytest.raises(AuditError):
        await log.aclose()


@pytest.mark.parametrize("keep", [0, 100])
async def test_a_log_that_was_cut_while_open_is_refused(tmp_path: Path, keep: int) -> None:
    """Writing more records would hide the cut."""
    log = AuditLog.open(tmp_path)
    os.truncate(segment_of(tmp_path), keep)
    with pytest.raises(AuditError, match="was cut while open"):
        await log.append(decision())


async def test_a_log_whose_end_was_edited_is_not_continued(tmp_path: Path) -> None:
    """The last record must be sound, both for a new writer and for one that finds new lines."""
    log = AuditLog.open(tmp_path)
    line = segment_of(tmp_path).read_bytes()
    with segment_of(tmp_path).open("ab") as file:
        file.write(line.replace(b'"seq":1', b'"seq":2'))
    with pytest.raises(AuditError, match="does not match its hash; verify it"):
        await log.append(decision())
    with pytest.raises(AuditError, match="does not match its hash; verify it"):
        AuditLog.open(tmp_path)


async def test_a_robbed_log_is_not_started_anew(tmp_path: Path) -> None:
    """Checkpoints without records mean that the records were removed."""
    async with AuditLog.open(tmp_path) as log:
        await log.append(decision())
    segment_of(tmp_path).unlink()
    with pytest.raises(AuditError, match="is gone"):
        AuditLog.open(tmp_path)


async def test_after_a_failed_sync_nothing_is_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel may report the next sync as a success without the data; only reopening helps."""
    log = AuditLog.open(tmp_path)
    await log.append(decision("safe"))

    def broken(fd: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", broken)
        with pytest.raises(AuditError, match="a sync failed"):
            await log.append(decision("unknown"))
    with pytest.raises(AuditError, match="open it again"):
        await log.append(decision("refused"))
    with pytest.raises(AuditError, match="open it again"):
        await log.aclose()
    async with AuditLog.open(tmp_path) as again:
        await again.append(decision("after"))
    assert request_ids(tmp_path) == ["safe", "after"]
    assert verify_log(tmp_path).status is VerifyStatus.OK


async def test_without_sync_a_held_lock_does_not_block_the_loop(tmp_path: Path) -> None:
    """While another process writes, other tasks of this one continue."""
    log = AuditLog.open(tmp_path, durability=Durability.OS)
    with segment_of(tmp_path).open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(log.append, decision("waited"))
            tasks.start_soon(log.append, decision("joined"))
            await anyio.wait_all_tasks_blocked()
            assert request_ids(tmp_path) == []
            fcntl.flock(other, fcntl.LOCK_UN)
    assert sorted(request_ids(tmp_path)) == ["joined", "waited"]
    await log.aclose()


@pytest.mark.process
@pytest.mark.parametrize("durability", list(Durability))
def test_a_forked_child_cannot_use_its_parents_log(tmp_path: Path, durability: Durability) -> None:
    """It shares the parent's lock, so the lock would not keep the two apart."""
    body = """
        log = AuditLog.open(Path(sys.argv[1]), durability=Durability(sys.argv[2]))
        anyio.run(log.append, decision("before"))
        if os.fork() == 0:
            try:
                anyio.run(log.append, decision("child"))
            except AuditError as error:
                print(error, flush=True)
            os._exit(0)
        os.wait()
        anyio.run(log.append, decision("parent"))
    """
    family = child(body, tmp_path, durability.value)
    output, _ = family.communicate(timeout=60)
    assert "opened by another process" in output
    assert request_ids(tmp_path) == ["before", "parent"]


async def test_a_failing_checkpoint_does_not_fail_an_append(tmp_path: Path) -> None:
    """The record is safe; closing the log reports what could not be signed."""
    log = AuditLog.open(tmp_path, checkpoint_every=2)
    (tmp_path / "checkpoints.jsonl").mkdir()
    await log.append(decision("kept"))
    with pytest.raises(AuditError, match="cannot write a checkpoint"):
        await log.aclose()
    assert request_ids(tmp_path) == ["kept"]


async def test_a_torn_checkpoint_is_dropped_by_the_next(tmp_path: Path) -> None:
    """A crash within a checkpoint costs that checkpoint only."""
    async with AuditLog.open(tmp_path) as log:
        await log.append(decision())
    with (tmp_path / "checkpoints.jsonl").open("ab") as file:
        file.write(b'{"hash":"')
    assert verify_log(tmp_path).status is VerifyStatus.OK
    async with AuditLog.open(tmp_path) as log:
        await log.append(decision())
    report = verify_log(tmp_path)
    assert (report.status, report.checkpoints) == (VerifyStatus.OK, 2)


def test_a_directory_that_cannot_be_made_is_an_audit_error(tmp_path: Path) -> None:
    """The message names the directory and the reason."""
    (tmp_path / "file").write_text("")
    with pytest.raises(AuditError, match=r"cannot open audit log `.*`: Not a directory"):
        AuditLog.open(tmp_path / "file" / "log")


def test_a_log_that_is_a_link_is_refused(tmp_path: Path) -> None:
    """Evidence does not go where a link sends it."""
    segment_of(tmp_path).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(AuditError, match="cannot open audit log"):
        AuditLog.open(tmp_path)
    assert not (tmp_path / "elsewhere").exists()


def test_a_log_that_would_be_a_file_is_refused(tmp_path: Path) -> None:
    """The message says that it is one."""
    (tmp_path / "file").write_text("")
    with pytest.raises(AuditError, match=r"audit log `.*file`: it is not a directory"):
        AuditLog.open(tmp_path / "file")


def test_what_cannot_be_made_in_a_log_is_named(tmp_path: Path) -> None:
    """The directory may be in order and one of its files not."""
    (tmp_path / "redaction.key").mkdir()
    with pytest.raises(AuditError, match=r"cannot open audit log .*\(`.*redaction\.key`\)"):
        AuditLog.open(tmp_path)


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_place_for_checkpoints_that_cannot_be_made_is_named(tmp_path: Path, place: str) -> None:
    """The fault is not that of the log."""
    (tmp_path / "file").write_text("")
    with pytest.raises(AuditError) as caught:
        AuditLog.open(tmp_path / "log", checkpoints_to=tmp_path / place)
    assert caught.value.message.startswith(f"cannot send checkpoints to `{tmp_path / place}`: ")
    assert "not a directory" in caught.value.message.lower()
