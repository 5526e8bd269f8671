"""The keys that sign tool cards, sealed in the database; what their states mean is not known here.

The state is sealed with the key: a row whose state was changed outside of Caps does not open. A
revoked key has no content any more.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec
import sqlalchemy as sa

from caps.store.columns import UtcTime, metadata, now
from caps.store.sealing import SealedSecret, SecretBox

signing_keys: Final = sa.Table(
    "signing_keys",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("alg", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("public_key", sa.LargeBinary, nullable=False),
    sa.Column("ciphertext", sa.LargeBinary, nullable=False),
    sa.Column("nonce", sa.LargeBinary, nullable=False),
    sa.Column("sealed_with", sa.Text, nullable=False),
    sa.Column("created_at", UtcTime, nullable=False),
    sa.Column("updated_at", UtcTime, nullable=False),
)
_OWNER: Final = "signing_keys"


class StoredKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key; its secret is sealed."""

    id: str
    alg: str
    state: str
    public_key: bytes
    """Of an asymmetric key; else empty."""
    sealed: SealedSecret
    created_at: datetime
    updated_at: datetime


class SigningKeys:
    """The repository, within one transaction; `box` seals the keys."""

    def __init__(self, connection: sa.Connection, box: SecretBox) -> None:
        self._connection = connection
        self._box = box

    def lock(self) -> None:
        """Wait for other writers: states of several keys change together."""
        self._lock("SHARE ROW EXCLUSIVE")

    def keep(self) -> None:
        """No key changes until the end of the transaction; others may keep them, too."""
        self._lock("SHARE")

    def _lock(self, mode: str) -> None:
        if self._connection.dialect.name == "postgresql":  # SQLite has one writer at a time
            self._connection.exec_driver_sql(f"LOCK TABLE {signing_keys.name} IN {mode} MODE")

    def all(self) -> list[StoredKey]:
        """All keys, the oldest first."""
        by = (signing_keys.c.created_at, signing_keys.c.id)
        rows = self._connection.execute(sa.select(signing_keys).order_by(*by))
        return [_stored(row) for row in rows]

    def reveal(self, key: StoredKey) -> bytes:
        """The secret of `key`. Raises StoreError if it does not open in this state."""
        return self._box.open(_OWNER, _bound(key.id, key.alg, key.state), key.sealed)

    def add(self, key_id: str, alg: str, state: str, secret: bytes, public_key: bytes) -> None:
        """Add a key that does not exist yet."""
        time = now()
        row = {
            "id": key_id,
            "alg": alg,
            "state": state,
            "public_key": public_key,
            **self._sealed(key_id, alg, state, secret),
            "created_at": time,
            "updated_at": time,
        }
        self._connection.execute(sa.insert(signing_keys), row)

    def change_state(self, key: StoredKey, state: str) -> None:
        """Seal the key again in another state."""
        sealed = self._sealed(key.id, key.alg, state, self.reveal(key))
        self._update(key.id, state=state, **sealed)

    def erase(self, key_id: str, state: str) -> None:
        """Delete the secret of a key for good; its row stays, in this state."""
        self._update(key_id, state=state, ciphertext=b"", nonce=b"", sealed_with="")

    def _sealed(self, key_id: str, alg: str, state: str, secret: bytes) -> dict[str, object]:
        sealed = self._box.seal(_OWNER, _bound(key_id, alg, state), secret)
        return {
            "ciphertext": sealed.ciphertext,
            "nonce": sealed.nonce,
            "sealed_with": sealed.key_id,
        }

    def _update(self, key_id: str, **values: object) -> None:
        changed = sa.update(signing_keys).where(signing_keys.c.id == key_id)
        self._connection.execute(changed.values(**values, updated_at=now()))


def _stored(row: sa.Row[tuple[object, ...]]) -> StoredKey:
    values = row._asdict()
    sealed = SealedSecret(*(values.pop(name) for name in ("ciphertext", "nonce", "sealed_with")))
    return StoredKey(**values, sealed=sealed)


def _bound(key_id: str, alg: str, state: str) -> str:
    return f"{key_id} {alg} {state}"
