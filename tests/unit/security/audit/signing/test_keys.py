"""Checkpoints kept elsewhere, by the clock, and under keys that change."""

from __future__ import annotations

import fcntl
import json
import shutil
import threading
from pathlib import Path

import anyio
import pytest
from click.testing import CliRunner

from caps.cli.audit import audit
from caps.protocol.errors import AuditError
from caps.security.audit import (
    AuditLog,
    KeyRotated,
    VerifyStatus,
    read_records,
    verify_log,
)
from caps.security.audit.model.chain import Head
from caps.security.audit.signing import finish_rotation as rotation_module
from caps.security.audit.signing.checkpoint import (
    CHECKPOINTS,
    Signer,
    append_checkpoint,
    public_pem,
    read_private_key,
)
from caps.security.audit.signing.finish_rotation import finish_rotation, rotate_key_of
from support.audit_examples import decision, segment_of

pytestmark = pytest.mark.anyio


async def write(directory: Path, *names: str, **settings: object) -> None:
    async with AuditLog.open(directory, **settings) as log:  # type: ignore[arg-type]
        for name in names:
            await log.append(decision(name))


async def test_checkpoints_sent_elsewhere_find_a_cut_that_the_log_hides(tmp_path: Path) -> None:
    """Log and checkpoints were both cut back; the copy elsewhere tells."""
    log, elsewhere = tmp_path / "log", tmp_path / "elsewhere"
    await write(log, "a", checkpoints_to=elsewhere)
    earlier = tmp_path / "earlier"
    shutil.copytree(log, earlier)
    await write(log, "b", checkpoints_to=elsewhere)
    assert verify_log(earlier).status is VerifyStatus.OK
    assert verify_log(earlier, kept_checkpoints=elsewhere).status is VerifyStatus.TRUNCATED
    assert verify_log(log, kept_checkpoints=elsewhere).status is VerifyStatus.OK
    command = ["verify", "--audit", str(earlier), "--checkpoints", str(elsewhere)]
    assert CliRunner().invoke(audit, command).exit_code == 13


async def test_a_place_that_was_away_gets_what_it_missed(tmp_path: Path) -> None:
    """The copy is brought up to date with the next checkpoint."""
    log, elsewhere = tmp_path / "log", tmp_path / "elsewhere"
    await write(log, "a", checkpoints_to=elsewhere)
    await write(log, "b")
    await write(log, "c", checkpoints_to=elsewhere)
    assert (elsewhere / CHECKPOINTS).read_bytes() == (log / CHECKPOINTS).read_bytes()


async def test_a_place_that_cannot_be_written_is_told_when_the_log_is_closed(
    tmp_path: Path,
) -> None:
    """Records and checkpoints continue meanwhile, one checkpoint for each that is due."""
    log, elsewhere = tmp_path / "log", tmp_path / "elsewhere"
    opened = AuditLog.open(log, checkpoints_to=elsewhere, checkpoint_every=2)
    (elsewhere / CHECKPOINTS).mkdir()
    for number in range(12):
        await opened.append(decision(f"r{number}"))
    with pytest.raises(AuditError, match="cannot write a checkpoint"):
        await opened.aclose()
    assert len((log / CHECKPOINTS).read_bytes().splitlines()) == 7
    assert verify_log(log).status is VerifyStatus.OK


async def test_a_place_that_keeps_another_log_is_refused(tmp_path: Path) -> None:
    """Two logs in one place would accuse each other."""
    await write(tmp_path / "one", "a", checkpoints_to=tmp_path / "elsewhere")
    with pytest.raises(AuditError, match="of another log"):
        AuditLog.open(tmp_path / "two", checkpoints_to=tmp_path / "elsewhere")


async def test_kept_checkpoints_that_are_not_there_are_not_passed_over(tmp_path: Path) -> None:
    """A wrong path must not look like a valid log."""
    await write(tmp_path / "log", "a")
    report = verify_log(tmp_path / "log", kept_checkpoints=tmp_path / "nowhere")
    assert report.status is VerifyStatus.UNREADABLE
    assert "nowhere" in report.message


