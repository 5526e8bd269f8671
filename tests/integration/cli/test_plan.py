"""`caps plan`: the example of the documents, exit codes, and bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.commands import run_caps

EXAMPLES = Path(__file__).parents[3] / "examples/plans"
EXAMPLE, POLICY = str(EXAMPLES / "days.json"), str(EXAMPLES / "policy.json")


def written(place: Path, **changed: Any) -> str:
    """The example with changes, in a file."""
    file = place / "plan.json"
    file.write_text(json.dumps({**json.loads(Path(EXAMPLE).read_text()), **changed}))
    return str(file)


def test_the_example_is_valid_and_runs(tmp_path: Path) -> None:
    """Its last output is printed; with `--json` all steps are."""
    checked = run_caps(tmp_path, "plan", "check", EXAMPLE, "--policy", POLICY)
    assert (checked.returncode, checked.stdout) == (0, "the plan is valid\n")
    ran = run_caps(tmp_path, "plan", "run", EXAMPLE, "--policy", POLICY)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["result"] > 20_000
    told = json.loads(
        run_caps(tmp_path, "plan", "run", EXAMPLE, "--policy", POLICY, "--json").stdout
    )
    assert [each["status"] for each in told["steps"]] == ["succeeded", "succeeded"]
    found = run_caps(tmp_path, "audit", "query", "--json", "--execution", told["execution_id"])
    ids = {json.loads(line).get("request_id") for line in found.stdout.splitlines()}
    assert ids == {"days-since-1970/now", "days-since-1970/days"}


def test_without_a_policy_a_plan_grants_itself_nothing(tmp_path: Path) -> None:
    """Its own policy lies beneath that of the operator."""
    own = {"version": 1, "id": "own", "allow": ["time.now", "math.divide"]}
    for command in ("check", "run"):
        done = run_caps(tmp_path, "plan", command, written(tmp_path, policy=own))
        assert done.returncode == 7
        assert "is allowed by no rule of policy `no-policy-given`" in done.stdout


def test_problems_are_printed_with_their_steps(tmp_path: Path) -> None:
    """As lines, or as JSON."""
    steps = [
        {"id": "a", "tool": "time.nwo"},
        {"id": "b", "tool": "math.divide", "inputs": {"a": 1}},
    ]
    file = written(tmp_path, steps=steps)
    done = run_caps(tmp_path, "plan", "check", file, "--policy", POLICY)
    assert (done.returncode, done.stdout.splitlines()) == (
        7,
        [
            "error: step `a`: no tool `time.nwo` is registered; did you mean `time.now`? "
            "at steps[0].tool [tool_unknown]",
            "error: step `b`: `math.divide`: should be required property `b`, got {'a': 1} "
            "at steps[1].inputs [input_invalid]",
            "2 errors, 0 warnings",
        ],
    )
    told = json.loads(
        run_caps(tmp_path, "plan", "check", file, "--policy", POLICY, "--json").stdout
    )
    assert (told["valid"], [each["step"] for each in told["problems"]]) == (False, ["a", "b"])


def test_a_step_that_fails_has_the_exit_code_of_its_error(tmp_path: Path) -> None:
    """The output of `now` has no such place, which nobody could know before."""
    steps = [
        {"id": "now", "tool": "time.now"},
        {
            "id": "days",
            "tool": "math.divide",
            "inputs": {"a": {"$from": "now", "at": "/x"}, "b": 1},
        },
    ]
    file = written(tmp_path, steps=steps)
    assert run_caps(tmp_path, "plan", "check", file, "--policy", POLICY).returncode == 0
    done = run_caps(tmp_path, "plan", "run", file, "--policy", POLICY)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "caps: step `days`: the output has no `x` for steps[1].inputs.a\n"
    none = [{"id": "a", "tool": "math.divide", "inputs": {"a": 1, "b": 0}}]
    failed = run_caps(tmp_path, "plan", "run", written(tmp_path, steps=none), "--policy", POLICY)
    assert failed.returncode == 1


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("", "the plan is not JSON"),
        ("[]", "dictionary"),
        ('{"version": 1, "version": 1}', "given twice"),
        ("[" * 100_000, "nested deeper"),
        ('{"version": 1, "id": "\x1b[2J", "steps": []}', "not JSON"),
    ],
)
def test_a_file_that_is_not_a_plan_is_told_in_lines(
    tmp_path: Path, content: str, what: str
) -> None:
    """Without a traceback; a file that is not there is bad usage."""
    file = tmp_path / "plan.json"
    file.write_text(content)
    done = run_caps(tmp_path, "plan", "check", str(file))
    assert (done.returncode, done.stderr) == (7, "")
    assert what in done.stdout
    assert run_caps(tmp_path, "plan", "run", str(tmp_path / "none.json")).returncode == 2
