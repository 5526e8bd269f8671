"""`caps policy test`, `explain`, `diff`, `lint`, `replay` and `learn`: real logs, real workers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from caps.cli.main import main

READER: dict[str, Any] = {
    "id": "reader",
    "allow": ["files.read", "math.*"],
    "scopes": {"files": {"allowlist": ["./box"], "read_only": True, "max_bytes": 100}},
    "tests": [
        {"call": "files.read", "payload": {"path": "x"}, "expect": "allow"},
        {"call": "files.write", "expect": "deny"},
    ],
}
FOUND = 7


class Desk:
    """A directory with policies and a log, and the command there."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.log = str(directory / "log")
        (directory / "box").mkdir()
        (directory / "box" / "x").write_text("hello")
        self.reader = self.file("reader.json", READER)

    def file(self, name: str, content: Any) -> str:
        text = content if isinstance(content, str) else json.dumps(content)
        (self.directory / name).write_text(text)
        return str(self.directory / name)

    def caps(self, *args: str, stdin: str | None = None) -> Result:
        unset = dict.fromkeys(name for name in os.environ if name.startswith("CAPS_"))
        return CliRunner().invoke(main, args, input=stdin, env={**unset})

    def policy(self, *args: str) -> Result:
        return self.caps("policy", *args)

    def record(self, code: str) -> None:
        """A run under the reader's policy, in the log."""
        path = self.file("code.py", code)
        self.caps("run", path, "--policy", self.reader, "--audit", self.log)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def is_one_line_of_ours(text: str) -> bool:
    return text.startswith("caps: ") and text.endswith("\n") and text.count("\n") == 1


class TestTest:
    def test_each_test_is_shown(self, desk: Desk) -> None:
        """What was expected, what came, and why; exit code 0."""
        result = desk.policy("test", desk.reader)
        assert result.exit_code == 0
        first, second, last = result.stdout.splitlines()
        assert first.startswith("ok: ")
        assert first.endswith("expect allow, got allow (allowed)")
        assert second.endswith("expect deny, got deny (not_allowed)")
        assert last == "2 of 2 tests pass"

    def test_one_that_fails_does_not_hide_the_others(self, desk: Desk) -> None:
        """Exit code 7, and all of them are run."""
        wrong = [{"call": "time.now", "expect": "allow"}, {"call": "time.now", "expect": "deny"}]
        policy = desk.file("wrong.json", {**READER, "tests": wrong})
        result = desk.policy("test", policy)
        assert result.exit_code == FOUND
        assert result.stdout.startswith("FAILED: ")
        assert result.stdout.endswith("1 of 2 tests pass\n")

    @pytest.mark.parametrize("wrapped", [True, False])
    def test_more_tests_come_from_a_file(self, desk: Desk, wrapped: bool) -> None:
        """An array of them, or another policy's."""
        tests = [{"call": "math.add", "payload": {"a": 1, "b": 2}, "expect": "deny"}]
        more = desk.file("more.json", {"tests": tests} if wrapped else tests)
        result = desk.policy("test", desk.reader, "--tests", more, "--json")
        found = json.loads(result.stdout)
        assert (result.exit_code, found["failed"]) == (FOUND, 1)
        assert [test["passed"] for test in found["tests"]] == [True, True, False]
        assert found["tests"][-1]["source"] == more

    @pytest.mark.parametrize("content", ["[", "[1]", '[{"call": "a"}]', "[]", "{}", '"x"'])
    def test_a_file_of_tests_that_is_none(self, desk: Desk, content: str) -> None:
        """One line, exit code 4."""
        more = desk.file("more.json", content)
        result = desk.policy("test", desk.reader, "--tests", more)
        assert result.exit_code == 4
        assert is_one_line_of_ours(result.stderr)

    def test_a_file_of_tests_that_is_not_there(self, desk: Desk) -> None:
        """Bad usage."""
        result = desk.policy("test", desk.reader, "--tests", "nowhere.json")
        assert (result.exit_code, is_one_line_of_ours(result.stderr)) == (2, True)


class TestExplain:
    def test_the_smallest_change_and_what_it_opens(self, desk: Desk) -> None:
        """As a sentence and as a patch."""
        result = desk.policy(
            "explain", "files.read", '{"path": "/srv/a/x"}', "--policy", desk.reader
        )
        assert result.exit_code == 3
        assert "to allow it: add to `scopes.files.allowlist`: '/srv/a'\n" in result.stdout
        assert "  opens: everything beneath `/srv/a`, to `files.read`\n" in result.stdout
        assert '"path": "/scopes/files/allowlist/-"' in result.stdout

    def test_a_test_that_would_break(self, desk: Desk) -> None:
        """The policy itself says that this must not be."""
        policy = desk.file("p.json", {"tests": [{"call": "time.now", "expect": "deny"}]})
        result = desk.policy("explain", "time.now", "--policy", policy)
        assert "then this test of the policy fails: tests[0]\n" in result.stdout

    def test_what_nothing_allows(self, desk: Desk) -> None:
        """It is said in the same place."""
        result = desk.policy("explain", "math.add", '{"a": "x"}', "--policy", desk.reader)
        assert result.exit_code == 3
        assert "nothing in the policy can allow it: " in result.stdout

    def test_hostile_text_is_escaped(self, desk: Desk) -> None:
        """A payload cannot move the cursor."""
        payload = json.dumps({"path": "/srv/\x1b[2J/x"})
        result = desk.policy("explain", "files.read", payload, "--policy", desk.reader)
        assert "\x1b" not in result.stdout


