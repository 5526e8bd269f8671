"""`concurrent.futures` of user space: an executor calls a function when it is submitted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

FIRST_COMPLETED = "FIRST_COMPLETED"
FIRST_EXCEPTION = "FIRST_EXCEPTION"
ALL_COMPLETED = "ALL_COMPLETED"
TimeoutError = TimeoutError  # noqa: A001, PLW0127 - the library has it, too


class CancelledError(Exception):
    """The future was cancelled."""


class InvalidStateError(Exception):
    """The future already has a result."""


class BrokenExecutor(RuntimeError):
    """The executor cannot go on."""


class Future:
    """`concurrent.futures.Future`."""

    def __init__(self) -> None:
        self._state = "pending"
        self._result: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future], Any]] = []

    def cancel(self) -> bool:
        if self._state == "pending":
            self._state = "cancelled"
            self._call_back()
        return self._state == "cancelled"

    def cancelled(self) -> bool:
        return self._state == "cancelled"

    def running(self) -> bool:
        return self._state == "running"

    def done(self) -> bool:
        return self._state in ("cancelled", "finished")

    def result(self, timeout: float | None = None) -> Any:
        error = self.exception(timeout)
        if error is not None:
            raise error
        return self._result

    def exception(self, timeout: float | None = None) -> BaseException | None:
        if self._state == "cancelled":
            raise CancelledError
        if not self.done():
            if timeout is None:
                raise RuntimeError("the future would wait forever: there is no other thread here")
            time.sleep(timeout)
            raise TimeoutError
        return self._error

    def add_done_callback(self, fn: Callable[[Future], Any]) -> None:
        if self.done():
            fn(self)
        else:
            self._callbacks.append(fn)

    def set_running_or_notify_cancel(self) -> bool:
        if self._state == "cancelled":
            return False
        self._state = "running"
        return True

    def set_result(self, result: Any) -> None:
        self._finish(result, None)

    def set_exception(self, exception: BaseException | None) -> None:
        self._finish(None, exception)

    def _finish(self, result: Any, error: BaseException | None) -> None:
        if self.done():
            raise InvalidStateError(f"{self._state}: {self!r}")
        self._state, self._result, self._error = "finished", result, error
        self._call_back()

    def _call_back(self) -> None:
        for fn in self._callbacks:
            fn(self)

    def __repr__(self) -> str:
        return f"<Future at {id(self):#x} state={self._state}>"


class Executor:
    """`concurrent.futures.Executor`."""

    def __init__(self) -> None:
        self._is_shut_down = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        """Call `fn` now; the future has its result or its error."""
        if self._is_shut_down:
            raise RuntimeError("cannot schedule new futures after shutdown")
        future = Future()
        future.set_running_or_notify_cancel()
        try:
            result = fn(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - it is the result
            future.set_exception(error)
        else:
            future.set_result(result)
        return future

    def map(
        self,
        fn: Callable[..., Any],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
    ) -> Iterator[Any]:
        """Call `fn` for all items now; the iterator gives results, or raises the first error."""
        del timeout, chunksize
        futures = [self.submit(fn, *args) for args in zip(*iterables)]  # noqa: B905 - as in Python
        return (future.result() for future in futures)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        del wait, cancel_futures
        self._is_shut_down = True

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None:
        self.shutdown()


class ThreadPoolExecutor(Executor):
    """`concurrent.futures.ThreadPoolExecutor`."""

    def __init__(
        self,
        max_workers: int | None = None,
        thread_name_prefix: str = "",
        initializer: Callable[..., Any] | None = None,
        initargs: tuple[Any, ...] = (),
    ) -> None:
        del thread_name_prefix
        if max_workers is not None and max_workers <= 0:
            raise ValueError("max_workers must be greater than 0")
        super().__init__()
        if initializer is not None:
            initializer(*initargs)


class DoneAndNotDoneFutures(NamedTuple):
    """Returned by `wait`."""

    done: set[Future]
    not_done: set[Future]


def wait(
    fs: Iterable[Future], timeout: float | None = None, return_when: str = ALL_COMPLETED
) -> DoneAndNotDoneFutures:
    """`concurrent.futures.wait`; futures of an executor are done."""
    del return_when
    futures = set(fs)
    not_done = {future for future in futures if not future.done()}
    if not_done:
        next(iter(not_done)).exception(timeout)
    return DoneAndNotDoneFutures(futures - not_done, not_done)


def as_completed(fs: Iterable[Future], timeout: float | None = None) -> Iterator[Future]:
    """`concurrent.futures.as_completed`, in the order in which they were submitted."""
    for future in dict.fromkeys(fs):
        if not future.done():
            future.exception(timeout)
        yield future
