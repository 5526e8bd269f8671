"""(4) What can be awaited: a Future, and a Task that drives a coroutine.

They schedule on the loop of the process. Every await of a program goes through `Task._step`, so it
is kept small. Callbacks run one turn later, in the same order as in asyncio.
"""

from __future__ import annotations

import itertools
import reprlib
from collections.abc import Callable, Coroutine, Generator
from contextvars import copy_context
from types import CoroutineType, GenericAlias, MethodType
from typing import TYPE_CHECKING, Any, ClassVar

from caps.worker.inside.aio.errors import CancelledError, InvalidStateError
from caps.worker.inside.aio.sealed import Sealed
from caps.worker.inside.aio.unretrieved import UnretrievedError

if TYPE_CHECKING:
    from caps.worker.inside.aio.loop import Loop

Callback = Callable[[Any], object]

# Not `error.with_traceback`: a user-defined class may override it.
_with_traceback = BaseException.with_traceback

PENDING, FINISHED, CANCELLED = 0, 1, 2
_STATES = ("pending", "finished", "cancelled")
NOT_WAITED_FOR = "the future was not waited for"

# The loop of this process, and the task whose step is running.
_loop: Loop
_running: Task | None = None
_names = itertools.count(1)


def enter(loop: Loop, running: Task | None) -> Task | None:
    """Make `loop` the loop, and `running` the running task. Returns the previous one."""
    global _loop, _running  # noqa: PLW0603 - one loop, one process
    _loop = loop
    before, _running = _running, running
    return before


def current_loop() -> Loop:
    """The loop of this process."""
    return _loop


def current_task(loop: object = None) -> Task | None:
    """The running task; None outside of any task."""
    del loop  # there is only one; accepted for compatibility with asyncio, here and below
    return _running


class Future(metaclass=Sealed):
    """A result that will be available later."""

    # `_value` is the result, or the traceback of the error, or the message of the cancellation.
    __slots__ = ("_callbacks", "_error", "_state", "_unretrieved", "_value")

    __class_getitem__: ClassVar[Any] = classmethod(GenericAlias)

    def __init__(self, *, loop: object = None) -> None:
        del loop
        self._state = PENDING
        self._value: Any = None
        self._error: BaseException | None = None
        # A method of ours that is the only one needs no list: tasks mostly have one waiter.
        self._callbacks: list[Callback] | MethodType | None = None
        self._unretrieved: UnretrievedError | None = None

    def done(self) -> bool:
        return self._state != PENDING

    def cancelled(self) -> bool:
        return self._state == CANCELLED

    def result(self) -> Any:
        error = self.exception()
        if error is None:
            return self._value
        raise _with_traceback(error, self._value)

    def exception(self) -> BaseException | None:
        if self._state == PENDING:
            raise InvalidStateError("the result is not there yet")
        if self._state == CANCELLED:
            raise self._cancellation_error()
        if self._unretrieved is not None:
            self._mark_retrieved()
        return self._error

    def cancel(self, msg: Any = None) -> bool:
        if self._state:
            self._mark_retrieved()
            return False
        self._state = CANCELLED
        self._value = msg
        self._schedule()
        return True

    def set_result(self, result: Any) -> None:
        if self._state:
            raise InvalidStateError(f"the future is {_STATES[self._state]} already")
        self._finish(result, None)

    def set_exception(self, exception: Any) -> None:
        if self._state:
            raise InvalidStateError(f"the future is {_STATES[self._state]} already")
        error = exception() if isinstance(exception, type) else exception
        if not isinstance(error, BaseException) or isinstance(error, StopIteration):
            raise TypeError(f"a `{type(error).__name__}` cannot be raised into a future")
        self._finish(None, error)

    def add_done_callback(self, fn: Callback, *, context: object = None) -> None:
        del context
        callbacks = self._callbacks
        if self._state:
            _loop._ready.append((fn, self))
        elif isinstance(callbacks, list):
            callbacks.append(fn)
        else:
            self._callbacks = [fn] if callbacks is None else [callbacks, fn]

    def remove_done_callback(self, fn: Callback) -> int:
        callbacks = self._callbacks
        before = callbacks if isinstance(callbacks, list) else [callbacks] if callbacks else []
        kept = [one for one in before if one is not fn and not _is_same_method(one, fn)]
        self._callbacks = kept
        return len(before) - len(kept)

    def _finish(self, value: Any, error: BaseException | None) -> None:
        """Set the result or the error, unless the future is done."""
        if self._state:
            return
        self._state = FINISHED
        self._value = value
        if error is not None:
            self._error, self._value = error, error.__traceback__
            if not isinstance(error, CancelledError):
                self._unretrieved = UnretrievedError(self._label(), error, _loop._lost)
                _loop._unretrieved.add(self._unretrieved)
        self._schedule()

    def _schedule(self) -> None:
        callbacks = self._callbacks
        if callbacks is None:
            return
        self._callbacks = None
        if isinstance(callbacks, list):
            _loop._ready.extend([(callback, self) for callback in callbacks])
        else:
            _loop._ready.append((callbacks, self))

    def _fire(self, _nothing: object) -> None:
        """The time is up: for futures that the loop uses as timers."""
        if not self._state:
            self._state = FINISHED
            self._schedule()

    def _cancellation_error(self) -> BaseException:
        """The error for an await of this: the task's own error the first time, then a new one."""
        error, self._error = self._error, None
        if error is not None:
            return error
        return CancelledError() if self._value is None else CancelledError(self._value)

    def _mark_retrieved(self) -> None:
        if self._unretrieved is not None:
            self._unretrieved.error = None
            self._unretrieved = None

    def _label(self) -> str:
        return "Future"

    def __await__(self) -> Generator[Any, None, Any]:
        if not self._state:
            yield self
            if not self._state:
                raise RuntimeError(NOT_WAITED_FOR)
        if self._state == FINISHED and self._error is None:
            return self._value
        return self.result()

    __iter__ = __await__

    def __repr__(self) -> str:
        text = _STATES[self._state]
        if self._state == FINISHED and self._error is None:
            text = f"{text} result={reprlib.repr(self._value)}"
        elif self._state == FINISHED:
            text = f"{text} exception={reprlib.repr(self._error)}"
        return f"<{self._label()} {text}>"


