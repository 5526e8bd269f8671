"""The kinds of columns that all tables share: ids, times in UTC, lists of words, ordered text."""

from __future__ import annotations

import json
import secrets
import time
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from caps.protocol.errors import ConfigurationError

metadata: Final = sa.MetaData(
    naming_convention={
        "ix": "%(table_name)s_%(column_0_N_name)s",
        "uq": "%(table_name)s_%(column_0_N_name)s_key",
        "fk": "%(table_name)s_%(column_0_name)s_fkey",
        "pk": "%(table_name)s_pkey",
    }
)

# Compared byte by byte on both databases, so that an order and a prefix mean the same.
OrderedText: Final = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

MAX_KEY_BYTES: Final = 1024
"""The longest text of a key: PostgreSQL takes 2,704 bytes for all columns of an index together."""


def new_id() -> UUID:
    """A UUIDv7 (RFC 9562): 48 bits of milliseconds, then 74 random ones. Ordered by time."""
    milliseconds = time.time_ns() // 1_000_000
    value = (milliseconds & (1 << 48) - 1) << 80 | secrets.randbits(80)
    value = value & ~(0xF << 76) | 0x7 << 76
    return UUID(int=value & ~(0x3 << 62) | 0x2 << 62)


def now() -> datetime:
    """The time of a change."""
    return datetime.now(UTC)


def is_key(text: str) -> bool:
    """Whether `text` can be the text of a key on both databases: short UTF-8 without NUL."""
    try:
        return "\0" not in text and len(text.encode()) <= MAX_KEY_BYTES
    except UnicodeEncodeError:
        return False


def require_key(what: str, text: str) -> None:
    """Raise ConfigurationError unless `text` can be the text of a key; `what` it names."""
    if not is_key(text):
        raise ConfigurationError(
            f"the name of the {what} cannot be stored; use at most {MAX_KEY_BYTES} bytes of UTF-8 "
            "without NUL"
        )


class UtcTime(sa.TypeDecorator[datetime]):
    """A time in UTC. SQLite has no zones: there it is the text of the time without one."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time needs a zone")
        in_utc = value.astimezone(UTC)
        return in_utc.replace(tzinfo=None) if dialect.name == "sqlite" else in_utc

    def process_result_value(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if dialect.name == "sqlite" else value.astimezone(UTC)


class Words(sa.TypeDecorator[tuple[str, ...]]):
    """A tuple of words, such as labels, as the text of a JSON list."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str | None:  # noqa: ARG002
        return None if value is None else json.dumps(sorted(set(value)))

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> tuple[str, ...] | None:  # noqa: ARG002
        return None if value is None else tuple(json.loads(value))
