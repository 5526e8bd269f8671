"""The constants of a library have one mapping, with the same bytes as before."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

JOINED = """
import ctypes, datetime, decimal, json, os, zlib
from caps.worker.inside.zygote import library_constants
from caps.worker.inside.zygote.library_constants import join_constants

def mappings():
    with open("/proc/self/maps") as maps:
        return [line.split(maxsplit=5) for line in maps]

def contents():
    return [ctypes.string_at(start, size) for start, size in places]

places = list(library_constants._find_constants())
before, bytes_before, open_before = mappings(), contents(), os.listdir("/proc/self/fd")
join_constants()
joined = [each for each in mappings() if "memfd:constants" in each[-1]]
executable = [len([each for each in one if "x" in each[1]]) for one in (before, mappings())]
pid = os.fork()
if pid == 0:
    decimal.Decimal(1) / 7
    os._exit(0)
print(json.dumps({
    "joined": len(places) > 3 and sum(int(b, 16) - int(a, 16) for a, b in
        (each[0].split("-") for each in joined)) == sum(size for _, size in places),
    "fewer mappings": len(before) - len(mappings()) == len(places),
    "access": sorted({each[1] for each in joined}),
    "executable as before": executable[0] == executable[1],
    "same bytes": contents() == bytes_before,
    "descriptors": len(os.listdir("/proc/self/fd")) - len(open_before),
    "found again": list(library_constants._find_constants()),
    "of use": str(decimal.Decimal(1) / 8) + zlib.decompress(zlib.compress(b"!")).decode(),
    "in a child": os.waitpid(pid, 0)[1],
}))
"""

WITHOUT_FILES = """
import os, sys
from caps.worker.inside.zygote.library_constants import join_constants

del os.memfd_create
join_constants()
print("memfd:constants" in open("/proc/self/maps").read())
"""


def run(program: str) -> str:
    command = (sys.executable, "-c", program)
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_constants_of_a_library_have_one_mapping_that_cannot_be_written_to() -> None:
    """All else is as it was: the bytes, what can be executed, and which files are open."""
    assert json.loads(run(JOINED)) == {
        "joined": True,
        "fewer mappings": True,
        "access": ["r--p"],
        "executable as before": True,
        "same bytes": True,
        "descriptors": 0,
        "found again": [],
        "of use": "0.125!",
        "in a child": 0,
    }


def test_constants_stay_as_they_are_where_python_makes_no_files_in_memory() -> None:
    """The zygote starts anyway; only its forks are slower."""
    assert run(WITHOUT_FILES).strip() == "False"
