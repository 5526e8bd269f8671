"""What a server answers, as the value or the error of a call, without the server's own secrets."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from caps.capabilities.secrets.masking import Masker
from caps.mcp.bridge_messages import Answer
from caps.protocol.errors import ProviderError
from caps.protocol.text import escape_unprintable

MAX_ERROR_CHARACTERS: Final = 2000


def value_of(answer: Answer, masker: Masker) -> dict[str, Any]:
    """The value of a call. Raises ProviderError, with the server's text, if the tool failed."""
    text = masker.masked("\n".join(each.text or "" for each in answer.content if each.text))
    if answer.is_error:
        raise ProviderError(error_text(text) or "the tool failed without saying why")
    items = [msgspec.to_builtins(each) for each in answer.content]
    value: dict[str, Any] = {
        "text": text,
        "content": [
            {key: part for key, part in item.items() if part is not None} for item in items
        ],
    }
    if answer.structured is not None:
        value["structured"] = answer.structured
    return _masked(value, masker) if masker else value


def error_text(text: str) -> str:
    """Text of a server for an error: cut, its line breaks kept, anything else escaped."""
    cut = text if len(text) <= MAX_ERROR_CHARACTERS else f"{text[:MAX_ERROR_CHARACTERS]}…"
    return "\n".join(escape_unprintable(line) for line in cut.splitlines())


def _masked(value: Any, masker: Masker) -> Any:
    if isinstance(value, str):
        return masker.masked(value)
    if isinstance(value, list):
        return [_masked(each, masker) for each in value]
    if isinstance(value, dict):
        return {masker.masked(key): _masked(each, masker) for key, each in value.items()}
    return value
