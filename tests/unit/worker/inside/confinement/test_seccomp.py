"""Both parts of the filter, one after the other, are the whole filter, call by call."""

from __future__ import annotations

import platform
import resource
import struct
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from caps.worker.inside.confinement import seccomp

pyseccomp: Any = pytest.importorskip("pyseccomp")

ALLOW, ERRNO, KILL_THREAD, KILL = 0x7FFF0000, 0x00050000, 0, 0x80000000
ACTION = 0xFFFF0000
# Numbers of this machine, and those of another calling convention of it, which end the process.
NUMBERS = (*range(600), 0x40000000, 0x40000000 + 59, 0xFFFFFFFF)
# What the kernel compares for the architecture; the other one is that of a 32-bit program.
ARCHITECTURES = {"x86_64": (0xC000003E, 0x40000003), "aarch64": (0xC00000B7, 0x40000028)}


def run_filter(program: bytes, number: int, architecture: int, arguments: tuple[int, ...]) -> int:
    """What the kernel would answer: the instructions of a filter that libseccomp makes."""
    data = struct.pack("<IIQ6Q", number, architecture, 0, *arguments)
    code = list(struct.iter_unpack("<HBBI", program))
    at = accumulator = 0
    while True:
        operation, if_true, if_false, value = code[at]
        at += 1
        if operation == 0x20:  # load a word
            (accumulator,) = struct.unpack_from("<I", data, value)
        elif operation == 0x54:  # and
            accumulator &= value
        elif operation == 0x05:  # jump
            at += value
        elif operation in (0x15, 0x25, 0x35):  # jump if equal, greater, greater or equal
            found = {
                0x15: accumulator == value,
                0x25: accumulator > value,
                0x35: accumulator >= value,
            }[operation]
            at += if_true if found else if_false
        elif operation == 0x06:  # return
            return int(value)
        else:
            raise NotImplementedError(hex(operation))


def strictness(answer: int) -> int:
    """The order in which the kernel prefers answers; the strictest of all filters counts."""
    return {KILL: 3, KILL_THREAD: 2, ERRNO: 1, ALLOW: 0}[answer & ACTION]


def calls() -> Iterator[tuple[int, tuple[int, ...]]]:
    """Every number with plain arguments, and those with conditions with many."""
    for number in NUMBERS:
        yield number, (0,) * 6
        yield number, (1,) * 6
    machine = pyseccomp.system_arch()
    kinds = (*range(17), 1 << 32, (1 << 32) + resource.RLIMIT_CPU)
    number = pyseccomp.resolve_syscall(machine, "prlimit64")
    for process, kind, new in product((0, 1, 1 << 32), kinds, (0, 1, 1 << 32)):
        yield number, (process, kind, new, 0, 0, 0)
    number = pyseccomp.resolve_syscall(machine, "mmap")
    for protection in (0, 1, 2, 3, 4, 5, 7, 8, 12):
        yield number, (0, 4096, protection, 2, 0, 0)
    number = pyseccomp.resolve_syscall(machine, "madvise")
    for advice in (0, 4, 25, 100, 101, 102, 103, 1 << 32):
        yield number, (0, 4096, advice, 0, 0, 0)


@pytest.fixture(scope="module")
def architectures() -> tuple[int, int]:
    return ARCHITECTURES[platform.machine()]


def exported(rules: Any) -> bytes:
    return seccomp.export_filter(pyseccomp, rules)


def test_both_parts_together_are_the_whole_filter(architectures: tuple[int, int]) -> None:
    """For every call the stricter answer of the two is the answer of the whole filter."""
    whole = exported(seccomp.whole_rules(pyseccomp))
    parts = (
        exported(seccomp.zygote_rules(pyseccomp)),
        exported(seccomp.worker_rules(pyseccomp)),
    )
    answers = set()
    for architecture in architectures:
        for number, arguments in calls():
            expected = run_filter(whole, number, architecture, arguments)
            given = [run_filter(part, number, architecture, arguments) for part in parts]
            assert max(given, key=strictness) == expected, (number, architecture, arguments)
            answers.add(expected)
    assert len(answers) == 4


def test_the_zygote_may_only_do_its_own_work_besides() -> None:
    """Its part allows nothing but the calls of workers, its own, and the limits of a worker."""
    whole, part = (
        exported(rules(pyseccomp)) for rules in (seccomp.whole_rules, seccomp.zygote_rules)
    )
    native, _ = ARCHITECTURES[platform.machine()]
    machine = pyseccomp.system_arch()
    own = {pyseccomp.resolve_syscall(machine, name) for name in (*seccomp.ZYGOTE, "prlimit64")}
    for number, arguments in calls():
        before = run_filter(whole, number, native, arguments)
        answer = run_filter(part, number, native, arguments)
        assert answer == before or (answer == ALLOW and number in own), number


def test_the_filters_are_built_as_they_are_defined() -> None:
    """What the zygote gets is what the tests above look at."""
    filters = seccomp.parse_filters(seccomp.build_filters())
    assert filters.zygote == exported(seccomp.zygote_rules(pyseccomp))
    assert filters.worker == exported(seccomp.worker_rules(pyseccomp))
