"""The form of a plan: JSON, versioned, read as strictly as a policy is. See docs/plans.md."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self

import rfc8785
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from caps.agents.plans.problems import MAX_PROBLEMS, PlanCode, PlanProblem, plan_invalid
from caps.protocol.text import printable
from caps.security.policies.fields import as_tuple
from caps.security.policies.load import json_place
from caps.security.policies.plain_json import NotJsonError, plain_json
from caps.security.policies.strict_json import strict_json
from caps.security.policy import COST

MAX_PLAN_BYTES: Final = 1024 * 1024
MAX_STEPS: Final = 256
_ID: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"


def _version(value: object) -> object:
    # A `Literal[1]` alone would accept `true` and `1.0`.
    if type(value) is not int or value != 1:
        raise ValueError("should be 1, the version of plans that this release reads")
    return value


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class PlanStep(_Part):
    """One call: of a tool by its name, or of the one tool of an agent type."""

    id: str = Field(min_length=1, max_length=64, pattern=_ID)
    tool: str | None = Field(default=None, min_length=1, max_length=160)
    agent_type: str | None = Field(default=None, min_length=1, max_length=64)
    inputs: dict[str, Any] = {}
    """JSON values; `{"$from": step, "at": pointer}` is the output of an earlier step."""

    @model_validator(mode="after")
    def _one_tool(self) -> Self:
        if (self.tool is None) is (self.agent_type is None):
            raise ValueError("needs either `tool` or `agent_type`")
        return self


class Plan(_Part):
    """Steps in the order in which they run."""

    version: Annotated[Literal[1], BeforeValidator(_version)]
    id: str = Field(min_length=1, max_length=128, pattern=_ID)
    description: str | None = Field(default=None, max_length=1024)
    budget: float | None = Field(default=None, ge=0, le=COST)
    policy: dict[str, Any] | None = None
    steps: Annotated[
        tuple[PlanStep, ...], Field(min_length=1, max_length=MAX_STEPS), BeforeValidator(as_tuple)
    ]

    @property
    def sha256(self) -> str:
        """The digest of its canonical form (RFC 8785)."""
        return hashlib.sha256(rfc8785.dumps(self.model_dump(mode="json"))).hexdigest()


def parse_plan(data: bytes) -> Plan:
    """The plan in the JSON text `data`. PlanInvalidError lists all problems of its form."""
    if len(data) > MAX_PLAN_BYTES:
        raise _malformed(f"the plan is larger than {MAX_PLAN_BYTES} bytes")
    try:
        value = strict_json(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise _malformed("the plan is not UTF-8") from None
    except json.JSONDecodeError as error:
        what = f"{error.msg[:1].lower()}{error.msg[1:]} at line {error.lineno}"
        raise _malformed(f"the plan is not JSON, {what}") from None
    except NotJsonError as error:
        raise _malformed(str(error), error.path) from None
    return plan_of(value)


def plan_of(value: object) -> Plan:
    """The plan of a value that was JSON. PlanInvalidError lists all problems of its form."""
    try:
        plain = plain_json(value)
        return Plan.model_validate(plain)
    except NotJsonError as error:
        raise _malformed(str(error), error.path) from None
    except ValidationError as error:
        problems = [
            PlanProblem(
                code=PlanCode.PLAN_MALFORMED,
                message=_message(each["msg"]),
                path=json_place(each["loc"]),
                step=_step_of(plain, each["loc"]),
            )
            for each in error.errors(include_url=False)[:MAX_PROBLEMS]
            # Also said of steps that are there and have problems of their own.
            if each["type"] != "too_short" or each["loc"] != ("steps",) or not plain["steps"]
        ]
        raise plan_invalid(problems) from None


def _message(text: str) -> str:
    text = text.removeprefix("Value error, ")
    return printable(f"{text[:1].lower()}{text[1:]}", 300)


def _step_of(plain: object, location: tuple[str | int, ...]) -> str | None:
    """The id of the step that the location is in, as far as it can be read."""
    if len(location) < 2 or location[0] != "steps" or not isinstance(plain, Mapping):
        return None
    step = plain["steps"][location[1]]
    found = step.get("id") if isinstance(step, Mapping) else None
    return printable(found, 64) if isinstance(found, str) else None


def _malformed(message: str, path: tuple[str | int, ...] = ()) -> Exception:
    place = json_place(path)
    return plan_invalid([PlanProblem(code=PlanCode.PLAN_MALFORMED, message=message, path=place)])
