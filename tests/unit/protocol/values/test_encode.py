"""Encoding a value in a worker that has no memory left."""

from __future__ import annotations

import subprocess
import sys

import pytest

NO_MEMORY = """
import resource
from caps.protocol.values import encode_value

value = {(number, b"x" * 300_000) for number in range(25)}
with open("/proc/self/statm") as file:
    mapped = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (mapped + 4_000_000,) * 2)
try:
    encode_value(value, max_bytes=8_000_000)
except MemoryError:
    print("raised")
"""


@pytest.mark.process
def test_members_without_memory_for_their_check_are_an_error() -> None:
    """The members are encoded once more to check them, and the process survives that, too."""
    done = subprocess.run((sys.executable, "-c", NO_MEMORY), capture_output=True, check=True)
    assert done.stdout == b"raised\n"
