"""Programs with packages print and end in a worker as they do in CPython: `programs/packages/`."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from caps import MemoryAuditLog, Runtime
from support.package_files import TESTS
from support.program_files import AgentProgram, GrantedPrograms, granted_programs

FILES = granted_programs()
# Threads do not survive a fork.
ONE_THREAD = {"MPLBACKEND": "agg", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def in_cpython(file: GrantedPrograms, compared: list[AgentProgram], place: Path) -> list[list[str]]:
    """What CPython prints for each program, and how it ends there."""
    done = subprocess.run(
        [sys.executable, "-I", str(TESTS / "support" / "cpython_runs.py"), *file.modules],
        input=json.dumps([program.source for program in compared]),
        capture_output=True,
        text=True,
        cwd=place,
        env={**os.environ, **ONE_THREAD, "MPLCONFIGDIR": str(place)},
        check=True,
    )
    outcomes: list[list[str]] = json.loads(done.stdout)
    return outcomes


def require(modules: list[str]) -> None:
    """Skip if one is not installed; where skips are forbidden, fail."""
    for name in modules:
        if importlib.util.find_spec(name) is None:
            give_up = pytest.fail if os.environ.get("CAPS_FORBID_SKIPS") else pytest.skip
            give_up(f"`{name}` is not installed")


def test_there_are_programs_enough() -> None:
    """A directory that was moved would make all of this pass."""
    assert sum(len(file.programs) for file in FILES) >= 30


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_programs_with_packages_do_what_they_do_in_cpython(
    file: GrantedPrograms, tmp_path: Path
) -> None:
    """The same output, and the same end; one that cannot work says why."""
    require(file.modules)
    compared = [program for program in file.programs if not program.ends]
    expected = iter(in_cpython(file, compared, tmp_path))
    limits = {"wall_ms": 60_000, "cpu_ms": 60_000}
    policy = {"modules": file.modules, "limits": limits}
    with Runtime(policy, audit=MemoryAuditLog()) as runtime:
        for program in file.programs:
            result = runtime.run_sync(program.source)
            error = result.error
            end = f"{error.type}: {error.message}" if error else "ok"
            if program.ends:
                assert error is not None, program.name
                assert program.ends in f"{end}; {error.hint or ''}", program.name
            else:
                assert [program.name, result.stdout, end] == [program.name, *next(expected)]
