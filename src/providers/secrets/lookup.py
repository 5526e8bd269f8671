"""Finding the value of a secret: in the environment, in the directory, then in the store."""

from __future__ import annotations

from caps.capabilities.provider import CallContext, ProviderError
from caps.capabilities.secrets.sources import checked_value, host_sources


async def read_secret(context: CallContext, name: str) -> str:
    """The value. ProviderError if no source has it, or it cannot be sent."""
    value = await context.run_in_thread(_from_host, name)
    if value is None:
        raise ProviderError(f"there is no secret `{name}`; the operator can set it")
    return checked_value(name, value)


def _from_host(name: str) -> bytes | None:
    for source in host_sources():
        value = source.read(name)
        if value is not None:
            return value
    return None
