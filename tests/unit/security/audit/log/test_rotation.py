"""Files that end: by size and by age, one chain across them, compressed when nobody writes them."""

from __future__ import annotations

import fcntl
import gzip
import itertools
import os
from collections.abc import Generator, Iterator
from pathlib import Path

import anyio
import pytest

from caps.protocol.errors import AuditError, ConfigurationError
from caps.security.audit import (
    AuditLog,
    AuditSettings,
    Durability,
    Rotation,
    SegmentOpened,
    VerifyStatus,
    read_records,
    verify_log,
)
from caps.security.audit.files.reader import segment_name, segment_paths
from caps.security.audit.files.tail import log_id
from caps.security.audit.log import open_checks, rotation
from caps.security.audit.log.rotation import compress_closed
from caps.security.audit.query.follow import follow
from caps.security.audit.signing.checkpoint import CHECKPOINTS
from support.audit_examples import decision, kinds, request_ids, segment_of

pytestmark = pytest.mark.anyio


@pytest.fixture(params=list(Durability))
def durability(request: pytest.FixtureRequest) -> Durability:
    chosen = request.param
    assert isinstance(chosen, Durability)
    return chosen


async def write(directory: Path, count: int, first: int = 0, **settings: object) -> None:
    """`count` decisions, one after the other."""
    async with AuditLog.open(directory, **settings) as log:  # type: ignore[arg-type]
        for number in range(first, first + count):
            await log.append(decision(f"r{number}"))


async def test_a_file_that_is_full_is_followed_by_another(
    tmp_path: Path, durability: Durability
) -> None:
    """Each names the head of the one before, the chain is one, and all records are in order."""
    await write(tmp_path, 30, durability=durability, rotation=Rotation(bytes=5000))
    names = [path.name for path in segment_paths(tmp_path)]
    assert names == [segment_name(number) for number in range(1, len(names) + 1)]
    assert len(names) > 3
    assert request_ids(tmp_path) == [f"r{number}" for number in range(30)]
    records = list(read_records(tmp_path))
    for before, record in itertools.pairwise(records):
        if isinstance(record.event, SegmentOpened):
            assert (record.event.previous_seq, record.event.previous_hash) == (
                before.seq,
                before.hash,
            )
            assert record.event.log == log_id(tmp_path)
            assert record.event.previous == segment_name(record.event.segment - 1)
    report = verify_log(tmp_path)
    assert (report.status, report.signed_seq) == (VerifyStatus.OK, report.head_seq)


async def test_a_file_that_is_old_is_followed_by_another(tmp_path: Path) -> None:
    """By the clock of its first record, also after a restart."""
    await write(tmp_path, 1, rotation=Rotation(seconds=3600))
    await write(tmp_path, 1, first=1, rotation=Rotation(seconds=0))
    assert kinds(tmp_path) == [
        "LogOpened",
        "DecisionMade",
        "SegmentClosed",
        "SegmentOpened",
        "DecisionMade",
    ]
    assert verify_log(tmp_path).status is VerifyStatus.OK


async def test_writers_of_one_log_move_on_together(tmp_path: Path) -> None:
    """One that finds its file closed, and even compressed, continues in the newest."""
    async with AuditLog.open(tmp_path) as slow:
        await slow.append(decision("a"))
        await write(tmp_path, 20, rotation=Rotation(bytes=4096), compress=True)
        assert not (tmp_path / segment_name(1)).exists()
        await slow.append(decision("b"))
    assert request_ids(tmp_path)[-1] == "b"
    assert verify_log(tmp_path).status is VerifyStatus.OK


async def test_parallel_appends_cross_files_in_order(tmp_path: Path) -> None:
    """Two logs of one directory rotate it concurrently, and it stays one chain."""
    settings = {"durability": Durability.OS, "rotation": Rotation(bytes=4096)}
    async with (
        AuditLog.open(tmp_path, **settings) as one,  # type: ignore[arg-type]
        AuditLog.open(tmp_path, **settings) as two,  # type: ignore[arg-type]
        anyio.create_task_group() as tasks,
    ):
        for number in range(60):
            tasks.start_soon((one, two)[number % 2].append, decision(f"r{number}"))
    assert sorted(request_ids(tmp_path)) == sorted(f"r{number}" for number in range(60))
    assert verify_log(tmp_path).status is VerifyStatus.OK


