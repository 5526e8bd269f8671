"""URLs: one parser, whose result is what is checked, looked up, connected to and sent. Pure.

It takes fewer URLs than a browser. What two parsers could read differently is refused: user
information, backslashes, control characters and white space, percent-encoded hosts, an empty port,
and the host names that `security/hosts.py` refuses. A fragment is dropped.
"""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import quote, urljoin

import msgspec

from caps.security.hosts import host_name, ipv6_address

MAX_URL_CHARACTERS = 8192
# For the schema: what is certainly not a URL never reaches a policy or a provider.
URL_PATTERN = (
    r"^https?://([^\s\\/?#@%:\[\]]+|\[[0-9A-Fa-f:.]+\])(:[1-9][0-9]{0,4})?"
    r"([/?#][^\s\\]*)?$"
)
DEFAULT_PORTS = {"http": 80, "https": 443}

_PARTS = re.compile(r"(https?)://([^/?#]*)([^#]*)(?:#.*)?", re.IGNORECASE | re.DOTALL)
_AUTHORITY = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^:\[\]]+))(?::([1-9][0-9]{0,4}))?", re.IGNORECASE)
# Sent as they are; all others become percent-encoded UTF-8.
_KEPT = "!$&'()*+,-./:;=?@_~%[]"
_FORBIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp", "Zs"})


class UrlError(ValueError):
    """The text is not a URL that can be fetched; says why, and quotes no more than a host."""


class Url(msgspec.Struct, frozen=True):
    """A URL in its parts, in normal form."""

    scheme: str
    host: str
    port: int
    target: str
    """The path and the query, as they are sent."""

    @property
    def authority(self) -> str:
        """The value of the header `Host`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"


def parse_url(text: str) -> Url:
    """The parts of the URL `text`. UrlError for anything that is not certain."""
    if len(text) > MAX_URL_CHARACTERS:
        raise UrlError(f"the url is longer than {MAX_URL_CHARACTERS} characters")
    for character in text:
        if character == "\\" or unicodedata.category(character) in _FORBIDDEN_CATEGORIES:
            raise UrlError("the url has white space, a control character or a backslash")
    parts = _PARTS.fullmatch(text)
    if parts is None:
        raise UrlError("the url must start with `http://` or `https://`")
    scheme, authority, target = parts[1].lower(), parts[2], parts[3]
    host, port = _host_and_port(scheme, authority)
    if not target.startswith("/"):
        target = f"/{target}"
    return Url(scheme, host, port, quote(target, safe=_KEPT))


def _host_and_port(scheme: str, authority: str) -> tuple[str, int]:
    if "@" in authority:
        raise UrlError("the url has user information before its host")
    if "%" in authority:
        raise UrlError("the host of the url is percent-encoded")
    found = _AUTHORITY.fullmatch(authority)
    if found is None:
        raise UrlError("the url has no valid host and port")
    port = int(found[3]) if found[3] else DEFAULT_PORTS[scheme]
    if port > 65535:
        raise UrlError(f"the url has the port {port}, which does not exist")
    try:
        return (str(ipv6_address(found[1])) if found[1] else host_name(found[2])), port
    except ValueError as error:
        raise UrlError(f"the host of the url is not valid: {error}") from None


def redirect_target(base: Url, location: str) -> str:
    """The URL that a `Location` means, as text for `parse_url`. UrlError if it is none."""
    if len(location) > MAX_URL_CHARACTERS:
        raise UrlError(f"the url is longer than {MAX_URL_CHARACTERS} characters")
    try:
        found = str(parse_url(urljoin(str(base), location)))
    except ValueError as error:
        raise UrlError(f"the server redirects to a url that is refused: {error}") from None
    return found
