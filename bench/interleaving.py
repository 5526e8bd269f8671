"""Contenders take turns: A B C A B C …, so that whatever slows the machine slows them all.

Each turn begins only when everything that the contenders left running has finished (a pool that
refills its stock, a process that is being reaped), so each starts on a quiet machine.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import anyio

from bench.figures import Samples
from bench.peers import Peer

# Does the work once and returns how long it took, in microseconds.
Turn = Callable[[], Awaitable[float]]
Progress = Callable[[int, int], None]

_LOOK_SECONDS = 0.001
_QUIET_LOOKS = 2
_MAX_QUIET_SECONDS = 0.2
_MAX_REASON_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Contender:
    """A contender: `open` prepares it. Without a `peer` it is always available.

    A very slow contender has a turn in the first `most_turns` rounds only.
    """

    name: str
    open: Callable[[], AbstractAsyncContextManager[Turn]]
    peer: Peer | None = None
    most_turns: int | None = None


@dataclass(frozen=True, slots=True)
class Rounds:
    """How many rounds there are, and how many warm-up rounds before them.

    After `seconds` no round begins, unless there were fewer than `fewest`: a busy machine gives
    fewer samples, not a longer run.
    """

    counted: int
    seconds: float
    warm_up: int = 3
    fewest: int = 3
    settle: bool = True

    def numbers(self, progress: Progress) -> Iterator[int]:
        """The number of each round as it begins; negative numbers are warm-up rounds."""
        began = time.monotonic()
        for number in range(-self.warm_up, self.counted):
            spent = time.monotonic() - began
            if number >= self.fewest and spent > self.seconds:
                break
            share = max((number + self.warm_up) / self.counted, spent / self.seconds)
            progress(min(int(100 * share), 100), 100)
            yield number
        progress(100, 100)


async def take_turns(
    contenders: tuple[Contender, ...], rounds: Rounds, progress: Progress
) -> Samples:
    """Sample every available contender; the others are skipped, with the reason.

    A peer that fails, when it is opened or in a turn, takes no further part. Errors of Caps are
    raised.
    """
    contest = _Contest()
    async with AsyncExitStack() as stack:
        for contender in contenders:
            await contest.open(contender, stack)
        for number in rounds.numbers(progress):
            for contender in tuple(contest.turns):
                if contest.may_play(contender, counts=number >= 0):
                    await contest.play(contender, rounds.settle, counts=number >= 0)
    return Samples(values=contest.values, skipped=contest.skipped)


@dataclass(slots=True)
class _Contest:
    """The active contenders with their times, and the skipped ones with the reasons."""

    turns: dict[Contender, Turn] = field(default_factory=dict)
    values: dict[str, list[float]] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)

    async def open(self, contender: Contender, stack: AsyncExitStack) -> None:
        if contender.peer is not None and contender.peer.missing is not None:
            self.skipped[contender.name] = contender.peer.missing
            return
        try:
            turn = await stack.enter_async_context(contender.open())
        except Exception as error:  # noqa: BLE001 - a peer's failure is its own; ours is raised
            self._drop(contender, error)
            return
        self.turns[contender] = turn
        self.values[contender.name] = []

    def may_play(self, contender: Contender, *, counts: bool) -> bool:
        if contender.most_turns is None:
            return True
        return counts and len(self.values[contender.name]) < contender.most_turns

    async def play(self, contender: Contender, settle: bool, *, counts: bool) -> None:
        if settle:
            await until_quiet()
        try:
            taken = await self.turns[contender]()
        except Exception as error:  # noqa: BLE001 - the same
            self._drop(contender, error)
            return
        if counts:
            self.values[contender.name].append(taken)

    def _drop(self, contender: Contender, error: Exception) -> None:
        if contender.peer is None or is_interrupted():
            raise error
        self.turns.pop(contender, None)
        self.values.pop(contender.name, None)
        self.skipped[contender.name] = f"{contender.peer.name} cannot do it: {_first_line(error)}"


def is_interrupted() -> bool:
    """Whether this task was cancelled.

    Called when something failed: an interrupt from the terminal also ends the peers' processes, and
    the errors that they raise then may hide the cancellation.
    """
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _first_line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return cut_at_a_word(text.splitlines()[0], _MAX_REASON_CHARACTERS)


def cut_at_a_word(text: str, longest: int) -> str:
    """At most `longest` characters of `text`, with an ellipsis if it is cut."""
    if len(text) <= longest:
        return text
    # With the space after it, so that a word that just fits is kept.
    words, _, _ = text[: longest - 1].rpartition(" ")
    return f"{words} …" if words else f"{text[: longest - 1]}…"


async def until_quiet() -> None:
    """Wait, for a limited time, until no descendant process runs and none starts or exits."""
    deadline = time.monotonic() + _MAX_QUIET_SECONDS
    before: dict[int, str] = {}
    looks = 0
    while looks < _QUIET_LOOKS and time.monotonic() < deadline:
        await anyio.sleep(_LOOK_SECONDS)
        now = descendants(os.getpid())
        quiet = now == before and "R" not in now.values()
        looks = looks + 1 if quiet else 0
        before = now


def descendants(root: int) -> dict[int, str]:
    """The state of every descendant of `root`."""
    states: dict[int, str] = {}
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - this is done before every sample
        if not name.isdigit():
            continue
        try:
            stat = Path("/proc", name, "stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        state, parent = stat.rpartition(")")[2].split()[:2]
        states[int(name)] = state
        children.setdefault(int(parent), []).append(int(name))
    found: dict[int, str] = {}
    below = list(children.get(root, ()))
    while below:
        pid = below.pop()
        found[pid] = states[pid]
        below += children.get(pid, ())
    return found


class Stopwatch:
    """`with Stopwatch() as watch: …; watch.microseconds`, in wall-clock time."""

    microseconds: float = 0.0
    _now = staticmethod(time.perf_counter_ns)

    def __enter__(self) -> Self:
        self._began = self._now()
        return self

    def __exit__(self, *_: object) -> None:
        self.microseconds = (self._now() - self._began) / 1000


class CpuStopwatch(Stopwatch):
    """The same in CPU time of this thread, for work that never waits."""

    _now = staticmethod(time.thread_time_ns)


class ProcessStopwatch(Stopwatch):
    """The same in CPU time of all threads of this process."""

    _now = staticmethod(time.process_time_ns)
