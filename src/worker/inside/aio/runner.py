"""(4) `asyncio.Runner`: runs several coroutines one after the other on the only loop."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from caps.worker.inside.aio.futures import current_loop
from caps.worker.inside.aio.loop import ensure_future
from caps.worker.inside.aio.loop_facade import EventLoop
from caps.worker.inside.aio.sealed import Sealed
from caps.worker.inside.aio.shutdown import shutdown


class Runner(metaclass=Sealed):
    """Tasks continue from one `run` to the next, and end with the block."""

    __slots__ = ("_before", "_closed")

    def __init__(self, *, debug: bool | None = None, loop_factory: Any = None) -> None:
        del debug, loop_factory  # there is one loop
        self._before = set(current_loop()._tasks)
        self._closed = False

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def run(self, coro: Awaitable[Any], *, context: Any = None) -> Any:
        """Run a coroutine to its end."""
        del context
        if self._closed:
            raise RuntimeError("Runner is closed")
        return current_loop().run(ensure_future(coro))

    def get_loop(self) -> EventLoop:
        return EventLoop()

    def close(self) -> None:
        """Cancel the tasks that it started, unless the program goes on in the same loop."""
        if self._closed:
            return
        self._closed = True
        loop = current_loop()
        if not loop.is_running():
            shutdown(loop, loop._tasks - self._before, seconds=None)
