"""Whatever is done to a log of several files, `caps audit verify` names it and its place.

The log has three files of five records, 1 to 15; checkpoints pin records 2, 5, 7, 10, 12 and 15.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from click.testing import CliRunner

from caps.cli.audit import EXIT_CODES, audit
from caps.security.audit import VerifyStatus, verify_log
from caps.security.audit.files.reader import segment_name
from caps.security.audit.model.chain import Head
from caps.security.audit.model.sanitize import encode_event
from caps.security.audit.signing.checkpoint import CHECKPOINTS, Signer
from support.audit_examples import decision, seal, segmented_log

SIZE, FILES = 5, 3
LAST = SIZE * FILES
# First, middle and last of the first file, of a later one, and of the last one.
POSITIONS = [1, 3, 5, 6, 8, 10, 11, 13, 15]


class Found(NamedTuple):
    """What `verify --json` says, in short."""

    status: str
    file: str | None
    line: int | None
    seq: int | None


@dataclass(frozen=True)
class Log:
    """The files of a log as lists of lines, to be changed at will."""

    directory: Path
    trusted: Path

    def path(self, seq: int) -> Path:
        return self.directory / segment_name((seq - 1) // SIZE + 1)

    def change(self, path: Path, edit: Callable[[list[bytes]], object]) -> None:
        lines = path.read_bytes().splitlines(keepends=True)
        edit(lines)
        path.write_bytes(b"".join(lines))

    def line(self, seq: int) -> bytes:
        return self.path(seq).read_bytes().splitlines(keepends=True)[(seq - 1) % SIZE]

    def put(self, seq: int, line: bytes) -> None:
        self.change(self.path(seq), lambda lines: lines.__setitem__((seq - 1) % SIZE, line))

    def head(self, seq: int) -> Head:
        return Head(seq, msgspec.json.decode(self.line(seq))["hash"])

    def verify(self, *options: object) -> Found:
        """Also checks that the exit code is that of the finding, and that the message is a line."""
        arguments = ["verify", "--audit", str(self.directory), *map(str, options)]
        told = CliRunner().invoke(audit, arguments)
        done = CliRunner().invoke(audit, [*arguments, "--json"])
        report = json.loads(done.output)
        assert done.exit_code == told.exit_code == EXIT_CODES[report["status"]]
        assert told.output.count("\n") == 1
        if report["bad_file"] is not None:
            assert f"`{report['bad_file']}`" in told.output or report["bad_line"] is not None
        return Found(report["status"], report["bad_file"], report["bad_line"], report["bad_seq"])


def place(seq: int) -> tuple[str, int]:
    """Where record `seq` was written."""
    return segment_name((seq - 1) // SIZE + 1), (seq - 1) % SIZE + 1


@pytest.fixture
def log(tmp_path: Path) -> Log:
    directory = tmp_path / "log"
    segmented_log(directory, *[SIZE] * FILES)
    trusted = tmp_path / "trusted.pub"
    trusted.write_bytes((directory / "signing.pub").read_bytes())
    return Log(directory, trusted)


def test_an_untouched_log_is_sound(log: Log) -> None:
    """Whichever key it is held against."""
    assert log.verify() == Found("ok", None, None, None)
    assert log.verify("--public-key", log.trusted) == Found("ok", None, None, None)


def test_compressed_files_are_part_of_the_log(log: Log) -> None:
    """Packed or not, and also while both forms are there."""
    for seq, keep in ((1, False), (6, True)):
        path = log.path(seq)
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        if not keep:
            path.unlink()
    assert log.verify().status == "ok"
    packed = log.directory / f"{segment_name(1)}.gz"
    packed.write_bytes(packed.read_bytes()[:-9])
    assert log.verify().status == "unreadable"


@pytest.mark.parametrize("seq", POSITIONS)
def test_an_edited_record_is_named(log: Log, seq: int) -> None:
    """By the file, the line and the number."""
    log.put(seq, log.line(seq).replace(b'"ts":"2', b'"ts":"3'))
    assert log.verify() == Found("edited", *place(seq), seq)


@pytest.mark.parametrize("seq", POSITIONS)
def test_a_record_that_was_hashed_again_is_named(log: Log, seq: int) -> None:
    """The next one does not follow from it; after the last one, the signature disagrees."""
    before = Head(seq - 1, msgspec.json.decode(log.line(seq))["prev"])
    log.put(seq, seal(encode_event(decision("forged")), "2025-01-01T00:00:00.000000Z", before)[0])
    if seq == LAST:
        assert log.verify() == Found("forked", *place(seq), seq)
    else:
        assert log.verify() == Found("edited", *place(seq + 1), seq + 1)


@pytest.mark.parametrize("seq", POSITIONS)
def test_a_dropped_record_is_a_gap(log: Log, seq: int) -> None:
    """Found at the record after it; the last one is a truncation, since it was signed."""
    log.change(log.path(seq), lambda lines: lines.pop((seq - 1) % SIZE))
    if seq == LAST:
        assert log.verify() == Found("truncated", *place(LAST - 1), LAST)
        return
    file, line = place(seq + 1)
    same_file = file == place(seq)[0]
    assert log.verify() == Found("gap", file, line - same_file, seq + 1)


@pytest.mark.parametrize("seq", [1, 3, 4, 5, 6, 8, 10, 11, 13, 14])
def test_swapped_records_are_reordered(log: Log, seq: int) -> None:
    """Also if they change files."""
    one, other = log.line(seq), log.line(seq + 1)
    log.put(seq, other)
    log.put(seq + 1, one)
    assert log.verify() == Found("reordered", *place(seq), seq + 1)


def test_swapped_files_are_reordered(log: Log) -> None:
    """Every record is there, and the numbers of the files follow."""
    second, third = log.path(6).read_bytes(), log.path(11).read_bytes()
    log.path(6).write_bytes(third)
    log.path(11).write_bytes(second)
    assert log.verify() == Found("reordered", segment_name(2), 1, 11)


@pytest.mark.parametrize("seq", POSITIONS)
def test_a_copied_record_is_a_duplicate(log: Log, seq: int) -> None:
    """The copy is named, not the original."""
    copy = log.line(seq)
    log.change(log.path(seq), lambda lines: lines.insert((seq - 1) % SIZE + 1, copy))
    file, line = place(seq)
    assert log.verify() == Found("duplicated", file, line + 1, seq)


@pytest.mark.parametrize("seq", [5, 3, 1])
def test_a_record_that_was_copied_to_a_later_file_is_a_duplicate(log: Log, seq: int) -> None:
    """However far away the original is."""
    copy = log.line(seq)
    log.change(log.path(6), lambda lines: lines.insert(0, copy))
    assert log.verify() == Found("duplicated", segment_name(2), 1, seq)


@pytest.mark.parametrize("seq", [3, 6, 15])
def test_a_second_history_is_a_fork(log: Log, seq: int) -> None:
    """A sound record with a number that was there already, and the same record before it."""
    before = Head(seq - 1, msgspec.json.decode(log.line(seq))["prev"])
    other, _ = seal(encode_event(decision("other")), "2025-01-01T00:00:00.000000Z", before)
    log.change(log.path(15), lambda lines: lines.append(other))
    assert log.verify() == Found("forked", segment_name(3), 6, seq)


@pytest.mark.parametrize("seq", [2, 3, 5, 7, 8, 10])
def test_a_file_that_was_cut_before_others_is_a_gap(log: Log, seq: int) -> None:
    """Records `seq` and later of that file are missing."""
    log.change(log.path(seq), lambda lines: lines.__delitem__(slice((seq - 1) % SIZE, None)))
    after = (seq - 1) // SIZE * SIZE + SIZE + 1
    assert log.verify() == Found("gap", segment_name((seq - 1) // SIZE + 2), 1, after)


@pytest.mark.parametrize("seq", [11, 12, 13, 14, 15])
def test_a_cut_of_the_last_file_is_a_truncation(log: Log, seq: int) -> None:
    """Its end was signed, so the end is missing."""
    log.change(log.path(seq), lambda lines: lines.__delitem__(slice((seq - 1) % SIZE, None)))
    assert log.verify() == Found("truncated", *place(seq - 1), seq)


@pytest.mark.parametrize("seq", [3, 8, 13])
def test_a_cut_within_a_line_is_an_excuse_only_at_the_unsigned_end(log: Log, seq: int) -> None:
    """Before other files it is an edit, before a signed record a truncation."""
    half = log.line(seq)[:30]

    def cut(lines: list[bytes]) -> None:
        lines[(seq - 1) % SIZE :] = [half]

    log.change(log.path(seq), cut)
    if seq == 13:
        assert log.verify() == Found("truncated", *place(12), 13)
    else:
        assert log.verify() == Found("edited", *place(seq), None)


def test_a_torn_tail_is_a_crash(log: Log) -> None:
    """It has its own code, since it is not an attack."""
    log.change(log.path(LAST), lambda lines: lines.append(b'{"args_hmac":"hm'))
    assert log.verify() == Found("torn_tail", segment_name(3), 6, 16)


@pytest.mark.parametrize("file", [1, 2, 3])
@pytest.mark.parametrize("emptied", [False, True])
def test_a_lost_file_is_named(log: Log, file: int, emptied: bool) -> None:
    """Of the last one only a checkpoint tells; emptied, it is a log that was cut."""
    path = log.directory / segment_name(file)
    if emptied:
        path.write_bytes(b"")
    else:
        path.unlink()
    first = (file - 1) * SIZE + 1
    if emptied and file == FILES:
        assert log.verify() == Found("truncated", *place(10), 11)
    else:
        assert log.verify() == Found("lost_segment", segment_name(file), None, first)


def test_two_lost_files_are_named_by_the_first(log: Log) -> None:
    """From it on records are missing."""
    for seq in (6, 11):
        log.path(seq).unlink()
    assert log.verify() == Found("lost_segment", segment_name(2), None, 6)


@pytest.mark.parametrize("line", [1, 3, 6])
def test_an_edited_checkpoint_is_bad(log: Log, line: int) -> None:
    """Whichever it is, the line and what it claims to pin are named."""
    path = log.directory / CHECKPOINTS

    def edit(lines: list[bytes]) -> None:
        fields = msgspec.json.decode(lines[line - 1])
        lines[line - 1] = msgspec.json.encode({**fields, "seq": 9}) + b"\n"

    log.change(path, edit)
    assert log.verify() == Found("checkpoint_bad", CHECKPOINTS, line, 9)


def test_deleted_checkpoints_are_found_with_a_trusted_key(log: Log) -> None:
    """Without one the log is sound, and says that nothing is signed."""
    (log.directory / CHECKPOINTS).unlink()
    assert log.verify().status == "ok"
    assert log.verify("--public-key", log.trusted).status == "checkpoint_bad"


def test_a_log_cut_with_its_checkpoints_is_found_with_those_kept_elsewhere(
    log: Log, tmp_path: Path
) -> None:
    """Both ends were taken; the copy still names the record."""
    kept = tmp_path / "kept.jsonl"
    kept.write_bytes((log.directory / CHECKPOINTS).read_bytes())
    log.change(log.directory / CHECKPOINTS, lambda lines: lines.__delitem__(slice(4, None)))
    log.path(15).unlink()
    assert log.verify("--public-key", log.trusted).status == "ok"
    assert log.verify("--checkpoints", kept) == Found("lost_segment", segment_name(3), None, 11)


def test_a_torn_checkpoint_does_not_run_into_one_kept_elsewhere(log: Log, tmp_path: Path) -> None:
    """A crash cut the last line of the log's own; the copy is read by itself, and counts."""
    kept, own = tmp_path / "kept.jsonl", log.directory / CHECKPOINTS
    whole = own.read_bytes()
    kept.write_bytes(whole.splitlines(keepends=True)[-1])
    own.write_bytes(whole[:-20])
    assert log.verify().status == "ok"
    assert log.verify("--checkpoints", kept).status == "ok"
    log.path(15).write_bytes(b"".join(log.path(15).read_bytes().splitlines(keepends=True)[:-1]))
    assert log.verify().status == "ok"
    assert log.verify("--checkpoints", kept).status == "truncated"


