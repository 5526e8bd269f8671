"""Attach a file to a database in memory."""

# stopped: raises DatabaseError
# because: only `:memory:` can be attached here

import sqlite3
connection = sqlite3.connect(":memory:")
for statement in ("ATTACH ? AS x", "ATTACH '/tm' || 'p/x.db' AS x", "VACUUM INTO '/tmp/x.db'"):
    try:
        connection.execute(statement, ("/tmp/x.db",) if "?" in statement else ())
        escaped()
    except sqlite3.Error:
        pass
connection.execute("ATTACH '/tmp/x.db' AS x")
