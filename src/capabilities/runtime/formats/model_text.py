"""The text of a result for the prompt of a model: what it needs to continue, or to repair its code.

Parts that are empty are left out. A part that is too long is cut in the middle, since the start and
the end of an output say most, and the cut says how much is missing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from caps.capabilities.runtime.formats.json_value import safe_repr

if TYPE_CHECKING:
    from caps.capabilities.artifacts import Artifact
    from caps.capabilities.runtime.call import CallResult
    from caps.capabilities.runtime.result import ExecutionResult, Failure

MAX_CHARACTERS = 20_000
MIN_CHARACTERS = 200
_MAX_REFUSALS = 20
_MAX_ARTIFACTS = 20
# Advice for whoever writes the policy: a model can only make its code need less.
_FOR_THE_HOST = re.compile(r"; raise `limits\.[a-z_]{1,40}` if it may(?: use more)?$", re.MULTILINE)


def text_for_model(result: ExecutionResult, max_characters: int) -> str:
    """What was lost, output, value, error, hint, what was handed out, and what was refused."""
    room = max_characters // 4
    parts = [
        ("note", result.note or ""),
        ("output", cut(result.stdout.rstrip("\n"), max_characters // 2)),
        ("result", "" if result.value is None else cut(_value_text(result), room)),
        ("error", "" if result.error is None else cut(_error_text(result.error), room)),
        ("artifacts", "\n".join(_artifacts(result.artifacts))),
        ("refused", "\n".join(_refusals(result))),
    ]
    written = [f"{title}:\n{text}" for title, text in parts if text]
    if not result.started and result.error is not None:
        written.append("no line of the code ran")
    return cut("\n\n".join(written) or "the code ran to its end without a result", max_characters)


def call_text_for_model(result: CallResult, max_characters: int) -> str:
    """The value of a call as JSON, or its error; what it handed out is named."""
    if result.error is not None:
        return cut(f"error:\n{_error_text(result.error)}", max_characters)
    value = result.value
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    handed_out = "\n".join(_artifacts(result.artifacts))
    if handed_out:
        text = f"{cut(text, max_characters // 2)}\n\nartifacts:\n{handed_out}"
    return cut(text, max_characters)


def cut(text: str, max_characters: int) -> str:
    """`text`, without its middle if it is too long."""
    if len(text) <= max_characters:
        return text
    half = max(0, max_characters - 40) // 2
    missing = len(text) - 2 * half
    return f"{text[:half]}\n… {missing} characters left out …\n{text[len(text) - half :]}"


def _value_text(result: ExecutionResult) -> str:
    return str(result.value) if result.value_is_repr else safe_repr(result.value)


def _error_text(failure: Failure) -> str:
    text = failure.traceback.rstrip("\n") or f"{failure.type}: {failure.message}"
    if failure.hint and failure.hint not in text:
        text += f"\nhint: {failure.hint}"
    return _FOR_THE_HOST.sub("", text)


def _artifacts(artifacts: Sequence[Artifact]) -> list[str]:
    """A line for each: what it is, never its content."""
    lines = [f"{one.name} ({one.media_type}, {one.size} bytes)" for one in artifacts]
    more = len(lines) - _MAX_ARTIFACTS
    return [*lines[:_MAX_ARTIFACTS], *([f"… and {more} more"] if more > 0 else [])]


def _refusals(result: ExecutionResult) -> list[str]:
    """Each refused call once, with its reason; code may have caught the error."""
    found = dict.fromkeys(
        f"{decision.capability}: {decision.reason}"
        for decision in result.decisions
        if decision.decision == "deny"
    )
    more = len(found) - _MAX_REFUSALS
    return [*list(found)[:_MAX_REFUSALS], *([f"… and {more} more"] if more > 0 else [])]
