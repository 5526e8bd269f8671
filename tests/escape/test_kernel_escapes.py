"""Attacks on the layers beneath the language, with the language layer off: plain CPython, ctypes.

Every file in `kernel/` is one attack. Its docstring says what it tries and what should stop it,
its last expression is true if it worked, and its marks say

- `# stopped: ...`, how exactly it has to end (the keys of `ENDINGS`), so that an attack which
  merely breaks proves nothing;
- `# control: works`, that the same file succeeds outside the sandbox, which is tested too;
- `# only: ...`, the machine that it is for.
"""

from __future__ import annotations

import platform
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from caps import Runtime
from caps.capabilities.result import ExecutionResult
from caps.worker.host.zygote import ZygoteSource
from escape.attacks import HERE, Attack, attacks_on, harmless, limited, locked_down, lost

TOOLS = (HERE / "attack_tools.py").read_text()
ATTACKS = [
    attack for attack in attacks_on("kernel") if attack.mark("only") in (None, platform.machine())
]


def program_of(attack: Attack) -> str:
    """The attack with its tools, and the numbers of the calls that it names."""
    import pyseccomp

    machine = pyseccomp.system_arch()
    names = re.findall(r'raw\(\s*"(\w+)"', attack.source)
    numbers = {name: pyseccomp.resolve_syscall(machine, name) for name in names}
    unknown = [name for name, number in numbers.items() if number < 0]
    assert unknown == [], f"libseccomp knows no {unknown}"
    return f"NUMBERS = {numbers}\n{TOOLS}\n{attack.source}"


def _killed(result: ExecutionResult) -> bool:
    return (
        result.status.value == "protocol_violation"
        and result.error is not None
        and result.error.details["violation"] == "forbidden_system_call"
    )


def _refused(result: ExecutionResult) -> bool:
    return result.error is not None and result.error.type == "PermissionError"


def _absent(result: ExecutionResult) -> bool:
    return result.error is not None and result.error.type == "FileNotFoundError"


# What the mark `stopped` may say, and how that shows.
ENDINGS: dict[str, Callable[[ExecutionResult], bool]] = {
    "killed": _killed,  # by the kernel, at the system call
    "refused": _refused,  # with EPERM, and the code goes on
    "absent": _absent,  # there is nothing by that name
    "harmless": harmless,  # it ran to its end and got nothing
    "limited": limited,  # a limit of the policy ended it
    "lost": lost,  # it destroyed its own process, and nothing else
}


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    """Workers with every layer but the language; without those there is nothing to prove."""
    source = ZygoteSource(arguments=("--without-language", "--with-tools"))
    with locked_down(source, off=["language"]) as runtime:
        yield runtime


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_the_attack_does_not_work(runtime: Runtime, attack: Attack) -> None:
    """The attack fails in the locked-down worker, in the way that it has to."""
    result = runtime.run_sync(program_of(attack))
    assert not (result.ok and result.value), f"it worked: {result.value!r}"
    ending = attack.mark("stopped")
    assert ending is not None
    assert ENDINGS[ending](result), f"{result.status.value}, {result.error or result.value}"


# Runs a program as a worker would run it, and nothing holds it.
UNCONFINED = """
import sys
from caps.worker.inside.compiler import compile_plainly
program = compile_plainly(sys.stdin.read(), "<attack>")
space = {"__name__": "__main__"}
eval(program.code, space)
print("worked:", space[program.result_name], flush=True) if space[program.result_name] else None
"""


@pytest.mark.parametrize(
    "attack",
    [attack for attack in ATTACKS if attack.mark("control") == "works"],
    ids=str,
)
def test_the_attack_works_without_a_sandbox(attack: Attack, tmp_path: Path) -> None:
    """The same file succeeds where nothing stops it, so its failure above means something."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", UNCONFINED],
        input=program_of(attack),
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
        assert attack.tries, attack
        assert attack.marks <= {"stopped", "control", "only"}, attack
        assert attack.mark("stopped") in ENDINGS, attack
        assert attack.mark("control") in (None, "works"), attack


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


def test_ordinary_work_needs_nothing_that_is_refused(runtime: Runtime) -> None:
    """Large and many allocations, freed and taken again, live without mprotect and its like."""
    result = runtime.run_sync(LOAD)
    assert result.unwrap()[0] is True
    assert result.value[2:] == [64, 20_000_000, 900]


def test_memory_that_ran_out_is_an_error_of_the_code(runtime: Runtime) -> None:
    """At the memory limit the allocator goes on with what it has; the process does not abort."""
    result = runtime.run_sync(
        "kept = []\n"
        "try:\n"
        "    while True: kept.append(bytearray(1 << 16))\n"
        "except MemoryError:\n"
        "    taken = len(kept); kept = None\n"
        "[taken > 1000, sum(len(str(n)) for n in range(100_000))]"
    )
    assert result.unwrap() == [True, 488_890]
