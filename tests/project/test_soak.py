"""The soak in short form, and that it would tell a leak if there were one."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "bench" / "soak.py"


@pytest.mark.process
def test_a_few_hundred_executions_leave_nothing_behind() -> None:
    """Sixteen concurrent ones of every kind: no process, descriptor, zombie or growth is left."""
    done = subprocess.run(
        [sys.executable, SCRIPT, "--executions", "300", "--concurrent", "16"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "executions    300 in" in done.stdout
    assert "cancelled                3" in done.stdout
    assert "nothing leaked" in done.stdout


@pytest.fixture(scope="module")
def soak() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("soak", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["soak"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("when", "changes", "told"),
    [
        ("after", {"processes": 2}, "1 processes left after closing"),
        ("after", {"descriptors": 11}, "1 descriptors left after closing"),
        ("after", {"zombies": 1}, "0 zombies at the end, 1 after closing"),
        ("end", {"zombies": 2}, "2 zombies at the end, 0 after closing"),
        ("end", {"processes": 36}, "36 processes at the end, more than zygote and spares"),
        ("end", {"host_kb": 52049}, "the host grew by 2049 kB from 50% to the end"),
        ("end", {"zygote_kb": 17513}, "the zygote grew by 513 kB from 50% to the end"),
    ],
)
def test_a_leak_is_reported(
    soak: ModuleType, when: str, changes: dict[str, int], told: str
) -> None:
    """Each bound, one over."""
    sound = soak.Reading(descriptors=10, processes=1, zombies=0, host_kb=50_000, zygote_kb=17_000)
    readings: dict[str, Any] = dict.fromkeys(("before", "half", "end", "after"), sound)
    assert soak.leaks(**readings) == []
    (line,) = soak.leaks(**{**readings, when: replace(sound, **changes)})
    assert line.startswith(told)
