"""The zygote runs the code of its workers until Python has specialised it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

PROGRAM = """
import json, os, resource, sys
output = sys.stdout
from caps.worker.inside.channel.channel import Channel
from caps.worker.inside.runner import run, serve
from caps.worker.inside.runner.warmup import record_host_script
from caps.worker.inside.stdlib.importer import load_facades
from caps.worker.inside.zygote.warm_up import warm_up_zygote

def state():
    kinds = (resource.RLIMIT_CPU, resource.RLIMIT_AS)
    return [resource.getrlimit(kind) for kind in kinds], sorted(os.listdir("/proc/self/fd"))

load_facades()
before = state()
warm_up_zygote(record_host_script())
functions = (serve.serve_cells, run.execute, Channel.flush, Channel._parse, Channel.request)
print(
    json.dumps([
        [each.__code__._co_code_adaptive != each.__code__.co_code for each in functions],
        state() == before,
    ]),
    file=output,
)
"""


def test_the_code_of_a_worker_is_specialised_and_nothing_else_remains() -> None:
    """It has run on a channel of the real type; limits and descriptors are as before."""
    command = (sys.executable, "-c", PROGRAM)
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL
    )
    specialised, same = json.loads(done.stdout)
    assert specialised == [True] * 5
    assert same
