"""`caps run`, `caps policy` and `caps capabilities`: what they print and what they exit with.

Most tests call the command in this process; real workers run the code. Where the process itself
matters (pipes, terminals, start-up) the installed script is started.
"""

from __future__ import annotations

import ast
import gc
import getpass
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from caps import builtin_registry
from caps.cli.main import main
from caps.protocol.environment import Variable
from caps.security.audit import ExecutionStarted, PolicyLoaded, read_records

SCRIPT = Path(sys.executable).with_name("caps")
VARIABLES = (
    "CAPS_POLICY_PATH",
    "CAPS_APPROVALS_PATH",
    "CAPS_AUDIT_PATH",
    "CAPS_REGISTRY",
    "CAPS_CAPABILITY_DEFAULT_TIMEOUT_MS",
)
READER = {
    "id": "reader",
    "allow": ["files.read", "math.*"],
    "scopes": {"files": {"allowlist": ["."]}},
    "tests": [{"call": "files.write", "payload": {}, "expect": "deny"}],
}


class Place:
    """A directory with a policy, code, notes to read and an audit log, and the command there."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.audit = directory / "audit"
        self.policy = directory / "policy.json"
        self.policy.write_text(json.dumps(READER))
        (directory / "notes.txt").write_text("buy milk\n")

    def code(self, source: str, name: str = "task.py") -> str:
        """The path of a file with this code."""
        (self.directory / name).write_text(source)
        return str(self.directory / name)

    def policy_of(self, content: str | dict[str, Any], name: str = "other.json") -> str:
        """The path of a policy file with this content."""
        text = content if isinstance(content, str) else json.dumps(content)
        (self.directory / name).write_text(text)
        return str(self.directory / name)

    def environment(self, **more: str) -> dict[str, str]:
        """The environment for a separate process."""
        kept = {name: text for name, text in os.environ.items() if name not in VARIABLES}
        return {**kept, "CAPS_AUDIT_PATH": str(self.audit), **more}

    def caps(self, *args: str, stdin: str | bytes | None = None, **variables: str) -> Result:
        """`caps <args>` in this process."""
        environment: dict[str, str | None] = dict.fromkeys(VARIABLES)
        environment |= {"CAPS_AUDIT_PATH": str(self.audit), **variables}
        return CliRunner().invoke(main, args, input=stdin, env=environment)

    def run(self, source: str, *args: str, **variables: str) -> Result:
        """`caps run` of this code under the policy of this place."""
        return self.caps("run", self.code(source), "--policy", str(self.policy), *args, **variables)

    def events(self) -> list[Any]:
        return [record.event for record in read_records(self.audit)]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def is_one_line_of_ours(text: str) -> bool:
    """Whether `text` is a single message, with no traceback."""
    return text.startswith("caps: ") and text.endswith("\n") and text.count("\n") == 1


class TestRun:
    def test_output_comes_first_and_the_value_last(self, place: Place) -> None:
        """Exit code 0: the code ran to its end."""
        result = place.run("print('hello')\n(await caps.math.add(a=1, b=2)).result")
        assert (result.exit_code, result.stdout, result.stderr) == (0, "hello\n=> 3\n", "")

    def test_no_value_prints_nothing(self, place: Place) -> None:
        """A statement at the end has no value to show."""
        result = place.run("x = 1")
        assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")

    def test_a_scope_is_taken_from_the_place_of_the_policy(self, place: Place) -> None:
        """`.` is the directory of the policy file, wherever the command runs."""
        result = place.run("(await caps.files.read(path='notes.txt')).content")
        assert (result.exit_code, result.stdout) == (0, "=> 'buy milk\\n'\n")

    def test_without_a_policy_nothing_is_granted(self, place: Place) -> None:
        """Deny by default, and code that needs nothing runs."""
        source = place.code("hasattr(caps, 'math')")
        assert place.caps("run", source).stdout == "=> False\n"

    def test_code_may_come_from_standard_input(self, place: Place) -> None:
        """`-` stands for it, and errors call it `<stdin>`."""
        assert place.caps("run", "-", stdin="6 * 7").stdout == "=> 42\n"
        failed = place.caps("run", "-", stdin="1 / 0")
        assert failed.exit_code == 1
        assert "<stdin>" in failed.stderr

    def test_the_variables_name_policy_and_audit(self, place: Place) -> None:
        """They count when the options are not given."""
        elsewhere = place.directory / "elsewhere"
        source = place.code("(await caps.math.add(a=1, b=2)).result")
        result = place.caps(
            "run", source, CAPS_POLICY_PATH=str(place.policy), CAPS_AUDIT_PATH=str(elsewhere)
        )
        assert result.stdout == "=> 3\n"
        policies = [record.event for record in read_records(elsewhere)]
        assert [e.policy_id for e in policies if isinstance(e, PolicyLoaded)] == ["reader"]
        assert not place.audit.exists()

    def test_a_misspelt_variable_of_the_log_is_reported(self, place: Place) -> None:
        """It has no effect, and the user who set it expected one."""
        result = place.run("1", CAPS_AUDIT_DURABLITY="os")
        assert (result.exit_code, result.stdout) == (0, "=> 1\n")
        assert result.stderr == (
            "caps: warning: nothing reads `CAPS_AUDIT_DURABLITY`; "
            "did you mean `CAPS_AUDIT_DURABILITY`?\n"
        )

    @pytest.mark.parametrize(
        "command",
        [("audit", "verify"), ("audit", "stats"), ("functions",), ("approvals", "list")],
    )
    def test_every_command_tells_of_a_misspelt_variable(
        self, place: Place, command: tuple[str, ...]
    ) -> None:
        """Of all that begin as those of caps do."""
        result = place.caps(*command, CAPS_POLICY_PAHT="p.json", CAPS_AUDIT_PAHT="log")
        assert [line for line in result.stderr.splitlines() if "warning" in line] == [
            "caps: warning: nothing reads `CAPS_AUDIT_PAHT`; did you mean `CAPS_AUDIT_PATH`?",
            "caps: warning: nothing reads `CAPS_POLICY_PAHT`; did you mean `CAPS_POLICY_PATH`?",
        ]

    def test_a_variable_that_is_like_none_is_reported_without_a_guess(self, place: Place) -> None:
        """A suggestion that is not meant would not help."""
        result = place.run("1", CAPS_ZZZ="1")
        assert result.stderr == "caps: warning: nothing reads `CAPS_ZZZ`\n"

    def test_the_variables_that_are_known_are_those_that_the_sources_name(self) -> None:
        """So that none of them is ever reported as misspelt.

        Each one is read through the table: no other source has its name as a string, and each row
        is used by some other source.
        """
        src = Path(__file__).parents[3] / "src"
        table = src / "protocol" / "environment.py"
        sources = [path.read_text() for path in src.rglob("*.py") if path != table]
        named, strings, rows = (
            {found for source in sources for found in re.findall(pattern, source)}
            for pattern in (
                r"\bCAPS_[A-Z]\w+",
                r"""["'](CAPS_[A-Z]\w+)["']""",
                r"\bVariable\.([A-Z]\w+)\b",
            )
        )
        assert named - {
            "CAPS_AUDIT",
            "CAPS_FORBID_SKIPS",
            "CAPS_AUDIT_DURABLITY",
            "CAPS_SECRET_",  # a prefix: the names of secrets are the operator's
            "CAPS_SECRET_GITHUB",
        } <= {variable.key for variable in Variable}
        assert strings == {"CAPS_FORBID_SKIPS", "CAPS_SECRET_"}
        assert rows == {variable.name for variable in Variable}

    def test_options_beat_the_variables(self, place: Place) -> None:
        """The option on the command line takes precedence."""
        chosen = place.directory / "chosen"
        result = place.run("1", "--audit", str(chosen), CAPS_POLICY_PATH="/no/such/policy.json")
        assert result.exit_code == 0
        assert chosen.is_dir()
        assert not place.audit.exists()

    def test_the_log_says_for_whom_it_ran(self, place: Place) -> None:
        """The principal and the agent of the options."""
        place.run("1", "--principal", "alice", "--agent", "agent-7")
        (started,) = [event for event in place.events() if isinstance(event, ExecutionStarted)]
        assert (started.principal, started.agent) == ("alice", "agent-7")

    def test_a_user_without_a_name_is_a_number(
        self, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As in a container whose user has no entry."""

        def nameless() -> str:
            raise KeyError("getpwuid(): uid not found")

        monkeypatch.setattr(getpass, "getuser", nameless)
        assert place.run("1").exit_code == 0
        (started,) = [event for event in place.events() if isinstance(event, ExecutionStarted)]
        assert started.principal == f"user:{os.getuid()}"

    def test_the_trail_shows_what_was_decided(self, place: Place) -> None:
        """One table after the result; JSON output stays valid."""
        source = "await caps.files.read(path='notes.txt')\n1"
        shown = place.run(source, "--trail").stdout
        assert shown.startswith("=> 1\n")
        assert "files.read" in shown
        assert "allow" in shown
        beside = place.run(source, "--trail", "--json")
        assert json.loads(beside.stdout)["value"] == 1
        assert "files.read" in beside.stderr

    @pytest.mark.parametrize(
        ("source", "shown"),
        [
            ("10 ** 5000", "=> '0x"),
            ("{1: [b'x', None]}", "=> {1: [b'x', None]}\n"),
            ("object()", "=> <object object at"),
        ],
    )
    def test_odd_values_are_shown(self, place: Place, source: str, shown: str) -> None:
        """Whatever the value is, the command does not fail over it."""
        result = place.run(source)
        assert result.exit_code == 0
        assert result.stdout.startswith(shown)

    def test_a_file_whose_name_is_no_text_runs(self, place: Place) -> None:
        """Names of files are bytes."""
        name = os.fsdecode(b"caf\xe9.py")
        source = place.code("1 / 0", name)
        done = subprocess.run(
            [SCRIPT, "run", source], env=place.environment(), capture_output=True, check=False
        )
        assert done.returncode == 1
        assert b"caf?.py" in done.stderr

    def test_escapes_are_left_alone_where_that_is_asked_for(self, place: Place) -> None:
        """With `--raw` a file gets the very bytes; JSON has them escaped."""
        code = r"print('\x1b[31mred\r')"
        assert place.run(code, "--raw").stdout_bytes == b"\x1b[31mred\r\n"
        shown = place.run(code, "--json").stdout
        assert "\x1b" not in shown
        assert json.loads(shown)["stdout"] == "\x1b[31mred\r\n"

    def test_escapes_do_not_reach_a_file(self, place: Place) -> None:
        """A terminal may show it later; other characters are as they were printed."""
        code = r"""
class Value:
    def __repr__(self): return '\x9b2J'
print('\x1b[31mred \u202e\x00\x07\x08 a\rb')
print('caf\xe9\u3000\U0001f469\u200d\U0001f4bb\xa0\tx\r')
Value()
"""
        lines = place.run(code).stdout_bytes.decode().split("\n")
        assert lines[0] == "\ufffd[31mred \ufffd\ufffd\ufffd\ufffd a\ufffdb"
        assert lines[1] == "caf\xe9\u3000\U0001f469\u200d\U0001f4bb\xa0\tx\r"
        assert lines[2] == "=> \ufffd2J"

    def test_escapes_do_not_reach_a_terminal(self, place: Place) -> None:
        """What the code prints cannot control the terminal of the user who runs it."""
        source = place.code(r"print('\x1b[31mred'); '\x1b[2J'")
        reader, writer = pty.openpty()
        try:
            subprocess.run(
                [SCRIPT, "run", source], env=place.environment(), stdout=writer, check=True
            )
            os.close(writer)
            shown = os.read(reader, 65536)
        finally:
            os.close(reader)
        assert b"[31mred" in shown
        assert b"\x1b" not in shown

    def test_a_reader_that_leaves_does_not_end_the_run(self, place: Place) -> None:
        """The code runs to its end, with its evidence, and there is no traceback."""
        source = place.code("for n in range(2000):\n    print('line', n, 'x' * 100)")
        reader, writer = os.pipe()
        os.close(reader)
        try:
            done = subprocess.run(
                [SCRIPT, "run", source],
                env=place.environment(),
                stdout=writer,
                stderr=subprocess.PIPE,
                check=False,
            )
        finally:
            os.close(writer)
        assert (done.returncode, done.stderr) == (0, b"")
        assert place.events()[-1].status.value == "ok"


class TestExitCodes:
    def test_1_the_code_failed(self, place: Place) -> None:
        """With the user's own line, and nothing of the host's."""
        result = place.run("x = 0\n1 / x")
        assert result.exit_code == 1
        assert 'File "task.py", line 2' in result.stderr
        assert "1 / x" in result.stderr
        assert "ZeroDivisionError: division by zero" in result.stderr
        for foreign in ("worker", sys.prefix, str(place.directory), "site-packages"):
            assert foreign not in result.stderr

    @pytest.mark.parametrize(
        ("code", "options", "exit_code"),
        [
            ("sys.exit(3)", (), 1),
            ("sys.exit(3)", ("--exit-status",), 3),
            ("sys.exit(-1)", ("--exit-status",), 255),
            ("sys.exit(256)", ("--exit-status",), 1),
            ("sys.exit('no')", ("--exit-status",), 1),
            ("sys.exit()", ("--exit-status",), 0),
            ("1 / 0", ("--exit-status",), 1),
            ("await caps.files.write('x', 'y')", ("--exit-status",), 3),
        ],
    )
    def test_the_status_of_the_code_is_passed_on_if_asked_for(
        self, place: Place, code: str, options: tuple[str, ...], exit_code: int
    ) -> None:
        """Otherwise it could be taken for one of ours; a failure is never a zero."""
        assert place.run(f"import sys\n{code}", *options).exit_code == exit_code

    def test_fences_are_stripped_if_asked_for(self, place: Place) -> None:
        """The code of a model's answer runs; without the option the error says what is wrong."""
        answer = "Here it is:\n```python\n1 + 1\n```\n"
        assert place.run(answer, "--strip-fences").stdout == "=> 2\n"
        refused = place.run(answer)
        assert refused.exit_code == 1
        assert "remove the Markdown fences around the code" in refused.stderr

    def test_1_a_syntax_error_points_at_its_place(self, place: Place) -> None:
        """Line and caret, as Python does."""
        result = place.run("x = 1\ny = (1 +\n")
        assert result.exit_code == 1
        lines = result.stderr.splitlines()
        assert any('File "task.py", line 2' in line for line in lines)
        assert any("y = (1 +" in line for line in lines)
        assert any(line.strip() == "^" for line in lines)

    def test_1_a_syntax_error_never_ran(self, place: Place) -> None:
        """The result says that no line of it did."""
        found = json.loads(place.run("x = = 1", "--json").stdout)
        assert (found["started"], found["error"]["line"]) == (False, 1)

    @pytest.mark.parametrize(
        "args",
        [
            ("run",),
            ("run", "/no/such/file.py"),
            ("run", "/"),
            ("bogus",),
            ("run", "--bogus", "x.py"),
            ("policy", "explain", "math.add", "not json"),
            ("policy", "explain", "math.add", "[1]"),
            ("functions", "--registry", "no_such_module_here:registry"),
            ("functions", "--registry", "os:sep"),
            ("functions", "--registry", "os:no_such_name"),
            ("functions", "--registry", ":"),
        ],
        ids=" ".join,
    )
    def test_2_bad_usage(self, place: Place, args: tuple[str, ...]) -> None:
        """The request makes no sense; one line says so, without a traceback."""
        result = place.caps(*args)
        assert result.exit_code == 2
        assert result.stderr
        assert "Traceback" not in result.stderr

    def test_2_a_source_that_is_no_text(self, place: Place) -> None:
        """The message says at which byte."""
        source = place.directory / "binary.py"
        source.write_bytes(b"x = 1\n\xff\xfe")
        result = place.caps("run", str(source))
        assert result.exit_code == 2
        assert result.stderr == f"caps: `{source}` is not UTF-8 text: byte 6\n"

    def test_2_a_bad_variable(self, place: Place) -> None:
        """The operator set it, so it is usage and no failure of the host."""
        result = place.run("1", CAPS_CAPABILITY_DEFAULT_TIMEOUT_MS="soon")
        assert result.exit_code == 2
        assert "CAPS_CAPABILITY_DEFAULT_TIMEOUT_MS is `soon`" in result.stderr
        assert is_one_line_of_ours(result.stderr)

    @pytest.mark.parametrize(
        ("source", "capability"),
        [
            ("await caps.files.write(path='a', content='b')", "files.write"),
            ("await caps.files.read(path='/etc/passwd')", "files.read"),
        ],
        ids=["missing wrapper", "outside the scope"],
    )
    def test_3_the_policy_refused(self, place: Place, source: str, capability: str) -> None:
        """The uncaught error names the capability and the policy."""
        result = place.run(source)
        assert result.exit_code == 3
        last = result.stderr.splitlines()[-1]
        assert last.startswith("PolicyDeniedError: ") or "MissingError: " in last
        assert f"`{capability}` is not granted by policy `reader`" in last

    def test_3_a_refusal_that_was_caught_is_no_failure(self, place: Place) -> None:
        """The code handled it."""
        source = (
            "try:\n    await caps.files.read(path='/etc/passwd')\n"
            "except PolicyDeniedError as error:\n    print(error.reason)"
        )
        result = place.run(source)
        assert (result.exit_code, result.stdout) == (0, "scope_violation\n")

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("{", "is not JSON"),
            ("[]", "should be an object, got array"),
            ('{"alow": []}', "unknown key (did you mean `allow`?) at `alow`"),
            ('{"allow": ["files.raed"]}', "no capability `files.raed` is registered"),
            ('{"scopes": {"files": {"alowlist": []}}}', "scopes.files.alowlist"),
            (
                '{"tests": [{"call": "math.add", "expect": "allow"}]}',
                "`math.add` was expected to allow and gave deny",
            ),
        ],
        ids=["malformed", "no object", "unknown key", "unregistered", "scope", "failing test"],
    )
    @pytest.mark.parametrize("command", ["run", "validate", "explain", "functions"])
    def test_4_the_policy_is_invalid(
        self, place: Place, command: str, content: str, message: str
    ) -> None:
        """Every command says the same in one line, and no code runs."""
        policy = place.policy_of(content)
        args = {
            "run": ("run", place.code("print('ran')"), "--policy", policy),
            "validate": ("policy", "validate", policy),
            "explain": ("policy", "explain", "math.add", "--policy", policy),
            "functions": ("functions", "--policy", policy),
        }[command]
        result = place.caps(*args)
        assert (result.exit_code, result.stdout) == (4, "")
        assert message in result.stderr
        assert f"policy `{policy}`" in result.stderr
        assert is_one_line_of_ours(result.stderr)

    @pytest.mark.parametrize(
        ("path", "message"),
        [
            ("missing.json", "no such file"),
            (".", "is a directory"),
            ("task.py/x", "cannot be read"),
        ],
    )
    def test_4_the_policy_cannot_be_read(self, place: Place, path: str, message: str) -> None:
        """By the option and by the variable alike."""
        source, policy = place.code("1"), str(place.directory / path)
        for result in (
            place.caps("run", source, "--policy", policy),
            place.caps("run", source, CAPS_POLICY_PATH=policy),
        ):
            assert result.exit_code == 4
            assert message in result.stderr

    def test_4_a_refused_policy_is_in_the_log(self, place: Place) -> None:
        """A reader of the evidence sees the attempt."""
        place.caps("run", place.code("1"), "--policy", place.policy_of("{"))
        (loaded,) = [event for event in place.events() if isinstance(event, PolicyLoaded)]
        assert loaded.status == "refused"

    @pytest.mark.parametrize(
        ("limits", "source", "limit"),
        [
            ({"wall_ms": 300}, "while True: pass", "wall_ms"),
            ({"calls": 1}, "for _ in range(2): await caps.math.add(a=1, b=1)", "calls"),
            ({"output_bytes": 10}, "print('x' * 100)", "output_bytes"),
        ],
        ids=["time", "calls", "output"],
    )
    def test_5_a_limit_was_reached(
        self, place: Place, limits: dict[str, int], source: str, limit: str
    ) -> None:
        """The message names the limit by its name in the policy."""
        policy = place.policy_of({"allow": ["math.*"], "limits": limits})
        result = place.caps("run", place.code(source), "--policy", policy)
        assert result.exit_code == 5
        assert f"limits.{limit}" in result.stderr

    def test_6_the_audit_log_cannot_be_opened(self, place: Place) -> None:
        """No evidence, no run."""
        marker = place.directory / "notes.txt"
        for audit in (marker, marker / "below"):
            result = place.run("print('ran')", "--audit", str(audit))
            assert (result.exit_code, result.stdout) == (6, "")
            assert f"cannot open audit log `{audit}`" in result.stderr
            assert is_one_line_of_ours(result.stderr)


