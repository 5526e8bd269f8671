"""Objects of the zygote are never written to again for a reference."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

PROGRAM = """
import json, sys
from caps.worker.inside.zygote.immortal import keep_for_ever

class Point:
    def __init__(self, x):
        self.x = x

shared = [Point(1), {"a": (2, "some text that is not interned")}]
number = keep_for_ever()
counts = [sys.getrefcount(each) for each in (shared, shared[0], shared[1], Point.__init__)]
others = [shared, shared[0], shared[1], Point.__init__, shared[1]["a"]]
after = [sys.getrefcount(each) for each in (shared, shared[0], shared[1], Point.__init__)]
new = [Point(2)]
mortal = sys.getrefcount(new[0])
kept = new[0]
print(json.dumps([number, counts, after, sys.getrefcount(new[0]) - mortal, shared[1]["a"][0]]))
"""


def run() -> str:
    command = (sys.executable, "-c", PROGRAM)
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_references_to_what_existed_are_not_counted_any_more() -> None:
    """From Python 3.12 on; before, nothing is changed."""
    number, before, after, counted, value = json.loads(run())
    assert value == 2
    assert counted == 1, "objects that are created later are counted as before"
    if sys.version_info < (3, 12):
        assert number == 0
    else:
        assert number > 10_000
        assert before == after