async def test_a_file_is_followed_by_another_though_somebody_waits_in_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They wait for the file that is being left, and must not be waited for."""
    real, line = os.fdatasync, os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)

    def then_stand_in_line(fd: int) -> None:
        real(fd)
        fcntl.flock(line, fcntl.LOCK_EX)

    settings = {"rotation": Rotation(bytes=4096), "lock_seconds": 40}
    async with AuditLog.open(tmp_path, **settings) as log:  # type: ignore[arg-type]
        while segment_of(tmp_path).stat().st_size < 4096:
            await log.append(decision("before"))
        with monkeypatch.context() as patch, anyio.fail_after(20):
            patch.setattr(os, "fdatasync", then_stand_in_line)
            await log.append(decision("after"))
        os.close(line)
    assert len(segment_paths(tmp_path)) == 2
    assert request_ids(tmp_path)[-1] == "after"


async def test_who_cannot_wait_leaves_a_full_file_to_who_can(tmp_path: Path) -> None:
    """Another process filled it meanwhile, and the next one takes syncs."""
    settings = {"durability": Durability.OS, "rotation": Rotation(bytes=4096)}
    async with AuditLog.open(tmp_path, **settings) as log:  # type: ignore[arg-type]
        await write(tmp_path, 20)
        assert segment_of(tmp_path).stat().st_size > 4096
        assert log.append_now([decision("at once")])
        assert len(segment_paths(tmp_path)) == 1
        await log.append(decision("later"))
        assert len(segment_paths(tmp_path)) == 2
    assert request_ids(tmp_path)[-2:] == ["at once", "later"]
    assert verify_log(tmp_path).status is VerifyStatus.OK


@pytest.mark.parametrize("moment", ["first_record", "_pack"])
async def test_files_that_another_process_compresses_meanwhile_are_left_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """That a file has disappeared since is not an error, at any time."""
    await write(tmp_path, 20, rotation=Rotation(bytes=4096))
    expected = request_ids(tmp_path)
    act = getattr(rotation, moment)

    def meanwhile(*arguments: object) -> object:
        monkeypatch.undo()
        for part in tmp_path.glob("*.part"):
            part.unlink()
        assert compress_closed(tmp_path)
        return act(*arguments)

    monkeypatch.setattr(rotation, moment, meanwhile)
    assert compress_closed(tmp_path) == []
    assert request_ids(tmp_path) == expected
    assert not list(tmp_path.glob("*.part"))


async def test_files_that_are_compressed_while_they_are_listed_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None is skipped: the listing has a removed name, and lacks the one that was added."""
    await write(tmp_path, 20, rotation=Rotation(bytes=4096))
    expected = request_ids(tmp_path)
    listed = Path.iterdir

    def then_compress(directory: Path) -> Iterator[Path]:
        paths = list(listed(directory))
        monkeypatch.undo()
        assert compress_closed(tmp_path)
        return iter(paths)

    monkeypatch.setattr(Path, "iterdir", then_compress)
    assert request_ids(tmp_path) == expected


