"""Content of files in payloads and answers: UTF-8 as `text`, any bytes as `base64`. No IO."""

from __future__ import annotations

import base64
import binascii
from typing import Literal

from caps.protocol.errors import ProviderError

Encoding = Literal["text", "base64"]


def encode_content(data: bytes) -> tuple[str, Encoding]:
    """Text if the bytes are UTF-8, else base64."""
    try:
        return data.decode("utf-8"), "text"
    except UnicodeDecodeError:
        return base64.b64encode(data).decode("ascii"), "base64"


def decode_content(content: str, encoding: Encoding) -> bytes:
    """The bytes that a caller passes as `content`. Raises ProviderError if it is not valid."""
    try:
        if encoding == "text":
            return content.encode("utf-8")
        return base64.b64decode(content, validate=True)
    except UnicodeEncodeError as error:
        raise ProviderError(
            "`content` holds half of a surrogate pair; pass bytes as `base64`"
        ) from error
    except (binascii.Error, ValueError) as error:
        raise ProviderError("`content` is not well-formed base64") from error


def content_size(content: object, encoding: object, *, counted: int) -> int | None:
    """The size in bytes, without decoding; None if it is not content in a known encoding.

    It is exact up to `counted`; base64 that is not well formed is never taken for too small.
    """
    if not isinstance(content, str) or encoding not in ("text", "base64"):
        return None
    if encoding == "base64":
        padding = len(content[-2:]) - len(content[-2:].rstrip("="))
        return (len(content) + 3) // 4 * 3 - padding
    # Before the exact count, so that counting is itself bounded.
    return len(content) if len(content) > counted else len(content.encode("utf-8", "surrogatepass"))
