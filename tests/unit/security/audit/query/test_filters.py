"""Asking a log: filters, forms, counts, digests."""

from __future__ import annotations

import csv
import io
import json
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from click.testing import CliRunner, Result

from caps.cli.audit import audit
from caps.protocol.errors import ConfigurationError
from caps.security.audit import (
    AuditEvent,
    AuditLog,
    CallStatus,
    Durability,
    ExecutionEnded,
    ExecutionStatus,
    LimitReached,
    OutcomeRecorded,
    PolicyLoaded,
    read_records,
)
from caps.security.audit.model.chain import ORIGIN, decode
from caps.security.audit.model.records import AuditRecord
from caps.security.audit.model.sanitize import encode_event
from caps.security.audit.query.filters import KINDS, RecordFilter, parse_moment
from caps.security.audit.query.stats import MAX_NAMES, OTHERS, AuditStats, Caller
from support.audit_examples import decision, seal, segment_of


def denied(number: int, capability: str, **changes: object) -> AuditEvent:
    return decision(
        f"d{number}",
        capability=capability,
        decision="deny",
        reason="scope_violation",
        rule=None,
        **changes,
    )


EVENTS: list[AuditEvent] = [
    PolicyLoaded(policy_id="reader", policy_sha256="0", source="p.json", status="accepted"),
    decision("a1", agent="planner", session="s1"),
    OutcomeRecorded(
        execution_id="exec-0001",
        principal="local",
        request_id="a1",
        capability="files.read",
        status=CallStatus.OK,
        duration_us=10,
        bytes_out=3,
    ),
    denied(1, "web.fetch", principal="mallory", execution_id="exec-0002"),
    denied(2, "web.fetch", principal="mallory", execution_id="exec-0002"),
    denied(3, "web.fetch", principal="alice", agent="planner", execution_id="exec-0003"),
    denied(4, "files.write", principal="alice", execution_id="exec-0003"),
    LimitReached(
        execution_id="exec-0003", principal="alice", limit="calls", allowed=4, message="too many"
    ),
    ExecutionEnded(
        execution_id="exec-0003",
        principal="alice",
        status=ExecutionStatus.LIMIT,
        duration_us=5,
        calls=4,
        output_bytes=0,
    ),
]


def write(directory: Path, *events: AuditEvent) -> None:
    async def main() -> None:
        async with AuditLog.open(directory, durability=Durability.OS) as log:
            for event in events:
                await log.append(event)

    anyio.run(main)


def run(*arguments: object, stdin: str | None = None) -> Result:
    env = {"COLUMNS": "250"}
    return CliRunner().invoke(audit, [str(item) for item in arguments], env=env, input=stdin)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    write(tmp_path / "log", *EVENTS)
    return tmp_path / "log"


def numbers(result: Result) -> list[int]:
    """The sequence numbers of what was printed as JSON."""
    assert result.exit_code == 0, result.output
    return [json.loads(line)["seq"] for line in result.stdout.splitlines()]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--execution", "exec-0003"], [7, 8, 9, 10]),
        (["--execution", "exec-000"], [3, 4, 5, 6, 7, 8, 9, 10]),
        (["--agent", "planner"], [3, 7]),
        (["--agent", "plan"], []),
        (["--principal", "mallory"], [5, 6]),
        (["--session", "s1"], [3]),
        (["--capability", "web.fetch"], [5, 6, 7]),
        (["--capability", "files.*"], [3, 4, 8]),
        (["--capability", "file.*"], []),
        (["--decision", "deny"], [5, 6, 7, 8]),
        (["--decision", "allow"], [3]),
        (["--reason", "scope_violation", "--principal", "alice"], [7, 8]),
        (["--kind", "log_opened", "--kind", "limit_reached"], [1, 9]),
        (["--since", "1h"], list(range(1, 11))),
        (["--until", "1h"], []),
        (["--since", "2999-01-01"], []),
        (["--until", "2999-01-01T00:00:00+02:00", "--limit", "2"], [9, 10]),
    ],
)
@pytest.mark.parametrize("command", ["show", "query"])
def test_filters_narrow_what_is_printed(
    log: Path, command: str, options: list[str], expected: list[int]
) -> None:
    """All of them must hold; `--limit` takes the last."""
    assert numbers(run(command, "--audit", log, "--json", *options)) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--kind", "decisions"],
            "`decisions` is not a kind of record; there are admin_action, approval_requested,",
        ),
        (["--since", "yesterday"], "`yesterday` is not a time"),
        (["--until", "9999999999999w"], "`9999999999999w` is not a time"),
        (["--capability", "*.read"], "`*.read` is neither a capability nor `domain.*`"),
        (["--value-hash", "abc"], "`hmac-sha256:abc` is not what `caps audit hash` prints"),
        (["--json", "--csv"], "`--json` and `--csv` exclude each other"),
    ],
)
def test_what_cannot_be_asked_is_bad_usage(log: Path, options: list[str], message: str) -> None:
    """One line that says what to give instead."""
    result = run("query", "--audit", log, *options)
    assert (result.exit_code, result.output.count("\n")) == (2, 1)
    assert message in result.output


