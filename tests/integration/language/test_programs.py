"""Programs of the kinds that agents write print and end in a worker as they do in CPython."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from caps import MemoryAuditLog, Runtime
from caps.capabilities.runtime.result import ExecutionResult
from support.package_files import TESTS
from support.program_files import AgentProgram, agent_programs

PROGRAMS = agent_programs()
COMPARED = [program for program in PROGRAMS if not program.ends]
# The marks under a line of a traceback: ours are `^` only, as in Python 3.11 and 3.12 for a call.
_MARKS = re.compile(r"^ +[~^]+\n", re.MULTILINE)
_HAS_OTHER_MARKS = sys.version_info >= (3, 13)
# How long the tests of a program took is a matter of the machine.
_TEST_SECONDS = re.compile(r"^(Ran \d+ tests? in )\d+\.\d{3}s$", re.MULTILINE)
# Python 3.12.1 alone does not count skipped tests (CPython issue 113267).
_COUNTS_OTHERWISE = sys.version_info[:3] == (3, 12, 1)


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    """Grants nothing: none of the programs needs a power."""
    with Runtime({"allow": []}, audit=MemoryAuditLog()) as runtime:
        yield runtime


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, str]]:
    """What CPython prints for each program, and how it ends there."""
    script = TESTS / "support" / "cpython_runs.py"
    place: Path = tmp_path_factory.mktemp("programs")
    done = subprocess.run(
        [sys.executable, "-I", str(script)],
        input=json.dumps([program.source for program in COMPARED]),
        capture_output=True,
        text=True,
        cwd=place,
        check=True,
    )
    outcomes = json.loads(done.stdout)
    pairs = zip(COMPARED, outcomes, strict=True)
    return {program.name: (printed, end) for program, (printed, end) in pairs}


def end_of(result: ExecutionResult) -> str:
    """As `cpython_runs` writes it."""
    return f"{result.error.type}: {result.error.message}" if result.error else "ok"


def compared(printed: str) -> str:
    """The output, without times, and without the marks of a traceback where CPython has others."""
    printed = _TEST_SECONDS.sub(r"\1(time)", printed)
    return _MARKS.sub("", printed) if _HAS_OTHER_MARKS else printed


def test_there_are_programs_enough() -> None:
    """A directory that was moved would make all of this pass."""
    assert len(PROGRAMS) >= 200
    assert len(COMPARED) >= 140


@pytest.mark.parametrize("program", COMPARED, ids=lambda one: one.name)
def test_a_program_does_what_it_does_in_cpython(
    runtime: Runtime, expected: dict[str, tuple[str, str]], program: AgentProgram
) -> None:
    """The same output, and the same end."""
    if _COUNTS_OTHERWISE and "import unittest" in program.source and "skip" in program.source:
        pytest.skip("Python 3.12.1 does not count skipped tests")
    result = runtime.run_sync(program.source)
    printed, end = expected[program.name]
    assert (compared(result.stdout), end_of(result)) == (compared(printed), end)


@pytest.mark.parametrize("program", [one for one in PROGRAMS if one.ends], ids=lambda one: one.name)
def test_a_program_that_cannot_work_says_why(runtime: Runtime, program: AgentProgram) -> None:
    """The refusal or its hint names the remedy."""
    result = runtime.run_sync(program.source)
    assert result.error is not None
    assert program.ends in f"{end_of(result)}; {result.error.hint or ''}"