class TestDiff:
    def test_a_wider_policy(self, desk: Desk) -> None:
        """Exit code 7 only if it was asked for."""
        wider = desk.file("wider.json", {**READER, "allow": ["files.read", "math.*", "time.now"]})
        result = desk.policy("diff", desk.reader, wider)
        assert result.exit_code == 0
        assert result.stdout == "wider: time.now: withheld -> granted\nverdict: wider\n"
        assert desk.policy("diff", desk.reader, wider, "--fail-on-wider").exit_code == FOUND
        assert desk.policy("diff", wider, desk.reader, "--fail-on-wider").exit_code == 0

    def test_for_programs(self, desk: Desk) -> None:
        """Every difference with its width."""
        other = desk.file("other.json", {**READER, "allow": ["files.read"]})
        found = json.loads(desk.policy("diff", desk.reader, other, "--json").stdout)
        assert found["verdict"] == "narrower"
        assert found["lost"] == ["math.add", "math.divide", "math.multiply", "math.subtract"]

    def test_a_policy_that_is_none(self, desk: Desk) -> None:
        """Exit code 4, as everywhere."""
        bad = desk.file("bad.json", {"allow": ["math.ad"]})
        result = desk.policy("diff", desk.reader, bad)
        assert (result.exit_code, is_one_line_of_ours(result.stderr)) == (4, True)


class TestLint:
    def test_findings_with_their_places(self, desk: Desk) -> None:
        """The place is the one in the file, whatever order the policy has inside."""
        policy = desk.file("p.json", {"allow": ["time.now", "math.add"], "deny": ["math.*"]})
        result = desk.policy("lint", policy)
        assert result.exit_code == FOUND
        assert "warning: shadowed-allow at /allow/1: " in result.stdout

    def test_what_the_exit_code_counts(self, desk: Desk) -> None:
        """By default warnings do, and findings of level info do not."""
        assert desk.policy("lint", desk.reader).exit_code == 0
        assert desk.policy("lint", desk.reader, "--fail-on", "info").exit_code == FOUND
        bare = desk.file("bare.json", {"allow": ["time.now"]})
        assert desk.policy("lint", bare).exit_code == FOUND
        assert desk.policy("lint", bare, "--fail-on", "error").exit_code == 0

    def test_for_programs(self, desk: Desk) -> None:
        """Also of a policy that does not fit the registry."""
        policy = desk.file("p.json", {"allow": ["math.ad"]})
        result = desk.policy("lint", policy, "--json")
        (first, *_) = json.loads(result.stdout)["findings"]
        assert first.keys() == {"code", "severity", "place", "message", "remedy", "policy"}
        assert (first["code"], first["severity"], first["place"]) == (
            "unknown-rule",
            "error",
            "/allow/0",
        )

    @pytest.mark.parametrize("name", ["reader", "tour", "deny-all"])
    def test_the_examples_have_no_flaws(self, desk: Desk, name: str) -> None:
        """What we show is what we would sign."""
        policy = Path(__file__).parents[3] / "policies" / f"{name}.json"
        assert desk.policy("lint", str(policy)).exit_code == 0


