"""(8) Whether executions and calls are traced, by OpenTelemetry's conventions for generative AI.

If nothing in the process has imported OpenTelemetry, it cannot be set up and no span is current:
then there is nothing to trace, and it is not imported here either. Otherwise `spans` traces.

The trace context is never sent over the channel: a request belongs to the execution whose channel
it came through, like everything else that the broker knows about it. So concurrent calls have the
right parent, and a worker cannot choose a trace.

Spans contain no arguments, results or texts of errors. With `capture` they contain the arguments as
in the audit log: those that the capability's spec shows, and keyed digests of all others.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Final

from caps.capabilities.identity import Identity
from caps.capabilities.telemetry.conventions import AGENT_NAME, CAPTURE_VARIABLE, CONVERSATION
from caps.protocol.errors import ConfigurationError

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

    from caps.capabilities.telemetry.spans import CallSpan, Instruments

_CAPTURED: Final = {"true": True, "span_only": True, "span_and_event": True}
_NOT_CAPTURED: Final = {"": False, "false": False, "no_content": False, "event_only": False}


class ExecutionSpan:
    """The parent of the calls of one execution.

    No-op implementation; the OpenTelemetry one is `spans.ObservedSpan`.
    """

    timed = False
    """Whether the duration of calls is recorded."""
    traced = False
    """False: there is no tracer and no incoming trace, so no call needs a span."""

    def __init__(self, agent: str | None, capture: bool) -> None:
        self.agent = agent
        self.capture = capture
        self.ids: Mapping[str, str] = {}
        """The trace and span ids for audit records; empty if there is no trace."""

    def __enter__(self) -> ExecutionSpan:
        """Make it the current span until the context ends, which also ends the span."""
        return self

    def __exit__(self, *_: object) -> None:
        return

    def settle(self, status: str, error_code: str | None) -> None:
        """Set how the execution ended."""

    def call(self, name: str, attributes: dict[str, str]) -> CallSpan:  # noqa: ARG002 - of the other one
        """Start the span of a call, current from now on, with this span as its parent."""
        raise TypeError(f"the call of `{name}` is not traced")

    def record(self, seconds: float, attributes: dict[str, str]) -> None:
        """Record how long a call took."""


class Tracing:
    """The tracing of one runtime."""

    def __init__(
        self,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        *,
        capture: bool | None = None,
    ) -> None:
        """Use the given providers, or the global ones; `capture` overrides the variable.

        Raises ConfigurationError if the value of the variable is not known.
        """
        self._capture = _capture_from_environment() if capture is None else capture
        self._providers = (tracer_provider, meter_provider)
        self._is_configured = self._providers != (None, None)
        self._instruments: Instruments | None = None
        # Of the last execution that was not traced: those of one agent need one only.
        self._untraced: ExecutionSpan | None = None

    def execution(
        self, execution_id: str, policy_id: str, policy_sha256: str, identity: Identity
    ) -> ExecutionSpan:
        """The span of one execution: current inside its context, and ended with it."""
        if not self._is_configured and "opentelemetry" not in sys.modules:
            span = self._untraced
            if span is None or span.agent != identity.agent:
                span = self._untraced = ExecutionSpan(identity.agent, self._capture)
            return span
        instruments = self._loaded()
        assert instruments is not None  # as above
        from caps.capabilities.telemetry.spans import ObservedSpan

        attributes = {
            "caps.execution_id": execution_id,
            "caps.policy": policy_id,
            "caps.policy_sha256": policy_sha256,
        }
        if identity.agent is not None:
            attributes[AGENT_NAME] = identity.agent
        if identity.session is not None:
            attributes[CONVERSATION] = identity.session
        return ObservedSpan(instruments, attributes, identity.agent, self._capture)

    def agent_run(
        self, name: str, agent: str, session: str
    ) -> AbstractContextManager[dict[str, str]]:
        """The span of one run of an agent, the parent of its executions; gives its ids."""
        instruments = self._loaded()
        if instruments is None:
            return nullcontext({})
        from caps.capabilities.telemetry.spans import agent_span

        return agent_span(instruments, name, agent, session)

    def _loaded(self) -> Instruments | None:
        """None if OpenTelemetry is neither loaded nor configured."""
        if not self._is_configured and "opentelemetry" not in sys.modules:
            return None
        if self._instruments is None:
            from caps.capabilities.telemetry.spans import Instruments

            self._instruments = Instruments(*self._providers)
        return self._instruments


def _capture_from_environment() -> bool:
    text = os.environ.get(CAPTURE_VARIABLE, "")
    known = {**_CAPTURED, **_NOT_CAPTURED}.get(text.strip().lower())
    if known is None:
        raise ConfigurationError(
            f"{CAPTURE_VARIABLE} is `{text}`; set `SPAN_ONLY` or `true` to have redacted arguments "
            "on spans, else `NO_CONTENT` or `false`"
        )
    return known