async def test_the_last_record_is_signed_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a further append, and without closing the log."""
    signed = threading.Event()
    real = Signer.sign

    def sign(self: Signer, head: Head, *, segment: int | None = None) -> object:
        signed.set()
        return real(self, head, segment=segment)

    monkeypatch.setattr(Signer, "sign", sign)
    async with AuditLog.open(tmp_path, checkpoint_seconds=0.01) as log:
        await log.append(decision("a"))
        assert await anyio.to_thread.run_sync(signed.wait, 30)
        await log.append(decision("b"))
    assert verify_log(tmp_path).status is VerifyStatus.OK


class TestRotatingTheKey:
    async def test_leaves_a_log_that_verifies_from_the_first_key(self, tmp_path: Path) -> None:
        """A verifier with the first public key follows two rotations to the third."""
        log, trusted = tmp_path / "log", tmp_path / "trusted.pub"
        await write(log, "a")
        shutil.copy(log / "signing.pub", trusted)
        for name in ("b", "c"):
            event = rotate_key_of(log)
            await write(log, name)
        report = verify_log(log, public_key=trusted)
        assert (report.status, report.signed_seq) == (VerifyStatus.OK, report.head_seq)
        events = [record.event for record in read_records(log)]
        assert [e.new_key_id for e in events if isinstance(e, KeyRotated)][-1] == event.new_key_id
        assert Signer.load(log).key_id == event.new_key_id
        assert verify_log(log).status is VerifyStatus.OK

    async def test_is_noticed_by_writers_that_are_open(self, tmp_path: Path) -> None:
        """They sign with the new key from their next checkpoint on."""
        async with AuditLog.open(tmp_path) as log:
            await log.append(decision("a"))
            event = await anyio.to_thread.run_sync(rotate_key_of, tmp_path)
            await log.append(decision("b"))
        last = json.loads((tmp_path / CHECKPOINTS).read_bytes().splitlines()[-1])
        assert last["key_id"] == event.new_key_id
        assert verify_log(tmp_path).status is VerifyStatus.OK

    async def test_is_noticed_by_a_writer_that_is_just_opening(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The key is replaced right after it was read, and does not sign again."""
        await write(tmp_path, "a")
        load = Signer.load

        def load_just_before(directory: Path) -> Signer:
            monkeypatch.setattr(Signer, "load", load)
            signer = load(directory)
            rotate_key_of(directory)
            return signer

        monkeypatch.setattr(Signer, "load", load_just_before)
        await write(tmp_path, "b")
        assert verify_log(tmp_path).status is VerifyStatus.OK

    async def test_half_done_is_waited_for_by_a_writer_that_is_just_opening(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It reads the old private key and then the new public one, and asks again."""
        await write(tmp_path, "a")
        exchange = rotation_module._exchange
        between, done = threading.Event(), threading.Event()

        def exchange_slowly(directory: Path) -> None:
            # As `_exchange` leaves it when it is half done.
            added = public_pem(read_private_key(directory / ".signing.key.next").public_key())
            public = directory / "signing.pub"
            public.write_bytes(public.read_bytes() + added)
            between.set()
            assert done.wait(20)
            exchange(directory)

        def load_between(directory: Path) -> Signer:
            monkeypatch.setattr(Signer, "load", load)
            rotation.start()
            assert between.wait(20)
            try:
                return load(directory)
            finally:
                done.set()

        load = Signer.load
        rotation = threading.Thread(target=rotate_key_of, args=(tmp_path,))
        monkeypatch.setattr(rotation_module, "_exchange", exchange_slowly)
        monkeypatch.setattr(Signer, "load", load_between)
        await write(tmp_path, "b")
        rotation.join(20)
        assert not rotation.is_alive()
        assert verify_log(tmp_path).status is VerifyStatus.OK

    async def test_retires_the_old_key(self, tmp_path: Path) -> None:
        """Who stole it can no longer sign: its later checkpoints are by an unknown key."""
        await write(tmp_path, "a")
        stolen = Signer(read_private_key(tmp_path / "signing.key"))
        rotate_key_of(tmp_path)
        await write(tmp_path, "b")
        last = list(read_records(tmp_path))[-1]
        append_checkpoint(tmp_path, stolen.sign(Head(last.seq, last.hash), segment=1))
        report = verify_log(tmp_path)
        assert report.status is VerifyStatus.UNKNOWN_KEY
        assert "retired" in report.message

    async def test_by_a_key_that_nobody_knows_is_not_believed(self, tmp_path: Path) -> None:
        """The first link must be to a key that the verifier has."""
        await write(tmp_path / "log", "a")
        await write(tmp_path / "other", "a")
        rotate_key_of(tmp_path / "log")
        trusted = tmp_path / "other" / "signing.pub"
        report = verify_log(tmp_path / "log", public_key=trusted)
        assert report.status is VerifyStatus.UNKNOWN_KEY

    async def test_with_a_forged_signature_is_not_believed(self, tmp_path: Path) -> None:
        """A record alone vouches for nothing."""
        log, trusted = tmp_path / "log", tmp_path / "trusted.pub"
        await write(log, "a")
        shutil.copy(log / "signing.pub", trusted)
        await write(tmp_path / "mallory", "a")
        mallory = Signer.load(tmp_path / "mallory")
        async with AuditLog.open(log) as opened:
            await opened.append(
                KeyRotated(
                    old_key_id=Signer.load(log).key_id,
                    new_key_id=mallory.key_id,
                    new_public_key="00" * 32,
                    signature="00" * 64,
                )
            )
            head = opened.head
        append_checkpoint(log, mallory.sign(head, segment=1))
        assert verify_log(log, public_key=trusted).status is VerifyStatus.UNKNOWN_KEY

    @pytest.mark.parametrize("recorded", [True, False])
    async def test_that_was_cut_short_is_finished_or_forgotten(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recorded: bool
    ) -> None:
        """By whether its record is in the log; either way the log verifies."""
        await write(tmp_path, "a")
        before = Signer.load(tmp_path).key_id
        with monkeypatch.context() as patch:
            name = "_exchange" if recorded else "_statement"
            patch.setattr(f"caps.security.audit.signing.finish_rotation.{name}", _crash)
            with pytest.raises(_Crashed):
                rotate_key_of(tmp_path)
        assert (tmp_path / ".signing.key.next").exists()
        await write(tmp_path, "b")
        assert (Signer.load(tmp_path).key_id == before) is not recorded
        assert not (tmp_path / ".signing.key.next").exists()
        assert verify_log(tmp_path).status is VerifyStatus.OK

    async def test_by_the_command_prints_both_keys(self, tmp_path: Path) -> None:
        """`caps audit rotate-key --json`."""
        await write(tmp_path, "a")
        before = Signer.load(tmp_path).key_id
        done = CliRunner().invoke(audit, ["rotate-key", "--audit", str(tmp_path), "--json"])
        told = json.loads(done.stdout)
        assert told == {"old_key_id": before, "new_key_id": Signer.load(tmp_path).key_id}
        assert CliRunner().invoke(audit, ["rotate-key", "--audit", str(tmp_path)]).exit_code == 0
        assert verify_log(tmp_path).status is VerifyStatus.OK

    def test_of_no_log_is_an_error(self, tmp_path: Path) -> None:
        """Nothing is made where there is nothing."""
        done = CliRunner().invoke(audit, ["rotate-key", "--audit", str(tmp_path)])
        assert done.exit_code == 2
        assert list(tmp_path.iterdir()) == []

    async def test_under_way_elsewhere_is_left_alone(self, tmp_path: Path) -> None:
        """Without waiting, a lock that another holds ends the attempt quietly."""
        await write(tmp_path, "a")
        (tmp_path / ".signing.key.next").write_bytes(b"")
        with (tmp_path / ".signing.key.lock").open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            finish_rotation(tmp_path, wait=False)
        assert (tmp_path / ".signing.key.next").exists()
        assert segment_of(tmp_path).exists()


class _Crashed(BaseException):
    """Represents the end of a process: none of our code catches it."""


def _crash(*_: object) -> None:
    raise _Crashed
