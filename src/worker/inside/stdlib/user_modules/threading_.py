"""`threading` of user space: there is one thread, and a `Thread` runs to its end when it starts.

That is one of the orders in which Python may run threads, so a program whose threads do not wait
for each other does what it does in Python. A wait that cannot end is an error, not a deadlock.
"""

from __future__ import annotations

import itertools
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import Any

_NEVER = (
    "a thread runs to its end when it starts here, so nothing can change meanwhile; use `asyncio`"
)
TIMEOUT_MAX = 9223372036.0


def _wait_in_vain(what: str, timeout: float | None) -> None:
    if timeout is None or timeout < 0:
        raise RuntimeError(f"`{what}` would wait forever: {_NEVER}")
    time.sleep(timeout)


class Lock:
    """`threading.Lock`."""

    def __init__(self) -> None:
        self._locked = False

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if self._locked and blocking:
            _wait_in_vain("acquire", timeout)
        if self._locked:
            return False
        self._locked = True
        return True

    def release(self) -> None:
        if not self._locked:
            raise RuntimeError("release unlocked lock")
        self._locked = False

    def locked(self) -> bool:
        return self._locked

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *error: object) -> None:
        self.release()


class RLock:
    """`threading.RLock`: a thread may acquire it again."""

    def __init__(self) -> None:
        self._count = 0
        self._owner: Thread | None = None

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        me = current_thread()
        if self._count and self._owner is not me:
            if blocking:
                _wait_in_vain("acquire", timeout)
            return False
        self._owner = me
        self._count += 1
        return True

    def release(self) -> None:
        if not self._count or self._owner is not current_thread():
            raise RuntimeError("cannot release un-acquired lock")
        self._count -= 1

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *error: object) -> None:
        self.release()


class Condition:
    """`threading.Condition`."""

    def __init__(self, lock: Any = None) -> None:
        self._lock = RLock() if lock is None else lock
        self.acquire = self._lock.acquire
        self.release = self._lock.release

    def __enter__(self) -> Any:
        return self._lock.__enter__()

    def __exit__(self, *error: object) -> None:
        self._lock.__exit__(*error)

    def wait(self, timeout: float | None = None) -> bool:
        _wait_in_vain("wait", timeout)
        return False

    def wait_for(self, predicate: Callable[[], Any], timeout: float | None = None) -> Any:
        result = predicate()
        if not result:
            _wait_in_vain("wait_for", timeout)
        return result

    def notify(self, n: int = 1) -> None:
        """Nobody can be waiting."""

    def notify_all(self) -> None:
        """Nobody can be waiting."""


class Semaphore:
    """`threading.Semaphore`."""

    def __init__(self, value: int = 1) -> None:
        if value < 0:
            raise ValueError("semaphore initial value must be >= 0")
        self._value = value

    def acquire(self, blocking: bool = True, timeout: float | None = None) -> bool:
        if self._value <= 0:
            if blocking:
                _wait_in_vain("acquire", timeout)
            return False
        self._value -= 1
        return True

    def release(self, n: int = 1) -> None:
        self._value += n

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *error: object) -> None:
        self.release()


class BoundedSemaphore(Semaphore):
    """`threading.BoundedSemaphore`."""

    def __init__(self, value: int = 1) -> None:
        super().__init__(value)
        self._initial = value

    def release(self, n: int = 1) -> None:
        if self._value + n > self._initial:
            raise ValueError("Semaphore released too many times")
        self._value += n


class Event:
    """`threading.Event`."""

    def __init__(self) -> None:
        self._flag = False

    def is_set(self) -> bool:
        return self._flag

    def set(self) -> None:
        self._flag = True

    def clear(self) -> None:
        self._flag = False

    def wait(self, timeout: float | None = None) -> bool:
        if not self._flag:
            _wait_in_vain("wait", timeout)
        return self._flag


class local:  # noqa: N801 - the library's name
    """`threading.local`: every thread has attributes of its own."""

    def __init__(self) -> None:
        object.__setattr__(self, "_attributes", {})

    def __getattr__(self, name: str) -> Any:
        try:
            return self._attributes[current_thread().ident, name]
        except KeyError:
            raise AttributeError(f"'local' object has no attribute '{name}'") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self._attributes[current_thread().ident, name] = value

    def __delattr__(self, name: str) -> None:
        try:
            del self._attributes[current_thread().ident, name]
        except KeyError:
            raise AttributeError(f"'local' object has no attribute '{name}'") from None


_numbers = itertools.count(1)
_identities = itertools.count(140_000_000_000_000)


class Thread:
    """`threading.Thread`; `start` runs it to its end."""

    def __init__(
        self,
        group: None = None,
        target: Callable[..., Any] | None = None,
        name: str | None = None,
        args: Iterable[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        daemon: bool | None = None,
    ) -> None:
        if group is not None:
            raise ValueError("group argument must be None for now")
        self._target = target
        self._args = tuple(args)
        self._kwargs = dict(kwargs or {})
        self.name = str(name) if name else _name_of(target)
        self.daemon = bool(daemon)
        self.ident: int | None = None
        self._state = "initial"

    @property
    def native_id(self) -> int | None:
        return self.ident

    def start(self) -> None:
        """Run the thread to its end."""
        if self._state != "initial":
            raise RuntimeError("threads can only be started once")
        self.ident = next(_identities)
        self._state = "started"
        _running.append(self)
        try:
            self.run()
        except SystemExit:
            pass
        except BaseException:  # noqa: BLE001 - the error of a thread ends only the thread
            text = traceback.format_exc()
            sys.stderr.write(f"Exception in thread {self.name}:\n{text}")
        finally:
            _running.pop()
            self._state = "stopped"

    def run(self) -> None:
        """What the thread does."""
        if self._target is not None:
            self._target(*self._args, **self._kwargs)

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end, which has come when `start` returns."""
        del timeout
        if self._state == "initial":
            raise RuntimeError("cannot join thread before it is started")
        if self in _running:
            raise RuntimeError("cannot join current thread")

    def is_alive(self) -> bool:
        return self._state == "started"

    def __repr__(self) -> str:
        daemon = " daemon" if self.daemon else ""
        identity = "" if self.ident is None else f" {self.ident}"
        return f"<{type(self).__name__}({self.name}, {self._state}{daemon}{identity})>"


def _name_of(target: Any) -> str:
    number = next(_numbers)
    name = getattr(target, "__name__", None)
    return f"Thread-{number}" if name is None else f"Thread-{number} ({name})"


class _MainThread(Thread):
    def __init__(self) -> None:
        super().__init__(name="MainThread")
        self.ident = next(_identities)
        self._state = "started"


_main = _MainThread()
_running: list[Thread] = [_main]


def current_thread() -> Thread:
    """`threading.current_thread`."""
    return _running[-1]


def main_thread() -> Thread:
    """`threading.main_thread`."""
    return _main


def get_ident() -> int | None:
    """`threading.get_ident`."""
    return _running[-1].ident


get_native_id = get_ident


def active_count() -> int:
    """`threading.active_count`."""
    return len(_running)


def enumerate() -> list[Thread]:  # noqa: A001 - the library's name
    """`threading.enumerate`."""
    return list(_running)
