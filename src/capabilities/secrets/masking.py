"""Masking: what replaces a secret in text that code gets to see.

A value is found as it is and in the encodings in which servers commonly echo one: JSON escapes,
percent-encoding, HTML and Markdown escapes, hexadecimal, and base64, also in the middle of a longer
base64 text (`Basic` credentials). If the text was cut off, the beginning of a value at its end is
masked, too. A server that wants to pass the value on can encode it in other ways: masking protects
from echoes, the hosts of the scope protect from servers.
"""

from __future__ import annotations

import base64
import functools
import html
import json
import re
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import quote, quote_plus

MASK: Final = "[secret]"
# Shorter beginnings at the end of a cut text say too little, and are ordinary text too often.
_MIN_PREFIX: Final = 4
_PERCENT: Final = re.compile(r"%[0-9A-F]{2}")
_PUNCTUATION: Final = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~$&\"'])")
_BASE64: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=")


class Masker:
    """Masks the values that it was made for."""

    def __init__(self, values: Iterable[str]) -> None:
        plain: set[str] = set()
        encoded: set[str] = set()
        for value in values:
            own, in_base64 = forms_of(value)
            plain |= own
            encoded |= in_base64
        self._plain = sorted(plain, key=len, reverse=True)
        self._base64 = sorted(encoded, key=len, reverse=True)

    def __bool__(self) -> bool:
        return bool(self._plain)

    def masked(self, text: str, *, cut_off: bool = False) -> str:
        """`text` without the values; `cut_off`: it may end within one."""
        for form in self._plain:
            text = text.replace(form, MASK)
        for form in self._base64:
            text = _without_base64(text, form)
        return self._without_tail(text) if cut_off else text

    def is_in(self, text: str) -> bool:
        """Whether `text` has one of the values, in any form."""
        return any(form in text for form in (*self._plain, *self._base64))

    def _without_tail(self, text: str) -> str:
        longest = 0
        for form in (*self._plain, *self._base64):
            for length in range(min(len(form) - 1, len(text)), max(longest, _MIN_PREFIX - 1), -1):
                if text.endswith(form[:length]):
                    longest = length
                    break
        return f"{text[: len(text) - longest]}{MASK}" if longest else text


@functools.lru_cache(maxsize=256)
def forms_of(value: str) -> tuple[frozenset[str], frozenset[str]]:
    """The forms of `value` in text, and the parts of base64 text that only it can give."""
    data = value.encode("utf-8", "surrogatepass")
    escaped = json.dumps(value)[1:-1]
    forms = {
        value,
        escaped,
        escaped.replace("/", "\\/"),
        json.dumps(value, ensure_ascii=False)[1:-1],
        html.escape(value, quote=False),
        html.escape(value),
        html.escape(value).replace("&#x27;", "&#39;"),
        _PUNCTUATION.sub(r"\\\1", value),
        data.hex(),
        data.hex().upper(),
    }
    for once in (quote(data), quote(data, safe=""), quote_plus(data)):
        forms |= {once, _PERCENT.sub(lambda found: found[0].lower(), once)}
        forms.add(quote(once, safe=""))
    return frozenset(forms), frozenset(_base64_forms(data))


def _base64_forms(data: bytes) -> Iterator[str]:
    """The digits that only `data` decides, for each of the three places where it may begin."""
    for before in range(3):
        text = base64.b64encode(bytes(before) + data).decode("ascii")
        own = text[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
        yield own
        yield own.replace("+", "-").replace("/", "_")


def _without_base64(text: str, form: str) -> str:
    """The digits next to `form` hold the rest of its first and last byte: they go, too."""
    found, parts, start = text.find(form), [], 0
    while found >= 0:
        end = found + len(form)
        if found > start and text[found - 1] in _BASE64:
            found -= 1
        while end < len(text) and end - found <= len(form) + 3 and text[end] in _BASE64:
            end += 1
        parts += [text[start:found], MASK]
        start, found = end, text.find(form, end)
    return "".join([*parts, text[start:]]) if parts else text
