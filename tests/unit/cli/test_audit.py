"""`caps audit show` and `caps audit verify`."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest
from click.testing import CliRunner, Result

from caps.cli.audit import EXIT_CODES, audit, exit_code
from caps.security.audit import (
    AuditEvent,
    AuditLog,
    CallStatus,
    ExecutionEnded,
    ExecutionStarted,
    ExecutionStatus,
    LimitReached,
    OutcomeRecorded,
    PolicyLoaded,
    ProtocolViolated,
    VerifyStatus,
    Withheld,
    read_records,
)
from support.audit_examples import decision, segment_of

EVENTS: list[AuditEvent] = [
    PolicyLoaded(policy_id="reader", policy_sha256="0", source="policy.json", status="accepted"),
    ExecutionStarted(
        execution_id="exec-0001",
        principal="local",
        policy_id="reader",
        policy_sha256="0",
        source_sha256="0",
        granted=["files.read"],
        withheld=[Withheld(capability="files.write", reason="not_allowed")],
        isolation={"kernel": "fully"},
    ),
    decision("r1"),
    OutcomeRecorded(
        execution_id="exec-0001",
        principal="local",
        request_id="r1",
        capability="files.read",
        status=CallStatus.OK,
        duration_us=120,
        bytes_out=5,
    ),
    decision("r2", decision="deny", reason="scope_violation", rule=None, execution_id="exec-0002"),
    LimitReached(
        execution_id="exec-0002", principal="local", limit="calls", allowed=5, message="too many"
    ),
    ProtocolViolated(
        execution_id="exec-0002", principal="local", violation="bad_frame", message="garbage"
    ),
    ExecutionEnded(
        execution_id="exec-0002",
        principal="local",
        status=ExecutionStatus.PROTOCOL_VIOLATION,
        duration_us=99,
        calls=1,
        output_bytes=0,
    ),
]


def write(directory: Path, *events: AuditEvent) -> None:
    async def main() -> None:
        async with AuditLog.open(directory) as log:
            for event in events:
                await log.append(event)

    anyio.run(main)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    write(tmp_path / "log", *EVENTS)
    return tmp_path / "log"


def run(*arguments: object, **environment: str) -> Result:
    env = {"COLUMNS": "250", **environment}
    return CliRunner().invoke(audit, [str(argument) for argument in arguments], env=env)


def test_show_prints_who_what_and_why(log: Path) -> None:
    """Every record has a row, and shown arguments can be read."""
    result = run("show", "--audit", log)
    assert result.exit_code == 0
    rows = result.output.splitlines()
    allowed = next(row for row in rows if "allow " in row)
    assert all(word in allowed for word in ("exec-0001", "files.read", "path='./sandbox/a.txt'"))
    denied = next(row for row in rows if "deny " in row)
    assert all(word in denied for word in ("exec-0002", "scope_violation", "content=<hidden>"))
    for word in ("opened", "accepted", "started", "120 µs", "too many", "bad_frame"):
        assert word in result.output
    assert "secret" not in result.output


def test_show_json_prints_the_records(log: Path) -> None:
    """One object a line, the same as on disk."""
    result = run("show", "--audit", log, "--json")
    assert result.output.encode() == segment_of(log).read_bytes()


def test_show_can_be_narrowed(log: Path) -> None:
    """To an execution, by the start of its id, and to the last records."""
    result = run("show", "--audit", log, "--json", "--execution", "exec-0002", "--limit", 2)
    kinds = [json.loads(line)["kind"] for line in result.output.splitlines()]
    assert kinds == ["protocol_violated", "execution_ended"]
    everything = run("show", "--audit", log, "--json", "--execution", "exec")
    assert len(everything.output.splitlines()) == len(EVENTS) - 1


def test_show_finds_the_log_by_the_environment(log: Path) -> None:
    """`CAPS_AUDIT_PATH` names the directory."""
    result = run("show", "--json", CAPS_AUDIT_PATH=str(log))
    assert len(result.output.splitlines()) == len(EVENTS) + 1


def heads(output: str) -> list[list[str]]:
    """The cells of the lines that begin a record: those that start with its number."""
    lines = output.splitlines()
    return [line.split() for line in lines if line[:3].strip().isdigit()]


def test_a_narrow_terminal_breaks_no_word(log: Path) -> None:
    """Number, time, execution, verdict and capability stand on one line, the rest below it."""
    wide = run("show", "--audit", log).output.replace("│", " ")
    narrow = run("show", "--audit", log, COLUMNS="80").output
    assert max(map(len, narrow.splitlines())) <= 80
    records = list(read_records(log))
    assert [head[0] for head in heads(narrow)] == [str(record.seq) for record in records]
    assert all(
        head[2] == record.ts[11:23] for head, record in zip(heads(narrow), records, strict=True)
    )
    (denied,) = [head for head in heads(narrow) if "deny" in head]
    assert denied[3:] == ["exec-0002", "deny", "files.read"]
    # Arguments stand below the name of the capability.
    words = wide.partition("━\n")[2].replace("files.read(", "files.read (").split()
    assert set(words) <= set(narrow.split())


def test_a_long_log_is_no_harder_to_read_on_a_narrow_terminal(tmp_path: Path) -> None:
    """It is shown page by page; elsewhere one line for each record will do."""
    write(tmp_path, *(decision(f"r{number}") for number in range(520)))
    narrow = run("show", "--audit", tmp_path, COLUMNS="80", FORCE_COLOR="1", TERM="dumb").output
    assert len(heads(narrow)) == 521
    assert max(map(len, narrow.splitlines())) <= 80
    assert len(run("show", "--audit", tmp_path, COLUMNS="80").output.splitlines()) == 522


HOSTILE = "\x1b[2J\x1b]0;owned\x07\u202e[bold red]x[/]\x9b31m\r\n\u2028"


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_hostile_text_never_reaches_the_terminal(tmp_path: Path, flags: list[str]) -> None:
    """Escape sequences and overrides are shown as escapes; markup is text."""
    shown = {"path": HOSTILE, HOSTILE: 1}
    write(tmp_path, decision("r", shown=shown, message=HOSTILE, execution_id=HOSTILE))
    output = run("show", "--audit", tmp_path, *flags, COLUMNS="900").output
    assert [char for char in output if not char.isprintable() and char != "\n"] == []
    assert "[bold red]x[/]" in output
    assert len(output.splitlines()) < 6


def test_hostile_text_does_not_reach_a_narrow_terminal_either(tmp_path: Path) -> None:
    """The same, line by line."""
    write(tmp_path, decision("r", shown={HOSTILE: HOSTILE}, execution_id=HOSTILE))
    output = run("show", "--audit", tmp_path, COLUMNS="80").output
    assert [char for char in output if not char.isprintable() and char != "\n"] == []
    assert "red]x[/]" in output
    assert max(map(len, output.splitlines())) <= 80


def test_a_missing_log_is_one_line(tmp_path: Path) -> None:
    """It says which directory, and there is no traceback."""
    for command, code in (("show", 6), ("verify", 16)):
        result = run(command, "--audit", tmp_path / "none")
        assert result.exit_code == code
        assert len(result.output.splitlines()) == 1
        assert "none`: No such file or directory" in result.output


def test_a_log_that_cannot_be_parsed_is_one_line(log: Path) -> None:
    """The line is named."""
    with segment_of(log).open("ab") as file:
        file.write(b"garbage\n")
    result = run("show", "--audit", log)
    assert result.exit_code == 6
    assert "line 10: not an audit record" in result.output


def test_verify_says_that_a_log_is_sound(log: Path) -> None:
    """Exit code 0 and one line, which names the log."""
    result = run("verify", "--audit", log)
    expected = f"ok: `{log}`: 9 records are sound; record 9 is signed\n"
    assert (result.exit_code, result.output) == (0, expected)


@pytest.mark.parametrize("command", ["verify", "verify-proof"])
def test_a_public_key_that_is_none_is_bad_usage(log: Path, tmp_path: Path, command: str) -> None:
    """Nothing is found out about a log by a key that was not read."""
    missing, empty = tmp_path / "nope.pub", tmp_path / "empty.pub"
    empty.write_text("")
    asked = ["verify", "--audit", log] if command == "verify" else ["verify-proof", empty]
    for key, said in (
        (missing, f"caps: the public key `{missing}` is missing\n"),
        (empty, f"caps: `{empty}` holds no public key\n"),
    ):
        result = run(*asked, "--public-key", key)
        assert (result.exit_code, result.output) == (2, said)


def test_verify_json_is_one_object(log: Path) -> None:
    """For those who watch it by machine."""
    result = run("verify", "--audit", log, "--json")
    report = json.loads(result.output)
    assert (report["status"], report["records"], report["bad_seq"]) == ("ok", 9, None)


def test_verify_exits_with_a_code_of_its_own_for_an_edit(log: Path) -> None:
    """Scripts can tell findings apart."""
    path = segment_of(log)
    path.write_bytes(path.read_bytes().replace(b'"deny"', b'"allow"'))
    result = run("verify", "--audit", log)
    assert result.exit_code == 10
    assert (
        result.stderr == "edited: `audit-000001.jsonl` line 6, record 6, does not match its hash\n"
    )


def test_verify_takes_a_trusted_key(log: Path, tmp_path: Path) -> None:
    """The wrong key proves nothing."""
    write(tmp_path / "other", decision())
    own, other = log / "signing.pub", tmp_path / "other" / "signing.pub"
    assert run("verify", "--audit", log, "--public-key", own).exit_code == 0
    assert run("verify", "--audit", log, "--public-key", other).exit_code == 20


def test_every_finding_has_an_exit_code() -> None:
    """And only a sound log exits with 0."""
    assert set(EXIT_CODES) == {status.value for status in VerifyStatus}
    assert [status for status in VerifyStatus if exit_code(status) == 0] == [VerifyStatus.OK]
