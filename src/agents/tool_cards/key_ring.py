"""The key ring: the table `signing_keys`, in which the configured secret is one key of several.

A configured secret that the ring does not know becomes the active key, and the one before stays
valid for what it has signed. A secret that the ring knows keeps its state. So processes that still
have the old secret do not change the ring back, and a revoked secret stays revoked. A ring that is
empty, without a configured secret, gets a random key when something is signed first.
"""

from __future__ import annotations

import sqlalchemy as sa

from caps.agents.tool_cards.errors import ToolCardError
from caps.agents.tool_cards.signing import Algorithm, KeyState, Ring, SigningKey, new_key
from caps.protocol.text import printable
from caps.store.database import Store
from caps.store.errors import StoreError
from caps.store.repositories.signing_keys import SigningKeys, StoredKey
from caps.store.sealing import SecretBox


class KeyRing:
    """The keys of a store. `secret` is `capability.signing_secret`, if it is configured."""

    def __init__(self, store: Store, box: SecretBox, secret: bytes | None = None) -> None:
        self._store = store
        self._box = box
        self._configured = (
            None if secret is None else SigningKey(alg=Algorithm.HMAC_SHA256, secret=secret)
        )

    async def keys(self) -> list[StoredKey]:
        """All keys with their states, the oldest first. Nothing is opened."""
        return await self._store.read(lambda found: SigningKeys(found, self._box).all())

    async def rotate(self, alg: Algorithm = Algorithm.HMAC_SHA256) -> str:
        """Make a new key the active one; the one before verifies only. Returns its id."""
        made = new_key(alg)

        def work(connection: sa.Connection) -> None:
            if self._configured is not None:
                self.signing_ring(connection)  # else it would become active later
            self._activate(connection, made)

        await self._store.write(work)
        return made.id

    async def revoke(self, key_id: str) -> None:
        """Delete the secret of a key: what it signed is not valid any more. ToolCardError."""

        def work(connection: sa.Connection) -> None:
            stored = SigningKeys(connection, self._box)
            stored.lock()
            if key_id not in {key.id for key in stored.all()}:
                raise ToolCardError(f"there is no signing key `{printable(key_id, 80)}`")
            stored.erase(key_id, KeyState.REVOKED)

        await self._store.write(work)

    def ring(self, connection: sa.Connection) -> Ring:
        """The keys as they are, within a transaction. Raises StoreError if one does not open.

        The configured key is among them, also if the ring does not know it yet.
        """
        stored = SigningKeys(connection, self._box)
        found = stored.all()
        try:
            states = {key.id: KeyState(key.state) for key in found}
            keys = {
                key.id: SigningKey(alg=Algorithm(key.alg), secret=stored.reveal(key))
                for key in found
                if states[key.id] is not KeyState.REVOKED
            }
        except ValueError:
            raise StoreError("a signing key of the store was changed outside of caps") from None
        if self._configured is not None and self._configured.id not in states:
            keys[self._configured.id] = self._configured
            states[self._configured.id] = KeyState.VERIFY_ONLY
        return Ring(keys=keys, states=states)

    def signing_ring(self, connection: sa.Connection) -> Ring:
        """The same within a transaction that writes, after the configured or first key was added.

        Until its end no key changes, so nothing is signed with one that is revoked meanwhile.
        Raises as `ring` does.
        """
        stored = SigningKeys(connection, self._box)
        known = {key.id for key in stored.all()}
        wanted = self._configured
        if wanted is None and not known:
            wanted = new_key(Algorithm.HMAC_SHA256)
        if wanted is not None and wanted.id not in known:
            self._activate(connection, wanted, first=self._configured is None)
        else:
            stored.keep()
        return self.ring(connection)

    def _activate(self, connection: sa.Connection, key: SigningKey, *, first: bool = False) -> None:
        """Add `key` as the active one. Another process may have added it, or a first one."""
        stored = SigningKeys(connection, self._box)
        stored.lock()
        found = stored.all()
        if key.id in {each.id for each in found} or (first and found):
            return
        for each in found:
            if each.state == KeyState.ACTIVE:
                stored.change_state(each, KeyState.VERIFY_ONLY)
        stored.add(key.id, key.alg, KeyState.ACTIVE, key.secret, key.public_key)
