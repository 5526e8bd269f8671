"""(5) Lets a worker share the processor of its host while it calls often.

Host and worker take turns during a call. On two processors each turn wakes up an idle processor,
which costs more than the work itself. Left alone, the kernel chooses an idle processor for each
wake-up. If the worker may run on the host's only, and has the policy SCHED_IDLE there, the kernel
counts that processor as idle, and both stay. The thread of the host is never pinned: what the
embedding program starts would inherit that.

With that policy any other task comes first. So a worker is near only while all of this holds, which
is checked in a tick of milliseconds, and it is put back when its execution ends:

- it calls often, and its calls are answered in the event loop's callback;
- no other execution is served in this process, nested ones included;
- an idle processor is there to be woken up. On a busy machine the kernel keeps the two together by
  itself, and other tasks come onto their processor.

When a tick finds soon that the calls have stopped, the next attempt waits, each time twice as long.
That bounds the cost where it does not pay: code that calls and computes in turns, or a processor
that another task uses as well.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from typing import Protocol

from caps.worker.host.process.scheduling import Scheduling

# A report for each call would cost more than it tells.
CALLS_PER_REPORT = 8
_OFTEN_SECONDS = 0.004  # between two reports
_TICK_SECONDS = 0.005
_BUSY_SECONDS = 0.004  # the pool makes a spare for about as long
_LONG_SECONDS = 0.1
_MIN_PAUSE_SECONDS = 0.1
_MAX_PAUSE_SECONDS = 2.0


class Placed(Protocol):
    """The part of a `Worker` that is used here."""

    def near(self, processor: int) -> bool: ...

    def apart(self) -> None: ...


class Timer(Protocol):
    """A callback that is due later."""

    def cancel(self) -> None: ...


CallLater = Callable[[float, Callable[[], None]], Timer]


def _timers() -> CallLater | None:
    """Those of the running event loop; None on trio, which has none."""
    try:
        return asyncio.get_running_loop().call_later
    except RuntimeError:
        return None


class Sharing:
    """What all executions of this process have in common."""

    def __init__(
        self,
        scheduling: Scheduling | None = None,
        clock: Callable[[], float] = time.monotonic,
        timers: Callable[[], CallLater | None] = _timers,
    ) -> None:
        self.scheduling = scheduling or Scheduling()
        self.clock = clock
        self.timers = timers
        # A set, since each thread with an event loop changes it, and a count would need a lock.
        self.served: set[SharedProcessor] = set()
        self._pause_s = _MIN_PAUSE_SECONDS
        self._not_before = 0.0

    def may_begin(self, now: float) -> bool:
        """Whether a worker that is waiting for its answer may be put near."""
        if now < self._not_before or self.scheduling.is_usable is False:
            return False
        if self.is_busy(ours=1):
            self._not_before = now + _BUSY_SECONDS
            return False
        if self.scheduling.is_usable is None:
            self.scheduling.find_out()
        return bool(self.scheduling.is_usable)

    def is_busy(self, ours: int) -> bool:
        """Whether others want the processors; `ours`: the runnable tasks of host and worker."""
        return len(self.served) > 1 or self.scheduling.is_busy(ours)

    def calls_stopped(self, now: float, began_at: float) -> None:
        """A worker was put back since it did not call, or could not."""
        if now - began_at >= _LONG_SECONDS:
            self._pause_s = _MIN_PAUSE_SECONDS
        else:
            self._not_before = now + self._pause_s
            self._pause_s = min(2 * self._pause_s, _MAX_PAUSE_SECONDS)


_sharing = Sharing()


class SharedProcessor:
    """The worker of one execution or cell, near or apart. Used in the thread of its event loop."""

    def __init__(self, worker: Placed, sharing: Sharing = _sharing) -> None:
        self._worker = worker
        self._sharing = sharing
        self._call_later: CallLater | None = None
        self._reported_at = -math.inf
        self._reported = False  # since the last tick
        # While it is near: the timer of the next tick, the processor, and since when.
        self._timer: Timer | None = None
        self._processor = -1
        self._began_at = 0.0
        self._is_busy = False  # at the last tick

    def __enter__(self) -> SharedProcessor:
        self._call_later = self._sharing.timers()
        self._sharing.served.add(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._sharing.served.discard(self)
        self._call_later = None
        self._end()

    def report(self) -> None:
        """CALLS_PER_REPORT more calls have come one by one. Raises nothing."""
        self._reported = True
        if self._timer is not None:
            self._follow()
        elif self._call_later is not None:
            now = self._sharing.clock()
            is_often = now - self._reported_at <= _OFTEN_SECONDS
            self._reported_at = now
            if is_often and self._sharing.may_begin(now):
                self._began_at = now
                self._is_busy = False
                self._follow()
                self._set_timer()

    def _follow(self) -> None:
        """Put the worker near the thread that runs this, unless it is there."""
        processor = self._sharing.scheduling.current_processor()
        if processor != self._processor:
            if self._worker.near(processor):
                self._processor = processor
            else:
                self._call_later = None  # no more for this execution
                self._end()

    def _set_timer(self) -> None:
        if self._call_later is not None:
            self._reported = False
            self._timer = self._call_later(_TICK_SECONDS, self._tick)

    def _tick(self) -> None:
        sharing = self._sharing
        was_busy = self._is_busy
        self._is_busy = sharing.is_busy(ours=2)  # the worker may have its answer and run
        if not self._reported:
            sharing.calls_stopped(sharing.clock(), self._began_at)
            self._end()
        elif was_busy and self._is_busy:  # one tick may have met a task that runs for microseconds
            self._end()
        else:
            self._set_timer()

    def _end(self) -> None:
        timer, self._timer, self._processor = self._timer, None, -1
        if timer is not None:
            timer.cancel()
        self._worker.apart()  # always: an interrupt may have come before there was a timer
