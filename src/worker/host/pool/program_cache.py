"""Compiled programs, by the source they were compiled from. The host never decodes the bytes.

The entry of a source was compiled from this source, by a process that was given no other source and
that never ran any (`compile_queue.py`). So only the source itself could have produced a forged
program in its entry, and only a worker that runs this same source receives it. The source gains
nothing that it could not have done by being compiled in that worker.

A program is compiled for the cache when it is seen the second time: most are seen once.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

_MAX_BYTES = 32 * 1024 * 1024
_MAX_PROGRAMS = 1024
_MAX_SEEN = 8192


class ProgramKey(NamedTuple):
    """Everything that determines the compiled program of a source."""

    source: str
    filename: str
    language: str
    python: str


class ProgramCache:
    """The most recently used programs, up to a number and a total size."""

    def __init__(self, *, max_bytes: int = _MAX_BYTES, max_programs: int = _MAX_PROGRAMS) -> None:
        self._max_bytes = max_bytes
        self._max_programs = max_programs
        self._programs: OrderedDict[ProgramKey, bytes] = OrderedDict()
        self._bytes = 0
        # By hash: on a collision a source is compiled too early, which does no harm.
        self._seen: OrderedDict[int, None] = OrderedDict()

    def find(self, key: ProgramKey) -> bytes:
        """The program, or empty bytes if there is none."""
        program = self._programs.get(key)
        if program is None:
            return b""
        self._programs.move_to_end(key)
        return program

    def should_compile(self, key: ProgramKey) -> bool:
        """Note that it was seen. True if it was seen before and is not cached."""
        if not key.language or key in self._programs:
            return False
        mark = hash(key)
        if mark in self._seen:
            return True
        self._seen[mark] = None
        if len(self._seen) > _MAX_SEEN:
            self._seen.popitem(last=False)
        return False

    def store(self, key: ProgramKey, program: bytes) -> None:
        """Store a program. Empty means that it does not compile, so it is not tried again."""
        size = _size(key, program)
        if size > self._max_bytes:
            return
        self._discard(key)
        self._programs[key] = program
        self._bytes += size
        while self._bytes > self._max_bytes or len(self._programs) > self._max_programs:
            self._discard(next(iter(self._programs)))

    def _discard(self, key: ProgramKey) -> None:
        program = self._programs.pop(key, None)
        if program is not None:
            self._bytes -= _size(key, program)

    def __len__(self) -> int:
        return len(self._programs)


def _size(key: ProgramKey, program: bytes) -> int:
    """The size of an entry, with four bytes per character as the upper bound."""
    return 4 * len(key.source) + 4 * len(key.filename) + len(program)
