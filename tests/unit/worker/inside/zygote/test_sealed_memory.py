"""What the zygote loads is in a sealed file, of which every process has its own view."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

BEGIN = """
import json, mmap, os, sys
from caps.worker.inside.zygote.sealed_memory import begin_sealable

memory = begin_sealable()
if memory is None:
    sys.exit("this C library has no memory that can be sealed")
loaded = [[each, str(each)] for each in range(100_000)]
large = bytearray(100_000)
"""

SEALED = """
descriptor = os.dup(memory._descriptor)
memory.seal()
maps = [line.split() for line in open("/proc/self/maps") if "memfd:zygote" in line]

def refused(attempt):
    try:
        attempt()
    except PermissionError:
        return True
    return False

def child(work):
    pid = os.fork()
    if pid == 0:
        work()
        os._exit(0)
    return os.waitpid(pid, 0)[1]

def write():
    loaded[7][0] = 0
    large[:] = bytes([1]) * len(large)
    more = [bytearray(n) for n in range(2000)]

attempts = [
    lambda: os.pwrite(descriptor, b"x", 0),
    lambda: mmap.mmap(descriptor, 4096),
    lambda: os.ftruncate(descriptor, 0),
]
found = {
    "access": [each[1] for each in maps],
    "holds it": sum(int(b, 16) - int(a, 16) for a, b in (m[0].split("-") for m in maps)) > 10 << 20,
    "refused": [refused(each) for each in attempts],
    "statuses": [child(write), child(write)],
    "unchanged": loaded[7][0] == 7 and not any(large),
    "whole": all(text == str(number) for number, text in loaded),
}
write()
print(json.dumps({**found, "own": loaded[7][0] == 0 and all(large)}))
"""

FORKED_TOO_EARLY = """
pid = os.fork()
if pid == 0:
    loaded[7][0] = 0
    os._exit(0)
status = os.waitpid(pid, 0)[1]
print(json.dumps([os.WTERMSIG(status) if os.WIFSIGNALED(status) else None, loaded[7][0]]))
"""


WITHOUT_ROOM = """
import resource
from caps.worker.inside.zygote.sealed_memory import begin_sealable

resource.setrlimit(resource.%s, (%s, resource.RLIM_INFINITY))
memory = begin_sealable()
print(memory is None, len([str(each) for each in range(100_000)]))
"""

WITHOUT_FILES = """
import os
from caps.worker.inside.zygote.sealed_memory import begin_sealable

del os.memfd_create
print(begin_sealable() is None, len([str(each) for each in range(100_000)]))
"""


def run(program: str, begin: str = BEGIN) -> str:
    command = (sys.executable, "-c", begin + program)
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_sealed_memory_is_private_and_its_file_cannot_change() -> None:
    """Nothing that one process writes is seen by another, or by those that are forked later."""
    assert json.loads(run(SEALED)) == {
        "access": ["rw-p"],
        "holds it": True,
        "refused": [True, True, True],
        "statuses": [0, 0],
        "unchanged": True,
        "whole": True,
        "own": True,
    }


def test_a_child_that_is_forked_before_the_seal_cannot_change_it() -> None:
    """It would write to the memory of its parent; it does not have it, and dies."""
    assert json.loads(run(FORKED_TOO_EARLY)) == [signal.SIGSEGV, 7]


@pytest.mark.parametrize(("limit", "most"), [("RLIMIT_FSIZE", 1 << 20), ("RLIMIT_DATA", 40 << 20)])
def test_memory_stays_as_it_is_where_there_is_no_room(limit: str, most: int) -> None:
    """The zygote starts anyway; only its forks are slower."""
    assert run(WITHOUT_ROOM % (limit, most), begin="").split() == ["True", "100000"]


def test_memory_stays_as_it_is_where_python_makes_no_files_in_memory() -> None:
    """One that was built for an old C library."""
    assert run(WITHOUT_FILES, begin="").split() == ["True", "100000"]
