"""The event loop of the synchronous API: it runs in a thread of its own, and any thread may use it.

A child that the program forks has a copy of the runtime, but no such thread: whatever it asks for
would wait for ever. So every use checks that it comes from the process that opened the runtime.
"""

from __future__ import annotations

import contextvars
import os
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager, suppress
from types import TracebackType
from typing import Any, Self, TypeVar

import anyio
from anyio.from_thread import BlockingPortal

from caps.protocol.errors import ConfigurationError

T = TypeVar("T")


def check_process(opened_by: int) -> None:
    """Raise ConfigurationError if this is not the process that opened the runtime."""
    if os.getpid() != opened_by:
        raise ConfigurationError(
            "the runtime was opened before this process was forked; open one in the child"
        )


class RuntimePortal:
    """An event loop in a thread, as a context manager. A forked child does not close its copy.

    `anyio.from_thread.start_blocking_portal` is a generator, which Python closes when it is freed.
    """

    def __init__(self) -> None:
        """Start the thread."""
        self._process = os.getpid()
        opened: Future[BlockingPortal] = Future()
        self._thread = threading.Thread(
            target=contextvars.Context().run,
            args=(_run_loop, opened),
            name="caps-runtime",
            daemon=True,
        )
        self._thread.start()
        self._portal = opened.result()

    @property
    def _is_ours(self) -> bool:
        """Whether this is the process that started the thread."""
        return os.getpid() == self._process

    def start(self, call: Callable[[], Awaitable[T]]) -> Future[T]:
        """Run `call` in the loop. Raises ConfigurationError in a forked child."""
        check_process(self._process)
        return self._portal.start_task_soon(call)

    def run(self, call: Callable[[], Awaitable[T]]) -> T:
        """`start`, and wait; an interrupt of this thread cancels it there."""
        running = self.start(call)
        try:
            return running.result()
        except BaseException:
            running.cancel()
            raise

    @contextmanager
    def entered(self, manager: AbstractAsyncContextManager[Any]) -> Iterator[None]:
        """Enter `manager` in the loop, and leave it at the end; a forked child does not leave it.

        Raises ConfigurationError at the end in a forked child, unless another error is raised.
        """
        check_process(self._process)
        with ExitStack() as stack:
            stack.enter_context(self._portal.wrap_async_context_manager(manager))
            try:
                yield
            finally:
                if not self._is_ours:
                    stack.pop_all()
            check_process(self._process)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the loop and the thread. In a forked child this does nothing."""
        if self._is_ours:
            with suppress(RuntimeError):  # the loop has ended already
                self._portal.call(self._portal.stop, error is not None)
            self._thread.join()


def _run_loop(opened: Future[BlockingPortal]) -> None:
    async def serve() -> None:
        async with BlockingPortal() as portal:
            opened.set_result(portal)
            await portal.sleep_until_stopped()

    try:
        anyio.run(serve)
    except BaseException as error:
        if opened.done():
            raise
        opened.set_exception(error)
