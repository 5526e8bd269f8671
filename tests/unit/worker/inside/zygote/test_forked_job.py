"""What a zygote runs in a child process, so that it does not load the libraries itself."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

ERRAND = """
import sys
from caps.worker.inside.zygote.forked_job import ForkedJob

def work():
    import csv
    {body}

errand = ForkedJob(work)
try:
    sys.stdout.write(repr((errand.outcome(), "csv" in sys.modules)))
except RuntimeError as error:
    sys.stdout.write(str(error))
"""


def run(body: str) -> subprocess.CompletedProcess[str]:
    """In a separate interpreter: this one has threads, and modules."""
    program = ERRAND.format(body=body)
    command = (sys.executable, "-I", "-c", program)
    return subprocess.run(command, capture_output=True, text=True, check=True)


def test_its_bytes_come_back_and_its_modules_do_not() -> None:
    """Also more of them than a pipe holds."""
    assert run("return b'x' * 3").stdout == "(b'xxx', False)"
    assert run("return b'x' * 200_000").stdout.count("x") == 200_000


def test_one_that_fails_says_why_and_is_known_to_have_failed() -> None:
    """Nobody continues with half of its result."""
    told = run("raise ValueError('no such thing')")
    assert told.stdout == "a forked job of the zygote failed (status 256)"
    assert "ValueError: no such thing" in told.stderr


def test_one_that_is_killed_is_known_to_have_failed() -> None:
    """The bytes that it had made do not count."""
    told = run("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert told.stdout == "a forked job of the zygote failed (status 9)"
