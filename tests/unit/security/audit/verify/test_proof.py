"""A proof is valid without the log: its records cannot be changed, and others stay unseen."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from click.testing import CliRunner, Result

from caps.cli.audit import PROOF_EXIT_CODES, audit
from caps.security.audit import AuditLog, verify_log
from caps.security.audit.files.reader import segment_name
from caps.security.audit.signing.checkpoint import CHECKPOINTS, Signer, load_public_keys
from caps.security.audit.verify.proof import ProofStatus, verify_proof
from support.audit_examples import decision, segment_of, segmented_log

# A record as version 1 wrote it, and the hash that it had.
V1_LINE = (
    b'{"dropped_bytes":1,"dropped_sha256":"aa","hash":'
    b'"%s","kind":"log_recovered","prev":"' + b"0" * 64 + b'","seq":1,'
    b'"ts":"2025-01-01T00:00:00.000000Z","v":1}\n'
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Three files of five records; three executions take turns; 2, 5, 7, 10, 12, 15 are signed."""
    segmented_log(tmp_path / "log", 5, 5, 5)
    return tmp_path / "log"


def run(*arguments: object, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(audit, [str(item) for item in arguments], input=stdin)


def proof_of(log: Path, wanted: str, *options: str) -> dict[str, Any]:
    result = run("prove", wanted, "--audit", log, *options)
    assert result.exit_code == 0, result.output
    proof: dict[str, Any] = json.loads(result.output)
    return proof


def verdict(proof: object, key: Path) -> tuple[str, dict[str, Any]]:
    """The finding about a proof; also checks its exit code."""
    data = json.dumps(proof).encode()
    result = run("verify-proof", "-", "--public-key", key, "--json", stdin=data)
    report: dict[str, Any] = json.loads(result.output)
    assert result.exit_code == PROOF_EXIT_CODES[report["status"]]
    return report["status"], report


def shown(proof: dict[str, Any]) -> list[int]:
    return [step["record"]["seq"] for step in proof["steps"] if "record" in step]


def test_an_execution_is_proven_with_the_public_key_alone(log: Path, tmp_path: Path) -> None:
    """The log may be deleted by then."""
    target, key = tmp_path / "proof.json", tmp_path / "key.pub"
    assert run("prove", "exec-1", "--audit", log, "-o", target).exit_code == 0
    key.write_bytes((log / "signing.pub").read_bytes())
    for path in log.iterdir():
        path.unlink()
    result = run("verify-proof", target, "--public-key", key)
    assert result.exit_code == 0
    assert result.output.startswith(
        "proven: execution `exec-1` is in the log with 5 of records 3 to 15, under record 15, "
    )
    assert target.stat().st_mode & 0o777 == 0o600


def test_the_records_of_others_are_not_in_it(log: Path) -> None:
    """Only their digests are, across all files up to the checkpoint."""
    proof = proof_of(log, "exec-1")
    assert shown(proof) == [3, 6, 9, 12, 15]
    assert "exec-0" not in json.dumps(proof)
    assert "exec-2" not in json.dumps(proof)
    status, report = verdict(proof, log / "signing.pub")
    assert (status, report["not_shown"], len(report["records"])) == ("proven", 8, 5)


def test_with_whole_nothing_is_left_out(log: Path) -> None:
    """Then the proof also shows that the execution has no other record in that span."""
    proof = proof_of(log, "exec-1", "--whole")
    assert shown(proof) == list(range(3, 16))
    status, report = verdict(proof, log / "signing.pub")
    assert (status, report["not_shown"], len(report["records"])) == ("proven", 0, 5)


def test_one_record_is_proven_by_its_number_or_hash(log: Path) -> None:
    """Up to the next checkpoint only."""
    by_number = proof_of(log, "8")
    assert (shown(by_number), by_number["checkpoint"]["seq"]) == ([8], 10)
    record = by_number["steps"][0]["record"]
    assert proof_of(log, record["hash"]) == by_number
    assert proof_of(log, "10")["steps"][0]["record"]["seq"] == 10
    status, report = verdict(by_number, log / "signing.pub")
    assert (status, report["subject"]) == ("proven", "record 8")


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (b'"version":1,', b'"version":1,"version":1,', "twice"),
        (b'{"checkpoint":', b'{"prev":"00","checkpoint":', "twice"),
        (b'"principal":"local"', b'"principal":"eve","principal":"local"', "twice"),
        (b'"format":"caps.audit.proof",', b"", "format"),
        (b',"version":1}', b"}", "version"),
        (b'"subject":{', b'"subject":{"more":1,', "more"),
        (b'{"checkpoint":', b'{"more":1,"checkpoint":', "more"),
    ],
)
def test_two_readers_cannot_see_two_proofs(log: Path, old: bytes, new: bytes, why: str) -> None:
    """A file with a duplicate, unknown or missing key is not a valid proof."""
    data = json.dumps(proof_of(log, "exec-1"), sort_keys=True, separators=(",", ":")).encode()
    keys = load_public_keys(log / "signing.pub")
    assert verify_proof(data, keys).status is ProofStatus.PROVEN
    changed = data.replace(old, new, 1)
    if changed == data:  # the last key has no comma after it
        changed = data.replace(b'"version":1', b'"version":1,"version":1', 1)
    report = verify_proof(changed, keys)
    assert report.status is ProofStatus.MALFORMED
    assert why in report.message


