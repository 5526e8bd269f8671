"""What Caps keeps: tables, migrations and one repository a table, on SQLite and PostgreSQL.

Nothing of policies and no SQL outside of this package. Importing it loads no database library:
`open_store` does, and says what to install (the extra `store`).
"""

from caps.store.errors import (
    SchemaNewerError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreUnreachableError,
)
from caps.store.open_store import open_store

__all__ = [
    "SchemaNewerError",
    "StoreBusyError",
    "StoreError",
    "StoreFullError",
    "StoreUnreachableError",
    "open_store",
]
