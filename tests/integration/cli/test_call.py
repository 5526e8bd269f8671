"""`caps call`: what it prints and what it exits with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from caps.cli.main import main
from caps.security.audit import DecisionMade, read_records

POLICY = {
    "id": "reader",
    "allow": ["files.read", "math.*"],
    "scopes": {"files": {"allowlist": ["."]}},
    "limits": {"rates": {"math.add": "1/hour"}},
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "policy.json").write_text(json.dumps(POLICY))
    (tmp_path / "notes.txt").write_text("buy milk\n")
    return tmp_path


def call(place: Path, *arguments: str, **options: Any) -> Result:
    """The command under the policy of this place."""
    fixed = ["--policy", str(place / "policy.json"), "--audit", str(place / "audit")]
    return CliRunner().invoke(main, ["call", *arguments, *fixed], **options)


def test_the_result_is_printed_as_json(place: Path) -> None:
    """Indented, for a person and for a pipe."""
    result = call(place, "files.read", '{"path": "notes.txt"}')
    assert result.exit_code == 0
    assert json.loads(result.stdout)["content"] == "buy milk\n"


def test_the_payload_can_come_from_a_file_or_standard_input(place: Path) -> None:
    """`@FILE` and `-`."""
    (place / "payload.json").write_text('{"path": "notes.txt"}')
    from_file = call(place, "files.read", f"@{place / 'payload.json'}")
    from_input = call(place, "files.read", "-", input='{"path": "notes.txt"}')
    assert from_file.stdout == from_input.stdout
    assert from_file.exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("files.write", "{}"), 3, "`files.write` is not granted by policy `reader`"),
        (("files.read", '{"path": "/etc/passwd"}'), 3, "lies outside the allowed directories"),
        (("files.read", "{}"), 1, "does not fit its schema"),
        (("files.read", '{"path": "absent"}'), 1, "absent"),
        (("files.read", "{"), 2, "the payload is not valid JSON"),
        (("files.read", "[]"), 2, "the payload must be a JSON object"),
        (("f", "{}"), 2, "at `capability`"),
        (("files.read", "@absent.json"), 2, "`absent.json` cannot be read"),
    ],
)
def test_an_error_is_one_line_and_has_its_exit_code(
    place: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    """As the table in README says."""
    result = call(place, *arguments)
    assert result.exit_code == code
    assert result.stdout == ""
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_json_has_the_decision_and_the_error(place: Path) -> None:
    """Also for a refusal, with the same exit code."""
    result = call(place, "files.write", "{}", "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == 3
    assert (found["ok"], found["error"]["code"]) == (False, "policy_denied")
    assert found["decision"]["reason"] == "not_allowed"


def test_the_records_say_who_called_and_how(place: Path) -> None:
    """The principal, the agent and the session of the options."""
    options = ("--principal", "ada", "--agent", "bot", "--session", "s")
    call(place, "math.add", '{"a": 1, "b": 2}', *options)
    (decided,) = [
        record.event
        for record in read_records(place / "audit")
        if isinstance(record.event, DecisionMade)
    ]
    who = (decided.principal, decided.agent, decided.session, decided.via)
    assert who == ("ada", "bot", "s", "call")


def test_a_sink_on_standard_output_is_refused(place: Path) -> None:
    """Its records would mix with the result."""
    result = call(place, "math.add", '{"a": 1, "b": 2}', "--audit-sink", "stdout:")
    assert result.exit_code == 2
    assert "exclude each other" in result.stderr
