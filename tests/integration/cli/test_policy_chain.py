"""`caps` with several policies, of which each must allow."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from caps.cli.main import main

CEILING: dict[str, Any] = {
    "id": "ceiling",
    "allow": ["files.*", "math.*"],
    "scopes": {"files": {"allowlist": ["./box"], "read_only": True}},
    "tests": [{"call": "math.add", "payload": {"a": 1, "b": 2}, "expect": "allow"}],
}
OWN: dict[str, Any] = {
    "id": "own",
    "allow": ["files.*", "time.*"],
    "scopes": {"files": {"allowlist": ["./box/own"]}},
}
DENIED, FOUND = 3, 7


class Desk:
    """A directory with two policies, and the command there."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.log = str(directory / "log")
        (directory / "box" / "own").mkdir(parents=True)
        (directory / "box" / "own" / "x").write_text("hello")
        self.both = [self.file("ceiling.json", CEILING), self.file("own.json", OWN)]

    def file(self, name: str, content: Any) -> str:
        text = content if isinstance(content, str) else json.dumps(content)
        (self.directory / name).write_text(text)
        return str(self.directory / name)

    @property
    def options(self) -> list[str]:
        return [part for path in self.both for part in ("--policy", path)]

    def caps(self, *args: str, stdin: str | None = None) -> Result:
        unset = dict.fromkeys(name for name in os.environ if name.startswith("CAPS_"))
        return CliRunner().invoke(main, args, input=stdin, env={**unset})


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_run_grants_what_all_grant(desk: Desk) -> None:
    """The refusal names the policy."""
    code = desk.file("code.py", "print((await caps.files.read(path='x')).content)")
    result = desk.caps("run", code, *desk.options, "--audit", desk.log)
    assert (result.exit_code, result.stdout) == (0, "hello\n")
    code = desk.file("code.py", "await caps.files.write(path='x', content='')")
    result = desk.caps("run", code, *desk.options, "--audit", desk.log)
    assert result.exit_code == DENIED
    assert "policy `ceiling`" in result.stderr


def test_a_repl_has_both(desk: Desk) -> None:
    """In every cell."""
    cells = "hasattr(caps, 'math')\n\nhasattr(caps.files, 'read')\n"
    result = desk.caps("repl", *desk.options, "--audit", desk.log, stdin=cells)
    assert result.stdout.split() == ["=>", "False", "=>", "True"]


def test_capabilities_say_which_policy_withholds(desk: Desk) -> None:
    """And the stubs have what is left."""
    result = desk.caps("functions", *desk.options, "--json")
    granted = {entry["name"]: entry["granted"] for entry in json.loads(result.stdout)}
    assert granted["files.read"] == "granted"
    assert granted["math.add"] == "not_allowed (own)"
    assert granted["time.now"] == "not_allowed (ceiling)"
    stubs = desk.caps("functions", *desk.options, "--stubs").stdout
    assert "class Files" in stubs
    assert "class Math" not in stubs


def test_validate_shows_what_they_grant_together(desk: Desk) -> None:
    """The tests of each are run for it alone."""
    result = desk.caps("policy", "validate", *desk.both)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("policies `ceiling` and `own` are valid: together grant 9 of")
    found = json.loads(desk.caps("policy", "validate", *desk.both, "--json").stdout)
    assert [each["policy"] for each in found["policies"]] == ["ceiling", "own"]
    assert (found["tests"], found["withheld_by"]["math.add"]) == (1, "own")
    alone = json.loads(desk.caps("policy", "validate", desk.both[0], "--json").stdout)
    assert "policies" not in alone


def test_test_runs_those_of_each_alone_and_others_for_all(desk: Desk) -> None:
    """A ceiling promises what a policy beneath it takes away."""
    more = desk.file("tests.json", [{"call": "math.add", "payload": {}, "expect": "deny"}])
    result = desk.caps("policy", "test", *desk.both, "--tests", more)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1] == "2 of 2 tests pass"


def test_explain_changes_the_policy_that_refuses(desk: Desk) -> None:
    """One after the other, until all allow it."""
    payload = '{"path": "x", "content": "y"}'
    result = desk.caps("policy", "explain", "files.write", payload, *desk.options, "--json")
    found = json.loads(result.stdout)
    assert (result.exit_code, found["policy"]) == (DENIED, "ceiling")
    assert [change["policy"] for change in found["changes"]] == ["ceiling"]
    result = desk.caps("policy", "explain", "math.add", '{"a": 1, "b": 2}', *desk.options)
    assert "to allow it: in policy `own`, allow `math.add`" in result.stdout
    allowed = desk.caps("policy", "explain", "files.read", '{"path": "x"}', *desk.options)
    assert allowed.exit_code == 0


def test_lint_finds_what_they_do_to_each_other(desk: Desk) -> None:
    """Each finding names its policy."""
    result = desk.caps("policy", "lint", *desk.both, "--json")
    found = json.loads(result.stdout)["findings"]
    withheld = [one for one in found if one["code"] == "withheld-by-another"]
    assert ("own", "/allow/1") in {(one["policy"], one["place"]) for one in withheld}
    nothing = [
        desk.file("a.json", {"allow": ["math.*"]}),
        desk.file("b.json", {"allow": ["time.*"]}),
    ]
    result = desk.caps("policy", "lint", *nothing)
    assert result.exit_code == FOUND
    assert "nothing-together" in result.stdout


def test_replay_names_the_policy_that_would_refuse(desk: Desk) -> None:
    """A call that one of them refuses turns."""
    code = desk.file("code.py", "await caps.math.add(a=1, b=2)\nawait caps.files.read(path='x')")
    both = desk.file("both.json", {**CEILING, "id": "both", "scopes": OWN["scopes"]})
    desk.caps("run", code, "--policy", both, "--audit", desk.log)
    result = desk.caps("policy", "replay", desk.log, *desk.options, "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == FOUND
    assert found["counts"] == {"same": 1, "deny->allow": 0, "allow->deny": 1, "unknown": 0}
    (turned,) = found["decisions"]
    assert (turned["capability"], turned["policy"]) == ("math.add", "own")
