"""Bytes where a text is accepted, too: in JSON, the object `{"base64": "..."}`.

A schema of the two cannot tell a text from bytes that are written as one, so bytes have this form
there. Code passes plain `bytes`, and stubs show them; the wrapper of a call makes the object.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

KEY: Final = "base64"


def is_bytes_object(schema: Mapping[str, Any]) -> bool:
    """Whether `schema`, without references, is that of the object."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or set(properties) != {KEY}:
        return False
    content = properties[KEY]
    return isinstance(content, Mapping) and content.get("format") == "base64url"
