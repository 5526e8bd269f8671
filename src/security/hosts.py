"""(1) Host names in policies: one normal form, and patterns that name hosts. Pure, no look-ups.

The form in which a host is compared is the form in which it is looked up, so there is one spelling
for each host and everything else is refused:

- a name has ASCII labels in lower case, of letters, digits, `-` and `_`, at most 63 characters
  each and 253 together, and does not end with a dot;
- a name with other characters becomes its IDNA 2008 form, without any mapping: wide characters,
  other dots and characters in upper case are refused;
- a name whose last label is a number, also a hexadecimal one, must be an IPv4 address in four
  decimal parts without leading zeros: `127.1`, `0x7f.0.0.1` and `2130706433` are refused;
- an IPv6 address has its shortest form, and no zone.

A pattern is a host, `*.example.org` for every name below `example.org`, or `*` for every host.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection
from typing import Annotated

from pydantic import AfterValidator, Field

from caps.protocol.text import printable

MAX_HOST_CHARACTERS = 253
MAX_PATTERNS = 256

_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
EVERY_HOST = "*"


def host_name(text: str) -> str:
    """The normal form of the host `text`. ValueError if it is none, or could mean another host."""
    if not 0 < len(text) <= MAX_HOST_CHARACTERS:
        raise ValueError("a host has 1 to 253 characters")
    if ":" in text:
        return str(ipv6_address(text))
    name = text.lower() if text.isascii() else _idna(text)
    labels = name.split(".")
    if len(name) > MAX_HOST_CHARACTERS or not all(map(_LABEL.fullmatch, labels)):
        raise ValueError(f"`{printable(text)}` is not a host name")
    if _NUMBER.fullmatch(labels[-1]):
        try:
            return str(ipaddress.IPv4Address(name))
        except ValueError:
            message = f"`{printable(text)}` is a number; write an IPv4 address as `192.0.2.1`"
            raise ValueError(message) from None
    return name


def ipv6_address(text: str) -> ipaddress.IPv6Address:
    """The address `text`. ValueError if it is none, or has a zone."""
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        raise ValueError(f"`{printable(text)}` is not an IPv6 address") from None
    if address.scope_id is not None:
        raise ValueError(f"`{printable(text)}` has a zone, which only this machine understands")
    return address


def address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a host in normal form is; None if it is a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _idna(text: str) -> str:
    try:
        import idna
    except ImportError:
        message = f"`{printable(text)}` is not ASCII; write it as `xn--…`, or install `idna`"
        raise ValueError(message) from None
    try:
        return idna.encode(text, strict=True).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        raise ValueError(f"`{printable(text)}` is not a host name of IDNA 2008") from None


def host_pattern(text: str) -> str:
    """The normal form of a pattern. ValueError if it is none."""
    if text == EVERY_HOST:
        return text
    if text.startswith("*."):
        parent = host_name(text[2:])
        if address_of(parent) is not None:
            raise ValueError(f"`{printable(text)}`: there are no names below an address")
        return f"*.{parent}"
    if text.startswith("[") and text.endswith("]"):
        return str(ipv6_address(text[1:-1]))
    return host_name(text)


HostPatterns = Annotated[
    tuple[Annotated[str, AfterValidator(host_pattern)], ...],
    Field(min_length=1, max_length=MAX_PATTERNS, strict=False),
]


def is_covered(host: str, patterns: Collection[str]) -> bool:
    """Whether a pattern names `host`; both are in normal form."""
    if host in patterns or EVERY_HOST in patterns:
        return True
    if address_of(host) is not None:
        return False
    _, dot, parent = host.partition(".")
    while dot:
        if f"*.{parent}" in patterns:
            return True
        _, dot, parent = parent.partition(".")
    return False
