"""What can be wrong with a plan: a closed set of codes, and one problem with its place."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from caps.protocol.errors import CallerFault

MAX_PROBLEMS: Final = 200


class PlanCode(enum.StrEnum):
    """Stable: documents and programs name these codes."""

    PLAN_MALFORMED = "plan_malformed"
    STEP_REPEATED = "step_repeated"
    TOOL_UNKNOWN = "tool_unknown"
    AGENT_TYPE_UNKNOWN = "agent_type_unknown"
    AGENT_TYPE_AMBIGUOUS = "agent_type_ambiguous"
    REFERENCE_MALFORMED = "reference_malformed"
    STEP_UNKNOWN = "step_unknown"
    STEP_LATER = "step_later"
    STEP_CYCLE = "step_cycle"
    INPUT_INVALID = "input_invalid"
    TYPE_MISMATCH = "type_mismatch"
    NOT_GRANTED = "not_granted"
    SIDE_EFFECT_FORBIDDEN = "side_effect_forbidden"
    SCOPE_VIOLATED = "scope_violated"
    FLOW_DENIED = "flow_denied"
    APPROVAL_NEEDED = "approval_needed"
    BUDGET_EXCEEDED = "budget_exceeded"
    LIMIT_EXCEEDED = "limit_exceeded"


class PlanProblem(msgspec.Struct, frozen=True, kw_only=True):
    """One problem. A warning is what cannot be settled before the plan runs."""

    code: PlanCode
    message: str
    path: str
    step: str | None = None
    warning: bool = False


class PlanInvalidError(CallerFault):
    """Details: `problems` (a list of objects with code, message, path, step and warning)."""

    code = "plan_invalid"


def plan_invalid(problems: Sequence[PlanProblem]) -> PlanInvalidError:
    """The error for a plan that has these problems, the first of which it names."""
    first = problems[0]
    more = f" (and {len(problems) - 1} more)" if problems[1:] else ""
    return PlanInvalidError(
        f"the plan is not valid: {first.message} at {first.path}{more}",
        place=first.path,
        problems=as_json(problems),
    )


def as_json(problems: Sequence[PlanProblem]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = msgspec.to_builtins(list(problems))
    return found
