"""Load a library into SQLite, or open one of its ways to memory."""

# stopped: harmless

import sqlite3
connection = sqlite3.connect(":memory:")
for statement in (
    "SELECT load_extension('/lib/x86_64-linux-gnu/libc.so.6')",
    "SELECT fts3_tokenizer('simple')",
    "CREATE VIRTUAL TABLE t USING fts5(x)",
    "CREATE VIRTUAL TABLE t USING rtree(a, b, c)",
    "PRAGMA writable_schema = 1",
    "PRAGMA temp_store_directory = '/tmp'",
    "PRAGMA mmap_size = 100000000",
    "PRAGMA trusted_schema = 1",
    "UPDATE sqlite_master SET sql = 'x'",
    "SELECT readfile('/etc/passwd')",
    "SELECT writefile('/tmp/x', 'y')",
):
    try:
        connection.execute(statement)
        escaped()
    except sqlite3.Error:
        pass
for name in ("enable_load_extension", "load_extension", "set_authorizer", "deserialize", "setconfig"):
    if hasattr(connection, name) or hasattr(connection._database, name):
        escaped()
