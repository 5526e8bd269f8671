"""Compiled programs by what they were compiled from. The host keeps the bytes and never reads them.

What is filed under a source was made of this source, by a process that was given no other and that
never ran any (`compiling`). So bytes that lie could only have been made by the source that they
stand for, and only a worker that runs this same source gets them: it gains nothing that it could
not have done by being compiled in that worker.

A program is compiled for the cache when it is seen the second time: most are seen once.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

_MOST_BYTES = 32 * 1024 * 1024
_MOST_PROGRAMS = 1024
_MOST_SEEN = 8192


class ProgramKey(NamedTuple):
    """All that decides what a source compiles to."""

    source: str
    filename: str
    language: str
    python: str


class CompiledPrograms:
    """The programs that were used last, so many and no more."""

    def __init__(
        self, *, most_bytes: int = _MOST_BYTES, most_programs: int = _MOST_PROGRAMS
    ) -> None:
        self._most_bytes = most_bytes
        self._most_programs = most_programs
        self._programs: OrderedDict[ProgramKey, bytes] = OrderedDict()
        self._bytes = 0
        # By hash: a source that is taken for another is compiled early, and that is all.
        self._seen: OrderedDict[int, None] = OrderedDict()

    def find(self, key: ProgramKey) -> bytes:
        """The program, if there is one; else nothing."""
        program = self._programs.get(key)
        if program is None:
            return b""
        self._programs.move_to_end(key)
        return program

    def is_wanted(self, key: ProgramKey) -> bool:
        """Whether it is worth compiling: it is asked for the second time, and is not here."""
        if not key.language or key in self._programs:
            return False
        mark = hash(key)
        if mark in self._seen:
            return True
        self._seen[mark] = None
        if len(self._seen) > _MOST_SEEN:
            self._seen.popitem(last=False)
        return False

    def keep(self, key: ProgramKey, program: bytes) -> None:
        """File a program; empty if it is not to be had, so that nobody tries again."""
        size = _size(key, program)
        if size > self._most_bytes:
            return
        self._forget(key)
        self._programs[key] = program
        self._bytes += size
        while self._bytes > self._most_bytes or len(self._programs) > self._most_programs:
            self._forget(next(iter(self._programs)))

    def _forget(self, key: ProgramKey) -> None:
        program = self._programs.pop(key, None)
        if program is not None:
            self._bytes -= _size(key, program)

    def __len__(self) -> int:
        return len(self._programs)


def _size(key: ProgramKey, program: bytes) -> int:
    """What an entry takes, at most four bytes a character."""
    return 4 * len(key.source) + 4 * len(key.filename) + len(program)
