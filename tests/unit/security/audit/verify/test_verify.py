"""Verification names what was done to a log."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import anyio
import msgspec
import pytest

from caps.protocol.errors import AuditError
from caps.security.audit import AuditLog, VerifyReport, VerifyStatus, read_records, verify_log
from caps.security.audit.model.chain import ORIGIN, Head, encode_record
from caps.security.audit.model.records import MAX_LINE_BYTES
from caps.security.audit.model.sanitize import encode_event
from caps.security.audit.signing.checkpoint import CHECKPOINTS, Signer, append_checkpoint
from support.audit_examples import decision, seal, segment_of

Edit = Callable[[list[bytes]], list[bytes]]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A closed log: its opening, nine decisions, one checkpoint at record 10."""
    directory = tmp_path / "log"

    async def write() -> None:
        async with AuditLog.open(directory) as audit:
            for number in range(9):
                await audit.append(decision(f"r{number}"))

    anyio.run(write)
    return directory


def after(directory: Path, edit: Edit) -> VerifyReport:
    """The report once `edit` was applied to the lines of the log."""
    path = segment_of(directory)
    path.write_bytes(b"".join(edit(path.read_bytes().splitlines(keepends=True))))
    return verify_log(directory)


def rehashed(lines: list[bytes], start: int, replaced: dict[str, object]) -> list[bytes]:
    """The log as a forger without the signing key makes it: changed, and chained again."""
    done, head = lines[:start], Head(start, msgspec.json.decode(lines[start - 1])["hash"])
    for number, line in enumerate(lines[start:]):
        fields = msgspec.json.decode(line)
        if number == 0:
            fields.update(replaced)
        ts = fields.pop("ts")
        for name in ("v", "seq", "prev", "hash"):
            del fields[name]
        forged, head = seal(encode_record(fields), ts, head)
        done.append(forged)
    return done


def test_an_untouched_log_is_sound(log: Path) -> None:
    """All records, the head and its checkpoint."""
    report = verify_log(log)
    last = msgspec.json.decode(segment_of(log).read_bytes().splitlines()[-1])
    assert report == VerifyReport(
        status=VerifyStatus.OK,
        message="10 records are sound; record 10 is signed",
        records=10,
        segments=1,
        head_seq=10,
        head_hash=last["hash"],
        checkpoints=1,
        signed_seq=10,
    )


def test_a_changed_value_is_an_edit(log: Path) -> None:
    """The record no longer has its hash."""
    report = after(log, lambda lines: [line.replace(b'"r4"', b'"r5"') for line in lines])
    assert (report.status, report.bad_seq, report.bad_line) == (VerifyStatus.EDITED, 6, 6)
    assert report.records == 5
    assert report.bad_file == "audit-000001.jsonl"
    assert report.message == "`audit-000001.jsonl` line 6, record 6, does not match its hash"


def test_another_spelling_of_the_same_record_is_an_edit(log: Path) -> None:
    """A record has one encoding."""
    report = after(log, lambda lines: [line.replace(b'"v":2}', b'"v": 2}') for line in lines])
    assert (report.status, report.bad_seq) == (VerifyStatus.EDITED, 2)
    assert "not encoded as it was written" in report.message


def test_a_line_that_is_no_record_is_an_edit(log: Path) -> None:
    """Garbage, other JSON, and deep JSON."""
    for garbage in (b"", b"garbage", b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"seq":1e3}'):
        original = segment_of(log).read_bytes()
        report = after(log, lambda lines: [*lines[:3], garbage + b"\n", *lines[3:]])  # noqa: B023
        assert (report.status, report.bad_line) == (VerifyStatus.EDITED, 4)
        segment_of(log).write_bytes(original)


def test_a_record_that_was_changed_and_hashed_again_is_an_edit(log: Path) -> None:
    """The record after it still carries the old hash."""
    report = after(log, lambda lines: [*rehashed(lines[:5], 4, {"decision": "deny"}), *lines[5:]])
    assert (report.status, report.bad_seq) == (VerifyStatus.EDITED, 6)
    assert "does not follow from the record before it" in report.message


def test_a_dropped_record_is_a_gap(log: Path) -> None:
    """Its number is missing."""
    report = after(log, lambda lines: lines[:4] + lines[5:])
    assert (report.status, report.bad_seq, report.records) == (VerifyStatus.GAP, 6, 4)


def test_a_dropped_beginning_is_a_gap(log: Path) -> None:
    """A log starts with record 1."""
    report = after(log, lambda lines: lines[2:])
    assert (report.status, report.bad_seq, report.records) == (VerifyStatus.GAP, 3, 0)


def test_swapped_records_are_reordered(log: Path) -> None:
    """The missing one comes later."""
    report = after(log, lambda lines: [*lines[:4], lines[5], lines[4], *lines[6:]])
    assert (report.status, report.bad_seq, report.bad_line) == (VerifyStatus.REORDERED, 6, 5)
    assert report.message == (
        "`audit-000001.jsonl` line 5, record 6, comes before record 5, "
        "which is at `audit-000001.jsonl` line 6"
    )


