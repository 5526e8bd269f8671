"""Running a plan: its steps one after the other, each through the broker, as one execution.

All steps share one channel, so that what one has read counts for the flow rules of the next, and
limits and budget are those of the whole plan. In the audit log the request id of a step is
`<plan id>/<step id>`. A step that is refused or fails stops the plan.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, Final

import msgspec

from caps.agents.plans.inputs import InputsTooLargeError, filled, references_in
from caps.agents.plans.validate import CheckedPlan, ReadyStep
from caps.capabilities.broker.evidence import DecisionSummary
from caps.capabilities.grant import BoundPolicy
from caps.capabilities.runtime.call import MAX_REQUEST_BYTES, CallChannel, CallResult
from caps.capabilities.runtime.runtime import Runtime
from caps.protocol.errors import ConfigurationError
from caps.protocol.ways import Via

# The values of steps in a result, all together; further ones are left out.
MAX_VALUES_BYTES: Final = 8 * 1024 * 1024


class StepStatus(enum.StrEnum):
    SUCCEEDED = "succeeded"
    REFUSED = "refused"
    FAILED = "failed"
    NOT_RUN = "not_run"


class StepOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How one step ended."""

    id: str
    function: str
    status: StepStatus
    value: Any = None
    value_omitted: bool = False
    """It succeeded, and its value did not fit into the result."""
    error: dict[str, Any] | None = None


class PlanResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a plan ended. `value` is the output of its last step, if all succeeded."""

    plan: str
    execution_id: str
    ok: bool
    value: Any
    steps: tuple[StepOutcome, ...]

    def as_json(self) -> dict[str, Any]:
        document: dict[str, Any] = msgspec.to_builtins(self)
        return document


class PlanCaller(msgspec.Struct, frozen=True, kw_only=True):
    """For whom a plan runs, and what lies beneath the policies of the runtime."""

    principal: str
    agent: str | None = None
    session: str | None = None
    policies: tuple[BoundPolicy, ...] = ()
    via: Via = "call"


async def run_plan(
    runtime: Runtime,
    checked: CheckedPlan,
    caller: PlanCaller,
    *,
    execution_id: str | None = None,
    on_decision: Callable[[DecisionSummary], None] | None = None,
    on_step: Callable[[StepOutcome], None] | None = None,
) -> PlanResult:
    """Run a valid plan. Raises PlanInvalidError for one with errors, and nothing has run then.

    Cancelling ends the step in flight, and the plan. Raises ConfigurationError if the runtime is
    closed meanwhile.
    """
    checked.require_valid()
    async with runtime.calls(
        principal=caller.principal,
        agent=caller.agent,
        session=caller.session,
        policy=list(caller.policies) or None,
        via=caller.via,
        budget=checked.plan.budget,
        execution_id=execution_id,
        on_decision=on_decision,
    ) as channel:
        return await run_steps(checked, channel, on_step)
    raise ConfigurationError(
        "the runtime was closed while the plan ran; the audit log says which steps had begun"
    )


async def run_steps(
    checked: CheckedPlan,
    channel: CallChannel,
    on_step: Callable[[StepOutcome], None] | None = None,
) -> PlanResult:
    """Make the calls of all steps in one channel, until one is refused or fails."""
    return await _PlanRun(checked, on_step).to_end(channel)


class _PlanRun:
    def __init__(self, checked: CheckedPlan, on_step: Callable[[StepOutcome], None] | None) -> None:
        self._checked = checked
        self._on_step = on_step
        self._outputs: dict[str, Any] = {}
        self._left = MAX_VALUES_BYTES
        steps = checked.steps
        self._last_use = {
            reference.step: index
            for index, step in enumerate(steps)
            for reference in references_in(step.inputs)
        }

    async def to_end(self, channel: CallChannel) -> PlanResult:
        outcomes: list[StepOutcome] = []
        value, ok = None, True
        for index, step in enumerate(self._checked.steps):
            if not ok:
                outcome, value = _not_run(step), None
            else:
                outcome, value = await self._step(channel, step)
                ok = outcome.status is StepStatus.SUCCEEDED
                self._keep(index, step, value)
            outcomes.append(outcome)
            if self._on_step is not None:
                self._on_step(outcome)
        return PlanResult(
            plan=self._checked.plan.id,
            execution_id=channel.execution_id,
            ok=ok,
            value=value if ok else None,
            steps=tuple(outcomes),
        )

    def _keep(self, index: int, step: ReadyStep, value: Any) -> None:
        """Only what a later step refers to."""
        if self._last_use.get(step.id, -1) > index:
            self._outputs[step.id] = value
        for name in [name for name in self._outputs if self._last_use[name] <= index]:
            del self._outputs[name]

    async def _step(self, channel: CallChannel, step: ReadyStep) -> tuple[StepOutcome, Any]:
        try:
            payload = filled(step.inputs, self._outputs, MAX_REQUEST_BYTES)
            result = await channel.call(
                step.function, payload, request_id=f"{self._checked.plan.id}/{step.id}"
            )
        except LookupError as error:  # no request was made, as in the cases below
            return _failed(step, {"code": "input_missing", "message": str(error.args[0])}), None
        except (InputsTooLargeError, ConfigurationError) as error:
            return _failed(step, {"code": "input_invalid", "message": str(error.args[0])}), None
        return self._outcome(step, result), result.value

    def _outcome(self, step: ReadyStep, result: CallResult) -> StepOutcome:
        if result.error is not None:
            denied = result.decision is not None and result.decision.decision == "deny"
            error = {
                "code": result.error.code,
                "message": result.error.message,
                "details": result.error.details,
            }
            status = StepStatus.REFUSED if denied else StepStatus.FAILED
            return _failed(step, error, status)
        self._left -= len(msgspec.json.encode(result.value))
        fits = self._left >= 0
        return StepOutcome(
            id=step.id,
            function=step.function,
            status=StepStatus.SUCCEEDED,
            value=result.value if fits else None,
            value_omitted=not fits,
        )


def _failed(
    step: ReadyStep, error: dict[str, Any], status: StepStatus = StepStatus.FAILED
) -> StepOutcome:
    return StepOutcome(id=step.id, function=step.function, status=status, error=error)


def _not_run(step: ReadyStep) -> StepOutcome:
    return StepOutcome(id=step.id, function=step.function, status=StepStatus.NOT_RUN)
