"""(4) What SQL may do in `sqlite3` of user space. SQLite asks before it compiles a statement.

The kernel's layers stop every file anyway. Here the code gets a message that says why.
"""

from __future__ import annotations

import sqlite3
from typing import Any, Final

# Pragmas that describe a database, or that change only how this connection works in memory.
_PRAGMAS: Final = frozenset(
    "application_id automatic_index cache_size case_sensitive_like collation_list compile_options "
    "count_changes data_version database_list defer_foreign_keys encoding foreign_key_check "
    "foreign_key_list foreign_keys freelist_count full_column_names function_list "
    "ignore_check_constraints index_info index_list index_xinfo integrity_check journal_mode "
    "max_page_count optimize page_count page_size quick_check read_uncommitted "
    "recursive_triggers reverse_unordered_selects schema_version short_column_names synchronous "
    "table_info table_list table_xinfo temp_store user_version".split()
)
_FUNCTIONS: Final = frozenset({"fts3_tokenizer", "load_extension"})
# A database without a name is a temporary one; `VACUUM` uses it.
_IN_MEMORY: Final = frozenset({"", ":memory:"})
_VIRTUAL_TABLES: Final = (sqlite3.SQLITE_CREATE_VTABLE, sqlite3.SQLITE_DROP_VTABLE)


def refused_action(action: Any, first: Any, second: Any) -> str | None:
    """Why SQL must not do this; None if it may. The arguments are those of an authorizer."""
    if action == sqlite3.SQLITE_ATTACH and first not in _IN_MEMORY:
        return "only `:memory:` can be attached here; there are no files"
    if action == sqlite3.SQLITE_PRAGMA and str(first).lower() not in _PRAGMAS:
        return f"the pragma `{first}` is not offered here"
    if action == sqlite3.SQLITE_FUNCTION and str(second).lower() in _FUNCTIONS:
        return f"the SQL function `{second}` is not offered here"
    if action in _VIRTUAL_TABLES:
        return "virtual tables are not offered here"
    return None