def test_a_proof_that_was_laid_out_anew_is_still_one(log: Path) -> None:
    """What counts are the values, not how the file encodes them."""
    proof = json.loads(json.dumps(proof_of(log, "exec-2"), indent=2))
    assert verdict(dict(reversed(proof.items())), log / "signing.pub")[0] == "proven"


def edit_record(proof: dict[str, Any]) -> None:
    proof["steps"][0]["record"]["decision"] = "deny"


def add_field(proof: dict[str, Any]) -> None:
    proof["steps"][0]["record"]["more"] = 1


def drop_record(proof: dict[str, Any]) -> None:
    del proof["steps"][2]


def drop_digest(proof: dict[str, Any]) -> None:
    proof["steps"][1]["digests"].pop()


def change_digest(proof: dict[str, Any]) -> None:
    proof["steps"][1]["digests"][0] = "0" * 64


def swap_records(proof: dict[str, Any]) -> None:
    steps = proof["steps"]
    steps[0], steps[2] = steps[2], steps[0]


def change_start(proof: dict[str, Any]) -> None:
    proof["prev"] = "0" * 64


def move_checkpoint(proof: dict[str, Any]) -> None:
    proof["checkpoint"]["seq"] += 1


def cut_end(proof: dict[str, Any]) -> None:
    proof["steps"].pop()


def sign_wrongly(proof: dict[str, Any]) -> None:
    proof["checkpoint"]["sig"] = "00" * 64


def sign_later(proof: dict[str, Any]) -> None:
    proof["checkpoint"]["ts"] = "2025-01-01T00:00:00.000000Z"


def unsign(proof: dict[str, Any]) -> None:
    del proof["checkpoint"]["sig"]


def name_another_key(proof: dict[str, Any]) -> None:
    proof["checkpoint"]["key_id"] = "0" * 16


def change_subject(proof: dict[str, Any]) -> None:
    proof["subject"] = {"execution_id": "exec-0"}


def remove_subject(proof: dict[str, Any]) -> None:
    proof["subject"] = {}


def two_subjects(proof: dict[str, Any]) -> None:
    proof["subject"]["seq"] = 3


def start_at_nothing(proof: dict[str, Any]) -> None:
    proof["first_seq"] = 0


def mix_a_step(proof: dict[str, Any]) -> None:
    proof["steps"][0]["digests"] = []


def write_digest_otherwise(proof: dict[str, Any]) -> None:
    proof["steps"][1]["digests"][0] = proof["steps"][1]["digests"][0].upper()


def huge_number(proof: dict[str, Any]) -> None:
    proof["steps"][0]["record"]["seq"] = 2**80


def be_of_the_future(proof: dict[str, Any]) -> None:
    proof["version"] = 2


def say_more(proof: dict[str, Any]) -> None:
    proof["note"] = "believe me"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (edit_record, "edited"),
        (add_field, "edited"),
        (huge_number, "edited"),
        (drop_record, "broken"),
        (drop_digest, "broken"),
        (change_digest, "broken"),
        (swap_records, "broken"),
        (change_start, "broken"),
        (move_checkpoint, "broken"),
        (cut_end, "broken"),
        (sign_wrongly, "checkpoint_bad"),
        (sign_later, "checkpoint_bad"),
        (unsign, "checkpoint_bad"),
        (name_another_key, "unknown_key"),
        (change_subject, "irrelevant"),
        (remove_subject, "malformed"),
        (two_subjects, "malformed"),
        (start_at_nothing, "malformed"),
        (mix_a_step, "malformed"),
        (write_digest_otherwise, "malformed"),
        (be_of_the_future, "malformed"),
        (say_more, "malformed"),
    ],
)
def test_a_changed_proof_proves_nothing(
    log: Path, change: Callable[[dict[str, Any]], None], expected: str
) -> None:
    """Each way of changing it has a name, and no record is returned."""
    proof = proof_of(log, "exec-1")
    change(proof)
    status, report = verdict(proof, log / "signing.pub")
    assert (status, report["records"]) == (expected, [])