def test_a_copied_record_is_a_duplicate(log: Path) -> None:
    """The numbers go back, to a record that is the same."""
    report = after(log, lambda lines: [*lines[:4], lines[3], *lines[4:]])
    assert (report.status, report.bad_seq, report.bad_line) == (VerifyStatus.DUPLICATED, 4, 5)
    assert report.message.endswith("comes again: it is a copy of `audit-000001.jsonl` line 4")


def test_a_cut_past_a_checkpoint_is_a_truncation(log: Path) -> None:
    """The checkpoint remembers what the log does not."""
    report = after(log, lambda lines: lines[:7])
    assert (report.status, report.bad_seq, report.records) == (VerifyStatus.TRUNCATED, 8, 7)
    assert report.message == "the log ends at record 7, a checkpoint signed record 10"


def test_an_emptied_log_is_a_truncation(log: Path) -> None:
    """Also when nothing is left; without even the file, the file is what was lost."""
    assert after(log, lambda lines: []).status is VerifyStatus.TRUNCATED
    segment_of(log).unlink()
    report = verify_log(log)
    assert (report.status, report.bad_file) == (VerifyStatus.LOST_SEGMENT, "audit-000001.jsonl")


def test_a_log_that_was_written_anew_differs_from_its_checkpoint(log: Path) -> None:
    """A perfect chain with another history, without the signing key."""
    report = after(log, lambda lines: rehashed(lines, 4, {"decision": "deny"}))
    assert (report.status, report.bad_seq) == (VerifyStatus.FORKED, 10)
    assert report.message == "record 10 is not the one that a checkpoint signed"


def test_a_cut_that_tears_a_line_past_a_checkpoint_is_a_truncation(log: Path) -> None:
    """A torn tail explains the loss only of records that no checkpoint covers."""
    report = after(log, lambda lines: [*lines[:7], lines[7][:20]])
    assert report.status is VerifyStatus.TRUNCATED


def test_a_line_without_a_newline_is_a_torn_tail(log: Path) -> None:
    """A crash, not an attack; everything before it is sound."""
    report = after(log, lambda lines: [*lines, lines[-1][:50]])
    assert (report.status, report.records, report.bad_line) == (VerifyStatus.TORN_TAIL, 10, 11)


def test_a_torn_line_that_another_segment_follows_is_an_edit(log: Path) -> None:
    """Only the end of the log can be torn."""
    lines = segment_of(log).read_bytes().splitlines(keepends=True)
    segment_of(log).write_bytes(b"".join(lines[:5]) + lines[5][:40])
    (log / "audit-000002.jsonl").write_bytes(b"".join(lines[6:]))
    report = verify_log(log)
    assert (report.status, report.bad_line) == (VerifyStatus.EDITED, 6)


def test_segments_are_one_chain(log: Path) -> None:
    """A log in two files is verified as one."""
    lines = segment_of(log).read_bytes().splitlines(keepends=True)
    segment_of(log).write_bytes(b"".join(lines[:5]))
    (log / "audit-000002.jsonl").write_bytes(b"".join(lines[5:]))
    assert verify_log(log).status is VerifyStatus.OK


def change_checkpoint(directory: Path, **changes: object) -> VerifyReport:
    path = directory / CHECKPOINTS
    fields = {**msgspec.json.decode(path.read_bytes()), **changes}
    path.write_bytes(msgspec.json.encode(fields, order="sorted") + b"\n")
    return verify_log(directory)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seq": 9}, "has a wrong signature"),
        ({"hash": "0" * 64}, "has a wrong signature"),
        ({"ts": "2020-01-01T00:00:00.000000Z"}, "has a wrong signature"),
        ({"sig": ""}, "has a wrong signature"),
        ({"sig": "zz"}, "is not a checkpoint"),
        ({"more": 1}, "is not a checkpoint"),
        ({"key_id": "0" * 16}, "was signed with another key, `0000000000000000`"),
    ],
)
def test_a_changed_checkpoint_is_bad(log: Path, changes: dict[str, object], message: str) -> None:
    """Every field of it is signed."""
    report = change_checkpoint(log, **changes)
    unknown = "key_id" in changes
    assert report.status is (VerifyStatus.UNKNOWN_KEY if unknown else VerifyStatus.CHECKPOINT_BAD)
    assert (report.bad_file, report.bad_line) == (CHECKPOINTS, 1)
    assert report.message == f"line 1 of `checkpoints.jsonl` {message}"


