"""Attacks on the layers beneath the language, with the language layer off: plain CPython, ctypes.

Every file in `kernel/` is one attack; `kernel_attacks` says how it is read. Here each runs against
all layers together, as in use; `test_kernel_layers.py` runs it against each one alone.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from caps import Runtime
from caps.worker.host.zygote.source import ZygoteSource
from escape.attacks import locked_down
from support.escape_targets import EscapeTargets
from support.kernel_attacks import ATTACKS, ENDINGS, KernelAttack, worked


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    """Workers with every layer but the language; without those there is nothing to prove."""
    source = ZygoteSource(arguments=("--without-language", "--with-tools"))
    with locked_down(source, off=("language",)) as runtime:
        yield runtime


@pytest.mark.process
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_the_attack_does_not_work(
    runtime: Runtime, host: EscapeTargets, attack: KernelAttack
) -> None:
    """The attack fails in the locked-down worker, in the way that it has to."""
    host.reset()
    result = runtime.run_sync(attack.program(host.facts))
    assert not worked(result), f"it worked: {result.value!r}"
    assert attack.stopped(result), f"{result.status.value}, {result.error or result.value}"


# Runs a program as a worker would run it, and nothing holds it.
UNCONFINED = """
import sys
from caps.worker.inside.language.compiler import compile_unrestricted
program = compile_unrestricted(sys.stdin.read(), "<attack>")
space = {"__name__": "__main__"}
eval(program.code, space)
print("worked:", space[program.result_name], flush=True) if space[program.result_name] else None
"""


@pytest.mark.process
@pytest.mark.parametrize(
    "attack",
    [attack for attack in ATTACKS if attack.mark("control") == "works"],
    ids=lambda attack: attack.name,
)
def test_the_attack_works_without_a_sandbox(
    host: EscapeTargets, attack: KernelAttack, tmp_path: Path
) -> None:
    """The same file succeeds where nothing stops it, so its failure above means something."""
    host.reset()
    done = subprocess.run(
        [sys.executable, "-I", "-c", UNCONFINED],
        input=attack.program(host.facts),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.stdout.startswith("worked:"), done.stderr


def test_every_attack_says_what_it_tries_and_how_it_must_end() -> None:
    """There are many, each has a docstring, and each mark is a known one."""
    assert len(ATTACKS) >= 100
    for attack in ATTACKS:
        assert ast.get_docstring(ast.parse(attack.source)), attack.name
        assert set(attack.endings) <= ENDINGS.keys(), attack.name
        assert attack.mark("control") in (None, "works"), attack.name


LOAD = """
import gc, hashlib, json, re
kept = []
for round in range(2):
    kept = [{"n": n, "text": str(n) * 3, "items": [n, n + 1]} for n in range(40_000)]
    blocks = [bytearray(size) for size in (1 << 10, 1 << 16, 1 << 20, 1 << 23) for _ in range(4)]
    del blocks
    gc.collect()
text = json.dumps(kept)
back = json.loads(text)
words = len(re.findall(r"[0-9]+", text))
digest = hashlib.sha256(text.encode()).hexdigest()
grown = bytearray()
for _ in range(2000):
    grown += b"x" * 10_000
def deep(n):
    return 0 if n == 0 else 1 + deep(n - 1)
[back == kept, words, len(digest), len(grown), deep(900)]
"""


@pytest.mark.process
def test_ordinary_work_needs_nothing_that_is_refused(runtime: Runtime) -> None:
    """Large and many allocations, also after a free, work without mprotect and similar calls."""
    result = runtime.run_sync(LOAD)
    assert result.unwrap()[0] is True
    assert result.value[2:] == [64, 20_000_000, 900]


@pytest.mark.process
def test_memory_that_ran_out_is_an_error_of_the_code(runtime: Runtime) -> None:
    """At the memory limit the allocator uses what it has; the process does not abort."""
    result = runtime.run_sync(
        "kept = []\n"
        "try:\n"
        "    while True: kept.append(bytearray(1 << 16))\n"
        "except MemoryError:\n"
        "    taken = len(kept); kept = None\n"
        "[taken > 1000, sum(len(str(n)) for n in range(100_000))]"
    )
    assert result.unwrap() == [True, 488_890]
