"""What a zygote does before it loads what workers need."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

PROGRAM = """
import json, sys
from caps.worker.inside.zygote.first_steps import take_first_steps

early = [name for name in ("msgspec", "RestrictedPython", "random", "uuid") if name in sys.modules]
steps = take_first_steps()
steps.filter_job.outcome()
print(json.dumps([early, steps.memory is not None, "_uuid" in sys.modules]))
"""


def first_steps(*arguments: str) -> list[object]:
    """What is loaded before them, whether memory can be sealed, and whether `_uuid` is hidden."""
    command = (sys.executable, "-I", "-c", PROGRAM, *arguments)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: list[object] = json.loads(done.stdout)
    return found


def test_what_workers_need_is_loaded_into_memory_that_will_be_sealed() -> None:
    """So nothing of it is loaded before."""
    assert first_steps() == [[], True, True]


def test_a_zygote_with_real_modules_keeps_ordinary_memory() -> None:
    """They may fork while they are loaded, and may want what `uuid` does without otherwise."""
    assert first_steps("--module=calendar") == [[], False, False]


def test_only_a_module_by_its_argument_counts() -> None:
    """By the rule of the arguments: this one is unknown, and ends the zygote later."""
    assert first_steps("--modules") == [[], True, True]
