"""(7) What belongs to the session of a caller, in the store: for the providers that keep something.

A session belongs to a principal. What the store refuses or fails at becomes an error of the call;
nothing of the host is in its text.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from caps.capabilities.provider import CallContext, ProviderError
from caps.protocol.errors import CapsError, ConfigurationError
from caps.store import StoreError, open_store

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from caps.store.database import Store
    from caps.store.repositories.sessions import StoredSession

T = TypeVar("T")

logger = logging.getLogger(__name__)


class SessionStore:
    """The store, for the session of one call. Made by `open_session_store`."""

    def __init__(self, context: CallContext, session: str, store: Store) -> None:
        self.name = session
        self._context = context
        self._store = store

    async def read(self, work: Callable[[Connection, StoredSession], T]) -> T | None:
        """What `work` returns; None if nothing was ever stored for the session."""

        def transaction(connection: Connection) -> T | None:
            from caps.store.repositories.sessions import Sessions

            found = Sessions(connection).find(self._context.principal, self.name)
            return None if found is None else work(connection, found)

        with self._errors():
            return await self._store.read(transaction)

    async def change(self, work: Callable[[Connection, StoredSession], T]) -> T:
        """What `work` returns, once its changes are durable."""

        def transaction(connection: Connection) -> T:
            from caps.store.repositories.sessions import Sessions

            session = Sessions(connection).change(self._context.principal, self.name)
            return work(connection, session)

        with self._errors():
            return await self._store.write(transaction)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except StoreError as error:
            raise store_failure(self._context, error) from error
        except ConfigurationError as error:  # a session whose name cannot be stored
            raise ProviderError(error.message) from error


async def open_session_store(context: CallContext, what: str) -> SessionStore:
    """The store of the caller's session; `what` is kept there, for messages.

    Raises ProviderError if the caller has no session, or there is no store.
    """
    if context.session is None:
        raise ProviderError(
            f"{what} belong to a session, and this call has none: pass `session=...` to the "
            "runtime, or `--session NAME` to `caps run` and `caps call`"
        )
    try:
        store = await context.resource(open_store)
    except ConfigurationError as error:
        raise ProviderError(f"{what} are not available: {error.message}") from error
    except StoreError as error:
        raise store_failure(context, error) from error
    return SessionStore(context, context.session, store)


def store_failure(context: CallContext, error: StoreError) -> ProviderError:
    """What the caller may know of it; the log of the host gets the rest."""
    log_failure(context, error)
    return ProviderError(error.for_callers)


def log_failure(context: CallContext, error: CapsError) -> None:
    """Write what failed in a call to the log of the host."""
    logger.error(
        "`%s` failed in request %a of execution `%s`: %s",
        *(context.capability, context.request_id, context.execution_id, error.message),
        exc_info=error,
    )
