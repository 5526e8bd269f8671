"""Runs the tests of CPython in a locked-down worker, and tells how each of them ended."""

from __future__ import annotations

import json
from dataclasses import dataclass

from caps import Runtime
from support.cpython.programs import TestProgram, make_programs

# Tests compute for long, and print a lot.
POLICY = {
    "allow": [],
    "limits": {
        "wall_ms": 120_000,
        "cpu_ms": 120_000,
        "memory_mb": 1024,
        "output_bytes": 32 * 1024 * 1024,
    },
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a test ended: passed, skipped, failed, raised, refused or killed."""

    test: str
    outcome: str
    reason: str
    details: str = ""

    @property
    def is_different(self) -> bool:
        """Whether the test shows a difference from CPython."""
        return self.outcome not in ("passed", "skipped")


def run_module(runtime: Runtime, module: str) -> list[Outcome]:
    """The outcomes of all tests of a module of the package `test`."""
    return [one for program in make_programs(module) for one in _run_program(runtime, program)]


def _run_program(runtime: Runtime, program: TestProgram) -> list[Outcome]:
    """Run a program again without the tests that are done if one of them ends the worker."""
    outcomes: dict[str, Outcome] = {}
    while True:
        result = runtime.run_sync(program.without(set(outcomes)))
        started, ended = _read(result.stdout, outcomes)
        if ended:
            return list(outcomes.values())
        reason = "" if result.error is None else f"{result.error.type}: {result.error.message}"
        if started is None or started in outcomes:
            raise RuntimeError(f"the program ended between two tests: {reason} {result}")
        outcomes[started] = Outcome(started, "killed", reason)


def _read(text: str, outcomes: dict[str, Outcome]) -> tuple[str | None, bool]:
    """Add the outcomes in the output; return the last test that began, and whether all ended."""
    started = None
    for line in text.splitlines():
        if not line.startswith("{"):
            continue
        try:
            found = json.loads(line)
        except ValueError:
            continue  # a test has printed it
        if "start" in found:
            started = found["start"]
        elif "end" in found:
            return started, True
        elif "outcome" in found:
            outcomes[found["test"]] = Outcome(**found)
    return started, False