@pytest.mark.parametrize("garbage", [b"", b"{}", b"[]", b"\xff", b"[" * 100_000, b'"x"'])
def test_what_is_no_proof_is_malformed(log: Path, garbage: bytes) -> None:
    """Nothing in it is trusted, and nothing is raised."""
    keys = load_public_keys(log / "signing.pub")
    assert verify_proof(garbage, keys).status is ProofStatus.MALFORMED


def test_another_key_is_unknown(log: Path, tmp_path: Path) -> None:
    """Only the key that was trusted counts."""
    Signer.load(tmp_path)
    assert verdict(proof_of(log, "exec-1"), tmp_path / "signing.pub")[0] == "unknown_key"
    result = run("verify-proof", "-", "--public-key", tmp_path / "none", stdin=b"{}")
    assert (result.exit_code, result.output.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("exec", "`exec` is the start of several executions"),
        ("nobody", "the log has no execution `nobody`"),
        ("", "the log has no execution ``"),
        ("99", "the log has no record `99`"),
        ("f" * 64, "the log has no record"),
    ],
)
def test_what_the_log_does_not_have_is_bad_usage(log: Path, wanted: str, message: str) -> None:
    """One line."""
    result = run("prove", wanted, "--audit", log)
    assert (result.exit_code, result.output.count("\n")) == (2, 1)
    assert message in result.output


def test_an_id_that_is_the_start_of_another_is_exact(tmp_path: Path) -> None:
    """`a` is itself, though there is `ab`."""

    async def write() -> None:
        async with AuditLog.open(tmp_path) as log:
            for name in ("ab", "a"):
                await log.append(decision(execution_id=name))

    anyio.run(write)
    result = run("prove", "ab", "--audit", tmp_path)
    assert json.loads(result.output)["subject"] == {"execution_id": "ab"}
    result = run("prove", "a", "--audit", tmp_path)
    assert json.loads(result.output)["subject"] == {"execution_id": "a"}


def test_what_is_not_signed_yet_cannot_be_proven(log: Path) -> None:
    """It says why, and leaves no file."""
    (log / CHECKPOINTS).write_bytes(
        b"".join((log / CHECKPOINTS).read_bytes().splitlines(keepends=True)[:4])
    )
    assert run("prove", "9", "--audit", log).exit_code == 0
    target = log.parent / "proof.json"
    result = run("prove", "11", "--audit", log, "-o", target)
    assert result.exit_code == 6
    assert "record 11 is not signed yet" in result.output
    assert not target.exists()


def test_a_log_that_is_not_sound_gives_no_proof(log: Path) -> None:
    """Evidence that would not verify is not exported."""
    path = log / segment_name(2)
    path.write_bytes(path.read_bytes().replace(b'"r6"', b'"x6"'))
    result = run("prove", "8", "--audit", log)
    assert result.exit_code == 6
    assert "does not match its hash; verify the log" in result.output


def test_records_of_version_1_are_still_sound_and_are_shown_whole(tmp_path: Path) -> None:
    """Nothing shorter can stand for them."""
    v1 = _sealed_as_version_1()
    segment_of(tmp_path).write_bytes(v1)

    async def write() -> None:
        async with AuditLog.open(tmp_path) as log:
            await log.append(decision("new"))

    anyio.run(write)
    assert verify_log(tmp_path).records == 2
    proof = proof_of(tmp_path, "1")
    assert proof["steps"][0]["record"]["v"] == 1
    assert verdict(proof, tmp_path / "signing.pub")[0] == "proven"
    segment_of(tmp_path).write_bytes(segment_of(tmp_path).read_bytes().replace(b"aa", b"ab"))
    assert verify_log(tmp_path).bad_seq == 1


def _sealed_as_version_1() -> bytes:
    import hashlib

    unhashed = msgspec.json.decode(V1_LINE % b"")
    del unhashed["hash"]
    body = msgspec.json.encode(unhashed, order="sorted")
    digest = hashlib.sha256(b"caps.audit.record.v1\0" + body).hexdigest()
    return V1_LINE % digest.encode()


def test_every_finding_has_an_exit_code() -> None:
    """And none of them is that of another, or of `verify`."""
    assert set(PROOF_EXIT_CODES) == {status.value for status in ProofStatus}
    codes = list(PROOF_EXIT_CODES.values())
    assert len(set(codes)) == len(codes)
    assert all(code >= 30 for name, code in PROOF_EXIT_CODES.items() if name != "proven")