def test_every_kind_of_record_can_be_asked_for() -> None:
    """The filter knows all kinds there are."""
    assert {"decision_made", "outcome_recorded", "log_opened"} < set(KINDS)
    assert RecordFilter(kinds=frozenset(KINDS)).kinds == frozenset(KINDS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90s", "2025-06-01T11:58:30.000000Z"),
        ("10m", "2025-06-01T11:50:00.000000Z"),
        ("2h", "2025-06-01T10:00:00.000000Z"),
        ("1d", "2025-05-31T12:00:00.000000Z"),
        ("1w", "2025-05-25T12:00:00.000000Z"),
        ("2025-06-01", "2025-06-01T00:00:00.000000Z"),
        ("2025-06-01T10:00:00.5Z", "2025-06-01T10:00:00.500000Z"),
        ("2025-06-01T10:00+02:00", "2025-06-01T08:00:00.000000Z"),
        ("0001-01-01", "0001-01-01T00:00:00.000000Z"),
    ],
)
def test_a_time_is_absolute_or_an_age(text: str, expected: str) -> None:
    """Without an offset it is UTC, as records are."""
    assert parse_moment(text, now=datetime(2025, 6, 1, 12, tzinfo=UTC)) == expected


@pytest.mark.parametrize("text", ["", "m", "-1h", "²h", "1y", "0001-01-01T00:00+02:00"])
def test_what_is_no_time_is_refused(text: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(ConfigurationError, match="is not a time"):
        parse_moment(text)


def test_since_is_inclusive_and_until_is_not(log: Path) -> None:
    """Two adjacent spans share no record."""
    moment = json.loads(run("show", "--audit", log, "--json").output.splitlines()[4])["ts"]
    before = numbers(run("show", "--audit", log, "--json", "--until", moment))
    after = numbers(run("show", "--audit", log, "--json", "--since", moment))
    assert before + after == list(range(1, 11))
    assert 5 in after


def test_csv_has_a_header_and_a_row_for_each_record(log: Path) -> None:
    """As a spreadsheet reads it."""
    result = run("show", "--audit", log, "--csv", "--decision", "deny")
    rows = list(csv.DictReader(io.StringIO(result.output)))
    assert [row["seq"] for row in rows] == ["5", "6", "7", "8"]
    assert json.loads(rows[0]["shown"]) == {"path": "./sandbox/a.txt"}
    assert (rows[0]["agent"], rows[2]["agent"]) == ("", "planner")


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t=", "\r="])
def test_csv_holds_no_formula_and_no_control_character(tmp_path: Path, start: str) -> None:
    """Hostile text is text, also to a spreadsheet."""
    write(tmp_path, decision("r", message=f"{start}cmd|' /C calc'!A0", reason="a\x1b[2J\nb"))
    output = run("show", "--audit", tmp_path, "--csv").output
    cell = list(csv.DictReader(io.StringIO(output)))[1]
    assert not cell["message"].startswith(("=", "+", "-", "@", "\t", "\r"))
    assert cell["reason"] == "a\\x1b[2J\\nb"


def test_a_long_log_is_printed_as_plain_lines(tmp_path: Path) -> None:
    """One line a record, with the same things in it as the table has."""
    write(tmp_path, *[decision(f"r{number}") for number in range(600)])
    lines = run("show", "--audit", tmp_path).output.splitlines()
    assert len(lines) == 602
    assert lines[0].split() == ["time", "execution", "verdict", "what", "and", "why"]
    for word in ("exec-0001", "allow", "files.read(path='./sandbox/a.txt'", "by rule"):
        assert word in lines[-1]


def test_reading_holds_a_line_and_not_the_log(tmp_path: Path) -> None:
    """However long the log is, asking for its last record takes the memory of a few."""
    lines, head = [], ORIGIN
    for number in range(20_000):
        line, head = seal(encode_event(decision(f"r{number}")), "2025-01-01T00:00:00.000000Z", head)
        lines.append(line)
    segment_of(tmp_path).write_bytes(b"".join(lines))
    size = segment_of(tmp_path).stat().st_size
    del lines
    tracemalloc.start()
    try:
        found = sum(map(RecordFilter(decision="allow").matches, read_records(tmp_path)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found == 20_000
    assert peak < size / 10


class TestHash:
    """Equal values can be found with the key of the log."""

    @pytest.fixture
    def hidden(self, tmp_path: Path) -> Path:
        async def main() -> None:
            async with AuditLog.open(tmp_path) as log:
                for name, value in (("r1", "hunter2"), ("r2", 7), ("r3", {"a": [1.5]})):
                    redacted = log.redactor.split({"secret": value}, ())
                    await log.append(
                        decision(
                            name,
                            args_hmac=redacted.args_hmac,
                            shown=redacted.shown,
                            hidden=redacted.hidden,
                        )
                    )

        anyio.run(main)
        return tmp_path

    @pytest.mark.parametrize(
        ("arguments", "seq"),
        [
            (["hunter2"], 2),
            (["--json", '"hunter2"'], 2),
            (["--json", "7"], 3),
            (["--json", '{"a": [1.5]}'], 4),
            (["--json", '{"secret": "hunter2"}'], 2),
        ],
    )
    def test_a_value_finds_its_records(self, hidden: Path, arguments: list[str], seq: int) -> None:
        """As a field of a call, or as all its arguments."""
        digest = run("hash", "--audit", hidden, *arguments).output.strip()
        assert digest.startswith("hmac-sha256:")
        for given in (digest, digest.removeprefix("hmac-sha256:")):
            found = run("query", "--audit", hidden, "--json", "--value-hash", given)
            assert numbers(found) == [seq]

    def test_the_text_of_an_error_finds_its_records(self, tmp_path: Path) -> None:
        """Of an error of a provider as of one of the code; both are recorded as digests."""

        async def main() -> None:
            async with AuditLog.open(tmp_path) as log:
                text = log.redactor.digest("no box `a`")
                who: dict[str, Any] = {"execution_id": "e", "principal": "p"}
                called: dict[str, Any] = {
                    "request_id": "r",
                    "capability": "box.get",
                    "bytes_out": 0,
                }
                failed = CallStatus.PROVIDER_ERROR
                for detail in (None, "KeyError", f"KeyError: {text}"):
                    outcome = OutcomeRecorded(
                        **who, **called, status=failed, detail=detail, duration_us=1
                    )
                    await log.append(outcome)
                ended = ExecutionEnded(
                    **who,
                    status=ExecutionStatus.CODE_FAILED,
                    error_message=f"ValueError: {text}",
                    duration_us=1,
                    calls=1,
                    output_bytes=0,
                )
                await log.append(ended)

        anyio.run(main)
        digest = run("hash", "--audit", tmp_path, "no box `a`").output.strip()
        found = run("query", "--audit", tmp_path, "--json", "--value-hash", digest)
        assert numbers(found) == [4, 5]
        shown = run("show", "--audit", tmp_path).output
        assert "KeyError: <hidden>" in shown
        assert "hmac-sha256" not in shown

    def test_a_text_is_not_the_number_that_it_spells(self, hidden: Path) -> None:
        """`7` without --json is a string, which no call had."""
        digest = run("hash", "--audit", hidden, "7").output.strip()
        assert numbers(run("query", "--audit", hidden, "--json", "--value-hash", digest)) == []

    def test_a_value_can_come_from_standard_input(self, hidden: Path) -> None:
        """Where it is in no history; the newline of `echo` does not count."""
        expected = run("hash", "--audit", hidden, "hunter2").output
        assert run("hash", "--audit", hidden, "-", stdin="hunter2\n").output == expected

    def test_it_takes_the_key_and_makes_none(self, tmp_path: Path) -> None:
        """A directory without a key stays as it is."""
        result = run("hash", "--audit", tmp_path, "x")
        assert result.exit_code == 6
        assert "redaction.key`: No such file or directory" in result.output
        assert list(tmp_path.iterdir()) == []

    def test_the_key_is_never_printed(self, hidden: Path) -> None:
        """Not even when it is broken."""
        key = (hidden / "redaction.key").read_text().strip()
        assert key not in run("hash", "--audit", hidden, "x").output
        (hidden / "redaction.key").write_text(key[:-2])
        result = run("hash", "--audit", hidden, "x")
        assert (result.exit_code, key[:-2] in result.output) == (6, False)

    def test_what_is_no_json_is_bad_usage(self, hidden: Path) -> None:
        """One line."""
        result = run("hash", "--audit", hidden, "--json", "{")
        assert (result.exit_code, result.output) == (2, "caps: VALUE is not JSON\n")


class TestStats:
    def test_json_has_the_totals_and_who_was_refused(self, log: Path) -> None:
        """Most refused first, and the callers behind it."""
        found = json.loads(run("stats", "--audit", log, "--json").output)
        assert found["records"] == 10
        assert found["decisions"] == {"deny": 4, "allow": 1}
        assert found["reasons"][0] == {"decision": "deny", "reason": "scope_violation", "count": 4}
        assert found["calls"] == {"ok": 1}
        assert found["executions"] == {"limit": 1}
        assert found["limits"] == {"calls": 1}
        assert found["first_ts"] < found["last_ts"]
        assert found["refused"] == [
            {
                "capability": "web.fetch",
                "count": 3,
                "reasons": {"scope_violation": 3},
                "callers": [
                    {"principal": "mallory", "agent": None, "count": 2},
                    {"principal": "alice", "agent": "planner", "count": 1},
                ],
            },
            {
                "capability": "files.write",
                "count": 1,
                "reasons": {"scope_violation": 1},
                "callers": [{"principal": "alice", "agent": None, "count": 1}],
            },
        ]

    def test_text_says_the_same(self, log: Path) -> None:
        """For people; `--top` and filters narrow it."""
        output = run("stats", "--audit", log, "--top", 1, "--capability", "web.*").output
        assert output.startswith("3 records, ")
        assert "refused: web.fetch, 3 times (scope_violation 3)\n         2  mallory\n" in output
        assert "alice" not in output

    def test_an_empty_log_has_no_span(self, tmp_path: Path) -> None:
        """Nothing is invented."""
        assert run("stats", "--audit", tmp_path).output == "0 records\n"

    def test_invented_names_do_not_fill_the_memory(self) -> None:
        """Beyond a bound they are counted as one, and the totals stay right."""
        stats = AuditStats()
        count = MAX_NAMES + 50
        for number in range(count):
            stats.add(_record(denied(0, f"x.y{number}")))
            stats.add(_record(denied(0, "web.fetch", principal=f"p{number}")))
        refused = {item.capability: item for item in stats.refused()}
        assert sum(item.count for item in refused.values()) == 2 * count
        assert refused[OTHERS].count > 0
        assert dict(refused["web.fetch"].callers)[Caller(OTHERS)] == 50


def _record(event: AuditEvent) -> AuditRecord:
    line, _ = seal(encode_event(event), "2025-01-01T00:00:00.000000Z", ORIGIN)
    return decode(line[:-1])
