"""(8) Sinks as URLs: parsing, with a clear error for an invalid one.

    stdout:                              file:///var/lib/caps/copy
    syslog+unix:///dev/log               syslog+udp://host:514         syslog+tcp://host:601
    otlp+http://host:4318/v1/logs        otlp+https://host/v1/logs
    sqlite:///var/lib/caps/audit.db      postgresql://user:password@host/database

Options of all: `mode` (required, best_effort), `deadline_ms`, `queue`, `checkpoints` (1, 0). A URL
may contain a password, so no message, name or repr shows more of it than scheme, host, port and
path. If the password may be in one of these by mistake, as with a stray `@`, only the scheme is
shown.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from caps.protocol.errors import ConfigurationError
from caps.security.audit.sinks.interface import SinkMode, SinkTerms

DEFAULT_DEADLINE_MS: Final = 2000
DEFAULT_QUEUE: Final = 4096
_MAX_DEADLINE_MS: Final = 60_000
_MAX_QUEUE: Final = 1_000_000
_MAX_DIGITS: Final = 16


class SinkKind(enum.Enum):
    """The schemes of sink URLs."""

    STDOUT = "stdout"
    FILE = "file"
    SYSLOG_UNIX = "syslog+unix"
    SYSLOG_UDP = "syslog+udp"
    SYSLOG_TCP = "syslog+tcp"
    OTLP_HTTP = "otlp+http"
    OTLP_HTTPS = "otlp+https"
    SQLITE = "sqlite"
    POSTGRESQL = "postgresql"


_NETWORK: Final = frozenset(
    {SinkKind.SYSLOG_UDP, SinkKind.SYSLOG_TCP, SinkKind.OTLP_HTTP, SinkKind.OTLP_HTTPS}
)
_POSTGRESQL_FORM: Final = "postgresql://user:password@host/database"
# The modes of libpq; it would show an unknown value in its error.
_SSL_MODES: Final = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
_WITH_PATH: Final = frozenset({SinkKind.FILE, SinkKind.SYSLOG_UNIX, SinkKind.SQLITE})
# These sinks keep records, so checkpoints are useful there.
_KEEPING: Final = frozenset({SinkKind.FILE, SinkKind.SQLITE, SinkKind.POSTGRESQL})
_COMMON: Final = frozenset({"mode", "deadline_ms", "queue", "checkpoints"})
_OWN: Final[dict[SinkKind, frozenset[str]]] = {
    SinkKind.SYSLOG_UNIX: frozenset({"facility", "app"}),
    SinkKind.SYSLOG_UDP: frozenset({"facility", "app"}),
    SinkKind.SYSLOG_TCP: frozenset({"facility", "app"}),
    SinkKind.POSTGRESQL: frozenset(
        {"host", "sslmode", "sslrootcert", "sslcert", "sslkey", "application_name"}
    ),
}


@dataclass(frozen=True, slots=True)
class SinkAddress:
    """The parsed URL of a sink; `parts` and `options` may hold secrets and are not shown."""

    kind: SinkKind
    terms: SinkTerms
    parts: SplitResult = field(repr=False)
    options: dict[str, str] = field(repr=False)

    @property
    def place(self) -> Path | None:
        """The file or directory on this machine that keeps the records, if there is one."""
        return Path(self.parts.path) if self.kind in (SinkKind.FILE, SinkKind.SQLITE) else None

    @property
    def host(self) -> str:
        return self.parts.hostname or ""

    @property
    def port(self) -> int | None:
        return self.parts.port


def parse_sink(url: str) -> SinkAddress:
    """Raises `ConfigurationError`, which never shows what could be a password."""
    kind, parts = _split(url)
    _refuse_stray_password(kind, url, parts)
    shown = _shown(kind, parts)
    options = _options(kind, parts, shown)
    _check_place(kind, parts, shown)
    _check_ssl_mode(options, shown)
    terms = SinkTerms(
        name=shown,
        mode=_mode(options.pop("mode", SinkMode.REQUIRED.value), shown),
        deadline=_number(options, "deadline_ms", DEFAULT_DEADLINE_MS, _MAX_DEADLINE_MS, shown)
        / 1000,
        queue=_number(options, "queue", DEFAULT_QUEUE, _MAX_QUEUE, shown),
        checkpoints=_flag(options.pop("checkpoints", None), kind in _KEEPING, shown),
    )
    return SinkAddress(kind, terms, parts, options)


def _split(url: str) -> tuple[SinkKind, SplitResult]:
    scheme = url.partition(":")[0]
    try:
        kind = SinkKind(scheme.lower())
    except ValueError:
        known = ", ".join(f"`{kind.value}`" for kind in SinkKind)
        # Without `://` the text may be anything, even a user or a password.
        what = (
            f"`{scheme[:32]}` is not a kind of audit sink"
            if "://" in url
            else "an audit sink is a url"
        )
        raise ConfigurationError(f"{what}; there are {known}") from None
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise ConfigurationError(
            f"an audit sink `{kind.value}:…` is not a valid url; mend it"
        ) from None
    return kind, parts


def _refuse_stray_password(kind: SinkKind, url: str, parts: SplitResult) -> None:
    """A password in a wrong place would be shown, so these errors show only the scheme."""
    if kind is not SinkKind.POSTGRESQL and kind not in _NETWORK:
        return
    start = f"an audit sink `{kind.value}:…`"
    if not url[len(kind.value) :].startswith("://"):
        raise ConfigurationError(f"{start} has no `//` after its colon; mend it")
    if any("@" in part for part in (parts.path, parts.query, parts.fragment)):
        raise ConfigurationError(
            f"{start} has an `@` behind its host; quote `/`, `?` and `#` in a password as "
            "`%2F`, `%3F` and `%23`"
        )
    database = unquote(parts.path)[1:]
    if kind is SinkKind.POSTGRESQL and (not database or set(database) & set("/@:;=")):
        raise ConfigurationError(f"{start} names no database; write `{_POSTGRESQL_FORM}`")


def _shown(kind: SinkKind, parts: SplitResult) -> str:
    host = str(parts.hostname or "")
    place = f"[{host}]" if ":" in host else host
    if parts.port is not None:
        place += f":{parts.port}"
    if kind is SinkKind.STDOUT:
        return str(kind.value)
    return f"{kind.value}://{place}{parts.path}"


def _options(kind: SinkKind, parts: SplitResult, shown: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise ConfigurationError(
            f"audit sink `{shown}`: its options are not a valid query"
        ) from None
    known = _COMMON | _OWN.get(kind, frozenset())
    for name, _ in pairs:
        if name not in known:
            listed = ", ".join(f"`{option}`" for option in sorted(known))
            raise ConfigurationError(
                f"audit sink `{shown}` has no option `{name[:32]}`; there are {listed}"
            )
    options = dict(pairs)
    if len(options) < len(pairs):
        raise ConfigurationError(f"audit sink `{shown}` has an option twice")
    return options


def _check_place(kind: SinkKind, parts: SplitResult, shown: str) -> None:
    if kind in _NETWORK and not parts.hostname:
        raise ConfigurationError(f"audit sink `{shown}` has no host; write `{kind.value}://host`")
    if kind in _WITH_PATH and (parts.netloc or not parts.path.startswith("/") or parts.path == "/"):
        raise ConfigurationError(
            f"audit sink `{shown}` has no absolute path; write `{kind.value}:///path`"
        )
    if kind is SinkKind.STDOUT and (parts.netloc or parts.path.strip("/")):
        raise ConfigurationError("audit sink `stdout:` has no place; write `stdout:`")
    if (parts.username or parts.password) and kind is not SinkKind.POSTGRESQL:
        raise ConfigurationError(f"audit sink `{shown}` takes no user and password in its url")
    if parts.fragment:
        raise ConfigurationError(f"audit sink `{shown}` has a fragment; quote a `#` as `%23`")


def _check_ssl_mode(options: dict[str, str], shown: str) -> None:
    if options.get("sslmode", _SSL_MODES[0]) not in _SSL_MODES:
        listed = ", ".join(f"`{mode}`" for mode in _SSL_MODES)
        raise ConfigurationError(f"audit sink `{shown}`: sslmode is not one of {listed}")


def _mode(text: str, shown: str) -> SinkMode:
    try:
        return SinkMode(text)
    except ValueError:
        raise ConfigurationError(
            f"audit sink `{shown}`: mode is neither `required` nor `best_effort`; set one"
        ) from None


def _number(options: dict[str, str], name: str, default: int, most: int, shown: str) -> int:
    text = options.pop(name, None)
    if text is None:
        return default
    value = parse_integer(text, 1, most)
    if value is None:
        raise ConfigurationError(
            f"audit sink `{shown}`: {name} is not an integer from 1 to {most}; set one"
        )
    return value


def parse_integer(text: str, least: int, most: int) -> int | None:
    """Return the integer that `text` is in ASCII digits, or None if it is not within bounds."""
    if not (text.isascii() and text.isdigit() and len(text) < _MAX_DIGITS):
        return None
    return int(text) if least <= int(text) <= most else None


def _flag(text: str | None, default: bool, shown: str) -> bool:
    if text is None:
        return default
    if text not in ("0", "1"):
        raise ConfigurationError(f"audit sink `{shown}`: checkpoints is neither 1 nor 0; set one")
    return text == "1"
