"""Finding the value of a secret: in the environment, in the directory, then in the store.

In the store a secret belongs to one principal, or to all of them (`EVERYBODY`); a principal's own
one comes first. A store that does not exist has no secrets, and is not created by a look-up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from caps.capabilities.provider import CallContext, ProviderError
from caps.capabilities.secrets.sources import checked_value, host_sources
from caps.protocol.disk.store_files import default_store_file
from caps.protocol.environment import Variable
from caps.protocol.errors import ConfigurationError
from caps.providers.session_store import log_failure, store_failure
from caps.store import StoreError, open_store

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from caps.store.sealing import SecretBox

EVERYBODY: Final = ""


async def read_secret(context: CallContext, name: str) -> str:
    """The value. ProviderError if no source has it, or it cannot be sent."""
    value = await context.run_in_thread(_from_host, name)
    if value is None and await context.run_in_thread(_has_store):
        value = await _from_store(context, name)
    if value is None:
        raise ProviderError(f"there is no secret `{name}`; the operator can set it")
    return checked_value(name, value)


def _from_host(name: str) -> bytes | None:
    for source in host_sources():
        value = source.read(name)
        if value is not None:
            return value
    return None


def _has_store() -> bool:
    return bool(Variable.DATABASE_URL.read()) or default_store_file().exists()


async def _from_store(context: CallContext, name: str) -> bytes | None:
    from caps.store.sealing import load_secret_box

    try:
        store = await context.resource(open_store)
        box = await context.run_in_thread(load_secret_box)
        owners = (context.principal, EVERYBODY)
        return await store.read(lambda connection: _revealed(connection, box, owners, name))
    except StoreError as error:
        raise store_failure(context, error) from error
    except ConfigurationError as error:
        log_failure(context, error)
        raise ProviderError("the secrets of the store are not available") from error


def _revealed(
    connection: Connection, box: SecretBox, owners: Sequence[str], name: str
) -> bytes | None:
    """The value of the first of `owners` that has one."""
    from caps.store.repositories.secrets import Secrets

    found = (Secrets(connection, box).reveal(owner, name) for owner in owners)
    return next((value for value in found if value is not None), None)
