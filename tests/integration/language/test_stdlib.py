"""The standard library of user space in a real worker: forked, without files, under the filter."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from caps import MemoryAuditLog, Runtime, builtin_registry


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    """One runtime for all tests: each execution has its own worker."""
    with Runtime({}, registry=builtin_registry(), audit=MemoryAuditLog()) as runtime:
        yield runtime


CHANCE = """
import random, secrets, uuid
[random.random(), random.getrandbits(64), random.sample(range(10**9), 3), random.Random().random(),
 secrets.token_hex(8), uuid.uuid4().hex]
"""


def test_no_two_executions_draw_the_same_numbers(runtime: Runtime) -> None:
    """Workers are forks of one process, and each has its own random state."""
    drawn = [runtime.run_sync(CHANCE).unwrap() for _ in range(4)]
    for column in zip(*drawn, strict=True):
        assert len({str(one) for one in column}) == len(drawn)


def test_a_seed_gives_the_same_numbers_everywhere(runtime: Runtime) -> None:
    """What is seeded can be repeated."""
    source = "import random\nrandom.seed(7)\n[random.random(), random.randint(1, 10**9)]"
    assert runtime.run_sync(source).unwrap() == runtime.run_sync(source).unwrap()


@pytest.mark.parametrize(
    "source",
    [
        "import sys\nprint('a')\nsys.exit()\nprint('b')",
        "import sys\nprint('a')\nsys.exit(0)",
        "import asyncio, sys\nprint('a')\nawait asyncio.sleep(0)\nsys.exit(None)",
        "print('a')\nraise SystemExit",
    ],
)
def test_an_orderly_exit_is_an_ordinary_end(runtime: Runtime, source: str) -> None:
    """The result is None, what was printed stays, and nothing after it runs."""
    result = runtime.run_sync(source)
    assert result.unwrap() is None
    assert result.stdout == "a\n"


@pytest.mark.parametrize("status", ["1", "'no input'", "Odd()"])
def test_an_exit_with_a_status_is_an_error(runtime: Runtime, status: str) -> None:
    """A status or a message says that something went wrong, whatever it claims to equal."""
    odd = (
        "class Odd:\n    def __eq__(self, other): raise KeyError\n    def __str__(self): return 'o'"
    )
    result = runtime.run_sync(f"import sys\n{odd}\nsys.exit({status})")
    assert result.error is not None
    assert result.error.type == "SystemExit"


def test_what_a_library_prints_is_captured(runtime: Runtime) -> None:
    """Also when it prints by itself and not through a replacement."""
    result = runtime.run_sync("import calendar\ncalendar.prmonth(2024, 2)")
    assert result.stdout.startswith("   February 2024\n")


def test_sleeping_works_under_the_filter(runtime: Runtime) -> None:
    """A worker may wait, and the clock shows it."""
    source = "import time\na = time.monotonic()\ntime.sleep(0.01)\ntime.monotonic() - a >= 0.01"
    assert runtime.run_sync(source).unwrap() is True


DEEP = """
import json, sys
sys.setrecursionlimit(10**9)
class Equal:
    def __init__(self): self.left = 10**9
    def __eq__(self, other): return sorted([1], key=lambda _: self == other)
class Repeated(dict):
    def __missing__(self, key): return max([key], key=lambda n: self[n + 1])
found = []
for attempt in (
    lambda: Equal() == 1,
    lambda: Repeated()[0],
    lambda: json.loads("[" * 10**6),
    lambda: repr(eval_nested()),
    lambda: list(map(attempt_map, [0])),
):
    try:
        attempt()
    except RecursionError:
        found.append("recursion")
