"""A `Runtime` from `async with` to its end: how it opens and closes, and what is in force."""

from __future__ import annotations

import asyncio
import os
from contextlib import AbstractContextManager, AsyncExitStack
from types import TracebackType
from typing import Self

import anyio.lowlevel

from caps.capabilities.broker.flow import FlowState
from caps.capabilities.grant import BoundPolicy
from caps.capabilities.identity import Identity
from caps.capabilities.runtime.isolation import check_isolation
from caps.capabilities.runtime.open_runtime import OpenRuntime
from caps.capabilities.runtime.opening.parts import open_parts
from caps.capabilities.runtime.opening.settings import RuntimeSettings
from caps.capabilities.runtime.portal import check_process
from caps.capabilities.runtime.sync import SyncRuntimeMixin
from caps.protocol.enforcement import Layer
from caps.protocol.errors import CapsError, ConfigurationError
from caps.security.audit.log.interface import AuditSink


class RuntimeLifetime(SyncRuntimeMixin):
    """Open between `__aenter__` and `__aexit__`, on one event loop of one process."""

    def __init__(self, settings: RuntimeSettings) -> None:
        super().__init__()
        self._settings = settings
        self._opened: OpenRuntime | None = None
        self._home: anyio.lowlevel.EventLoopToken | None = None
        self._loop: asyncio.AbstractEventLoop | None = None  # None also on another kind of loop
        self._process = os.getpid()

    async def __aenter__(self) -> Self:
        """Open audit, policy and workers.

        Raises AuditError, ConfigurationError, PolicyInvalidError, IsolationError, WorkerLostError.
        """
        if self._opened is not None:
            raise ConfigurationError("the runtime is open already")
        async with AsyncExitStack() as stack:
            try:
                self._opened = await open_parts(self._settings, stack)
                self._home = anyio.lowlevel.current_token()
                self._loop = asyncio._get_running_loop()  # noqa: SLF001 - as below
                self._process = os.getpid()
            except CapsError as error:
                failure = error  # raised below: the task groups would wrap it
            else:
                return self
        raise failure

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        opened, self._opened = self._opened, None
        if opened is None:
            return None
        if error is None:  # in a forked child, what is open belongs to the parent
            check_process(self._process)
        elif os.getpid() != self._process:
            return None
        # Executions in flight are ended, and their results say so.
        # An error of the caller's own code is not passed to the task groups: they would wrap it.
        await opened.exit_stack.aclose()
        return None

    @property
    def degraded(self) -> str | None:
        """The isolation layers that are not fully in force; None if all are."""
        opened = self._open()
        found = check_isolation(opened.pool.layers, self._settings.isolation, opened.chain.modules)
        return None if found is None else str(found)

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The isolation layers, and how fully each is in force."""
        return self._open().pool.layers

    @property
    def policy(self) -> BoundPolicy:
        """The policy in force, bound to the registry: the last one if there are several."""
        return self._open().chain.own

    @property
    def policies(self) -> tuple[BoundPolicy, ...]:
        """All policies in force, of which each must allow."""
        return self._open().chain.policies

    @property
    def audit(self) -> AuditSink:
        """The audit log, for a program that also records what its administrators do."""
        return self._open().services.audit

    def session_flow(self, principal: str, session: str, *, stored: bool = False) -> FlowState:
        """What a session was answered so far; calls and executions that name it share this.

        With `stored`, it is forgotten once nobody holds it: pass it for the session of a thread,
        whose marks are stored with its messages. ConfigurationError if there are too many others.
        """
        flows = self._open().services.flows
        identity = Identity(principal=principal, session=session)
        return flows.held(identity) if stored else flows.of(identity)

    def agent_span(
        self, name: str, agent: str, session: str
    ) -> AbstractContextManager[dict[str, str]]:
        """One run of an agent as a span: what runs inside has the same trace.

        Gives the trace and span ids as in audit records; empty if nothing is traced.
        """
        return self._open().services.tracing.agent_run(name, agent, session)

    def _is_open(self) -> bool:
        return self._opened is not None

    def _open_here(self) -> OpenRuntime:
        """`_open` for callers that await something, which works only on its own event loop."""
        opened = self._opened
        if opened is None or os.getpid() != self._process:
            opened = self._open()  # which says what is wrong
        loop = asyncio._get_running_loop()  # noqa: SLF001 - exported by it; None if there is none
        is_home = loop is not None and loop is self._loop  # most often, and found quickly
        if not is_home and anyio.lowlevel.current_token() != self._home:
            raise ConfigurationError(
                "the runtime was opened on another event loop; use `run_sync` or `submit` here"
            )
        return opened

    def _open(self) -> OpenRuntime:
        if self._opened is None:
            raise ConfigurationError("the runtime is not open; use `async with Runtime(...)`")
        check_process(self._process)
        return self._opened