class TestCheck:
    def test_calls_that_must_fail_are_all_listed_and_nothing_runs(self, place: Place) -> None:
        """The first with its line, the others below it; the code printed nothing."""
        source = "print('ran')\nawait caps.files.reed('a')\nawait caps.math.add(1)"
        result = place.run(source, "--check")
        assert (result.exit_code, result.stdout) == (1, "")
        assert "did you mean `files.read`? (and 1 more)" in result.stderr
        assert "  line 3: `caps.math.add` lacks `b`\n" in result.stderr

    def test_code_without_such_calls_runs(self, place: Place) -> None:
        """As it does without the check."""
        result = place.run("print('ran')\nawait caps.math.add(1, 2)", "--check")
        assert (result.exit_code, result.stdout.splitlines()[0]) == (0, "ran")


class TestJson:
    def found(self, result: Result) -> dict[str, Any]:
        """The object on standard output, read as strictly as other readers do."""

        def refuse(constant: str) -> float:
            raise ValueError(f"{constant} is not JSON")

        found = json.loads(result.stdout, parse_constant=refuse)
        assert isinstance(found, dict)
        assert found.keys() == {
            "execution_id",
            "ok",
            "status",
            "started",
            "value",
            "value_is_repr",
            "value_spelling",
            "stdout",
            "error",
            "usage",
            "decisions",
            "note",
            "artifacts",
        }
        return found

    def test_a_good_run(self, place: Place) -> None:
        """Value, output, usage and every decision, in one object and nothing else."""
        result = place.run("print('hi')\n(await caps.math.add(a=1, b=2)).result", "--json")
        found = self.found(result)
        assert (result.exit_code, result.stderr) == (0, "")
        assert (found["ok"], found["status"], found["started"]) == (True, "ok", True)
        assert (found["value"], found["value_is_repr"]) == (3, False)
        assert (found["stdout"], found["error"]) == ("hi\n", None)
        usage = {"duration_ms", "calls", "output_bytes", "cpu_ms", "max_rss_kb"}
        assert found["usage"].keys() == usage
        assert found["usage"]["cpu_ms"] >= 0
        assert found["usage"]["max_rss_kb"] > 1000
        assert (found["usage"]["calls"], found["usage"]["output_bytes"]) == (1, 3)
        (decision,) = found["decisions"]
        assert decision == {
            "request_id": decision["request_id"],
            "capability": "math.add",
            "decision": "allow",
            "reason": "allowed",
            "rule": "math.*",
            "message": "allowed",
            "approval": None,
            "dry_run_rule": None,
        }
        started = [event for event in place.events() if isinstance(event, ExecutionStarted)]
        assert [event.execution_id for event in started] == [found["execution_id"]]

    def test_a_failed_run(self, place: Place) -> None:
        """The error says what, where and how it came about; the exit code is the same."""
        result = place.run("def f():\n    return 1 / 0\nf()", "--json")
        found = self.found(result)
        assert result.exit_code == 1
        assert (found["ok"], found["status"], found["value"]) == (False, "code_failed", None)
        error = found["error"]
        assert error.keys() == {
            "code",
            "type",
            "message",
            "filename",
            "line",
            "column",
            "end_column",
            "source_line",
            "hint",
            "traceback",
            "details",
            "frames",
        }
        assert (error["type"], error["message"]) == ("ZeroDivisionError", "division by zero")
        assert (error["line"], error["source_line"].strip()) == (2, "return 1 / 0")
        assert [frame["line"] for frame in error["frames"]] == [3, 2]
        assert {error["filename"], *(frame["filename"] for frame in error["frames"])} == {"task.py"}
        assert str(place.directory) not in result.stdout

    def test_a_refused_run(self, place: Place) -> None:
        """The refusal is among the decisions, with its reason."""
        result = place.run("await caps.files.read(path='/etc/passwd')", "--json")
        found = self.found(result)
        assert (result.exit_code, found["status"]) == (3, "policy_refused")
        assert found["error"]["code"] == "policy_denied"
        assert found["error"]["details"]["reason"] == "scope_violation"
        assert [d["decision"] for d in found["decisions"]] == ["deny"]

    @pytest.mark.parametrize(
        ("source", "value", "spelling"),
        [
            ("[float('nan'), float('inf'), 1.5]", ["nan", "inf", 1.5], "converted"),
            (
                "{None: 1, True: 2, 1.5: 3, 'a': b'x'}",
                {"null": 1, "true": 2, "1.5": 3, "a": "eA=="},
                "converted",
            ),
            ("(1, [True, None])", [1, [True, None]], "converted"),
            ("[1, {'a': [True, None]}]", [1, {"a": [True, None]}], "exact"),
            ("10 ** 400", 10**400, "exact"),
            ("object", "<class 'object'>", "repr"),
            (
                "from datetime import date\nfrom decimal import Decimal\n"
                "{'day': date(2024, 2, 29), 'price': Decimal('1.10'), 'tags': {'b', 'a'}}",
                {"day": "2024-02-29", "price": "1.10", "tags": ["a", "b"]},
                "converted",
            ),
        ],
    )
    def test_any_value_is_json(self, place: Place, source: str, value: Any, spelling: str) -> None:
        """What JSON has no form for is text or a list, and a field says that it is."""
        found = self.found(place.run(source, "--json"))
        assert (found["value"], found["value_spelling"]) == (value, spelling)
        assert found["value_is_repr"] is (spelling == "repr")

    def test_an_integer_of_very_many_digits_is_hexadecimal(self, place: Place) -> None:
        """Converting it to decimal takes quadratic time, and the code chose its length."""
        found = self.found(place.run("10 ** 5000", "--json"))
        assert int(found["value"], 16) == 10**5000


