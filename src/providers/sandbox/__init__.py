"""(7) The capability `sandbox`: code in this runtime, for the caller, under its grant or less.

The code has a worker of its own. It ends with the call at the latest, its calls count as calls of
the execution that it is nested in, and what it has read counts as read by that execution. Its
records name the call that runs it (`parent`).
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import anyio
from pydantic import Field
from typing_extensions import TypedDict

from caps.capabilities.catalogue.capability import Capability, ToolDescriptor
from caps.capabilities.provider import CallContext, ProviderError
from caps.capabilities.registry import CapabilityRegistry
from caps.capabilities.runtime.result import Failure
from caps.protocol.errors import ConfigurationError, PolicyInvalidError, WorkerLostError

MAX_OUTPUT_CHARACTERS: Final = 262_144
DEFAULT_OUTPUT_CHARACTERS: Final = 65_536
MAX_MS: Final = 600_000

CUT: Final = "\n[... the output was longer]"


class CodeError(TypedDict):
    """Why the code failed. `line` is a line of the code."""

    type: str
    message: str
    line: int | None
    hint: str | None


class Executed(TypedDict):
    """How the code ended."""

    ok: bool
    status: str
    value: Any
    stdout: str
    truncated: bool
    error: CodeError | None
    execution_id: str
    duration_ms: float
    calls: int


async def execute_code(
    context: CallContext,
    code: Annotated[str, Field(description="the program; its last expression is the value")],
    language: Literal["python"] = "python",  # noqa: ARG001 - the only one there is
    inputs: Annotated[
        dict[str, Any] | None, Field(description="values that the code finds under these names")
    ] = None,
    policy: Annotated[
        dict[str, Any] | None,
        Field(description="a policy beneath the caller's own: it can only take away"),
    ] = None,
    timeout_ms: Annotated[int | None, Field(ge=1, le=MAX_MS)] = None,
    max_output: Annotated[int, Field(ge=0, le=MAX_OUTPUT_CHARACTERS)] = DEFAULT_OUTPUT_CHARACTERS,
) -> Executed:
    """Run code in a sandbox of its own and return its value, its output and its error."""
    if policy is not None and "tests" in policy:
        # Their answers would tell where links of the host lead.
        raise ProviderError("a policy for nested code cannot have `tests`; leave them out")
    seconds = None if timeout_ms is None else timeout_ms / 1000
    try:
        with anyio.fail_after(seconds):
            result = await context.run(code, policy=policy, inputs=inputs)
    except TimeoutError:
        raise ProviderError(f"the code did not end within {timeout_ms} ms") from None
    except (ConfigurationError, PolicyInvalidError, WorkerLostError) as refused:
        raise ProviderError(refused.message) from None
    is_long = len(result.stdout) > max_output
    return {
        "ok": result.ok,
        "status": result.status.value,
        "value": result.as_json()["value"],
        "stdout": result.stdout[:max_output] + CUT if is_long else result.stdout,
        "truncated": is_long,
        "error": _error(result.error),
        "execution_id": result.execution_id,
        "duration_ms": result.usage.duration_ms,
        "calls": result.usage.calls,
    }


def _error(failure: Failure | None) -> CodeError | None:
    if failure is None:
        return None
    return {
        "type": failure.type,
        "message": failure.message,
        "line": failure.line,
        "hint": failure.hint,
    }


class Sandbox(Capability):
    """The function, as a tool."""

    key = "sandbox"
    name = "Sandbox"
    description = "Sandboxed code execution environment, with the powers of the caller or less."
    icon = "box"
    category = "Execution"
    system_prompt = (
        "You can execute code in a sandboxed environment. Use the execute_code tool to run code "
        "safely."
    )
    tools = (
        ToolDescriptor(
            "execute_code", "Execute Code", "Run Python code in a sandbox and return its result."
        ),
    )


def register_sandbox(registry: CapabilityRegistry) -> None:
    """Declare the domain `sandbox`, its function and its capability."""
    registry.domain(
        "sandbox", scope=None, title="Sandbox", description="Code in a sandbox of its own."
    )
    registry.capability("sandbox.execute_code", title="Run code", shown=("language", "timeout_ms"))(
        execute_code
    )
    registry.register(Sandbox)