def test_a_bad_checkpoint_is_named_by_its_own_file_and_line(log: Log, tmp_path: Path) -> None:
    """Not by a line of the two files one after the other."""
    kept = tmp_path / "kept.jsonl"
    kept.write_bytes(b"{}\n")
    found = log.verify("--checkpoints", kept)
    assert found == Found("checkpoint_bad", str(kept), 1, None)


def test_a_file_that_was_emptied_is_called_empty(log: Log) -> None:
    """It exists, so a search for it would be useless."""
    log.path(8).write_bytes(b"")
    report = verify_log(log.directory)
    assert report.status is VerifyStatus.LOST_SEGMENT
    assert report.message == f"`{segment_name(2)}` is empty: records 6 to 10 are missing"


def test_a_replaced_key_is_unknown(log: Log) -> None:
    """The public key of the directory, or the key that signed again."""
    for name in ("signing.key", "signing.pub"):
        (log.directory / name).unlink()
    signer = Signer.load(log.directory)
    assert log.verify() == Found("unknown_key", CHECKPOINTS, 1, 2)
    signed = signer.sign(log.head(LAST), segment=3)
    (log.directory / CHECKPOINTS).write_bytes(msgspec.json.encode(signed) + b"\n")
    assert log.verify().status == "ok"
    assert log.verify("--public-key", log.trusted) == Found("unknown_key", CHECKPOINTS, 1, LAST)


def test_a_file_of_several_trusted_keys_covers_a_change_of_keys(log: Log) -> None:
    """Checkpoints of either key are trusted, in the order in which they were made."""
    old = (log.directory / "signing.pub").read_bytes()
    for name in ("signing.key", "signing.pub"):
        (log.directory / name).unlink()
    signed = Signer.load(log.directory).sign(log.head(LAST), segment=3)
    log.change(
        log.directory / CHECKPOINTS, lambda lines: lines.append(msgspec.json.encode(signed) + b"\n")
    )
    log.trusted.write_bytes(old + (log.directory / "signing.pub").read_bytes())
    assert log.verify("--public-key", log.trusted).status == "ok"
    log.trusted.write_bytes(old)
    assert log.verify("--public-key", log.trusted) == Found("unknown_key", CHECKPOINTS, 7, LAST)


def test_a_history_written_anew_disagrees_with_what_was_signed(log: Log) -> None:
    """A perfect chain from record 8 on, made without the signing key."""
    head = log.head(7)
    for seq in range(8, LAST + 1):
        line, head = seal(encode_event(decision("new")), "2025-01-01T00:00:00.000000Z", head)
        log.put(seq, line)
    assert log.verify() == Found("forked", *place(10), 10)
