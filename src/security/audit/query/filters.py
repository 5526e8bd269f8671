"""(8) Filters of records: one frozen value with a match that depends on the record alone.

A field that a record does not have never matches, so a filter by capability excludes records that
are not about a capability. Times are compared as strings, which sort like times
(`records.timestamp`). The clock may have been set back, so a record out of order is not skipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, get_args

from caps.protocol.errors import ConfigurationError
from caps.security.audit.model.records import AuditEvent, AuditRecord, GrantRevoked, kind_of
from caps.security.audit.model.redaction import DIGEST_PREFIX
from caps.security.policies.names import quoted

_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_HEX: Final = frozenset("0123456789abcdef")
_DIGEST_DIGITS: Final = 64

KINDS: Final = tuple(sorted(str(kind.__struct_config__.tag) for kind in get_args(AuditEvent)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFilter:
    """The conditions of a record; a field that is None or empty is not checked.

    `execution` is the start of an id, `capability` is a name or `domain.*`; `since` is inclusive,
    `until` is not.
    """

    execution: str | None = None
    agent: str | None = None
    principal: str | None = None
    session: str | None = None
    via: str | None = None
    capability: str | None = None
    decision: str | None = None
    reason: str | None = None
    kinds: frozenset[str] = frozenset()
    since: str | None = None
    until: str | None = None
    value_hash: str | None = None

    def __post_init__(self) -> None:
        """Raises `ConfigurationError` for a filter that could never match."""
        unknown = sorted(self.kinds.difference(KINDS))
        if unknown:
            raise ConfigurationError(
                f"{quoted(unknown[0])} is not a kind of record; there are {', '.join(KINDS)}"
            )
        if self.capability is not None and "*" in self.capability.removesuffix(".*"):
            raise ConfigurationError(
                f"{quoted(self.capability)} is neither a capability nor `domain.*`"
            )
        if self.value_hash is not None and not _is_digest(self.value_hash):
            raise ConfigurationError(
                f"{quoted(self.value_hash)} is not what `caps audit hash` prints"
            )

    def matches(self, record: AuditRecord) -> bool:
        event = record.event
        return (
            (self.since is None or record.ts >= self.since)
            and (self.until is None or record.ts < self.until)
            and (not self.kinds or kind_of(event) in self.kinds)
            and self._matches_caller(event)
            and self._matches_call(event)
        )

    def _matches_caller(self, event: AuditEvent) -> bool:
        if self.execution is not None:
            found = getattr(event, "execution_id", None)
            if found is None or not found.startswith(self.execution):
                return False
        return all(
            getattr(self, name) in (None, getattr(event, name, None))
            for name in ("agent", "principal", "session", "via")
        )

    def _matches_call(self, event: AuditEvent) -> bool:
        for name in ("decision", "reason"):
            if getattr(self, name) not in (None, getattr(event, name, None)):
                return False
        if self.capability is not None and not _names(self.capability, _capabilities(event)):
            return False
        return self.value_hash is None or _holds(event, self.value_hash)


def _names(pattern: str, capabilities: Sequence[str]) -> bool:
    if pattern.endswith(".*"):
        return any(capability.startswith(pattern[:-1]) for capability in capabilities)
    return pattern in capabilities


def parse_moment(text: str, *, now: datetime | None = None) -> str:
    """Return a time in the format of records, from ISO 8601 (UTC by default) or an age like `10m`.

    Raises `ConfigurationError`.
    """
    now = now or datetime.now(UTC)
    count, unit = text[:-1], text[-1:]
    try:
        if unit in _UNITS and count.isascii() and count.isdigit():
            moment = now - timedelta(**{_UNITS[unit]: int(count)})
        else:
            moment = datetime.fromisoformat(text)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")
    except (ValueError, OverflowError) as error:
        raise ConfigurationError(
            f"{quoted(text)} is not a time: give ISO 8601, or an age like `10m`, `2h` or `7d`"
        ) from error


def parse_digest(text: str) -> str:
    """Return a digest in the format of records; `text` may lack the prefix."""
    return text if text.startswith(DIGEST_PREFIX) else DIGEST_PREFIX + text


def _capabilities(event: AuditEvent) -> Sequence[str]:
    if isinstance(event, GrantRevoked):
        return event.capabilities
    named = getattr(event, "capability", None)
    return () if named is None else (named,)


def _is_digest(text: str) -> bool:
    digits = text.removeprefix(DIGEST_PREFIX)
    return digits != text and len(digits) == _DIGEST_DIGITS and _HEX.issuperset(digits)


def _holds(event: AuditEvent, digest: str) -> bool:
    hidden: dict[str, Any] = {**getattr(event, "hidden", {}), **getattr(event, "inputs", {})}
    whole = (getattr(event, "args_hmac", None), getattr(event, "idempotency_key_hmac", None))
    # The texts of errors follow the class of the error.
    texts = (getattr(event, "detail", None), getattr(event, "error_message", None))
    in_text = any(text is not None and text.endswith(f": {digest}") for text in texts)
    return digest in whole or digest in hidden.values() or in_text