async def test_a_log_is_opened_while_its_files_are_compressed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that disappeared after it was listed is not lost if its compressed form is there."""
    await write(tmp_path, 20, rotation=Rotation(bytes=4096))
    signed = tmp_path / CHECKPOINTS
    kept = signed.read_bytes().splitlines(keepends=True)[:-1]
    signed.write_bytes(b"".join(kept))  # as after a crash: the last one is of a file that is closed

    def then_compress(directory: Path) -> list[Path]:
        paths = segment_paths(directory)
        assert compress_closed(directory)
        return paths

    with monkeypatch.context() as patch:
        patch.setattr(open_checks, "segment_paths", then_compress)
        await write(tmp_path, 1, first=20)
    assert request_ids(tmp_path) == [f"r{number}" for number in range(21)]
    assert verify_log(tmp_path).status is VerifyStatus.OK


async def test_closed_files_are_compressed_and_read_as_before(tmp_path: Path) -> None:
    """All but the newest; the plain ones are gone, the records are not."""
    await write(tmp_path, 30, rotation=Rotation(bytes=5000), compress=True)
    paths = segment_paths(tmp_path)
    assert {path.suffix for path in paths[:-1]} == {".gz"}
    assert paths[-1].suffix == ".jsonl"
    assert request_ids(tmp_path) == [f"r{number}" for number in range(30)]
    assert verify_log(tmp_path).status is VerifyStatus.OK


async def test_compression_that_fails_keeps_the_plain_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No half-made copy is left, and the next attempt succeeds."""
    await write(tmp_path, 20, rotation=Rotation(bytes=5000))
    before = segment_paths(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", lambda *_: (_ for _ in ()).throw(OSError(28, "no room")))
        with pytest.raises(OSError, match="no room"):
            compress_closed(tmp_path)
    assert segment_paths(tmp_path) == before
    assert not list(tmp_path.glob("*.part"))
    assert len(compress_closed(tmp_path)) == len(before) - 1


async def test_both_forms_of_a_file_are_read_once(tmp_path: Path) -> None:
    """A crash between renaming and removing leaves both; the plain one counts."""
    await write(tmp_path, 20, rotation=Rotation(bytes=5000))
    first = tmp_path / segment_name(1)
    with gzip.open(f"{first}.gz", "wb") as file:
        file.write(first.read_bytes())
    assert verify_log(tmp_path).status is VerifyStatus.OK
    compress_closed(tmp_path)
    assert not first.exists()
    assert verify_log(tmp_path).status is VerifyStatus.OK


async def test_following_goes_on_across_compression(tmp_path: Path) -> None:
    """`tail -f` sees every record once, whatever happens to the files."""
    await write(tmp_path, 5, rotation=Rotation(bytes=2000))
    following = follow(tmp_path, lambda: None)
    assert isinstance(following, Generator)
    seen = [next(following).seq for _ in range(verify_log(tmp_path).head_seq)]
    await write(tmp_path, 5, first=5, rotation=Rotation(bytes=2000))
    assert compress_closed(tmp_path)
    until = verify_log(tmp_path).head_seq
    while seen[-1] < until:
        seen.append(next(following).seq)
    following.close()
    assert seen == list(range(1, until + 1))


async def test_a_log_whose_newest_file_is_gone_is_not_continued(tmp_path: Path) -> None:
    """A new chain there would hide what is missing."""
    await write(tmp_path, 20, rotation=Rotation(bytes=5000), compress=True)
    segment_paths(tmp_path)[-1].unlink()
    with pytest.raises(AuditError, match="is gone"):
        AuditLog.open(tmp_path)
    (tmp_path / CHECKPOINTS).unlink()
    with pytest.raises(AuditError, match=r"the file after .* is gone"):
        AuditLog.open(tmp_path)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("CAPS_AUDIT_DURABILITY", "maybe"),
        ("CAPS_AUDIT_CHECKPOINT_EVERY", "0"),
        ("CAPS_AUDIT_CHECKPOINT_SECONDS", "-1"),
        ("CAPS_AUDIT_ROTATE_BYTES", "17"),
        ("CAPS_AUDIT_ROTATE_SECONDS", "1h"),
        ("CAPS_AUDIT_COMPRESS", "yes please"),
        ("CAPS_AUDIT_SINKS", "carrier-pigeon://roof"),
    ],
)
def test_a_variable_that_means_nothing_is_an_error(
    variable: str, value: str, tmp_path: Path
) -> None:
    """A bad value is never a default."""
    with pytest.raises(ConfigurationError) as caught:
        AuditSettings.from_environment(tmp_path, {variable: value})
    assert value.split(":", maxsplit=1)[0] in caught.value.message
    assert "\n" not in caught.value.message


def test_the_variables_set_what_they_name(tmp_path: Path) -> None:
    """All of them together."""
    settings = AuditSettings.from_environment(
        tmp_path,
        {
            "CAPS_AUDIT_DURABILITY": "os",
            "CAPS_AUDIT_CHECKPOINT_EVERY": "10",
            "CAPS_AUDIT_CHECKPOINT_SECONDS": "0",
            "CAPS_AUDIT_CHECKPOINTS_TO": "/elsewhere",
            "CAPS_AUDIT_ROTATE_BYTES": "1000000",
            "CAPS_AUDIT_ROTATE_SECONDS": "86400",
            "CAPS_AUDIT_COMPRESS": "1",
            "CAPS_AUDIT_SINKS": "stdout:?mode=best_effort\nsyslog+udp://127.0.0.1",
        },
    )
    assert settings.durability is Durability.OS
    assert (settings.checkpoint_every, settings.checkpoint_seconds) == (10, None)
    assert settings.checkpoints_to == Path("/elsewhere")
    assert settings.rotation == Rotation(bytes=1_000_000, seconds=86400)
    assert settings.compress
    assert [sink.terms.name for sink in settings.sinks] == ["stdout", "syslog+udp://127.0.0.1"]


async def test_nothing_follows_the_end_of_a_file_whose_successor_cannot_be_made(
    tmp_path: Path, durability: Durability
) -> None:
    """The log records nothing until there is a next file, however often it is tried."""
    in_the_way = tmp_path / segment_name(2)
    settings = {"durability": durability, "rotation": Rotation(bytes=4096)}
    async with AuditLog.open(tmp_path, **settings) as log:  # type: ignore[arg-type]
        while (tmp_path / segment_name(1)).stat().st_size < 4096:
            await log.append(decision("before"))
        in_the_way.mkdir()
        for _ in range(3):
            with pytest.raises(AuditError, match="cannot begin audit log"):
                await log.append(decision("refused"))
        lines = (tmp_path / segment_name(1)).read_bytes().splitlines()
        assert [b'"segment_closed"' in line for line in lines] == [False] * (len(lines) - 1) + [
            True
        ]
        in_the_way.rmdir()
        await log.append(decision("after"))
    assert kinds(tmp_path)[-3:] == ["SegmentClosed", "SegmentOpened", "DecisionMade"]
    assert request_ids(tmp_path)[-2:] == ["before", "after"]
    assert verify_log(tmp_path).status is VerifyStatus.OK
