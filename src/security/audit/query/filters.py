"""(8) Which records are asked for: one frozen value, and a match that reads nothing else.

A field that a record does not have never matches, so a filter by capability leaves out what is not
about a capability. Times are compared as text, which sorts as time does (`records.timestamp`); the
clock of a log may have been set back, so nothing is skipped for being out of order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, get_args

from caps.protocol.errors import ConfigurationError
from caps.security.audit.model.records import AuditEvent, GrantRevoked, Record, kind_of
from caps.security.audit.model.redaction import DIGEST_PREFIX
from caps.security.policies.names import quoted

_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_HEX: Final = frozenset("0123456789abcdef")
_DIGEST_DIGITS: Final = 64

KINDS: Final = tuple(sorted(str(kind.__struct_config__.tag) for kind in get_args(AuditEvent)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFilter:
    """What a record must be; what is None or empty is not asked.

    `execution` is the start of an id, `capability` is a name or `domain.*`; `since` is inclusive,
    `until` is not.
    """

    execution: str | None = None
    agent: str | None = None
    principal: str | None = None
    session: str | None = None
    capability: str | None = None
    decision: str | None = None
    reason: str | None = None
    kinds: frozenset[str] = frozenset()
    since: str | None = None
    until: str | None = None
    value_hash: str | None = None

    def __post_init__(self) -> None:
        """Raises `ConfigurationError` for what could never match."""
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

    def matches(self, record: Record) -> bool:
        event = record.event
        return (
            (self.since is None or record.ts >= self.since)
            and (self.until is None or record.ts < self.until)
            and (not self.kinds or kind_of(event) in self.kinds)
            and self._is_by(event)
            and self._is_about(event)
        )

    def _is_by(self, event: AuditEvent) -> bool:
        if self.execution is not None:
            found = getattr(event, "execution_id", None)
            if found is None or not found.startswith(self.execution):
                return False
        return all(
            wanted is None or getattr(event, name, None) == wanted
            for name, wanted in (
                ("agent", self.agent),
                ("principal", self.principal),
                ("session", self.session),
            )
        )

    def _is_about(self, event: AuditEvent) -> bool:
        if self.decision is not None and getattr(event, "decision", None) != self.decision:
            return False
        if self.reason is not None and getattr(event, "reason", None) != self.reason:
            return False
        if self.capability is not None and not any(map(self._names, _capabilities(event))):
            return False
        return self.value_hash is None or _holds(event, self.value_hash)

    def _names(self, capability: str) -> bool:
        if self.capability is None:
            return False
        if self.capability.endswith(".*"):
            return capability.startswith(self.capability[:-1])
        return capability == self.capability


EVERYTHING: Final = RecordFilter()


def parse_moment(text: str, *, now: datetime | None = None) -> str:
    """A time as records write it, from ISO 8601 (UTC unless it says) or from `10m`, that is, ago.

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
    """A digest as records write it; its prefix may be left out."""
    return text if text.startswith(DIGEST_PREFIX) else DIGEST_PREFIX + text


def _capabilities(event: AuditEvent) -> Iterable[str]:
    if isinstance(event, GrantRevoked):
        return event.capabilities
    named = getattr(event, "capability", None)
    return () if named is None else (named,)


def _is_digest(text: str) -> bool:
    digits = text.removeprefix(DIGEST_PREFIX)
    return digits != text and len(digits) == _DIGEST_DIGITS and _HEX.issuperset(digits)


def _holds(event: AuditEvent, digest: str) -> bool:
    hidden: dict[str, Any] = getattr(event, "hidden", {})
    whole = (getattr(event, "args_hmac", None), getattr(event, "idempotency_key_hmac", None))
    return digest in whole or digest in hidden.values()
