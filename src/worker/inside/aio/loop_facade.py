"""(4) What `asyncio.get_running_loop()` returns: the loop as user code may use it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, NoReturn

from caps.worker.inside.aio.futures import Future, Task, current_loop
from caps.worker.inside.aio.loop import Handle, ensure_future
from caps.worker.inside.aio.sealed import Sealed


def _call(call: tuple[Callable[..., object], tuple[Any, ...]]) -> None:
    function, arguments = call
    function(*arguments)


class EventLoop(metaclass=Sealed):
    """The one loop of this process. It cannot be closed, stopped or configured."""

    __slots__ = ()

    def time(self) -> float:
        return current_loop().time()

    def create_future(self) -> Future:
        return Future()

    def create_task(
        self, coro: Coroutine[Any, Any, Any], *, name: object = None, context: Any = None
    ) -> Task:
        return Task(coro, name=name, context=context)

    def call_soon(self, callback: Callable[..., object], *args: Any) -> Handle:
        loop = current_loop()
        return loop.call_at(loop.time(), _call, (callback, args))

    def call_later(self, delay: float, callback: Callable[..., object], *args: Any) -> Handle:
        return current_loop().call_after(delay, _call, (callback, args))

    def call_at(self, when: float, callback: Callable[..., object], *args: Any) -> Handle:
        return current_loop().call_at(float(when), _call, (callback, args))

    def run_until_complete(self, future: Awaitable[Any]) -> Any:
        return current_loop().run(ensure_future(future))

    def run_in_executor(self, executor: object, func: Callable[..., object], *args: Any) -> Future:
        """Call `func` immediately: there are no threads here."""
        del executor
        done = Future()
        try:
            done._finish(func(*args), None)
        except Exception as error:  # noqa: BLE001 - any error is the result of the future
            done._finish(None, error)
        return done

    def run_forever(self) -> NoReturn:
        raise RuntimeError("a loop that runs for ever would never give a result here")

    async def shutdown_asyncgens(self) -> None:
        """Do nothing: they are closed at the end of the program."""

    def close(self) -> None:
        """Do nothing: the loop lives as long as the program."""

    def is_running(self) -> bool:
        return current_loop().is_running()

    def is_closed(self) -> bool:
        return False

    def get_debug(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"<EventLoop running={self.is_running()}>"
