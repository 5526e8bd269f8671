"""(8) A database as a sink: records keyed by log and number, so that each is stored once.

SQLite and PostgreSQL through SQLAlchemy Core; needs the extra `database`. A batch is one
transaction, and delivered means committed. The line is stored as it is on disk, with a few columns
for queries, escaped and cut (`forms.py`); only the hash of the line proves anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from caps.protocol.errors import ConfigurationError
from caps.security.audit.sinks.forms import cell
from caps.security.audit.sinks.interface import Delivery, RecordRefusedError, SinkError
from caps.security.audit.sinks.urls import SinkAddress, SinkKind

if TYPE_CHECKING:
    import sqlalchemy as sa
    from sqlalchemy.engine import URL, Engine

_COLUMNS: Final = (
    *("ts", "kind", "hash", "execution_id", "principal", "agent"),
    *("capability", "decision", "reason"),
)
_KEY: Final = 64
# SQLSTATE classes: data exception, constraint violation, limit of the program exceeded.
_CONTENT_STATES: Final = frozenset({"22", "23", "54"})
_decode: Final = msgspec.json.Decoder().decode


class DatabaseSink:
    """A pool of one connection, created again after a failure."""

    keeps = True

    def __init__(self, address: SinkAddress, log: str) -> None:
        """Raises `ConfigurationError` if the extra is not installed."""
        try:
            import sqlalchemy

            if address.kind is SinkKind.POSTGRESQL:
                import psycopg  # noqa: F401 - fail here, not at the first record
        except ImportError as error:
            raise ConfigurationError(
                f"audit sink `{address.terms.name}` needs the extra `database`; "
                "install `caps-runtime[database]`"
            ) from error
        self._sa = sqlalchemy
        self._address = address
        self._log = log
        self._records, self._checkpoints = _tables(sqlalchemy)
        self._engine: Engine | None = None

    def connect(self) -> int | None:
        self._engine = self._sa.create_engine(
            self._url(), pool_size=1, max_overflow=0, connect_args=self._connect_args()
        )
        try:
            self._records.metadata.create_all(self._engine)
            return self._has()
        except self._sa.exc.SQLAlchemyError as error:
            raise SinkError(_message(error)) from error

    def deliver(self, items: Sequence[Delivery]) -> None:
        assert self._engine is not None
        records = [self._record_row(item) for item in items if not item.checkpoint]
        checkpoints = [self._checkpoint_row(item) for item in items if item.checkpoint]
        try:
            with self._engine.begin() as connection:
                for table, rows in ((self._records, records), (self._checkpoints, checkpoints)):
                    if rows:
                        connection.execute(self._insert(table), rows)
        except (self._sa.exc.SQLAlchemyError, ValueError, OverflowError) as error:
            kind = RecordRefusedError if self._is_of_content(error) else SinkError
            raise kind(_message(error)) from error

    def _is_of_content(self, error: Exception) -> bool:
        """Whether the database works, and refused what a row holds."""
        errors = self._sa.exc
        if not isinstance(error, errors.SQLAlchemyError):
            return True  # the driver could not encode it
        if isinstance(error, (errors.DataError, errors.IntegrityError)):
            return True
        state = getattr(getattr(error, "orig", None), "sqlstate", None) or ""
        return state[:2] in _CONTENT_STATES

    def close(self) -> None:
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None

    def _insert(self, table: sa.Table) -> Any:
        if self._address.kind is SinkKind.SQLITE:
            from sqlalchemy.dialects import sqlite

            return sqlite.insert(table).on_conflict_do_nothing()
        from sqlalchemy.dialects import postgresql

        return postgresql.insert(table).on_conflict_do_nothing()

    def _has(self) -> int:
        """The number up to which no record is missing; 0 if there is a gap: send all again."""
        assert self._engine is not None
        seq = self._records.c.seq
        query = self._sa.select(self._sa.func.count(seq), self._sa.func.max(seq)).where(
            self._records.c.log == self._log
        )
        with self._engine.connect() as connection:
            count, last = connection.execute(query).one()
        return int(last) if last is not None and count == last else 0

    def _url(self) -> URL:
        parts, options = self._address.parts, self._address.options
        if self._address.kind is SinkKind.SQLITE:
            return self._sa.URL.create("sqlite", database=parts.path)
        from urllib.parse import unquote

        return self._sa.URL.create(
            "postgresql+psycopg",
            username=unquote(parts.username) if parts.username else None,
            password=unquote(parts.password) if parts.password else None,
            host=parts.hostname,
            port=parts.port,
            database=unquote(parts.path.lstrip("/")) or None,
            query=options,
        )

    def _connect_args(self) -> dict[str, Any]:
        deadline = self._address.terms.deadline
        if self._address.kind is SinkKind.SQLITE:
            return {"timeout": deadline}
        milliseconds = int(deadline * 1000)
        return {
            "connect_timeout": max(2, round(deadline)),  # the minimum of libpq
            "tcp_user_timeout": milliseconds,
            "client_encoding": "utf8",  # whatever the database stores
            "options": f"-c statement_timeout={milliseconds} -c synchronous_commit=on",
        }

    def _record_row(self, item: Delivery) -> dict[str, Any]:
        record: dict[str, Any] = _decode(item.line)
        columns = {name: cell(record.get(name), ascii_only=item.ascii_only) for name in _COLUMNS}
        return {"log": self._log, "seq": item.seq, **columns, "line": item.line.decode()}

    def _checkpoint_row(self, item: Delivery) -> dict[str, Any]:
        signed: dict[str, Any] = _decode(item.line)
        row = {name: cell(signed[name], limit=_KEY) for name in ("ts", "hash", "key_id")}
        return {"log": self._log, "seq": item.seq, **row, "line": item.line.decode()}


def _tables(sa: Any) -> tuple[sa.Table, sa.Table]:
    metadata = sa.MetaData()
    key = [("log", sa.String(_KEY)), ("seq", sa.BigInteger)]
    records = sa.Table(
        "caps_audit_records",
        metadata,
        *(sa.Column(name, kind, primary_key=True, autoincrement=False) for name, kind in key),
        *(sa.Column(name, sa.Text) for name in _COLUMNS),
        sa.Column("line", sa.Text, nullable=False),
    )
    sa.Index("caps_audit_records_execution", records.c.execution_id)
    checkpoints = sa.Table(
        "caps_audit_checkpoints",
        metadata,
        *(sa.Column(name, kind, primary_key=True, autoincrement=False) for name, kind in key),
        sa.Column("key_id", sa.String(_KEY), primary_key=True),
        sa.Column("ts", sa.Text, primary_key=True),
        sa.Column("hash", sa.Text, nullable=False),
        sa.Column("line", sa.Text, nullable=False),
    )
    return records, checkpoints


def _message(error: Exception) -> str:
    """Return the driver's message in one line; it never shows a password."""
    origin = getattr(error, "orig", None) or error
    return " ".join(str(origin).split())[:200] or type(origin).__name__
