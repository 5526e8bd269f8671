"""(8) Whether executions and calls are traced, by OpenTelemetry's conventions for generative AI.

Where nobody has loaded OpenTelemetry, nobody can have set it up, and no span is current: then there
is nothing to trace, and it is not loaded for that. `spans` has what there is else.

The trace context crosses the channel without being on it: a request belongs to the execution whose
channel it came through, as with everything else that the broker knows of it. So calls that run side
by side have the right parent, and there is nothing by which a worker could choose a trace.

Neither arguments nor results nor texts of errors are on spans. Who opts in gets the arguments as
the audit log has them: what the capability's spec shows, and keyed digests of everything else.
"""

from __future__ import annotations

import os
import sys
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
    """What the calls of one execution belong to. This one is nothing; `spans` has the real one."""

    timed = False
    """Whether somebody may want to know how long calls took."""
    traced = False
    """False: there is no tracer and no incoming trace, so that no call needs a span."""

    def __init__(self, agent: str | None, capture: bool) -> None:
        self.agent = agent
        self.capture = capture
        self.ids: dict[str, str] = {}
        """What records say, so that a reviewer finds the trace; nothing if there is none."""

    def __enter__(self) -> ExecutionSpan:
        """Current from here on, until it ends with the context."""
        return self

    def __exit__(self, *_: object) -> None:
        return

    def settle(self, status: str, error_code: str | None) -> None:
        """How the execution ended."""

    def call(self, name: str, attributes: dict[str, str]) -> CallSpan:  # noqa: ARG002 - of the real one
        """A span of a call, current from now on; its parent is this one."""
        raise TypeError(f"the call of `{name}` is not traced")

    def record(self, seconds: float, attributes: dict[str, str]) -> None:
        """How long a call took."""


class Tracing:
    """What one runtime traces with."""

    def __init__(
        self,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        *,
        capture: bool | None = None,
    ) -> None:
        """With the given providers, or the global ones; `capture` stands in for the variable.

        Raises ConfigurationError if the variable says neither yes nor no.
        """
        self._capture = _capture_wanted() if capture is None else capture
        self._providers = (tracer_provider, meter_provider)
        self._instruments: Instruments | None = None

    def execution(
        self, execution_id: str, policy_id: str, policy_sha256: str, identity: Identity
    ) -> ExecutionSpan:
        """The span of one execution, current within; ended with whatever `settle` was told."""
        if "opentelemetry" not in sys.modules and self._providers == (None, None):
            return ExecutionSpan(identity.agent, self._capture)
        from caps.capabilities.telemetry.spans import Instruments, ObservedSpan

        if self._instruments is None:
            self._instruments = Instruments(*self._providers)
        attributes = {
            "caps.execution_id": execution_id,
            "caps.policy": policy_id,
            "caps.policy_sha256": policy_sha256,
        }
        if identity.agent is not None:
            attributes[AGENT_NAME] = identity.agent
        if identity.session is not None:
            attributes[CONVERSATION] = identity.session
        return ObservedSpan(self._instruments, attributes, identity.agent, self._capture)


def _capture_wanted() -> bool:
    text = os.environ.get(CAPTURE_VARIABLE, "")
    known = {**_CAPTURED, **_NOT_CAPTURED}.get(text.strip().lower())
    if known is None:
        raise ConfigurationError(
            f"{CAPTURE_VARIABLE} is `{text}`; set `SPAN_ONLY` or `true` to have redacted arguments "
            "on spans, else `NO_CONTENT` or `false`"
        )
    return known
