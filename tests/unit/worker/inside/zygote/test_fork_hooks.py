"""A child of the zygote has random numbers of its own, without a hook of `random`."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

PROGRAM = """
import json, os, sys
registered = []
real = os.register_at_fork
ours = lambda **hooks: (registered.append(sorted(hooks)), real(**hooks))
os.register_at_fork = ours

class Finder:
    # A module that `random` imports has a hook of its own.
    def find_spec(self, name, *rest):
        if name == "bisect":
            os.register_at_fork(before=list)

sys.meta_path.insert(0, Finder())
from caps.worker.inside.zygote.fork_hooks import reseed
import random
random.gauss(0, 1)  # draws a pair, and keeps the second number

def numbers(*, anew):
    answer, end = os.pipe()
    if os.fork() == 0:
        if anew:
            reseed()
        os.write(end, json.dumps([random.gauss(0, 1), random.random()]).encode())
        os._exit(0)
    os.wait()
    return json.loads(os.read(answer, 1000))

same = [numbers(anew=False) for _ in range(2)]
different = [numbers(anew=True) for _ in range(2)]
is_back = os.register_at_fork is ours
print(json.dumps([same, different, registered, is_back]))
"""


def test_each_child_that_reseeds_has_numbers_of_its_own() -> None:
    """One that does not has those of the others: only the hook of `random` is not there."""
    command = (sys.executable, "-I", "-c", PROGRAM)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    same, different, registered, is_back = json.loads(done.stdout)
    assert same[0] == same[1]
    for first, second in ((different[0], different[1]), (different[0], same[0])):
        assert first[0] != second[0]
        assert first[1] != second[1]
    assert registered == [["before"]]
    assert is_back