class TestPolicy:
    def test_validate_says_what_is_granted(self, place: Place) -> None:
        """In two lines for people."""
        known = len(builtin_registry(plugins="off"))
        result = place.caps("policy", "validate", str(place.policy))
        assert (result.exit_code, result.stderr) == (0, "")
        first, second = result.stdout.splitlines()
        assert first == f"policy `reader` is valid: grants 5 of {known} capabilities, 1 test passes"
        assert second.startswith("granted: files.read, math.add")

    def test_validate_for_programs(self, place: Place) -> None:
        """With what is withheld, and why."""
        found = json.loads(place.caps("policy", "validate", str(place.policy), "--json").stdout)
        named = "policy source sha256 granted approve dry_run withheld modules tests"
        assert found.keys() == set(named.split())
        assert (found["policy"], found["tests"], found["modules"]) == ("reader", 1, [])
        assert "files.read" in found["granted"]
        assert found["withheld"]["files.write"] == "not_allowed"

    def test_validate_says_what_waits_and_what_is_tried_out(self, place: Place) -> None:
        """Granted with an approval, and denied in dry run, are separate lines."""
        tried = {"rule": "math.*", "mode": "dry_run"}
        other = place.policy_of({**READER, "approve": ["files.read"], "deny": [tried]})
        lines = place.caps("policy", "validate", other).stdout.splitlines()
        assert lines[2:] == ["waits for an approval: files.read", "denied in dry run: math.*"]
        listed = place.caps("functions", "--policy", other, "--json").stdout
        standing = {entry["name"]: entry["granted"] for entry in json.loads(listed)}
        assert standing["files.read"] == "granted with approval"
        assert standing["math.add"] == "granted"

    def test_validate_takes_the_variable(self, place: Place) -> None:
        """Without a file, the one that is in force."""
        result = place.caps("policy", "validate", CAPS_POLICY_PATH=str(place.policy))
        assert result.stdout.startswith("policy `reader` is valid")

    def explain(self, place: Place, *args: str) -> Result:
        return place.caps("policy", "explain", *args, "--policy", str(place.policy))

    def test_explain_an_allow(self, place: Place) -> None:
        """Exit code 0, and the rule."""
        result = self.explain(place, "math.add", '{"a": 1, "b": 2}')
        assert result.exit_code == 0
        assert result.stdout == "allow: allowed\n  reason: allowed\n  rule: math.*\n"

    def test_explain_a_denial(self, place: Place) -> None:
        """Exit code 3, the reason, and the change that would allow it."""
        result = self.explain(place, "files.write", '{"path": "a", "content": "b"}')
        assert result.exit_code == 3
        assert result.stdout.startswith("deny: ")
        assert "  reason: not_allowed\n" in result.stdout
        assert "  nearest: allow: files.write\n" in result.stdout

    def test_explain_a_payload_that_does_not_fit(self, place: Place) -> None:
        """Each problem is a line."""
        result = self.explain(place, "math.add", '{"a": "x", "b": 2}')
        assert result.exit_code == 3
        assert "  problem: $.a: expected type integer or type number, got 'x'\n" in result.stdout

    def test_explain_after_what_was_read(self, place: Place) -> None:
        """The rules that cover the call, whether they apply, and what gave which label."""
        flow = {"id": "f", "after": ["private", "untrusted"], "deny": ["math.*"]}
        policy = place.policy_of({**READER, "labels": {"files.*": ["private"]}, "flows": [flow]})
        command = ("policy", "explain", "math.add", '{"a": 1, "b": 2}', "--policy", policy)
        before = place.caps(*command, "--after", "files.read")
        assert before.exit_code == 0
        assert "  after files.read: private\n" in before.stdout
        assert "  flows.f: deny after private and untrusted (not yet: untrusted)\n" in before.stdout
        after = place.caps(*command, "--after", "files.read", "--label", "untrusted")
        assert after.exit_code == 3
        assert "  rule: flows.f\n  after files.read: private\n" in after.stdout
        assert "  flows.f: deny after private and untrusted (applies)\n" in after.stdout
        assert "make the call first, or in another session" in after.stdout
        for wrong in (("--after", "files.raed"), ("--label", "No")):
            assert place.caps(*command, *wrong).exit_code == 2

    def test_explain_for_programs(self, place: Place) -> None:
        """The decision as a value."""
        payload = '{"path": "/etc/passwd"}'
        found = json.loads(self.explain(place, "files.read", payload, "--json").stdout)
        assert found.keys() == {
            "capability",
            "decision",
            "reason",
            "rule",
            "dry_run_rule",
            "dry_run_policy",
            "message",
            "detail",
            "nearest",
            "problems",
            "changes",
            "hopeless",
            "breaks_tests",
            "breaks_tests_of",
            "labels",
            "flows",
            "after",
            "policy",
            "policy_sha256",
            "modules",
        }
        assert (found["decision"], found["reason"]) == ("deny", "scope_violation")
        assert found["rule"] == "scopes.files.allowlist"

    def test_explain_tells_of_a_rule_that_is_tried_out(self, place: Place) -> None:
        """And of an approval that is waited for, which is not a plain denial."""
        tried = {"allow": ["math.*"], "deny": [{"rule": "math.add", "mode": "dry_run"}]}
        place.policy.write_text(json.dumps(tried))
        shown = self.explain(place, "math.add", '{"a": 1, "b": 2}').stdout
        assert "  dry run: rule `math.add` would deny it if it were in force\n" in shown
        place.policy.write_text(json.dumps({"allow": ["math.*"], "approve": ["math.add"]}))
        asked = self.explain(place, "math.add", '{"a": 1, "b": 2}')
        assert (asked.exit_code, asked.stdout.split(":")[0]) == (3, "approve")

    def test_explain_a_capability_that_does_not_exist(self, place: Place) -> None:
        """With the nearest one that does."""
        result = self.explain(place, "files.raed")
        assert result.exit_code == 3
        assert "  reason: unknown_capability\n" in result.stdout
        assert "  nearest: files.read\n" in result.stdout

    def test_real_modules_are_reported_with_what_they_mean(self, place: Place) -> None:
        """By `validate`, which loads them, by `explain`, and by the log of a run."""
        policy = json.loads(place.policy.read_text())
        place.policy.write_text(json.dumps({**policy, "modules": ["packaging", "idna"]}))
        told = "real modules: idna, packaging (the language layer does not protect against"
        validated = place.caps("policy", "validate", str(place.policy))
        assert (validated.exit_code, told in validated.stdout) == (0, True)
        assert told in self.explain(place, "math.add", '{"a": 1, "b": 2}').stdout
        result = place.run("import idna\nidna.encode('a.example').decode()", "--trail")
        assert "=> 'a.example'\n" in result.stdout
        shown = place.caps("audit", "show", "--json").stdout
        assert '"modules":["idna","packaging"]' in shown
        assert "real modules" in place.caps("audit", "show").stdout

    @pytest.mark.parametrize("command", ["validate", "run"])
    def test_a_module_that_is_missing_is_one_line(self, place: Place, command: str) -> None:
        """Which policy, which module, and what to do; nothing runs."""
        place.policy.write_text(json.dumps({"modules": ["not_installed_anywhere"]}))
        if command == "run":
            result = place.run("print('ran')")
        else:
            result = place.caps("policy", "validate", str(place.policy))
        assert (result.exit_code, result.stdout) == (4, "")
        assert is_one_line_of_ours(result.stderr)
        assert "module `not_installed_anywhere` cannot be imported" in result.stderr


