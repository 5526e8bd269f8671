"""What providers share: opened once per runtime, on first use, and closed with the runtime.

A task of the runtime enters each context manager and leaves it, so that it may contain task groups
and cancel scopes. A caller that is cancelled does not interrupt the opening for the others.
"""

from __future__ import annotations

import logging
from typing import Any, TypeVar

import anyio
import msgspec
from anyio.abc import TaskGroup

from caps.capabilities.provider import ResourceFactory
from caps.protocol.errors import ConfigurationError

T = TypeVar("T")

logger = logging.getLogger(__name__)


class _Resource(msgspec.Struct):
    """One that is opened, or being opened or closed."""

    settled: anyio.Event = msgspec.field(default_factory=anyio.Event)
    """It is open, or `error` says why not."""
    closing: anyio.Event = msgspec.field(default_factory=anyio.Event)
    closed: anyio.Event = msgspec.field(default_factory=anyio.Event)
    value: Any = None
    error: Exception | None = None


class SharedResources:
    """Of one runtime; `tasks` runs as long as it is open."""

    def __init__(self, tasks: TaskGroup) -> None:
        self._tasks = tasks
        self._resources: dict[ResourceFactory[Any], _Resource] = {}
        self._is_closed = False

    async def get(self, factory: ResourceFactory[T]) -> T:
        """What `factory` opens. Raises what opening raises; the next call tries again then."""
        resource = self._resources.get(factory)
        if resource is None:
            if self._is_closed:
                raise ConfigurationError("the runtime is closing")
            resource = self._resources[factory] = _Resource()
            self._tasks.start_soon(self._hold, factory, resource)
        await resource.settled.wait()
        if resource.error is not None:
            raise resource.error
        value: T = resource.value
        return value

    async def aclose(self, within_seconds: float) -> None:
        """Close all of them, the last one first; each gets at most `within_seconds`."""
        self._is_closed = True
        for resource in reversed(tuple(self._resources.values())):
            resource.closing.set()
            with anyio.move_on_after(within_seconds, shield=True):
                await resource.closed.wait()

    async def _hold(self, factory: ResourceFactory[Any], resource: _Resource) -> None:
        try:
            async with factory() as resource.value:
                resource.settled.set()
                await resource.closing.wait()
        except Exception as error:
            if resource.settled.is_set():
                logger.exception("a shared resource failed while it was closed")
            resource.error = error
        finally:
            if resource.value is None or resource.error is not None:
                self._resources.pop(factory, None)
            resource.settled.set()
            resource.closed.set()