_context_class: type | None = None


def accept_contexts(kind: type) -> None:
    """Set the class of the contexts that user code may give to a task. Called once, at start-up."""
    global _context_class  # noqa: PLW0603 - the class is defined in a module that imports this one
    _context_class = kind


def _checked_context(context: Any) -> Any:
    # `run` of another object would get the coroutine, and drive it outside of the task.
    if type(context) is not _context_class:
        raise TypeError(f"`context` must be a Context, not a `{type(context).__name__}`")
    return context


class Task(Future):
    """A coroutine that the loop drives, from the next turn on."""

    __slots__ = ("_cancels", "_context", "_coroutine", "_must_throw", "_name", "_waiting_for")

    def __init__(
        self,
        coro: Coroutine[Any, Any, Any],
        *,
        loop: object = None,
        name: object = None,
        context: Any = None,
    ) -> None:
        # User code that calls this with its own object would have it driven, and see the context.
        if type(self) is not Task:
            raise TypeError("a task is made by calling Task")
        if type(coro) is not CoroutineType:
            raise TypeError(f"create_task takes a coroutine, not a `{type(coro).__name__}`")
        del loop
        # The fields of a future, without a call of its `__init__`: tasks are created often.
        self._state = PENDING
        self._value = self._error = self._callbacks = self._unretrieved = None
        self._coroutine = coro
        self._context = copy_context() if context is None else _checked_context(context)
        # Whether the next step starts with a cancellation, or the error that it starts with.
        self._must_throw: bool | BaseException = False
        self._waiting_for: Future | None = None
        self._cancels = 0
        # A number is formatted as a name only when `get_name` is called.
        self._name: int | str = next(_names) if name is None else _plain(name)
        _loop._tasks.add(self)
        _loop._ready.append((self._step, None))

    def get_name(self) -> str:
        return self._name if isinstance(self._name, str) else f"Task-{self._name}"

    def set_name(self, value: object) -> None:
        self._name = _plain(value)

    def set_result(self, result: Any) -> None:  # noqa: ARG002 - that of a future
        raise RuntimeError("a task sets its result itself")

    def set_exception(self, exception: Any) -> None:  # noqa: ARG002
        raise RuntimeError("a task sets its error itself")

    def cancel(self, msg: Any = None) -> bool:
        if self._state:
            self._mark_retrieved()
            return False
        self._cancels += 1
        # The awaited future is cancelled, and its end wakes this task. If it is done already, the
        # task is about to wake: it must not be stepped twice, so the next step throws the error.
        if self._waiting_for is None or not self._waiting_for.cancel(msg):
            self._must_throw, self._value = True, msg
        return True

    def cancelling(self) -> int:
        return self._cancels

    def uncancel(self) -> int:
        if self._cancels > 0:
            self._cancels -= 1
            if self._cancels == 0 and self._must_throw is True:
                self._must_throw = False
        return self._cancels

    def _throw(self, error: BaseException) -> None:
        """Let the next step, which runs soon, start with `error`."""
        self._must_throw = error
        awaited = self._waiting_for
        if awaited is not None and not awaited._state:  # otherwise the step is scheduled already
            self._waiting_for = None
            awaited.remove_done_callback(self._step)
            _loop._ready.append((self._step, None))

    def _step(self, woken: Future | None) -> None:
        global _running  # noqa: PLW0603 - the only way that costs nothing
        if self._state:
            return  # abandoned, and woken anyway
        self._waiting_for = None
        before, _running = _running, self
        try:
            if self._must_throw:
                awaited = self._context.run(self._coroutine.throw, self._take_error(woken))
            else:
                awaited = self._context.run(self._coroutine.send, None)
        except StopIteration as stop:
            _loop._tasks.discard(self)
            if self._must_throw:  # cancelled just before its end
                super().cancel(self._value)
            else:
                self._state, self._value = FINISHED, stop.value
                self._schedule()
        except CancelledError as error:
            _loop._tasks.discard(self)
            self._error = _without_step_frame(error)
            super().cancel()
        except (SystemExit, KeyboardInterrupt) as error:
            self._fail(error)
            self._mark_retrieved()
            raise
        except BaseException as error:  # noqa: BLE001 - any error is the task's result
            self._fail(error)
        else:
            if awaited is None:
                _loop._ready.append((self._step, None))
            else:
                self._wait_for(awaited)
        finally:
            _running = before
            # From Python 3.12 on, the frames in the traceback of an error keep this frame alive.
            # Through it the error would keep its own task, and its loss would be noticed late.
            del self, woken

    def _take_error(self, woken: Future | None) -> BaseException:
        """The error that the step starts with."""
        thrown, self._must_throw = self._must_throw, False
        if isinstance(thrown, BaseException):
            return thrown
        if woken is not None and woken._state == CANCELLED:
            return woken._cancellation_error()
        if woken is not None:
            woken._mark_retrieved()
        return CancelledError() if self._value is None else CancelledError(self._value)

    def _wait_for(self, awaited: object) -> None:
        if isinstance(awaited, Future) and awaited is not self:
            self._waiting_for = awaited
            step: Any = self._step
            if awaited._state or awaited._callbacks is not None:
                awaited.add_done_callback(step)
            else:
                awaited._callbacks = step
            if self._must_throw and awaited.cancel(self._value):
                self._must_throw = False
            return
        if not self._must_throw:
            text = "itself" if awaited is self else f"a `{type(awaited).__name__}`"
            self._must_throw = RuntimeError(f"{text} cannot be awaited here")
        _loop._ready.append((self._step, None))

    def _fail(self, error: BaseException) -> None:
        _loop._tasks.discard(self)
        self._finish(None, _without_step_frame(error))

    def _label(self) -> str:
        return f"Task {self.get_name()!r}"


def _is_same_method(one: Any, other: Any) -> bool:
    """Whether both are the same method: each attribute access creates a new method object.

    `==` would call `__eq__` of the bound object, which may be the user's, with our object.
    """
    if type(one) is not MethodType or type(other) is not MethodType:
        return False
    return one.__func__ is other.__func__ and one.__self__ is other.__self__


def _plain(name: object) -> str:
    """`name` as a plain str; a `__str__` may return a subclass with methods of its own."""
    return str.__str__(str(name))


def _without_step_frame(error: BaseException) -> BaseException:
    """`error` without the frame of `_step`, which would keep a reference to its task."""
    traceback = error.__traceback__
    return _with_traceback(error, traceback.tb_next if traceback is not None else None)
