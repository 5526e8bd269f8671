"""What can go wrong with the store, in one line each. The tree is in `caps.protocol.errors`.

The text of a driver stays in `__cause__`, for the log of the host: it can quote what was stored.
"""

from __future__ import annotations

from typing import ClassVar

from caps.protocol.errors import HostFault


class StoreError(HostFault):
    """The store failed. `for_callers` may be shown to any caller: it names no place of the host."""

    code = "store_error"
    for_callers: ClassVar[str] = "the store of the host failed; the log of the host says why"


class StoreBusyError(StoreError):
    """Another writer held a lock for too long. Nothing was changed."""

    code = "store_busy"
    for_callers = "the store of the host is busy; try again"


class StoreFullError(StoreError):
    """There is no room for it. Nothing was changed."""

    code = "store_full"
    for_callers = "the store of the host is full; ask the operator"


class StoreUnreachableError(StoreError):
    """The file cannot be opened, or the server does not answer or refuses the sign-in."""

    code = "store_unreachable"
    for_callers = "the store of the host cannot be reached; try again, or ask the operator"


class SchemaNewerError(StoreError):
    """A newer version of Caps has changed the tables. Nothing was read or changed."""

    code = "store_schema_newer"
    for_callers = "the store of the host belongs to a newer version; ask the operator"