class TestCapabilities:
    def test_without_a_policy_they_are_listed(self, place: Place) -> None:
        """Names, parameters and what each does."""
        result = place.caps("functions")
        assert result.exit_code == 0
        assert "files.read" in result.stdout
        assert "time.now" in result.stdout
        assert "granted" not in result.stdout

    @pytest.mark.parametrize("by", ["option", "variable"])
    def test_with_a_policy_each_has_its_standing(self, place: Place, by: str) -> None:
        """Granted, or why not."""
        if by == "option":
            result = place.caps("functions", "--json", "--policy", str(place.policy))
        else:
            result = place.caps("functions", "--json", CAPS_POLICY_PATH=str(place.policy))
        standing = {entry["name"]: entry["granted"] for entry in json.loads(result.stdout)}
        assert standing["files.read"] == "granted"
        assert standing["files.write"] == "not_allowed"

    def test_the_json_form_carries_the_schemas(self, place: Place) -> None:
        """For documentation and prompts."""
        entries = {e["name"]: e for e in json.loads(place.caps("functions", "--json").stdout)}
        assert entries["files.read"]["granted"] is None
        assert "path" in entries["files.read"]["schema_in"]["properties"]
        assert "allowlist" in entries["files.read"]["scope_schema"]["properties"]

    def test_stubs_show_what_is_granted_and_nothing_else(self, place: Place) -> None:
        """As Python, for a prompt; without a policy, nothing."""
        result = place.caps("functions", "--stubs", "--policy", str(place.policy))
        assert (result.exit_code, result.stderr) == (0, "")
        ast.parse(result.stdout)
        assert "async def read(\n        self,\n        path: str," in result.stdout
        assert "write" not in result.stdout
        nothing = place.caps("functions", "--stubs")
        assert (nothing.exit_code, "class Caps:\n    pass" in nothing.stdout) == (0, True)

    def test_capabilities_are_what_agents_are_given(self, place: Place) -> None:
        """Key, status, category, icon and tools of each; as JSON with ids and a total."""
        shown = place.caps("capabilities")
        assert (shown.exit_code, shown.stderr) == (0, "")
        head, *rows = shown.stdout.splitlines()
        assert head.split() == ["capability", "status", "category", "icon", "tools"]
        (files,) = [row for row in rows if row.startswith("files")]
        for cell in ("available", "File Operations", "folder", "read_file"):
            assert cell in files
        document = json.loads(place.caps("capabilities", "--json").stdout)
        keys = [item["id"] for item in document["items"]]
        assert {"current_time", "files", "noop", "sandbox", "test_math"} <= set(keys)
        assert document["total"] == len(keys)
        assert document["items"][keys.index("current_time")] == {
            "id": "current_time",
            "name": "Current Time",
            "description": "Tool to get current date and time in various formats and timezones.",
            "status": "available",
            "icon": "clock",
            "category": "Utilities",
        }

    def test_one_capability_is_shown_with_its_tools_and_settings(self, place: Place) -> None:
        """For people and as JSON; one that does not exist is an error with the nearest name."""
        shown = place.caps("capabilities", "files").stdout
        assert "  read_file (files.read): " in shown
        assert "  dirs: " in shown
        document = json.loads(place.caps("capabilities", "files", "--json").stdout)
        assert document["tools"][0]["function"] == "files.read"
        assert "dirs" in document["config_schema"]["properties"]
        missing = place.caps("capabilities", "filse")
        assert missing.exit_code == 2
        assert missing.stderr == "caps: there is no capability `filse`; did you mean `files`?\n"

    @pytest.mark.parametrize("option", [("--stubs",), ("--policy", "p.json")])
    def test_capabilities_are_of_no_policy(self, place: Place, option: tuple[str, ...]) -> None:
        """An agent's object decides there. A policy of the environment is not read."""
        result = place.caps("capabilities", *option)
        assert result.exit_code == 2
        assert f"No such option '{option[0]}'" in result.stderr
        ignored = place.caps("capabilities", CAPS_POLICY_PATH="/no/such/file")
        assert ignored.exit_code == 0

    def test_stubs_are_not_json(self, place: Place) -> None:
        """Bad usage is said in one line, not guessed at."""
        result = place.caps("functions", "--stubs", "--json")
        assert result.exit_code == 2
        assert "leave --json out" in result.stderr

    def test_bad_usage_has_no_escapes_of_our_own(self, place: Place) -> None:
        """click lists the values of an option on several lines; they become one readable line."""
        result = place.caps("audit", "export")
        assert result.exit_code == 2
        last = result.stderr.splitlines()[-1]
        assert last == "Error: Missing option '--format'. Choose from: ocsf, cloudevents"

    @pytest.mark.parametrize("name", ["mine:made", "mine:make", "mine"])
    def test_a_registry_of_ones_own(
        self, place: Place, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A registry, a function that makes one, or a module with `registry`."""
        place.code(
            "from caps import CapabilityRegistry\n"
            "def make():\n"
            "    registry = CapabilityRegistry()\n"
            "    @registry.capability('box.open')\n"
            "    def opened() -> bool:\n"
            "        return True\n"
            "    return registry\n"
            "made = registry = make()\n",
            "mine.py",
        )
        monkeypatch.syspath_prepend(place.directory)
        try:
            by_option = place.caps("functions", "--json", "--registry", name)
            by_variable = place.caps("functions", "--json", CAPS_REGISTRY=name)
        finally:
            sys.modules.pop("mine", None)
        for result in (by_option, by_variable):
            assert [entry["name"] for entry in json.loads(result.stdout)] == ["box.open"]

    def test_a_registry_that_registers_badly_is_reported_in_one_line(
        self, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Its author sees what is wrong and not our frames."""
        place.code(
            "from caps import CapabilityRegistry\n"
            "def make():\n"
            "    CapabilityRegistry().domain('Bad Name')\n",
            "mine.py",
        )
        monkeypatch.syspath_prepend(place.directory)
        try:
            result = place.caps("functions", "--registry", "mine:make")
        finally:
            sys.modules.pop("mine", None)
        assert result.exit_code == 2
        assert is_one_line_of_ours(result.stderr)


# What other commands, settings or functions need.
UNUSED_IN_A_RUN = (
    "alembic",
    "caps.agents",
    "caps.client",
    "caps.mcp",
    "caps.service",
    "fastapi",
    "httpx",
    "jsonschema",
    "mcp",
    "opentelemetry",
    "prometheus_client",
    "rich",
    "sqlalchemy",
    "sqlite3",
    "starlette",
    "uvicorn",
)


class TestStartUp:
    def test_help_lists_the_commands_and_the_exit_codes(self, place: Place) -> None:
        """What a script needs to know is in the first screen."""
        shown = place.caps("--help").stdout
        for command in ("audit", "functions", "policy", "run"):
            assert f"\n  {command} " in shown
        for code in range(8):
            assert f"\n    {code}  " in shown

    def test_the_script_says_its_version(self, place: Place) -> None:
        """The command that was installed is this one."""
        done = subprocess.run(
            [SCRIPT, "--version"], capture_output=True, text=True, check=True, timeout=60
        )
        assert done.stdout.startswith("caps, version ")

    @pytest.mark.parametrize(
        "args",
        [
            ["--help"],
            ["--version"],
            ["run", "--help"],
            ["policy", "--help"],
            ["audit", "--help"],
            ["audit", "tail", "--help"],
            ["audit", "export", "--help"],
        ],
    )
    def test_help_loads_nothing_heavy(self, args: list[str]) -> None:
        """The command answers immediately; what a command needs is loaded when it runs."""
        code = (
            "import sys\n"
            "from caps.cli.main import main\n"
            f"main({args!r}, standalone_mode=False)\n"
            "heavy = {'pydantic', 'opentelemetry', 'anyio', 'cryptography', 'rich', 'msgspec'}\n"
            "print('loaded:', sorted(heavy & set(sys.modules)))\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert done.stdout.splitlines()[-1] == "loaded: []"

    def test_a_plain_run_loads_nothing_that_it_does_not_use(self, place: Place) -> None:
        """Nor derives a built-in function that is not granted."""
        code = (
            "import sys\n"
            "from caps.capabilities.signature import derive\n"
            "import caps.capabilities.registry as registry\n"
            "derived = []\n"
            "def counted(function, *rest):\n"
            "    derived.append(function.__name__)\n"
            "    return derive(function, *rest)\n"
            "registry.derive = counted\n"
            "from caps.cli.main import main\n"
            f"args = ['run', {place.code('1 + 1')!r}, '--policy', {str(place.policy)!r}]\n"
            "try:\n"
            "    main(args)\n"
            "except SystemExit as left:\n"
            f"    print(sorted(set({UNUSED_IN_A_RUN!r}) & set(sys.modules)), left.code)\n"
            "    print(sorted(derived))\n"
        )
        policy = {"id": "two", "allow": ["math.add", "math.divide"]}
        place.policy.write_text(json.dumps(policy))
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=place.environment(),
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        assert done.stdout.splitlines() == ["=> 2", "[] 0", "['add', 'divide']"]

    @pytest.mark.parametrize(("disabled", "loaded"), [(None, False), ("", True)])
    def test_no_plugin_has_a_say_in_policies(
        self, place: Place, disabled: str | None, loaded: bool
    ) -> None:
        """Whatever package says that it is one of pydantic's; unless the operator wants that."""
        package = place.directory / "installed"
        about = package / "nosy-1.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: nosy\nVersion: 1\n")
        (about / "entry_points.txt").write_text("[pydantic]\nnosy = nosy:plugin\n")
        (package / "nosy.py").write_text(
            "import sys\nprint('plugin loaded', file=sys.stderr)\n"
            "class plugin:\n    @staticmethod\n"
            "    def new_schema_validator(*a, **k):\n        return None, None, None\n"
        )
        variables = {} if disabled is None else {"PYDANTIC_DISABLE_PLUGINS": disabled}
        done = subprocess.run(
            [SCRIPT, "run", place.code("1"), "--policy", str(place.policy)],
            env=place.environment(PYTHONPATH=str(package), **variables),
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        assert ("plugin loaded" in done.stderr) is loaded

    def test_the_collector_is_left_as_it_was(self, place: Place) -> None:
        """Nothing that a command loaded stays out of its sight."""
        gc.unfreeze()
        assert place.run("1").exit_code == 0
        assert (gc.isenabled(), gc.get_freeze_count()) == (True, 0)


def test_the_tour_of_the_examples_runs(place: Place) -> None:
    """What `make run` shows works as it stands."""
    root = Path(__file__).parents[3]
    result = place.caps(
        "run", str(root / "examples/tour.py"), "--policy", str(root / "policies/tour.json")
    )
    assert result.exit_code == 0
    assert "escaped!" not in result.stdout


class TestInputs:
    """`--input NAME=VALUE`, and arguments after `--`."""

    def test_values_and_arguments_reach_the_code(self, tmp_path: Path) -> None:
        """JSON, other text, a file of JSON and a file of text."""
        place = Place(tmp_path)
        (tmp_path / "rows.json").write_text('[{"a": 1}]')
        (tmp_path / "note.txt").write_text("hello")
        code = place.code("import sys\n[rows, note, limit, name, sys.argv]")
        result = CliRunner().invoke(
            main,
            [
                *("run", code, "--json", "--audit", str(place.audit)),
                *("--input", f"rows=@{tmp_path / 'rows.json'}"),
                *("--input", f"note=@{tmp_path / 'note.txt'}"),
                *("--input", "limit=3", "--input", "name=ada"),
                *("--", "a", "--b"),
            ],
        )
        value = json.loads(result.stdout)["value"]
        assert value == [[{"a": 1}], "hello", 3, "ada", ["task.py", "a", "--b"]]

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            (["rows"], "input `rows` has no value; give NAME=VALUE"),
            (["a=1", "a=2"], "input `a` is given twice"),
            (["a=@absent"], "`absent` cannot be read"),
            (["1a=2"], "input `1a` cannot be a name"),
        ],
    )
    def test_bad_input_is_one_line(self, tmp_path: Path, given: list[str], message: str) -> None:
        """With the exit code of bad usage."""
        place = Place(tmp_path)
        options = [part for one in given for part in ("--input", one)]
        result = CliRunner().invoke(
            main, ["run", place.code("0"), "--audit", str(place.audit), *options]
        )
        assert result.exit_code == 2
        assert message in result.stderr
        assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("group", [[], ["policy"], ["audit"], ["approvals"]])