class TestReplay:
    CODE = (
        "await caps.files.read(path='x')\n"
        "await caps.math.add(a=1, b=2)\n"
        "try:\n"
        "    await caps.files.read(path='/srv/data/x')\n"
        "except caps.PolicyDeniedError:\n"
        "    pass\n"
    )

    def test_what_a_new_policy_changes(self, desk: Desk) -> None:
        """Both ways, with counts, and exit code 7."""
        desk.record(self.CODE)
        new = {
            "id": "new",
            "allow": ["files.read"],
            "scopes": {"files": {"allowlist": ["./box", "/srv/data"]}},
        }
        result = desk.policy("replay", desk.log, "--policy", desk.file("new.json", new), "--json")
        assert result.exit_code == FOUND
        found = json.loads(result.stdout)
        assert found["counts"] == {"same": 1, "deny->allow": 1, "allow->deny": 1, "unknown": 0}
        changed = [(one["turn"], one["capability"]) for one in found["decisions"]]
        assert changed == [("allow->deny", "math.add"), ("deny->allow", "files.read")]

    def test_the_table_says_why(self, desk: Desk) -> None:
        """One row for each, and the counts below."""
        desk.record(self.CODE)
        result = desk.policy("replay", desk.log, "--policy", desk.file("none.json", {"id": "no"}))
        assert result.exit_code == FOUND
        assert "change" in result.stdout.splitlines()[0]
        assert result.stdout.endswith("1 same, 0 deny->allow, 2 allow->deny, 0 unknown\n")

    def test_nothing_changes_under_the_same_policy(self, desk: Desk) -> None:
        """Exit code 0."""
        desk.record(self.CODE)
        result = desk.policy("replay", desk.log, "--policy", desk.reader)
        assert result.exit_code == 0
        assert result.stdout == "3 same, 0 deny->allow, 0 allow->deny, 0 unknown\n"

    def test_what_is_not_known_can_count(self, desk: Desk) -> None:
        """For a user who must be certain."""
        desk.record("try:\n    caps.time\nexcept caps.PolicyDeniedError:\n    pass\n")
        code = desk.file("learn.py", "await caps.files.write(path='x', content='y')")
        desk.policy("learn", code, "--policy", desk.reader, "--audit", desk.log)
        new = {"allow": ["files.write"], "scopes": {"files": {"allowlist": ["./box"]}}}
        args = ("replay", desk.log, "--policy", desk.file("new.json", new))
        assert desk.policy(*args).exit_code == 0
        assert desk.policy(*args, "--fail-on-unknown").exit_code == FOUND

    def test_a_directory_that_is_no_log(self, desk: Desk) -> None:
        """It does not count as unchanged."""
        for place in (str(desk.directory), str(desk.directory / "nowhere")):
            result = desk.policy("replay", place, "--policy", desk.reader)
            assert result.exit_code in (2, 6)
            assert is_one_line_of_ours(result.stderr)


class TestLearn:
    CODE = (
        "asked = 0\n"
        "for call in (caps.files.write(path='/srv/out/y', content='z'), caps.time.now()):\n"
        "    try:\n"
        "        await call\n"
        "    except caps.PolicyDeniedError:\n"
        "        asked += 1\n"
        "await caps.files.read(path='x')\n"
    )

    def test_from_code(self, desk: Desk) -> None:
        """The policy alone is on standard output, and it is valid."""
        code = desk.file("code.py", self.CODE)
        result = desk.policy("learn", code, "--policy", desk.reader, "--audit", desk.log)
        assert result.exit_code == 0
        policy = json.loads(result.stdout)
        assert policy["allow"] == ["files.read", "files.write", "time.now"]
        box = str(desk.directory / "box")
        assert policy["scopes"]["files"]["allowlist"] == [box, "/srv/out"]
        why = "it was called (refused by the policy it ran under, once: this opens it)"
        assert f'/allow/1 = "files.write": {why}; once\n' in result.stderr
        learned = desk.file("learned.json", result.stdout)
        assert desk.policy("validate", learned).exit_code == 0
        assert desk.policy("lint", learned).exit_code == 0

    def test_from_a_log(self, desk: Desk) -> None:
        """What was allowed, of all executions or of one."""
        desk.record("await caps.files.read(path='x')")
        desk.record("await caps.math.add(a=1, b=2)")
        every = json.loads(desk.policy("learn", desk.log, "--json").stdout)
        assert every["policy"]["allow"] == ["files.read", "math.add"]
        assert every.keys() == {"policy", "evidence", "left_out", "notes"}
        shown = desk.caps("audit", "show", "--json", "--audit", desk.log).stdout.splitlines()
        first = next(
            record["execution_id"]
            for record in map(json.loads, shown)
            if record["kind"] == "execution_started"
        )
        one = desk.policy("learn", desk.log, "--execution", first, "--json")
        assert json.loads(one.stdout)["policy"]["allow"] == ["files.read"]

    @pytest.mark.parametrize(
        "args",
        [
            ("nowhere.py",),
            (".",),
            ("code.py", "--id", "no id"),
        ],
    )
    def test_bad_usage(
        self, desk: Desk, args: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """One line, exit code 2."""
        monkeypatch.chdir(desk.directory)
        desk.file("code.py", "1")
        result = desk.policy("learn", *args, "--audit", desk.log)
        assert result.exit_code == 2
        assert result.stderr.splitlines()[-1].startswith("caps: ")

    def test_code_that_asks_for_nothing(self, desk: Desk) -> None:
        """The proposal is to allow nothing."""
        result = desk.policy("learn", desk.file("c.py", "1 + 1"), "--audit", desk.log)
        assert json.loads(result.stdout)["allow"] == []
        assert "nothing was asked for" in result.stderr
