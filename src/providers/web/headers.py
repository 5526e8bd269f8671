"""Headers: those that a caller may send, and what is read of those that a server sends. Pure.

A caller may send any header that does not decide how the message is sent or understood: not the
host, the length, the encoding of the transfer, the connection, nor what replaces the method, the
host or the address of the caller for a server behind. `Range` is refused because a value that is
echoed in two parts could not be masked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import unquote

from caps.protocol.errors import ValidationError
from caps.protocol.text import printable
from caps.providers.web.url import Url

MAX_HEADERS = 32
MAX_VALUE_CHARACTERS = 8192
MAX_FILENAME_CHARACTERS = 255

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}")
_VALUE = re.compile(r"[\x20-\x7e]*")
_REFUSED = frozenset(
    """
    accept-encoding connection content-encoding content-length content-type expect forwarded host
    http2-settings if-range keep-alive max-forwards proxy range te trailer transfer-encoding upgrade
    via x-cluster-client-ip x-host x-http-method x-http-method-override x-method-override
    x-original-host x-original-url x-real-ip x-rewrite-url
    """.split()
)
_REFUSED_PREFIXES = ("proxy-", "sec-", "x-forwarded-")
# What goes along to another origin; all others may have been meant for the first one alone.
_HARMLESS = frozenset({"accept", "accept-language", "user-agent"})
_UNSAFE_IN_FILENAME = re.compile(r"[\x00-\x1f\x7f/\\]")


def checked_headers(given: Mapping[str, str]) -> dict[str, str]:
    """`given`, if all of it may be sent. ValidationError that names a header, and never a value."""
    seen: set[str] = set()
    for name, value in given.items():
        lower = name.lower()
        if not _NAME.fullmatch(name):
            raise _invalid(name, "a name of a header")
        plain = lower.replace("_", "-")  # many servers take one for the other
        if plain in _REFUSED or plain.startswith(_REFUSED_PREFIXES):
            raise _invalid(name, "a header that callers may set")
        if lower in seen:
            raise _invalid(name, "each header once")
        seen.add(lower)
        if len(value) > MAX_VALUE_CHARACTERS or not _VALUE.fullmatch(value):
            raise _invalid(name, "a value of at most 8192 printable ASCII characters")
    return dict(given)


def is_sendable(value: str) -> bool:
    """Whether a header can have this value, also once a secret was filled in."""
    return bool(_VALUE.fullmatch(value))


def _invalid(name: str, expected: str) -> ValidationError:
    shown = printable(name, 64)
    problem = {"path": f"$.headers.{shown}", "expected": expected, "got": "something else"}
    return ValidationError(
        f"the header `{shown}` cannot be sent: expected {expected}",
        capability="web.fetch",
        problems=[problem],
    )


def is_harmless(name: str) -> bool:
    """Whether the header may go along to another origin."""
    return name.lower() in _HARMLESS


class ResponseHeaders:
    """The headers of a response, by their names in lower case."""

    def __init__(self, raw: Sequence[tuple[bytes, bytes]]) -> None:
        self._values: dict[str, str] = {}
        for name, value in raw:
            # UTF-8 where it is, else every byte as a character: never an error.
            try:
                text = value.decode("utf-8")
            except UnicodeDecodeError:
                text = value.decode("latin-1")
            key = name.decode("latin-1").lower()
            if key == "content-encoding" and key in self._values:
                text = f"{self._values[key]}, {text}"
            elif key in self._values:
                continue  # the first one counts
            self._values[key] = text.strip()

    def changed(self, change: Callable[[str], str]) -> ResponseHeaders:
        """The same headers, each value changed."""
        found = ResponseHeaders(())
        found._values = {name: change(value) for name, value in self._values.items()}
        return found

    def get(self, name: str) -> str | None:
        return self._values.get(name)

    @property
    def content_type(self) -> str:
        return self._values.get("content-type", "")[:256]

    @property
    def declared_length(self) -> int:
        """The length that the server declares; 0 if it declares none that is valid."""
        text = self._values.get("content-length", "")
        return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else 0

    def filename(self, url: Url) -> str | None:
        """From `Content-Disposition`, else the last part of the path if it looks like a file."""
        found = _disposition_filename(self._values.get("content-disposition", ""))
        if not found:
            last = unquote(url.target.partition("?")[0].rpartition("/")[2])
            found = last if "." in last.strip(".") else ""
        return _safe_filename(found)


def _disposition_filename(value: str) -> str:
    """The parameter `filename` of a header, in whichever form; `filename*` counts first."""
    if not value or len(value) > 4096:
        return ""
    from email.message import Message

    message = Message()
    try:
        message["Content-Disposition"] = value.replace("\n", " ").replace("\r", " ")
        return message.get_filename("") or ""
    except (ValueError, LookupError, UnicodeError, TypeError):
        return ""


def _safe_filename(name: str) -> str | None:
    """The name alone, without directories and control characters; None if nothing is left."""
    name = _UNSAFE_IN_FILENAME.sub("_", name.replace("\\", "/").rpartition("/")[2]).strip()
    name = name.encode("utf-8", "replace").decode("utf-8")[:MAX_FILENAME_CHARACTERS]
    return name if name.strip(".") else None