found
"""


def test_recursion_through_the_interpreter_ends_as_an_error(runtime: Runtime) -> None:
    """At the highest limit, the stack of a worker holds what the limit lets through."""
    helpers = (
        "def eval_nested():\n    x = []\n    for _ in range(10**5): x = [x]\n    return x\n"
        "def attempt_map(n): return list(map(attempt_map, [n]))\n"
    )
    result = runtime.run_sync(helpers + DEEP)
    # From Python 3.14 on, the stack itself is the limit in C: the list that is shown fits.
    ended = 5 if sys.version_info < (3, 14) else 4
    assert result.unwrap() == ["recursion"] * ended


VANDAL = """
import abc, calendar, collections, collections.abc, contextlib, copy, csv, dataclasses, datetime
import decimal, difflib, enum, fractions, functools, graphlib, hmac, io, json, numbers, os, pathlib
import pprint, random, re, statistics, string, sys, textwrap, traceback, types, typing, urllib.parse
import uuid, warnings, zoneinfo

def broken(*args, **named):
    raise RuntimeError("broken by the vandal")

changed = 0
for module in (abc, calendar, collections, collections.abc, contextlib, copy, csv, dataclasses,
               datetime, decimal, difflib, enum, fractions, functools, graphlib, hmac, io, json,
               numbers, os, os.path, pathlib, pprint, random, re, statistics, string, sys, textwrap,
               traceback, types, typing, urllib.parse, uuid, warnings, zoneinfo):
    for name in dir(module):
        value = getattr(module, name)
        for attribute in dir(value):
            if attribute in ("encoding", "format", "format_map"):
                continue
            for target in (value, type(value)):
                try:
                    setattr(target, attribute, broken)
                    changed += 1
                except Exception:
                    pass
for kind in (list, dict, int, str, object, Exception, CapsError, PolicyDeniedError):
    try:
        collections.abc.Mapping.register(kind)
        collections.abc.Sized.register(kind)
    except Exception:
        pass
print("changed something:", changed > 100)
"""


@pytest.mark.parametrize(
    ("ending", "expected"),
    [
        ("[1, 'a', {'b': (2, None)}, 10**30]", [1, "a", {"b": (2, None)}, 10**30]),
        ("await caps.time.now()\n7", 7),
        (
            "import asyncio\n(await asyncio.gather(asyncio.sleep(0, 1), asyncio.sleep(0, 2)))",
            [1, 2],
        ),
    ],
)
def test_a_vandal_harms_only_its_own_program(
    runtime: Runtime, ending: str, expected: object
) -> None:
    """Every class of the library broken as far as code can: results still cross as they are."""
    result = runtime.run_sync(VANDAL + ending, policy={"allow": ["time.now"]}, replace=True)
    assert result.unwrap() == expected
    assert result.stdout == "changed something: True\n"


@pytest.mark.parametrize(
    ("ending", "kind", "line"),
    [
        ("1 / 0", "ZeroDivisionError", "1 / 0"),
        ("raise ExceptionGroup('g', [ValueError('a')])", "ExceptionGroup", "raise ExceptionGroup"),
        ("await caps.files.read(path='x')", "CapabilityMissingError", "await caps.files.read"),
    ],
)
def test_a_vandal_does_not_harm_the_report(
    runtime: Runtime, ending: str, kind: str, line: str
) -> None:
    """And so do reports of errors, with the user's own line."""
    result = runtime.run_sync(VANDAL + ending)
    assert result.error is not None
    assert result.error.type == kind
    assert result.error.source_line is not None
    assert result.error.source_line.startswith(line)


TOUCHED = """
try:
    caps.files
except {name} as error:
    caught = error.capability
caught
"""


@pytest.mark.parametrize("prefix", ["", "caps."])
@pytest.mark.parametrize("name", ["CapabilityMissingError", "PolicyDeniedError", "CapsError"])
def test_what_is_not_granted_is_caught_by_the_names_of_the_documentation(
    runtime: Runtime, prefix: str, name: str
) -> None:
    """Without an import, and as attributes of the namespace."""
    result = runtime.run_sync(TOUCHED.format(name=prefix + name), check=True)
    assert result.unwrap() == "files"