def test_a_trusted_public_key_finds_a_log_that_was_signed_anew(log: Path, tmp_path: Path) -> None:
    """An attacker who replaces chain, checkpoints and keys still lacks the trusted key."""
    trusted = tmp_path / "trusted.pub"
    trusted.write_bytes((log / "signing.pub").read_bytes())
    for name in ("signing.key", "signing.pub", CHECKPOINTS):
        (log / name).unlink()
    line, head = seal(encode_event(decision("forged")), "2025-01-01T00:00:00.000000Z", ORIGIN)
    segment_of(log).write_bytes(line)
    append_checkpoint(log, Signer.load(log).sign(head))
    assert verify_log(log).status is VerifyStatus.OK
    assert verify_log(log, public_key=trusted).status is VerifyStatus.UNKNOWN_KEY


def test_a_lost_public_key_leaves_checkpoints_unproven(log: Path) -> None:
    """What cannot be checked does not count as checked."""
    (log / "signing.pub").unlink()
    report = verify_log(log)
    assert report.status is VerifyStatus.CHECKPOINT_BAD
    assert "cannot be checked" in report.message


def test_two_checkpoints_that_contradict_each_other_are_a_fork(log: Path) -> None:
    """Both are signed, so one of two histories was discarded."""
    append_checkpoint(log, Signer.load(log).sign(Head(10, "f" * 64)))
    assert verify_log(log).status is VerifyStatus.FORKED


def test_a_log_without_checkpoints_says_so(log: Path) -> None:
    """Sound, but nothing pins its end."""
    (log / CHECKPOINTS).unlink()
    report = verify_log(log)
    assert (report.status, report.checkpoints) == (VerifyStatus.OK, 0)
    assert report.message == "10 records are sound; no record is signed yet"


@pytest.mark.parametrize("name", [CHECKPOINTS, "signing.pub"])
def test_a_pipe_in_place_of_a_file_holds_nobody_up(log: Path, name: str) -> None:
    """Neither who verifies nor who would write on."""
    (log / name).unlink()
    os.mkfifo(log / name)
    assert verify_log(log).status in (VerifyStatus.UNREADABLE, VerifyStatus.CHECKPOINT_BAD)
    with pytest.raises(AuditError):
        anyio.run(write_on, log)


async def write_on(directory: Path) -> None:
    async with AuditLog.open(directory) as audit:
        await audit.append(decision("more"))


def test_a_pipe_in_place_of_kept_checkpoints_holds_nobody_up(log: Path, tmp_path: Path) -> None:
    """The message names it."""
    os.mkfifo(tmp_path / "kept")
    report = verify_log(log, kept_checkpoints=tmp_path / "kept")
    assert report.status is VerifyStatus.UNREADABLE
    assert "kept`: Not a regular file" in report.message


@pytest.mark.parametrize(
    "ts", ["", "soon", "2025-01-01", "2025-01-01T00:00:00", "0001-01-01T00:00:00Z", "9" * 30]
)
def test_a_time_that_is_none_is_named_with_its_line(log: Path, ts: str) -> None:
    """A reader that computes with the records learns where, and can continue."""
    lines = segment_of(log).read_bytes().splitlines(keepends=True)
    fields = {**msgspec.json.decode(lines[3]), "ts": ts}
    lines[3] = msgspec.json.encode(fields, order="sorted") + b"\n"
    segment_of(log).write_bytes(b"".join(lines))
    with pytest.raises(AuditError, match=r"`audit-000001.jsonl` line 4: .*`ts`"):
        list(read_records(log))


def test_an_empty_directory_is_empty(tmp_path: Path) -> None:
    """Nothing was recorded, so nothing is proven."""
    assert verify_log(tmp_path).status is VerifyStatus.EMPTY


def test_a_missing_directory_is_unreadable(tmp_path: Path) -> None:
    """The message says which, and why."""
    report = verify_log(tmp_path / "none")
    assert report.status is VerifyStatus.UNREADABLE
    assert report.message.endswith("none`: No such file or directory")


def test_an_endless_line_is_not_loaded(log: Path) -> None:
    """A line longer than any that is written ends the verification."""
    report = after(log, lambda lines: [*lines, b"x" * (MAX_LINE_BYTES + 1) + b"\n"])
    assert report.status is VerifyStatus.UNREADABLE
    assert "line 11 is longer than 1048576 bytes" in report.message


def test_with_a_trusted_key_a_log_cut_with_its_checkpoints_is_found(
    log: Path, tmp_path: Path
) -> None:
    """An attacker who cuts the end would delete the checkpoints too; a missing key is an error."""
    trusted = tmp_path / "trusted.pub"
    trusted.write_bytes((log / "signing.pub").read_bytes())
    lines = segment_of(log).read_bytes().splitlines(keepends=True)
    segment_of(log).write_bytes(b"".join(lines[:-2]))
    (log / CHECKPOINTS).unlink()
    assert verify_log(log).status is VerifyStatus.OK
    assert verify_log(log, public_key=trusted).status is VerifyStatus.CHECKPOINT_BAD
    assert verify_log(log, public_key=tmp_path / "no").status is VerifyStatus.UNREADABLE