def test_a_group_without_a_command_prints_its_help(group: list[str]) -> None:
    """As text, with its lines."""
    result = CliRunner().invoke(main, group)
    assert "\n\nCommands:\n" in result.output
    assert "Error:" not in result.output


class TestArtifacts:
    MAKER: dict[str, Any] = {"id": "maker", "allow": ["artifacts.*"]}  # noqa: RUF012
    CODE = (
        "save = caps.artifacts.save\nawait save('a.txt', 'hello')\nawait save('a.txt', 'again')\n1"
    )

    def run(self, place: Place, *args: str) -> Result:
        policy = place.policy_of(self.MAKER)
        return place.caps("run", place.code(self.CODE), "--policy", policy, *args)

    def test_they_are_written_to_the_directory(self, place: Place) -> None:
        """Two of one name are two files, and a line on standard error names each."""
        out = place.directory / "out"
        result = self.run(place, "--artifacts", str(out))
        assert (result.exit_code, result.stdout) == (0, "=> 1\n")
        assert (out / "a.txt").read_text() == "hello"
        assert (out / "a-2.txt").read_text() == "again"
        assert f"caps: artifact `{out}/a.txt` (text/plain, 5 bytes)\n" in result.stderr

    def test_without_a_directory_they_are_mentioned(self, place: Place) -> None:
        """So that nobody wonders where they are."""
        result = self.run(place)
        assert "caps: artifact `a.txt` (text/plain, 5 bytes); `caps run --art" in result.stderr

    def test_in_json_they_have_their_content_or_their_path(self, place: Place) -> None:
        """The content once: in the object, or in a file."""
        (first, _) = json.loads(self.run(place, "--json").stdout)["artifacts"]
        assert (first["content"], "path" in first) == ("aGVsbG8=", False)
        out = place.directory / "out"
        (first, _) = json.loads(self.run(place, "--json", "--artifacts", str(out)).stdout)[
            "artifacts"
        ]
        assert (first["path"], "content" in first) == (str(out / "a.txt"), False)

    def test_the_trail_shows_them(self, place: Place) -> None:
        """Name, media type, size and the beginning of the digest."""
        result = self.run(place, "--trail")
        assert "a.txt (text/plain, 5" in " ".join(result.stdout.split())

    def test_a_directory_that_cannot_be_used_is_found_before_the_code_runs(
        self, place: Place
    ) -> None:
        """Bad usage, and nothing in the log."""
        result = self.run(place, "--artifacts", str(place.policy))
        assert result.exit_code == 2
        assert is_one_line_of_ours(result.stderr)
