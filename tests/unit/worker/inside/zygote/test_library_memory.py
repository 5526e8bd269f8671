"""The memory of libraries is in a sealed file, of which every process has its own view."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

SHARED = """
import _ctypes, ctypes, datetime, decimal, gc, json, os, re, zlib
from caps.worker.inside.zygote.library_memory import find_parts, share_library_memory

def mappings():
    with open("/proc/self/maps") as maps:
        return [line.split(maxsplit=5) for line in maps]

def size(of):
    return sum(int(b, 16) - int(a, 16) for a, b in (each[0].split("-") for each in of))

def rights(of):
    limits = [(*(int(x, 16) for x in each[0].split("-")), each[1]) for each in of]
    return [access for part in parts for start, end, access in limits if start <= part.start < end]

def contents():
    return [ctypes.string_at(start, size) for start, size, _ in parts]

def executable(of):
    return [each[0] for each in of if "x" in each[1]]

def compute():
    return str(decimal.Decimal(1) / 8) + zlib.decompress(zlib.compress(b"!")).decode()

parts = list(find_parts())
before, bytes_before, open_before = mappings(), contents(), len(os.listdir("/proc/self/fd"))
share_library_memory()
after = mappings()
shared = [each for each in after if "memfd:libraries" in each[-1]]
writable = [part for part in parts if part.protection & 2]
decimal_data = [each for each in before if "_decimal" in each[-1] and each[1] == "rw-p"][0]
place = int(decimal_data[0].split("-")[0], 16) + 8
kept = ctypes.c_char.from_address(place).value
pid = os.fork()
if pid == 0:
    ctypes.c_char.from_address(place).value = bytes([kept[0] ^ 1])
    os._exit(0)
print(json.dumps({
    "shared": size(shared) == sum(part.size for part in parts) and len(writable) > 3,
    "access": sorted({each[1] for each in shared}),
    "rights as before": rights(before) == rights(after),
    "fewer mappings": len(before) - len(after) > 3,
    "executable as before": executable(before) == executable(after),
    "same bytes": contents() == bytes_before,
    "descriptors": len(os.listdir("/proc/self/fd")) - open_before,
    "of use": compute(),
    "in a child": os.waitpid(pid, 0)[1],
    "unchanged": ctypes.c_char.from_address(place).value == kept,
    "not that of ctypes": not any(
        part.start == int(each[0].split("-")[0], 16)
        for part in writable for each in before if "/_ctypes." in each[-1]),
    "collector": gc.isenabled(),
}))
"""

WITHOUT_FILES = """
import os, sys
from caps.worker.inside.zygote.library_memory import share_library_memory

del os.memfd_create
share_library_memory()
print("memfd:libraries" in open("/proc/self/maps").read())
"""


def run(program: str) -> str:
    command = (sys.executable, "-c", program)
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_libraries_have_fewer_mappings_with_the_same_bytes_and_rights() -> None:
    """What one process writes there is seen by no other."""
    assert json.loads(run(SHARED)) == {
        "shared": True,
        "access": ["r--p", "rw-p"],
        "rights as before": True,
        "fewer mappings": True,
        "executable as before": True,
        "same bytes": True,
        "descriptors": 0,
        "of use": "0.125!",
        "in a child": 0,
        "unchanged": True,
        "not that of ctypes": True,
        "collector": True,
    }


def test_libraries_stay_as_they_are_where_python_makes_no_files_in_memory() -> None:
    """The zygote starts anyway; only its forks are slower."""
    assert run(WITHOUT_FILES).strip() == "False"
