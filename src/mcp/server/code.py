"""`execute_code`: code mode, in a worker under the grant of the caller."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from typing import Any, Final

import msgspec
from mcp_types import CallToolResult, Tool

from caps.capabilities.registry import CapabilityRegistry
from caps.capabilities.runtime.formats.json_value import Spelling, to_json
from caps.capabilities.runtime.result import ExecutionResult
from caps.capabilities.runtime.runtime import Runtime
from caps.capabilities.runtime.stream import Decided, Finished, Output, StreamEvent
from caps.capabilities.stubs.render import render
from caps.mcp.server.caller import Caller
from caps.mcp.server.content import artifact_blocks, failed, text
from caps.mcp.server.limits import ServerLimits
from caps.mcp.server.tools import EXECUTE_CODE, SEARCH, Offer

_ABOUT: Final = """\
Run Python in a sandbox. Top-level `await` works; the value of the last expression is the result, \
and `print` is captured. Nothing is kept between runs. `caps` is the only way out of the sandbox: \
`await caps.<domain>.<function>(...)`. Prefer one program with several calls to several tool calls.
"""
_RESULT_SCHEMA: Final = {
    "type": "object",
    "properties": {
        "ok": {"type": "boolean"},
        "status": {"type": "string"},
        "value": {},
        "value_spelling": {"type": "string"},
        "stdout": {"type": "string"},
        "stdout_cut": {"type": "boolean"},
        "error": {
            "type": ["object", "null"],
            "properties": {
                "code": {"type": "string"},
                "type": {"type": "string"},
                "message": {"type": "string"},
                "line": {"type": ["integer", "null"]},
                "hint": {"type": ["string", "null"]},
            },
            "required": ["code", "type", "message", "line", "hint"],
        },
        "refused": {"type": "array", "items": {"type": "string"}},
        "execution_id": {"type": "string"},
        "calls": {"type": "integer"},
        "duration_ms": {"type": "number"},
    },
    "required": ["ok", "status", "value", "stdout", "error", "execution_id"],
}


def code_tool(
    registry: CapabilityRegistry, offer: Offer, limits: ServerLimits, *, with_stubs: bool
) -> Tool:
    """The tool, with the stubs of what is granted if they are wanted and not too long."""
    stubs = render(offer.chain, domains=registry.domains) if with_stubs else ""
    if not stubs or len(stubs) > limits.stub_characters:
        stubs = _overview(offer)
    return Tool(
        name=EXECUTE_CODE,
        title="Run Python code",
        description=f"{_ABOUT}\n{stubs}",
        input_schema={
            "type": "object",
            "properties": {
                "code": {"type": "string", "description": "The program."},
                "inputs": {
                    "type": "object",
                    "description": "Values that the program finds under these names.",
                },
            },
            "required": ["code"],
            "additionalProperties": False,
        },
        output_schema=_RESULT_SCHEMA,
    )


def _overview(offer: Offer) -> str:
    """One line for each domain, for grants whose stubs would fill the prompt."""
    counts: dict[str, int] = {}
    for name in offer.chain.granted:
        domain = name.partition(".")[0]
        counts[domain] = counts.get(domain, 0) + 1
    if not counts:
        return "No function is granted."
    shown = [f"{domain} ({count})" for domain, count in list(counts.items())[:50]]
    more = len(counts) - len(shown)
    domains = ", ".join([*shown, *([f"and {more} more"] if more else [])])
    return f"Domains, with the number of their functions: {domains}. `{SEARCH}` gives their stubs."


class _Arguments(msgspec.Struct, forbid_unknown_fields=True):
    code: str
    inputs: dict[str, Any] | None = None


async def execute_code(
    runtime: Runtime,
    caller: Caller,
    arguments: dict[str, Any],
    limits: ServerLimits,
    on_event: Callable[[StreamEvent], None],
) -> CallToolResult:
    """Run the code. Cancelling kills the worker. Raises the errors of `Runtime.stream`."""
    try:
        given = msgspec.convert(arguments, _Arguments)
    except msgspec.ValidationError as error:
        return failed(f"ValidationError: {error}")
    events = runtime.stream(
        given.code,
        principal=caller.principal,
        agent=caller.agent,
        session=caller.session,
        policy=list(caller.policies) or None,
        inputs=given.inputs,
        via="mcp",
    )
    async with aclosing(events):
        async for event in events:
            on_event(event)
            if isinstance(event, Finished):
                return _result(event.result, limits)
    raise AssertionError("a stream ends with its result")


def _result(result: ExecutionResult, limits: ServerLimits) -> CallToolResult:
    blocks = artifact_blocks(result.execution_id, result.artifacts)
    return CallToolResult(
        content=[text(result.for_model()), *blocks],
        structured_content=_structured(result, limits),
        is_error=not result.ok,
    )


def _structured(result: ExecutionResult, limits: ServerLimits) -> dict[str, Any]:
    (value, spelling), failure = to_json(result.value), result.error
    refused = dict.fromkeys(
        f"{each.capability}: {each.reason}" for each in result.decisions if each.decision == "deny"
    )
    return {
        "ok": result.ok,
        "status": result.status.value,
        "value": value,
        "value_spelling": (Spelling.REPR if result.value_is_repr else spelling).value,
        "stdout": result.stdout[: limits.output_characters],
        "stdout_cut": len(result.stdout) > limits.output_characters,
        "error": failure
        and {
            "code": failure.code,
            "type": failure.type,
            "message": failure.message,
            "line": failure.line,
            "hint": failure.hint,
        },
        "refused": list(refused)[:20],
        "execution_id": result.execution_id,
        "calls": result.usage.calls,
        "duration_ms": result.usage.duration_ms,
    }


def told(event: StreamEvent) -> str | None:
    """What a client that follows the run is told of an event, in one message."""
    match event:
        case Output(text=printed):
            return printed[-1000:].rstrip("\n") or None
        case Decided(decision=decision):
            return f"{decision.capability}: {decision.decision}"
        case _:
            return None
